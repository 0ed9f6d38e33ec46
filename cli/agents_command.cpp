#include "cli/commands.hpp"
#include "cli/hub_call.hpp"
#include "cli/interrupts.hpp"
#include "cli/json.hpp"
#include "cli/render.hpp"
#include "cli/slurm.hpp"
#include "core/clock.hpp"
#include "schedulers/elastic_pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace attune::cli {

namespace {

using namespace std::chrono_literals;

/// How often hub and cluster are looked at.
constexpr auto look_again = 2s;

/// How an agent is started on a node: as this program, with absolute paths.
std::string agent_command(const agents_options& options) {
  std::error_code ec;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ec).string();
  auto hub = options.hub;
  hub.token_file = options.agent_token;
  for (auto* file : {&hub.token_file, &hub.ca_file})
    if (!file->empty()) *file = std::filesystem::absolute(*file, ec).string();
  std::string out =
      shell_word(ec ? "attune" : program) + " agent" + typed_again(hub) + " --name \"$ATTUNE_AGENT_NAME\"";
  for (const auto& word : options.agent) out += " " + shell_word(word);
  return out;
}

status place(const agents_options& options, std::uint32_t count, output& io) {
  const auto said = shell_output(sbatch_line(options.name, count, options.slurm, agent_command(options)));
  if (!said) return said.err();
  io.message(std::to_string(count) + (count == 1 ? " agent is" : " agents are") + " asked for: job " +
             said->substr(0, said->find_first_of(";\n")));
  return {};
}

/// Trials that wait, and which devices are there; busy or not.
struct seen_at_hub {
  std::uint64_t waiting = 0;
  std::map<std::string, bool> busy;
};
result<seen_at_hub> look_at_hub(const hub_way& hub) {
  wire::v1::Envelope question;
  question.mutable_list_devices();
  const auto answer = ask_hub(hub, question);
  if (!answer) return answer.err();
  seen_at_hub out;
  const auto& d = answer->devices();
  out.waiting = d.waiting() + d.unserved();
  for (const auto& device : d.devices())
    if (device.state() != "lost") out.busy[device.name()] = device.busy() > 0;
  return out;
}

int up(const agents_options& options, output& io) {
  const auto hub = way_to(options.hub);
  if (!hub) return io.fail(hub.err());
  if (options.once) {
    if (const auto placed = place(options, options.least, io); !placed) return io.fail(placed.err());
    if (io.json()) io.document(json{{"submitted", options.least}});
    return exit_code::done;
  }
  std::mutex lock;
  std::condition_variable ended;
  interrupts signals([&](int) {
    const std::lock_guard guard(lock);
    ended.notify_all();
  });
  // What cannot work is said at once; later it may only be for now.
  if (const auto there = slurm_jobs(options.name); !there) return io.fail(there.err());
  if (const auto there = look_at_hub(*hub); !there) return io.fail(there.err());
  schedulers::elastic_pool pool({options.least, options.most, options.idle});
  std::string trouble;
  const auto say = [&](const error& why) {
    if (why.text() != trouble) io.message(why.text() + "; looking again");
    trouble = why.text();
  };
  const auto one_look = [&]() -> status {
    const auto jobs = slurm_jobs(options.name);
    if (!jobs) return jobs.err();
    const auto seen = look_at_hub(*hub);
    if (!seen) return seen.err();
    std::vector<schedulers::placed_agent> there;
    for (const auto& j : *jobs) {
      using state = schedulers::placed_agent::state;
      const auto at = seen->busy.find(agent_of(options.name, j.id));
      there.push_back({j.id, at == seen->busy.end() ? state::coming : at->second ? state::busy : state::free});
    }
    const auto next = pool.look(seen->waiting, there, system_time().monotonic());
    if (next.submit > 0)
      if (auto placed = place(options, next.submit, io); !placed) return placed;
    if (next.give_back.empty()) return {};
    std::string ids;
    for (const auto& id : next.give_back) ids += " " + shell_word(id);
    if (const auto gone = shell_output("scancel" + ids + " 2>&1"); !gone) return gone.err();
    io.message("given back:" + ids);
    return {};
  };
  while (signals.caught() == 0) {
    if (const auto good = one_look(); good)
      trouble.clear();
    else
      say(good.err());
    std::unique_lock guard(lock);
    ended.wait_for(guard, look_again, [&] { return signals.caught() != 0; });
  }
  io.message("the agents stay; to end them: attune agents down --name " + options.name);
  return 128 + signals.caught();
}

