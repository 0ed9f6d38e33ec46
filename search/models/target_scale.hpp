#pragma once

#include "search/strategies/ledger.hpp"
#include "search/strategies/scale.hpp"

#include <span>

namespace attune::search {

/// How a model sees the costs of a set of results: 0 at the middle of the measured ones, -1 at the best, above the
/// middle compressed by log(1 + x): how bad the bad ones are matters less than where the good ones lie.
class target_scale {
public:
  target_scale() = default;
  /// @pre of the results at least one is measured
  target_scale(const cost_scale& images, std::span<const told_trial> results);
  double target(double cost) const;
  /// The image (cost_scale) of the cost that has this target.
  double image(double target) const;

private:
  cost_scale images_;
  double middle_ = 0, span_ = 1;
};

} // namespace attune::search
