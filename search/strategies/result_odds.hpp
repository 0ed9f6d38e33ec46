#pragma once

#include "search/feasibility.hpp"
#include "search/strategies/ledger.hpp"

#include <cstdint>
#include <span>

namespace attune::search {

/// How likely a configuration gives a result, for what chooses among points: a feasibility_model over the space's rank
/// features. Threads: one owner. Cost: learn() about 0.5 ms for 200 results, weigh() about 0.5 ms for 1,000 points;
/// nothing while nothing has failed.
class result_odds {
public:
  explicit result_odds(const space& over) : features_(over), model_(features_.columns()) {}
  /// Learns from these results alone.
  void learn(std::span<const told_trial> from, std::uint64_t seed);
  /// Multiplies what each point promises by the probability that it gives a result. @pre worth.size() == at.size()
  void weigh(std::span<const point> at, std::span<double> worth) const;

private:
  rank_features features_;
  feasibility_model model_;
};

} // namespace attune::search
