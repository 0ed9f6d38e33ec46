// Cells of `attune hub` and `attune agent`, with two agents and a client.
#include "tests/scenarios/fleet_process.hpp"
#include "tests/scenarios/starve_cells.hpp"

#include <sys/socket.h>

#include <arpa/inet.h>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

namespace attune::testing {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

constexpr int fleet_trials = 60;

/// A hub, two agents and a job of some seconds under want; then in plenty.
class starved_fleet {
public:
  explicit starved_fleet(const std::string& more = {}) : fleet(at) {
    at.write("s.yaml", "task: t\nparameters: {x: {range: [1, " + std::to_string(fleet_trials) +
                           "]}}\nrun: {command: \"echo {x} >>" + at.path("runs.log") +
                           "; sleep 0.05; echo {x}\", timeout: 20s}\nsearch: {strategy: random, trials: " +
                           std::to_string(fleet_trials) + "}\n" + more);
  }

  /// All of it as a user of its own, who is the only one that the hub trusts without a token.
  void lonely() {
    give_to_lonely_user(at);
    fleet.run_as(as_lonely_user());
  }
  void start_hub(const process::environment& extra = {}) {
    fleet.launch_hub({}, extra);
    must(fleet.listens(), "the hub does not listen: " + fleet.hub().err());
  }
  /// Everybody in, and some runs done.
  void begin(const process::environment& second_agents = {}) {
    agents[0] = fleet.agent("one");
    agents[1] = fleet.agent("two", {}, {}, second_agents);
    must(fleet.ready(2), "the agents are not let in: " + agents[0]->err() + agents[1]->err());
    client = fleet.client({"s.yaml"});
    runs(10);
  }
  void runs(std::size_t count) {
    must(client->wait_until([&] { return at.lines("runs.log").size() >= count; }),
         "it does not get so far: " + fleet.hub().err() + client->err());
  }
  /// The client's end, then everybody's; the ledger is exact. `lost`: at most so many may have failed as `internal`.
  ended end(milliseconds limit = 150s, int lost = 0) {
    auto e = client->wait(limit);
    must_end_in_order(e);
    must(e.exit == 0, "the job: " + e.told());
    must(e.document()["trials"]["proposed"] == fleet_trials, "not all were counted: " + e.told());
    must(e.document()["trials"]["measured"].get<int>() + e.document()["trials"]["cached"].get<int>() >=
             fleet_trials - lost,
         "not all were measured: " + e.told());
    close(lost);
    return e;
  }
  /// Everybody ends in order.
  void close(int lost = 0) {
    for (auto& a : agents)
      if (a) leave(*a, "an agent");
    leave(fleet.hub(), "the hub");
    ledger.note();
    must(static_cast<int>(ledger.values()) >= fleet_trials - lost, std::to_string(ledger.values()) + " recorded");
    must_verify(at);
    must_leave_nothing(at);
  }
  void leave(process& p, const std::string& who) {
    if (p.gone_within(0ms)) return;
    p.signal(SIGTERM);
    const auto e = p.wait(30s);
    must(e.exit == 143, who + " does not end in order: " + e.told());
  }

