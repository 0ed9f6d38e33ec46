#pragma once

#include "search/strategy.hpp"

#include <optional>
#include <string>
#include <vector>

namespace attune::search {

/// What is predicted, never measured.
struct predicted_configuration {
  point at;
  /// The cost that is expected; none where only similar tasks have been measured, whose costs are not this one's.
  std::optional<double> cost;
  /// The cost one standard deviation of the model better and worse; as `cost`.
  std::optional<double> low, high;
  double success = 1; ///< the probability that it builds and runs, as far as failures have shown
};

struct offline_answer {
  std::string model;                         ///< the cost model's name
  std::size_t own = 0;                       ///< results of this task that it has learned from, failures among them
  std::size_t similar = 0;                   ///< of similar tasks
  std::size_t looked_at = 0;                 ///< configurations that it was asked about
  std::vector<predicted_configuration> best; ///< best first
};

/// Answers by prediction alone: a cost model learns from all records, those of similar tasks counting as much as these
/// are similar, and an evolution on it looks for the lowest expected costs, measured configurations among them. Records
/// of this task have the source `own_source`. Deterministic. Errors: not_found where there is too little to learn from.
inline constexpr std::uint32_t own_source = 0;
result<offline_answer> predict_best(const space_ptr& over, std::span<const prior_record> records, std::size_t count,
                                    std::uint64_t seed);

} // namespace attune::search
