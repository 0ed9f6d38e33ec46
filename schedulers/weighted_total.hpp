#pragma once

#include "core/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attune::schedulers {

/// One task has become better.
struct total_step {
  nanoseconds at{0};
  std::uint64_t trials = 0; ///< of all tasks, by then
  std::size_t task = 0;
  double cost = 0; ///< its best from then on
};

struct total_point {
  nanoseconds at{0};
  std::uint64_t trials = 0;
  double total = 0; ///< the sum of weight times best cost
  friend bool operator==(const total_point&, const total_point&) = default;
};

/// How the weighted total fell: one point for each step that changed it, in their order. Until its first step a task
/// stands with the cost of that one, so that the points can be compared; tasks without a step are not in the total.
std::vector<total_point> total_over_time(std::span<const double> weights, std::span<const total_step> steps);

} // namespace attune::schedulers
