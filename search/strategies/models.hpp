#pragma once

#include "search/strategies/extra_tree.hpp"
#include "search/strategies/features.hpp"
#include "search/strategies/gaussian_process.hpp"
#include "search/strategies/moves.hpp"
#include "search/strategies/transfer.hpp"

#include <optional>
#include <vector>

namespace attune::search {

/// Proposes by expected improvement under a Gaussian process, what is pending counted as if it came out as predicted
/// (the kriging believer of Ginsbourger, Le Riche and Carraro, 2010). Trained on at most 200 results. Cost: about 3 ms
/// an ask at 200 results on this kind of machine, no more beyond.
class gp_chooser {
public:
  /// `prior`: what similar tasks have shown; the process then models how this task differs from it.
  explicit gp_chooser(const space& over, std::span<const prior_record> prior = {})
      : model_(over), prior_(over, prior) {}
  const transfer& prior() const noexcept { return prior_; }
  std::optional<point> choose(const ledger& all, const training_set& data, const elite_set& elite, random_engine& rng);

private:
  gaussian_process model_;
  transfer prior_;
  std::size_t tune_at_ = 0;
};

/// Proposes by expected improvement under a forest of extremely randomised trees, a part of which is grown anew at each
/// ask. The trees differ by their cuts, by their sample of the data and by their age: that is its uncertainty. Cost:
/// about 2 ms an ask.
class forest_chooser {
public:
  explicit forest_chooser(const space& over) : features_(over), x_(features_.size()), at_(features_.size()) {}
  std::optional<point> choose(const ledger& all, const training_set& data, const elite_set& elite, random_engine& rng);

private:
  static constexpr std::size_t trees_wanted = 32, renewed = 8;
  rank_features features_;
  code_table x_, at_;
  std::vector<extra_tree> trees_;
  std::size_t next_ = 0;
  std::vector<std::uint32_t> scratch_;
};

} // namespace attune::search
