#pragma once

#include "core/clock.hpp"
#include "core/random.hpp"

#include <algorithm>

namespace attune::net {

/// How long to wait before the next attempt: doubling from `first` to `most`, each time by chance between half of it
/// and all of it, so that those who lost the same peer do not come back together. Pure: it has no clock.
class backoff {
public:
  backoff(nanoseconds first, nanoseconds most, std::uint64_t seed) : first_(first), most_(most), rng_(seed) {}

  nanoseconds next() {
    step_ = std::clamp(step_ * 2, first_, most_);
    const nanoseconds half = step_ / 2;
    return half + nanoseconds(static_cast<std::int64_t>(rng_.uniform() * static_cast<double>(half.count())));
  }
  /// It went well: the next wait is a short one again.
  void reset() { step_ = nanoseconds(0); }

private:
  nanoseconds first_, most_, step_{0};
  random_engine rng_;
};

} // namespace attune::net
