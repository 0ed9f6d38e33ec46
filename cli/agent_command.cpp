#include "cli/commands.hpp"
#include "cli/confine.hpp"
#include "cli/hub_call.hpp"
#include "cli/interrupts.hpp"
#include "cli/render.hpp"
#include "core/clock.hpp"
#include "core/target.hpp"
#include "core/text.hpp"
#include "measure/scratch.hpp"
#include "measure/supervisor.hpp"
#include "measure/topology.hpp"
#include "net/backoff.hpp"
#include "net/fleet/agent.hpp"
#include "net/line_limit.hpp"

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <ostream>
#include <random>
#include <unistd.h>

namespace attune::cli {

namespace {

constexpr std::uint64_t cache_bytes = std::uint64_t{4} << 30;

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "agent";
}

std::string unit_file(const std::string& typed) {
  std::error_code ec;
  auto program = std::filesystem::read_symlink("/proc/self/exe", ec).string();
  auto command = typed;
  if (const auto at = command.find(" --systemd"); at != std::string::npos) command.erase(at, 10);
  if (!ec && command.starts_with("attune ")) command = shell_word(program) + command.substr(6);
  return "[Unit]\nDescription=Attune agent\nWants=network-online.target\nAfter=network-online.target\n\n"
         "[Service]\nExecStart=" +
         command +
         "\nRestart=always\nRestartSec=5\nKillMode=mixed\nTimeoutStopSec=30\n\n"
         "[Install]\nWantedBy=multi-user.target\n";
}

/// Dials, and dials again.
class caller : public std::enable_shared_from_this<caller> {
public:
  caller(asio::io_context& loop, net::dial_options to, output& io)
      : loop_(loop),
        to_(std::move(to)),
        io_(io),
        wait_(loop),
        pause_(std::chrono::milliseconds(200), std::chrono::seconds(15), std::random_device{}()) {}

  void use(std::shared_ptr<net::fleet::agent> who) { agent_ = std::move(who); }

  void dial() {
    attempt_ = net::dial(loop_, to_, [self = shared_from_this()](result<net::link_ptr> link) {
      if (self->over_) return;
      if (!link) return self->again(link.err());
      self->agent_->attach(std::move(*link));
    });
  }
  void let_in() {
    pause_.reset();
    say("the hub at " + to_.to.text() + " has let it in");
  }
  void again(const error& why) {
    if (over_) return;
    say(why.text() + "; trying again");
    wait_.expires_after(pause_.next());
    wait_.async_wait([self = shared_from_this()](const asio::error_code& ec) {
      if (!ec && !self->over_) self->dial();
    });
  }
  void end() {
    over_ = true;
    wait_.cancel();
    if (attempt_) attempt_->cancel();
  }

private:
  void say(const std::string& text) {
    for (const auto& line : said_.take(text, text, system_time().monotonic())) io_.message(line);
  }

  asio::io_context& loop_;
  net::dial_options to_;
  output& io_;
  asio::steady_timer wait_;
  net::backoff pause_;
  std::shared_ptr<net::dialing> attempt_;
  std::shared_ptr<net::fleet::agent> agent_;
  net::line_limit said_;
  bool over_ = false;
};

} // namespace

int run_agent(const agent_options& options, const std::string& typed, output& io) {
  const auto to = way_to(options.hub);
  if (!to) return io.fail(to.err());
  if (options.systemd) {
    io.out() << unit_file(typed);
    return exit_code::done;
  }
  asio::io_context loop{1};
  auto work = asio::make_work_guard(loop);
  std::shared_ptr<net::fleet::agent> agent;
  std::shared_ptr<caller> calls;
  interrupts signals([&](int) {
    asio::post(loop, [&] {
      if (calls) calls->end();
      if (agent)
        agent->leave([&] { work.reset(); });
      else
        work.reset();
    });
  });

  net::fleet::agent_options how;
  how.self.name = options.name.empty() ? host_name() : options.name;
  for (const auto& [name, text] : options.labels) how.self.labels.emplace_back(name, value(text));
  how.shown = to->shown;
  how.self.facts = machine_fingerprint();
  how.self.slots = options.slots;
  if (options.slots > 1) {
    const auto places = measure::plan_slots(measure::this_machine(), how_many(options.slots), 1);
    how.cpus = places.slots;
    if (!places.remark.empty()) io.message(places.remark);
  }
  const auto confine = confinement_of(options);
  if (!confine) return io.fail(confine.err());
  measure::supervisor_options supervised;
  supervised.confine = *confine;
  auto processes = measure::supervisor::create(std::move(supervised));
  if (!processes) return io.fail(processes.err());
  auto left = confinement_left(*confine, (*processes)->network_taken());
  for (const auto& m : left.messages) io.message(m);
  how.confine = std::move(left.apply);
  how.processes = *processes;
  std::string cache = options.cache;
  if (cache.empty()) {
    auto made = (*processes)->scratch().make_folder();
    if (!made) return io.fail(made.err());
    cache = *made;
  }
  auto files = net::artifact_store::open(cache, cache_bytes);
  if (!files) return io.fail(files.err());
  how.files = *files;
  // The threads that start processes are there already, and are not raised with this one: what is measured cannot keep
  // the heartbeats back. Without the right to it, the kernel's fairness must do.
  [[maybe_unused]] const int raised = ::setpriority(PRIO_PROCESS, 0, -10);

  calls = std::make_shared<caller>(loop, to->dial, io);
  net::fleet::agent::events tell;
  tell.let_in = [&] { calls->let_in(); };
  tell.lost = [&](const error& why) { calls->again(why); };
  agent = std::make_shared<net::fleet::agent>(loop, how, tell);
  calls->use(agent);
  asio::post(loop, [&] {
    if (signals.caught() == 0) calls->dial();
  });
  loop.run();
  agent.reset();
  calls->use(nullptr);
  io.message("the agent has ended, and nothing of it runs");
  return signals.caught() == SIGINT ? exit_code::interrupted : exit_code::terminated;
}

