#include "cli/commands.hpp"
#include "cli/hub_call.hpp"
#include "cli/interrupts.hpp"
#include "cli/json.hpp"
#include "cli/render.hpp"
#include "cli/slurm.hpp"
#include "core/clock.hpp"
#include "schedulers/elastic_pool.hpp"

#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <ostream>

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

} // namespace attune::cli
