#pragma once

#include "core/error.hpp"
#include "search/replay.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace attune::cli {

/// Every seed from `seed` on of one strategy against a recorded space, on as many threads as there are processors; the
/// seeds' results do not depend on which thread played them. Errors: what make_strategy says.
result<std::vector<search::replay_run>> play_seeds(const search::replay_table& table, const std::string& strategy,
                                                   std::uint64_t seed, std::uint64_t seeds, std::uint64_t trials,
                                                   std::uint32_t workers);

/// What was found over the optimum, or the optimum over what was found where more is better: 1 is the optimum.
double over_optimum(const search::replay_table& table, double found, double optimum);

/// A run's best after `trials` trials; one that used the space up keeps its best. NaN where nothing valid was found.
double best_after(const search::replay_run& run, std::uint64_t trials);

/// Whether there is a strategy of that name. Errors: what make_strategy says.
status known_strategy(const std::string& name);

} // namespace attune::cli
