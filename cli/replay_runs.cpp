#include "cli/replay_runs.hpp"

#include "core/thread_time.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <thread>

namespace attune::cli {

double over_optimum(const search::replay_table& table, double found, double optimum) {
  return table.direction == goal::minimize ? found / optimum : optimum / found;
}

double best_after(const search::replay_run& run, std::uint64_t trials) {
  return run.best.empty() ? std::nan("") : run.best[std::min<std::size_t>(trials, run.best.size()) - 1];
}

result<std::vector<search::replay_run>> play_seeds(const search::replay_table& table, const std::string& strategy,
                                                   std::uint64_t seed, std::uint64_t seeds, std::uint64_t trials,
                                                   std::uint32_t workers) {
  std::vector<search::replay_run> runs(seeds);
  std::vector<std::optional<error>> wrong(seeds);
  std::atomic<std::uint64_t> next{0};
  const auto work = [&] {
    for (std::uint64_t k = next++; k < seeds; k = next++) {
      search::replay_options how;
      how.trials = trials;
      how.workers = workers;
      how.seed = seed + k;
      how.clock = &thread_time();
      auto run = search::replay(table, strategy, how);
      if (run)
        runs[k] = std::move(*run);
      else
        wrong[k] = run.err();
    }
  };
  {
    std::vector<std::jthread> pool;
    const auto threads = std::clamp<std::uint64_t>(std::thread::hardware_concurrency(), 1, seeds);
    for (std::uint64_t t = 1; t < threads; ++t) pool.emplace_back(work);
    work();
  }
  for (auto& e : wrong)
    if (e) return std::move(*e);
  return runs;
}

status known_strategy(const std::string& name) {
  static const search::space_ptr smallest = *search::enumerated_space::make({{"x", {value(1)}, true}}, {{0}});
  if (const auto made = search::make_strategy(name, smallest, {}); !made) return made.err();
  return {};
}

} // namespace attune::cli
