// Lets two, four and eight `attune tune` work on one store, kills whoever owns it with SIGKILL at random instants, and
// looks at what is left:
//   - those that were not killed come to their end, with every configuration of theirs;
//   - when the killed ones' specs have been run again, every configuration is recorded exactly once;
//   - no more was run anew than what the kills had cut off; the store verifies; no process is left behind.
// And two on a new store at the same moment, from which nobody is taken away: each configuration is run exactly once.
//
//   share_rounds [ROUNDS [SEED]]
#include "core/random.hpp"
#include "tests/scenarios/outside_ledger.hpp"

#include <csignal>
#include <cstdio>
#include <list>
#include <map>

using namespace attune::testing;
using namespace std::chrono_literals;

namespace {

constexpr int each = 40; // configurations of one process

std::string spec_from(int from) {
  return "task: t\nparameters: {x: {range: [" + std::to_string(from) + ", " + std::to_string(from + each - 1) +
         "]}}\nrun: {command: \"echo {x} >>runs.log; echo {x}\"}\nsearch: {strategy: random, seed: " +
         std::to_string(from) + ", trials: " + std::to_string(each) + "}\n";
}

/// The one of them that holds the lock of the store's database.
process* owner_of(const scenario& s, std::list<process>& all) {
  for (auto& p : all) {
    std::error_code ec;
    for (const auto& f : std::filesystem::directory_iterator("/proc/" + std::to_string(p.pid()) + "/fd", ec))
      if (std::filesystem::read_symlink(f.path(), ec) == s.store() + "/LOCK") return &p;
  }
  return nullptr;
}

struct figures {
  std::size_t killed = 0, again = 0, records = 0;
};

figures round(int processes, int kills, attune::random_engine& rng) {
  const scenario s;
  figures out;
  std::list<process> running;
  std::vector<std::string> specs;
  for (int i = 0; i < processes; ++i) {
    specs.push_back("s" + std::to_string(i) + ".yaml");
    // Neighbours have half of their configurations in common; without kills they have none.
    s.write(specs.back(), spec_from(i * (kills > 0 ? each / 2 : each) + 1));
  }
  for (const auto& file : specs)
    running.emplace_back(std::vector<std::string>{attune_program(), "tune", file, "--json", "--quiet"}, s.folder(),
                         process::environment{{"ATTUNE_STORE", s.store()}, {"TMPDIR", s.temporary()}});
  for (int k = 0; k < kills && running.size() > 1; ++k) {
    const auto enough = s.lines("runs.log").size() + 2 + rng.below(10);
    running.back().wait_until([&] { return s.lines("runs.log").size() >= enough; }, 20s);
    running.back().gone_within(milliseconds(rng.below(20)));
    auto* owner = owner_of(s, running);
    if (owner == nullptr) continue; // just between two
    owner->signal(SIGKILL);
    const auto e = owner->wait(20s);
    if (e.signal == SIGKILL) ++out.killed;
    must(e.signal == SIGKILL || e.exit == 0, "ended by itself: " + e.told());
    running.remove_if([&](const process& p) { return &p == owner; });
  }
  for (auto& p : running) {
    const auto e = p.wait(180s);
    must(e.exit == 0, "one that was not killed: " + e.told());
    must(e.document()["trials"]["proposed"] == each, "not all of its configurations: " + e.told());
  }
  running.clear();
  for (const auto& file : specs) {
    const auto e = s.tune(file);
    must(e.exit == 0 && e.document()["trials"]["proposed"] == each, "what was left undone: " + e.told());
  }
  const auto expected = static_cast<std::size_t>(kills > 0 ? (processes - 1) * each / 2 + each : processes * each);
  std::map<std::string, std::size_t> runs;
  for (const auto& line : s.lines("runs.log")) ++runs[line];
  for (const auto& [x, n] : runs) out.again += n - 1;
  const auto stats = s.attune({"db", "stats", "--json"});
  must(stats.exit == 0, "attune db stats: " + stats.told());
  out.records = stats.document()["records"].get<std::size_t>();
  must(out.records == expected, std::to_string(out.records) + " records, not " + std::to_string(expected));
  must(runs.size() == expected, std::to_string(runs.size()) + " configurations run, not " + std::to_string(expected));
  // What was in flight in the killed process.
  must(out.again <= out.killed * 8,
       std::to_string(out.again) + " runs anew after " + std::to_string(out.killed) + " kills");
  must_verify(s);
  must(s.survivors().empty(), "a process is left behind");
  return out;
}

void play(int rounds, std::uint64_t seed) {
  attune::random_engine rng(seed);
  figures all;
  for (int r = 1; r <= rounds; ++r) {
    for (const auto& [processes, kills] : {std::pair{2, 0}, std::pair{2, 1}, std::pair{4, 3}, std::pair{8, 5}}) {
      const auto f = round(processes, kills, rng);
      all.killed += f.killed;
      all.again += f.again;
      all.records += f.records;
    }
    std::printf("round %d: %zu owners killed, %zu records, %zu runs anew so far\n", r, all.killed, all.records,
                all.again);
    std::fflush(stdout);
  }
}

} // namespace

int main(int argc, char** argv) { return play_rounds(argc, argv, 1, play); }
