// Kills a hub with SIGKILL at random instants and starts it again on its store and port, while agents measure and a
// client follows; now and then an agent or the client is killed with it. What is looked at each time is what
// kill_rounds looks at: the store verifies, no record is lost or changed, what the client was told is recorded, nothing
// recorded is run again, no record without a run, none twice. At the end the job is let to its end, the number of
// records must be exact, and nothing of anybody is left.
//
//   hub_kill_rounds [ROUNDS [SEED]]
#include "core/random.hpp"
#include "tests/scenarios/fleet_process.hpp"
#include "tests/scenarios/outside_ledger.hpp"

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>

using namespace attune::testing;
using namespace std::chrono_literals;

namespace {

/// Trials that may be under way at one moment: the hub's windows, the agents' slots, and what waits for its second
/// turn.
constexpr std::size_t most_in_flight = 48;

struct counts {
  std::size_t hubs = 0, early = 0, agents = 0, clients = 0, most_unrecorded = 0, most_told = 0;
};

class kill_round_fleet {
public:
  kill_round_fleet(int rounds, std::uint64_t seed)
      : rounds_(rounds), budget_(static_cast<std::size_t>(rounds) * 20 + 100), rng_(seed), fleet_(at_) {
    at_.write("s.yaml", "task: t\nparameters: {x: {range: [1, 100000]}}\nrun: {command: \"echo {x} >>" +
                            at_.path("runs.log") +
                            "; echo {x}\"}\nsearch: {strategy: random, trials: " + std::to_string(budget_) + "}\n");
  }

  counts play() {
    start_hub();
    for (std::size_t i = 0; i < agents_.size(); ++i) start_agent(i);
    follow();
    for (int round = 1; round <= rounds_; ++round) {
      if (round > 1) fleet_.launch_hub();
      // One time in five within its first moments, while it opens the store and takes its jobs up again.
      const bool early = round > 1 && rng_.chance(0.2);
      if (early) {
        ++out_.early;
      } else {
        if (round > 1) must(fleet_.listens(), "the hub does not come back: " + fleet_.hub().err());
        if (!client_) follow();
        if (!job_over()) let_run();
      }
      fleet_.hub().gone_within(milliseconds(rng_.below(early ? 150 : 40)));
      fleet_.hub().signal(SIGKILL);
      const auto e = fleet_.hub().wait(20s);
      must(e.signal == SIGKILL, "the hub ended by itself: " + e.told());
      ++out_.hubs;
      if (rng_.chance(0.15)) kill_agent();
      if (rng_.chance(0.15)) kill_client();
      check();
      if (round % 10 == 0 || round == rounds_) {
        std::printf("round %d: %zu records\n", round, known_.size());
        std::fflush(stdout);
      }
    }
    finish();
    return out_;
  }

private:
  void start_hub() {
    fleet_.launch_hub();
    must(fleet_.listens(), "the hub does not listen: " + fleet_.hub().err());
  }
  void start_agent(std::size_t i) { agents_[i] = fleet_.agent("board" + std::to_string(i)); }

  /// Begins to follow the job, or goes on.
  void follow() {
    client_ = fleet_.client(job_.empty() ? fleet_process::words{"s.yaml"} : fleet_process::words{"--attach", job_});
    if (!job_.empty()) return;
    const std::string says = "the hub has the job ";
    std::string text;
    must(client_->wait_until([&] {
      text = client_->err();
      return text.find(says) != std::string::npos && text.find('\n', text.find(says)) != std::string::npos;
    }),
         "the hub does not take the job: " + text);
    const auto from = text.find(says) + says.size();
    job_ = text.substr(from, text.find('\n', from) - from);
  }
  bool job_over() { return client_->gone_within(0ms); }

  void let_run() {
    const auto enough = at_.lines("runs.log").size() + 1 + rng_.below(30);
    fleet_.hub().wait_until([&] { return at_.lines("runs.log").size() >= enough || job_over(); }, 20s);
  }

  void kill_agent() {
    const auto i = rng_.below(agents_.size());
    agents_[i]->signal(SIGKILL);
    agents_[i]->wait(20s);
    start_agent(i);
    ++out_.agents;
  }
  void kill_client() {
    if (!client_ || job_over()) return;
    remember_told();
    client_->signal(SIGKILL);
    client_->wait(20s);
    client_.reset(); // the next one comes when there is a hub again
    ++out_.clients;
  }
  void remember_told() {
    if (client_) told_ = std::max(told_, told_done(client_->err()));
  }

  void check() {
    remember_told();
    must_verify(at_);
    const auto now = records_of(at_);
    const auto ran = runs_of(at_);
    must(now.size() >= told_, "told " + std::to_string(told_) + " done, recorded " + std::to_string(now.size()));
    for (const auto& [x, text] : known_) {
      const auto there = now.find(x);
      must(there != now.end(), "lost: " + text);
      must(there->second == text, "changed: " + text + " became " + there->second);
      must(ran.at(x) == runs_[x], "measured again though it was recorded: x=" + std::to_string(x));
    }
    for (const auto& [x, text] : now) must(ran.contains(x), "a record without a run: " + text);
    std::size_t unrecorded = 0;
    for (const auto& [x, n] : ran)
      if (!now.contains(x)) ++unrecorded;
    out_.most_unrecorded = std::max(out_.most_unrecorded, unrecorded);
    out_.most_told = std::max(out_.most_told, told_);
    must(unrecorded <= most_in_flight, std::to_string(unrecorded) + " runs without a record");
    known_ = now;
    runs_ = ran;
  }

  void finish() {
    start_hub();
    if (!client_) follow();
    const auto e = client_->wait(300s);
    must(e.exit == 0, "the job's end: " + e.told());
    must(e.document()["trials"]["proposed"] == budget_, "not all were counted: " + e.told());
    fleet_.hub().signal(SIGTERM);
    const auto hub = fleet_.hub().wait(30s);
    must(hub.exit == 143, "the hub's end: " + hub.told());
    for (auto& a : agents_) {
      a->signal(SIGTERM);
      const auto agent = a->wait(30s);
      must(agent.exit == 143, "an agent's end: " + agent.told());
    }
    check();
    must(known_.size() == budget_, std::to_string(known_.size()) + " records, not " + std::to_string(budget_));
    must(runs_.size() == budget_, std::to_string(runs_.size()) + " configurations run");
    must(at_.survivors().empty(), "a process is left behind");
    must(std::filesystem::is_empty(at_.temporary()), "files are left behind");
    std::size_t all = 0;
    for (const auto& [x, n] : runs_) all += static_cast<std::size_t>(n);
    std::printf("hubs killed %zu (%zu of them while they started), agents %zu, clients %zu; records %zu, runs %zu "
                "(%zu cut off), at most %zu without a record at once\n",
                out_.hubs, out_.early, out_.agents, out_.clients, known_.size(), all, all - budget_,
                out_.most_unrecorded);
    must(rounds_ < 10 || out_.most_told > 0, "the client was never told anything");
  }

  int rounds_;
  std::size_t budget_;
  attune::random_engine rng_;
  scenario at_;
  fleet_process fleet_;
  std::array<std::unique_ptr<process>, 2> agents_;
  std::unique_ptr<process> client_;
  std::string job_;
  std::map<int, std::string> known_;
  std::map<int, int> runs_;
  std::size_t told_ = 0;
  counts out_;
};

} // namespace

int main(int argc, char** argv) {
  return play_rounds(argc, argv, 3, [](int rounds, std::uint64_t seed) { kill_round_fleet(rounds, seed).play(); });
}
