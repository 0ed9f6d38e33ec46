#pragma once

#include "search/strategies/ledger.hpp"

namespace attune::search {

/// How strategies see differences of cost: by ratio where all costs have one sign (times; rates told as negatives), by
/// difference otherwise. Monotonic: a lower cost has a lower image.
class cost_scale {
public:
  /// Looks at a further cost; the scale changes at most twice in a run (at the first cost, and when a sign breaks).
  void add(double cost) noexcept {
    if (cost <= 0) positive_ = false;
    if (cost >= 0) negative_ = false;
  }
  double operator()(double cost) const noexcept;
  /// The cost that has this image.
  double cost(double image) const noexcept;
  /// True where differences of images are logarithms of ratios.
  bool ratios() const noexcept { return positive_ || negative_; }

private:
  bool positive_ = true, negative_ = true;
};

} // namespace attune::search
