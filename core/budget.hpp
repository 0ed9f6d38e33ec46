#pragma once

#include "core/clock.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace attune {

/// What the tasks of one spec share, where `budget:` stands beside `tasks:`. All that they have had counts, whatever
/// process it was in.
struct budget_spec {
  std::optional<std::uint64_t> trials;     ///< of all tasks together
  std::optional<nanoseconds> time;         ///< of the whole; at least one of the two is there
  std::string policy = "gradient";         ///< who goes next (schedulers/task_budget.hpp)
  std::optional<std::uint64_t> patience;   ///< a task without a gain in so many of its trials has converged
  std::optional<std::uint64_t> sufficient; ///< a task of which so many results are stored already is left as it is
  friend bool operator==(const budget_spec&, const budget_spec&) = default;
};

} // namespace attune
