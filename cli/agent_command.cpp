#include "cli/commands.hpp"
#include "cli/confine.hpp"
#include "cli/hub_call.hpp"
#include "cli/interrupts.hpp"
#include "cli/render.hpp"
#include "core/target.hpp"
#include "measure/scratch.hpp"
#include "measure/supervisor.hpp"
#include "measure/topology.hpp"
#include "net/backoff.hpp"
#include "net/fleet/agent.hpp"

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <sys/resource.h>

#include <array>
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
    said_.clear();
    io_.message("the hub at " + to_.to.text() + " has let it in");
  }
  void again(const error& why) {
    if (over_) return;
    // The same trouble is told once.
    if (why.text() != said_) io_.message(why.text() + "; trying again");
    said_ = why.text();
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
  asio::io_context& loop_;
  net::dial_options to_;
  output& io_;
  asio::steady_timer wait_;
  net::backoff pause_;
  std::shared_ptr<net::dialing> attempt_;
  std::shared_ptr<net::fleet::agent> agent_;
  std::string said_;
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

} // namespace attune::cli
