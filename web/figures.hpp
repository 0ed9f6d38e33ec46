#pragma once

#include "core/clock.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace attune::web {

/// How long something took, counted in fixed buckets of 1, 2.5 and 5 a decade from 100 us to 1000 s. A value.
class latency_histogram {
public:
  static constexpr std::array<double, 22> bounds_s{1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2,
                                                   5e-2, 0.1,    0.25, 0.5,  1,      2.5,  5,    10,
                                                   25,   50,     100,  250,  500,    1000};
  void add(nanoseconds took) noexcept;
  std::uint64_t count() const noexcept { return count_; }
  double sum_s() const noexcept { return sum_s_; }
  /// How many took at most bounds_s[i], and longer than the bound before; the last: longer than all.
  const std::array<std::uint64_t, bounds_s.size() + 1>& buckets() const noexcept { return buckets_; }
  /// In seconds, interpolated inside its bucket; 0 of nothing. @pre 0 <= q <= 1
  double quantile_s(double q) const noexcept;

private:
  std::array<std::uint64_t, bounds_s.size() + 1> buckets_{};
  std::uint64_t count_ = 0;
  double sum_s_ = 0;
};

/// How often something happens, over the last `window` whole seconds.
class recent_rate {
public:
  static constexpr std::size_t window = 10;
  void add(nanoseconds now) noexcept;
  /// A second.
  double per_second(nanoseconds now) const noexcept;

private:
  std::array<std::uint32_t, window + 1> counts_{};
  std::array<std::int64_t, window + 1> seconds_{};
};

} // namespace attune::web