namespace {

/// `memory=4G` and its like.
std::pair<int, rlim_t> read_limit(const std::string& text) {
  const auto equals = text.find('=');
  const auto name = text.substr(0, equals);
  const auto most = equals == std::string::npos ? std::string() : text.substr(equals + 1);
  const auto bad = [&](const std::string& want) {
    return usage_fault{"--limit " + name + " must be " + want + ", not '" + most + "'"};
  };
  const auto size = [&]() -> rlim_t { return read_size("--limit " + name, most); };
  const auto count = [&]() -> rlim_t {
    const auto n = parse_integer(most);
    if (!n || *n < 1 || *n > 1'000'000'000) throw bad("a number");
    return static_cast<rlim_t>(*n);
  };
  if (name == "memory") return {RLIMIT_AS, size()};
  if (name == "filesize") return {RLIMIT_FSIZE, size()};
  if (name == "processes") return {RLIMIT_NPROC, count()};
  if (name == "files") return {RLIMIT_NOFILE, count()};
  if (name == "cpu") {
    const auto t = parse_duration(most);
    if (!t || *t < std::chrono::seconds(1)) throw bad("a time of at least a second, such as 90s or 10m");
    return {RLIMIT_CPU, static_cast<rlim_t>(std::chrono::ceil<std::chrono::seconds>(*t).count())};
  }
  throw usage_fault{"--limit has no '" + name + "': memory, processes, files, filesize, cpu"};
}

} // namespace

command_spec agent_command() {
  struct words {
    hub_words hub;
    std::string name, device, slots, cache, user;
    std::vector<std::string> labels, limits;
    bool confine = false, systemd = false;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"agent", "Offer this machine's slots to a hub"};
  w->hub.add(c, "Where the hub listens", true);
  c.value("--name", "NAME", w->name, "What this device is called (the host's name); one alive at a time");
  c.value("--device", "KIND", w->device, "Its class, as a spec's target names it (local)");
  c.values("--label", "K=V", w->labels, "Something else that a target may ask for; may be repeated");
  c.value("--slots", "N", w->slots, "Timed runs at once (1)");
  c.value("--cache", "DIR", w->cache, "Keep files that were sent in this folder (else for this process)");
  c.flag("--confine", w->confine,
         "What runs gains no privileges, writes no core, has a temporary folder of its own, and no network where that "
         "can be had");
  c.value("--user", "NAME", w->user, "With --confine, as root: what runs is this user's (a name, or any number)");
  c.values("--limit", "WHAT=MOST", w->limits,
           "With --confine, for each process: memory=4G, processes=256, files=1024 (open), filesize=1G, cpu=10m; may "
           "be repeated");
  c.flag("--systemd", w->systemd, "Print a unit file that starts this command, and end");
  c.more = R"(It dials the hub (again and again where it must), takes a lease for every run, and
ends what runs when the hub is lost. Devices with the same class and machine share
their results; a target's `device` may also be the name.

  attune agent --hub big:7410 --name board1 --device cortex-a72 --label site=prague)";
  c.read = [w](const typed_line&) -> reading {
    agent_options o;
    o.hub = w->hub.read();
    o.name = w->name;
    if (!w->slots.empty()) o.slots = read_count<std::uint32_t>("--slots", w->slots, 1, 4096);
    o.labels = read_labels(w->device, w->labels);
    o.cache = w->cache;
    o.confine = w->confine;
    o.user = w->user;
    for (const auto& l : w->limits) {
      const auto limit = read_limit(l);
      for (const auto& [known, most] : o.limits)
        if (known == limit.first) throw usage_fault{"--limit gives '" + l.substr(0, l.find('=')) + "' twice"};
      o.limits.push_back(limit);
    }
    if (!o.confine && (!o.user.empty() || !o.limits.empty())) throw usage_fault{"--user and --limit need --confine"};
    o.systemd = w->systemd;
    return o;
  };
  return c;
}

} // namespace attune::cli
