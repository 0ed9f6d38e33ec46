#include "web/figures.hpp"

#include <algorithm>

namespace attune::web {

void latency_histogram::add(nanoseconds took) noexcept {
  const double s = std::max(0.0, seconds(took));
  const auto at = std::lower_bound(bounds_s.begin(), bounds_s.end(), s);
  ++buckets_[static_cast<std::size_t>(at - bounds_s.begin())];
  ++count_;
  sum_s_ += s;
}

double latency_histogram::quantile_s(double q) const noexcept {
  if (count_ == 0) return 0;
  const double wanted = q * static_cast<double>(count_);
  double before = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const auto here = static_cast<double>(buckets_[i]);
    if (here > 0 && before + here >= wanted) {
      if (i == bounds_s.size()) return bounds_s.back();
      const double low = i == 0 ? 0 : bounds_s[i - 1];
      return low + (bounds_s[i] - low) * std::max(0.0, wanted - before) / here;
    }
    before += here;
  }
  return bounds_s.back();
}

void recent_rate::add(nanoseconds now) noexcept {
  const std::int64_t second = now.count() / 1'000'000'000;
  const auto at = static_cast<std::size_t>(second % static_cast<std::int64_t>(counts_.size()));
  if (seconds_[at] != second) {
    seconds_[at] = second;
    counts_[at] = 0;
  }
  ++counts_[at];
}

double recent_rate::per_second(nanoseconds now) const noexcept {
  // The second that is under way is not whole yet.
  const std::int64_t second = now.count() / 1'000'000'000;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i)
    if (seconds_[i] < second && seconds_[i] >= second - static_cast<std::int64_t>(window)) sum += counts_[i];
  return static_cast<double>(sum) / static_cast<double>(window);
}

} // namespace attune::web