  scenario at;
  fleet_process fleet;
  std::array<std::unique_ptr<process>, 2> agents;
  std::unique_ptr<process> client;
  starved_ledger ledger{at};
};

/// The last line that the program of this text said by its own name.
std::string last_said(const std::string& err) {
  ended e;
  e.err = err;
  e.exit = 1;
  return said(e);
}

template <class Play>
starved_row fleet_row(const std::string& subject, const std::string& what, Play play) {
  starved_row row{subject, what, "the job is done", "", ""};
  try {
    row.message = play();
  } catch (const broken& b) {
    row.ended.clear();
    row.wrong = b.what;
  }
  return row;
}

/// The hub with little from its start: it says why it cannot, or it does its work.
std::vector<starved_row> hub_sweep(const std::string& option, const std::vector<std::uint64_t>& amounts, bool lonely) {
  std::vector<std::pair<std::pair<std::uint64_t, std::uint64_t>, starved_row>> rows;
  for (const auto amount : amounts) {
    starved_row row{"hub", "", "", "", ""};
    try {
      starved_fleet f;
      if (lonely) f.lonely();
      f.fleet.launch_hub(limited(option, amount));
      if (!f.fleet.listens(20s)) {
        const auto e = f.fleet.hub().wait(1s);
        row.ended = ending(e);
        row.message = said(e);
        must_end_in_order(e);
        must(e.exit != 0, "it ended as if all were well: " + e.told());
        must_leave_nothing(f.at);
      } else {
        // With so little it may do its work or say that it cannot; but never hang.
        row.ended = "listens";
        f.fleet.hub().signal(SIGTERM);
        const auto e = f.fleet.hub().wait(30s);
        must_end_in_order(e);
        must(e.exit == 143, "its end: " + e.told());
      }
      f.start_hub();
      f.begin();
      f.end();
    } catch (const broken& b) {
      row.wrong = b.what;
    }
    const auto same = [&](const starved_row& r) {
      return r.ended == row.ended && r.message == row.message && r.wrong == row.wrong;
    };
    if (!rows.empty() && same(rows.back().second))
      rows.back().first.second = amount;
    else
      rows.push_back({{amount, amount}, row});
  }
  std::vector<starved_row> out;
  for (auto& [range, row] : rows) {
    row.what = option + " " + std::to_string(range.first) +
               (range.first == range.second ? "" : " to " + std::to_string(range.second)) + " from the start";
    out.push_back(std::move(row));
  }
  return out;
}

rlim_t one_more(const process&) { return 1; }

std::vector<starved_row> fleet_squeezed(const std::string& subject, const std::string& what, __rlimit_resource resource,
                                        rlim_t (*amount)(const process&), bool lonely) {
  return {fleet_row(subject, what + " in the middle, for two seconds", [&] {
    starved_fleet f("build: {command: \"echo {x} >{artifact}\"}\n");
    const bool hub = subject == "hub";
    if (lonely) f.lonely();
    f.start_hub();
    f.begin();
    auto& subject_ = hub ? f.fleet.hub() : *f.agents[1];
    squeeze(subject_, resource, amount(subject_));
    subject_.gone_within(2s);
    std::string seen;
    if (subject_.gone_within(0ms)) {
      const auto e = subject_.wait(1s);
      must_end_in_order(e);
      seen = ending(e) + ": " + said(e);
      if (hub)
        f.start_hub();
      else
        f.agents[1] = f.fleet.agent("two");
    } else {
      squeeze(subject_, resource, RLIM_INFINITY);
    }
    auto e = f.end();
    return seen.empty() ? last_said(f.client->err()) : seen;
  })};
}

/// Connections to the hub that say nothing.
class idle_callers {
public:
  idle_callers(const std::string& address, std::size_t count) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.c_str() + address.rfind(':') + 1)));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (std::size_t i = 0; i < count; ++i) {
      const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      if (s < 0) break;
      sockets_.push_back(s);
      [[maybe_unused]] const int begun = ::connect(s, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    }
  }
  ~idle_callers() {
    for (const int s : sockets_) ::close(s);
  }
  idle_callers(const idle_callers&) = delete;
  idle_callers& operator=(const idle_callers&) = delete;

private:
  std::vector<int> sockets_;
};

std::vector<starved_row> callers() {
  return {fleet_row("hub", "300 silent connections, descriptors for 20", [] {
    starved_fleet f;
    f.start_hub();
    f.begin();
    squeeze(f.fleet.hub(), RLIMIT_NOFILE, open_files(f.fleet.hub()) + 20);
    {
      const idle_callers many(f.fleet.address(), 300);
      const double before = processor_time(f.fleet.hub());
      f.fleet.hub().gone_within(2s);
      const double used = processor_time(f.fleet.hub()) - before;
      must(used < 1, "it is busy with waiting: " + std::to_string(used) + " s of 2 s");
    }
    must(f.fleet.ready(2), "it does not come back");
    f.end();
    return last_said(f.fleet.hub().err());
  })};
}

std::vector<starved_row> hub_disk() {
  return {fleet_row("hub", "the store's disk full in the middle, for two seconds",
                    [] {
                      starved_fleet f;
                      const small_disk disk(f.at.store(), "size=8m");
                      f.start_hub();
                      f.begin();
                      disk.fill();
                      f.fleet.hub().gone_within(2s);
                      disk.free();
                      f.end();
                      return last_said(f.fleet.hub().err());
                    }),
          fleet_row("hub", "the store's disk full in the middle; ended and started again with room", [] {
            starved_fleet f;
            const small_disk disk(f.at.store(), "size=8m");
            f.start_hub();
            f.begin();
            disk.fill();
            f.fleet.hub().gone_within(1s);
            f.fleet.hub().signal(SIGTERM);
            const auto e = f.fleet.hub().wait(30s);
            must_end_in_order(e);
            disk.free();
            f.start_hub();
            f.end();
            return said(e);
          })};
}

std::vector<starved_row> hub_folders() {
  return {fleet_row("hub", "the store read-only at its start",
                    [] {
                      starved_fleet f;
                      const small_disk disk(f.at.store(), "size=8m");
                      disk.make_read_only(true);
                      f.fleet.launch_hub();
                      must(!f.fleet.listens(20s), "it listens without a store");
                      const auto e = f.fleet.hub().wait(1s);
                      must_end_in_order(e);
                      must(e.exit == 3, "not exit 3: " + e.told());
                      disk.make_read_only(false);
                      f.start_hub();
                      f.begin();
                      f.end();
                      return said(e);
                    }),
          fleet_row("hub", "the temporary folder deleted in the middle",
                    [] {
                      starved_fleet f("build: {command: \"echo {x} >{artifact}\"}\n");
                      fs::create_directory(f.at.path("other"));
                      f.start_hub({{"TMPDIR", f.at.path("other")}});
                      f.begin();
                      delete_in_use(f.at.path("other"));
                      f.end(150s, 16); // what had been built ahead and not been sent yet
                      return last_said(f.fleet.hub().err());
                    }),
          fleet_row("agent", "its temporary folder deleted in the middle", [] {
            starved_fleet f("build: {command: \"echo {x} >{artifact}\"}\n");
            fs::create_directory(f.at.path("other"));
            f.start_hub();
            f.begin({{"TMPDIR", f.at.path("other")}});
            delete_in_use(f.at.path("other"));
            f.end();
            return last_said(f.agents[1]->err());
          })};
}

