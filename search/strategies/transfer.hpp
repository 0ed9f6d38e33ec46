#pragma once

#include "search/strategies/extra_tree.hpp"
#include "search/strategies/moves.hpp"

#include <span>
#include <vector>

namespace attune::search {

/// What similar tasks say about this one: where to begin, and a prediction whose weight is fitted to the task's own
/// results. Foreign results that rank the own ones wrongly get the weight 0 and are thereby dropped. Cost: a forest
/// grown once; about 0.5 ms for a thousand predictions.
class transfer {
public:
  transfer(const space& over, std::span<const prior_record> records);
  bool empty() const noexcept { return trees_.empty(); }
  /// The best of the similar tasks, best first, the tasks in turn; at most `count`.
  std::vector<point> seeds(std::size_t count) const;
  /// Fits the weight: the slope of the own targets on the predictions, 0 where the ranks disagree (Kendall's tau of at
  /// most 0.15) or fewer than five results are there. Returns the predictions for `x` times the weight.
  std::vector<float> weigh(std::span<const point* const> x, std::span<const double> y);
  /// The weighted predictions for `at`.
  std::vector<float> predict(std::span<const point> at) const;
  double weight() const noexcept { return weight_; }

private:
  std::vector<float> forest(const code_table& at) const;
  rank_features features_;
  std::vector<std::vector<told_trial>> best_; ///< per source, by cost
  std::vector<extra_tree> trees_;
  double weight_ = 0;
};

} // namespace attune::search
