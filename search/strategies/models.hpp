#pragma once

#include "search/strategies/extra_tree.hpp"
#include "search/strategies/features.hpp"
#include "search/strategies/gaussian_process.hpp"
#include "search/strategies/moves.hpp"
#include "search/strategies/result_odds.hpp"
#include "search/strategies/transfer.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attune::search {

/// What failures mean to a gp_chooser: bad results, as the process itself sees them, or also that what a candidate
/// promises counts only as far as it is likely to give a result (Gelbart, Snoek and Adams, 2014).
enum class failures_are : std::uint8_t { bad_results, weighed };

/// Proposes by expected improvement under a Gaussian process, what is pending counted as if it came out as predicted
/// (the kriging believer of Ginsbourger, Le Riche and Carraro, 2010). Trained on at most 200 results. Cost: about 1 ms
/// an ask at 200 results on this kind of machine, 5 ms at most, no more beyond.
///
/// With results of similar tasks there is a second process that spans both: how much of them it believes is found by
/// likelihood, with every other hyperparameter. Each own result is first predicted by both, and each proposal comes
/// from one of them, drawn by how well it has lately predicted (the posterior of the two models, with forgetting). The
/// foreign results are dropped when they have misled, and when the own ones are many.
class gp_chooser {
public:
  explicit gp_chooser(const space& over, std::span<const prior_record> prior = {},
                      failures_are failures = failures_are::bad_results);
  const transfer& prior() const noexcept { return prior_; }
  /// How far similar tasks are believed, from 0 to 1.
  double trust() const noexcept;
  /// A result came: how far are the similar tasks to be believed now?
  void look(const training_set& data);
  std::optional<point> choose(const ledger& all, const training_set& data, const elite_set& elite, random_engine& rng);
  /// What was decided about similar tasks since the last time, a line each, for a person.
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }
  /// The target (training_set::targets) that was expected of what choose() gave last.
  double expected() const noexcept { return expected_; }

private:
  struct line {
    double slope = 1, offset = 0;
  };
  /// From own targets to those of the similar tasks: the same mean as their model has there, and (within limits) the
  /// same spread.
  line align(std::span<const told_trial> own, std::span<const double> y) const;
  void set_joint(std::span<const point* const> own, std::span<const double> y, line to);
  void train(std::span<const told_trial> own, std::span<const double> y);

  transfer prior_;
  gaussian_process model_;                  ///< of the own results
  std::optional<gaussian_process> foreign_; ///< of the similar tasks' alone
  std::optional<gaussian_process> joint_;
  double evidence_ = 0; ///< log odds of the joint process
  std::size_t tune_at_ = 0, trained_ = 0;
  bool tuned_ = false, agrees_ = false, crowded_ = false;
  line to_;
  double expected_ = 0;
  std::vector<std::string> notes_;
  failures_are failures_;
  std::optional<result_odds> odds_; ///< from the first failure on
  std::size_t odds_due_ = 0;        ///< results by which it learns again
};

/// Proposes by expected improvement under a forest of extremely randomised trees, a part of which is grown anew at each
/// ask. The trees differ by their cuts, by their sample of the data and by their age: that is its uncertainty. Cost:
/// about 2 ms an ask.
class forest_chooser {
public:
  explicit forest_chooser(const space& over) : features_(over), x_(features_.size()), at_(features_.size()) {}
  std::optional<point> choose(const ledger& all, const training_set& data, const elite_set& elite, random_engine& rng);
  /// As gp_chooser::expected().
  double expected() const noexcept { return expected_; }

private:
  double expected_ = 0;
  static constexpr std::size_t trees_wanted = 32, renewed = 8;
  rank_features features_;
  code_table x_, at_;
  std::vector<extra_tree> trees_;
  std::size_t next_ = 0;
  std::vector<std::uint32_t> scratch_;
};

} // namespace attune::search