std::vector<starved_row> fleet_stops() {
  return {fleet_row("hub", "stopped for seven seconds",
                    [] {
                      starved_fleet f;
                      f.start_hub();
                      f.begin();
                      f.fleet.hub().signal(SIGSTOP);
                      f.fleet.hub().gone_within(7s);
                      f.fleet.hub().signal(SIGCONT);
                      f.end();
                      return last_said(f.client->err());
                    }),
          fleet_row("agent", "stopped for seven seconds",
                    [] {
                      starved_fleet f;
                      f.start_hub();
                      f.begin();
                      f.agents[1]->signal(SIGSTOP);
                      f.agents[1]->gone_within(7s);
                      f.agents[1]->signal(SIGCONT);
                      f.end();
                      return last_said(f.agents[1]->err());
                    }),
          fleet_row("agent", "killed in the middle of a run that has a family", [] {
            starved_fleet f;
            auto text = f.at.read("s.yaml");
            text.replace(text.find("sleep 0.05"), 10, "setsid sleep 1 & sleep 0.3");
            f.at.write("s.yaml", text);
            f.start_hub();
            f.begin();
            f.agents[1]->signal(SIGKILL);
            f.agents[1]->wait(5s);
            f.agents[1] = f.fleet.agent("two");
            f.end();
            return last_said(f.agents[1]->err());
          })};
}

std::vector<starved_row> fleet_clock() {
  return {fleet_row("hub, agent", "the wall clocks two hours back and a day on", [] {
    starved_fleet f;
    f.at.write("hub-clock", "0");
    f.at.write("agent-clock", "0");
    f.start_hub({{"LD_PRELOAD", STEPPED_CLOCK}, {"STEPPED_CLOCK_SECONDS", f.at.path("hub-clock")}});
    f.begin({{"LD_PRELOAD", STEPPED_CLOCK}, {"STEPPED_CLOCK_SECONDS", f.at.path("agent-clock")}});
    f.at.write("hub-clock", "-7200");
    f.at.write("agent-clock", "86400");
    f.runs(30);
    f.at.write("hub-clock", "86400");
    f.at.write("agent-clock", "-7200");
    const auto e = f.end();
    for (const auto* part : {"wall", "build", "run", "queue", "search"}) {
      const double took = e.document()["time_s"][part];
      must(took >= 0 && took < 600, "a duration: " + e.told());
    }
    return last_said(e.err);
  })};
}

} // namespace

std::vector<starved_cell> fleet_cells() {
  constexpr std::uint64_t mb = 1 << 20;
  return {
      {"hub/descriptors", false,
       [] {
         return hub_sweep("nofile", {8, 14, 20, 24, 28, 32, 40, 64}, false);
       }},
      {"hub/processes", false,
       [] {
         return hub_sweep("nproc", {1, 3, 5, 7, 9, 12, 16}, true);
       }},
      {"hub/memory", false,
       [] {
         return hub_sweep("as", {60 * mb, 100 * mb, 200 * mb, 400 * mb, 700 * mb}, false);
       }},
      {"hub/descriptors-in-the-middle", false,
       [] { return fleet_squeezed("hub", "descriptors", RLIMIT_NOFILE, open_files, false); }},
      {"hub/processes-in-the-middle", false,
       [] { return fleet_squeezed("hub", "processes and threads", RLIMIT_NPROC, one_more, true); }},
      {"hub/memory-in-the-middle", false,
       [] { return fleet_squeezed("hub", "memory", RLIMIT_AS, address_space, false); }},
      {"hub/callers", true, callers},
      {"hub/disk", false, hub_disk},
      {"hub/folders", false, hub_folders},
      {"agent/descriptors-in-the-middle", false,
       [] { return fleet_squeezed("agent", "descriptors", RLIMIT_NOFILE, open_files, false); }},
      {"agent/processes-in-the-middle", false,
       [] { return fleet_squeezed("agent", "processes and threads", RLIMIT_NPROC, one_more, true); }},
      {"agent/memory-in-the-middle", false,
       [] { return fleet_squeezed("agent", "memory", RLIMIT_AS, address_space, false); }},
      {"fleet/stops", false, fleet_stops},
      {"fleet/clock", false, fleet_clock},
  };
}

} // namespace attune::testing
