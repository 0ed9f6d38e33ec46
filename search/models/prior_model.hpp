#pragma once

#include "search/cost_model.hpp"

#include <memory>
#include <span>
#include <vector>

namespace attune::search {

/// A cost model of what similar tasks have shown. Each task has its own scale: only the shape of its costs is learned,
/// the more similar a task the more. Immutable: safe to share between threads. Cost: some 10 ms, once.
class prior_model {
public:
  prior_model(const space& over, const rank_features& features, std::span<const prior_record> records);
  bool empty() const noexcept { return model_ == nullptr; }
  /// The best of the similar tasks, the most similar task first, the tasks in turn; at most `count`.
  std::vector<point> seeds(std::size_t count) const;
  /// The targets (target_scale) expected of each row. @pre !empty()
  std::vector<float> predict(const code_table& x) const;

private:
  std::vector<std::vector<point>> best_; ///< per task, the most similar one first, by cost
  std::unique_ptr<cost_model> model_;
};

/// How much of the predictions to believe, given what came out: the slope of `came` on `predicted`, at most 1.5; 0
/// where they rank it wrongly (Kendall's tau of at most 0.15) or fewer than five results are there: so foreign results
/// that mislead are dropped. @pre both have the same length
double prior_weight(std::span<const float> predicted, std::span<const double> came);

} // namespace attune::search
