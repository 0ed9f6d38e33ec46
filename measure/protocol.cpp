#include "measure/protocol.hpp"

#include "measure/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace attune::measure {

std::span<const double> warm_up::keep(std::span<const double> run) {
  if (run.size() > count_) return run.subspan(count_);
  auto drop = std::min<std::size_t>(run.size(), count_ - gone_);
  gone_ += static_cast<std::uint32_t>(drop);
  return run.subspan(drop);
}

void protocol::add(std::span<const double> run) {
  auto kept = warm_.keep(run);
  samples_.insert(samples_.end(), kept.begin(), kept.end());
}

bool protocol::enough() const {
  if (samples_.empty()) return false;
  if (samples_.size() >= repeats_.max) return true;
  if (samples_.size() < repeats_.min || samples_.size() < 2 || !(repeats_.until > 0)) return false;
  auto clean = reject_outliers(samples_);
  // Not divided, so that a median of zero asks for nothing impossible.
  return median_interval(clean.kept).half_width() <= repeats_.until * std::abs(median(clean.kept));
}

} // namespace attune::measure