int down(const agents_options& options, output& io) {
  const auto jobs = slurm_jobs(options.name);
  if (!jobs) return io.fail(jobs.err());
  if (!jobs->empty())
    if (const auto gone = shell_output("scancel --user \"$(id -un)\" --name " + shell_word(options.name) + " 2>&1");
        !gone)
      return io.fail(gone.err());
  if (io.json())
    io.document(json{{"ended", jobs->size()}});
  else
    io.message(std::to_string(jobs->size()) + (jobs->size() == 1 ? " agent is" : " agents are") + " told to end");
  return exit_code::done;
}

} // namespace

int run_agents(const agents_options& options, output& io) {
  return options.action == agents_options::what::up ? up(options, io) : down(options, io);
}

namespace {

struct agents_words {
  hub_words hub;
  std::string slurm, agent_token, name, least, most, idle, device;
  std::vector<std::string> labels;
  bool once = false;
};

/// What the agents of one group are called.
std::string group_name(const std::string& given) {
  const std::string name = given.empty() ? agents_options().name : given;
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
  if (!plain || name.size() > 64) throw usage_fault{"--name has at most 64 letters, digits, - and _"};
  return name;
}

agents_options read_up(const agents_words& w) {
  agents_options o;
  o.name = group_name(w.name);
  o.hub = w.hub.read();
  o.slurm = w.slurm;
  if (!w.least.empty()) o.least = read_count<std::uint32_t>("--min", w.least, 0, 1000);
  o.most = std::max(1u, o.least);
  if (!w.most.empty()) o.most = read_count<std::uint32_t>("--max", w.most, 1, 1000);
  if (o.most < o.least) throw usage_fault{"--max is less than --min"};
  if (!w.idle.empty()) {
    const auto d = parse_duration(w.idle);
    if (!d) throw usage_fault{"--idle: " + d.err().message};
    o.idle = *d;
  }
  o.once = w.once;
  o.agent_token = w.agent_token;
  for (const auto& [option, given] : {std::pair{"--max", !w.most.empty()}, std::pair{"--idle", !w.idle.empty()}})
    if (o.once && given) throw usage_fault{std::string(option) + " has no effect with --once"};
  if (o.once && o.least == 0) throw usage_fault{"--once places --min of them: say how many"};
  for (const auto& [name, value] : read_labels(w.device, w.labels)) {
    o.agent.push_back(name == "device" ? "--device" : "--label");
    o.agent.push_back(name == "device" ? value : name + "=" + value);
  }
  return o;
}

command_spec agents_up_command() {
  const auto w = std::make_shared<agents_words>();
  command_spec c{"up", "Place agents by Slurm, and more or fewer of them as the queue grows and ends"};
  w->hub.add(c, "Where the hub listens, as the nodes reach it", true);
  c.value("--slurm", "OPTIONS", w->slurm, "Further options of sbatch: '--partition gpu --gres gpu:1 --time 8:00:00'")
      .required = true;
  c.value("--agent-token", "FILE", w->agent_token, "The agents' token: --token-file is that of who looks (a client)");
  c.value("--name", "NAME", w->name, "What these agents are called among others (attune)");
  c.value("--min", "N", w->least, "Agents that are there always (0)");
  c.value("--max", "N", w->most, "Agents at the most (1)");
  c.value("--idle", "D", w->idle, "An agent beyond --min that had nothing to do so long is given back (60s)");
  c.value("--device", "KIND", w->device, "Their class, as a spec's target names it (local)");
  c.values("--label", "K=V", w->labels, "Something else that a target may ask for; may be repeated");
  c.flag("--once", w->once, "Place --min of them and end, in place of watching the queue");
  c.more = R"(Each agent is an element of a job array, alone on its node (--exclusive). This program and
the agents' token must be where the nodes find them, under the same paths. It goes on
until it is interrupted; the agents stay then, and attune agents down ends them.

  attune agents up --hub big:7410 --token-file me.token --agent-token nodes.token \
    --slurm '--partition tune' --max 8)";
  c.read = [w](const typed_line&) -> reading { return read_up(*w); };
  return c;
}

command_spec agents_down_command() {
  const auto name = std::make_shared<std::string>();
  command_spec c{"down", "End the agents that attune agents up has placed"};
  c.value("--name", "NAME", *name, "Those that are called so (attune)");
  c.read = [name](const typed_line&) -> reading {
    agents_options o;
    o.action = agents_options::what::down;
    o.name = group_name(*name);
    return o;
  };
  return c;
}

} // namespace

command_spec agents_command() {
  command_spec c{"agents", "Have agents placed on a cluster's nodes, as many as the hub's queue wants"};
  c.below = {agents_up_command(), agents_down_command()};
  return c;
}

} // namespace attune::cli
