// Kills a tuning run of fast trials with SIGKILL at random instants, again and again on one store, and looks at what is
// left each time:
//   - the store opens and `attune db verify` finds nothing;
//   - every record that was there is there still, unchanged; what the progress had told is recorded. And a trial starts
//     only against a credit that an earlier one gave back by being told, so at most so many runs may lack their record;
//   - no configuration with a record is run again; no record without a run; no two records of one configuration.
// At the end the run is let to its end, and the number of distinct records must be exact.
//
//   kill_rounds [ROUNDS [SEED]]
#include "core/random.hpp"
#include "tests/scenarios/outside_ledger.hpp"

#include <csignal>
#include <cstdio>
#include <map>

using namespace attune::testing;
using namespace std::chrono_literals;

namespace {

/// Trials that may be under way at one moment, in whatever state: the windows of all actors together.
constexpr std::size_t most_in_flight = 16;

void torture(int rounds, std::uint64_t seed) {
  attune::random_engine rng(seed);
  const scenario s;
  const auto budget = static_cast<std::size_t>(rounds) * 60 + 100;
  s.write("s.yaml",
          "task: t\nparameters: {x: {range: [1, 100000]}}\nrun: {command: \"echo {x} >>runs.log; echo {x}\"}\n"
          "search: {strategy: random, trials: " +
              std::to_string(budget) + "}\n");
  std::map<int, std::string> known;
  std::map<int, int> runs;
  std::size_t early = 0, finished = 0, most_unrecorded = 0, most_told = 0;
  for (int round = 1; round <= rounds; ++round) {
    auto running = s.start({"tune", "s.yaml", "--json", "--slots", rng.chance(0.5) ? "1" : "3"});
    // One time in four within the first moments, while the store is being opened; else in the thick of it: after some
    // runs, so that a slow machine gets as far as a quick one, and then at any instant.
    const auto delay = milliseconds(rng.below(rng.chance(0.5) ? 60 : 5));
    if (!rng.chance(0.25)) {
      const auto enough = s.lines("runs.log").size() + 1 + rng.below(100);
      running.wait_until([&] { return s.lines("runs.log").size() >= enough; });
    }
    const bool over = running.gone_within(delay);
    running.signal(SIGKILL);
    const auto e = running.wait(20s);
    must(!e.timed_out, "it could not be killed");
    if (over) {
      must(e.exit == 0, "round " + std::to_string(round) + " ended by itself: " + e.told());
      ++finished;
    }

    must_verify(s);
    const auto now = records_of(s);
    const auto ran = runs_of(s);
    if (now.size() == known.size()) ++early;
    const auto told = told_done(e.err);
    most_told = std::max(most_told, told);
    must(now.size() >= told, "told " + std::to_string(told) + " done, recorded " + std::to_string(now.size()));
    for (const auto& [x, text] : known) {
      const auto at = now.find(x);
      must(at != now.end(), "lost: " + text);
      must(at->second == text, "changed: " + text + " became " + at->second);
      must(ran.at(x) == runs[x], "measured again though it was recorded: x=" + std::to_string(x));
    }
    std::size_t unrecorded = 0;
    for (const auto& [x, n] : ran)
      if (!now.contains(x)) ++unrecorded;
    for (const auto& [x, text] : now) must(ran.contains(x), "a record without a run: " + text);
    // Those that earlier kills had cut off may be waiting for their second turn.
    most_unrecorded = std::max(most_unrecorded, unrecorded);
    must(unrecorded <= most_in_flight * 2, std::to_string(unrecorded) + " runs without a record");
    known = now;
    runs = ran;
    if (round % 10 == 0 || round == rounds) std::printf("round %d: %zu records\n", round, known.size());
    std::fflush(stdout);
  }

  must(rounds < 10 || most_told > 0, "the progress has never told anything");
  const auto e = s.tune("s.yaml", {}, 300s);
  must(e.exit == 0, "the last run: " + e.told());
  const auto now = records_of(s);
  const auto ran = runs_of(s);
  for (const auto& [x, text] : known) must(ran.at(x) == runs[x], "measured again: x=" + std::to_string(x));
  must(now.size() == budget, std::to_string(now.size()) + " records, not " + std::to_string(budget));
  must(e.document()["trials"]["proposed"] == budget, "not all were counted: " + e.told());
  const auto stats = s.attune({"db", "stats", "--json"});
  must(stats.document()["records"] == budget, "attune db stats: " + stats.told());
  std::size_t all = 0;
  for (const auto& [x, n] : ran) all += static_cast<std::size_t>(n);
  must(ran.size() == budget, std::to_string(ran.size()) + " configurations run, not " + std::to_string(budget));
  must(s.survivors().empty(), "a process is left behind");
  std::printf("rounds %d, records %zu, runs %zu (%zu cut off by a kill), at most %zu without a record at once, "
              "%zu rounds killed before anything new was recorded, %zu ended by themselves\n",
              rounds, now.size(), all, all - budget, most_unrecorded, early, finished);
}

} // namespace

int main(int argc, char** argv) { return play_rounds(argc, argv, 5, torture); }
