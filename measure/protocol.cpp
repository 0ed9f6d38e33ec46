#include "measure/protocol.hpp"

#include "core/median.hpp"
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

void series::add(std::span<const double> run) {
  auto kept = warm_.keep(run);
  samples_.insert(samples_.end(), kept.begin(), kept.end());
  // From four samples on a cold start can be told.
  long_runs_ = long_runs_ || kept.size() >= 4;
  kept = kept.subspan(cold_start(kept));
  steady_.insert(steady_.end(), kept.begin(), kept.end());
}

std::span<const double> series::steady() const {
  return long_runs_ ? std::span(steady_) : std::span(samples_).subspan(cold_start(samples_));
}

std::span<const double> without_warm_up(std::span<const double> run, std::uint32_t warmup) noexcept {
  return run.size() > warmup ? run.subspan(warmup) : run;
}

std::optional<nanoseconds> limit_beside(const metric_spec& metric, std::optional<double> rival) {
  constexpr double times = 5, least = 1, most = 1e9; // seconds
  if (!rival || metric.source != metric_spec::from::wall || metric.direction != goal::minimize) return std::nullopt;
  return nanoseconds(static_cast<std::int64_t>(std::clamp(times * *rival, least, most) * 1e9));
}

bool protocol::enough() const {
  const auto& all = series_.samples();
  if (all.empty()) return false;
  if (all.size() >= repeats_.max) return true;
  if (all.size() < repeats_.min || all.size() < 2 || !(repeats_.until > 0)) return false;
  const auto steady = series_.steady();
  if (steady.size() < repeats_.min) return false;
  auto clean = reject_outliers(steady);
  // Not divided, so that a median of zero asks for nothing impossible.
  return median_interval(clean.kept).half_width() <= repeats_.until * std::abs(median(clean.kept));
}

std::optional<bound> protocol::hopeless(std::optional<double> rival, goal direction,
                                        std::optional<double> noise) const {
  if (!rival || !(repeats_.until > 0)) return std::nullopt;
  const auto steady = series_.steady();
  if (const auto& all = series_.samples(); all.size() == 2 && noise && *rival > 0 && *noise < 0.1) {
    const bool less = direction == goal::minimize;
    const double better = less ? std::min(all[0], all[1]) : std::max(all[0], all[1]);
    const double off = std::max(0.07, 8 * *noise);
    if (better > 0 && (less ? better > *rival * (1 + off) : better < *rival / (1 + off)))
      return bound{less ? better * (1 - 5 * *noise) : better * (1 + 5 * *noise), *rival, all};
  }
  if (steady.size() < std::max<std::size_t>(repeats_.min, 3)) return std::nullopt;
  std::vector<double> costs(steady.begin(), steady.end());
  const double sign = direction == goal::minimize ? 1 : -1;
  for (double& x : costs) x *= sign;
  const double floor = median_floor(costs);
  // Not so where the floor is no number: samples too large to be squared.
  if (!std::isfinite(floor) || !(floor > sign * *rival)) return std::nullopt;
  return bound{sign * floor, *rival, series_.samples()};
}

measurement protocol::result(std::vector<std::string>& notes) const {
  measurement out;
  const auto steady = series_.steady();
  const auto clean = summarize(steady);
  const std::size_t cold = series_.samples().size() - steady.size();
  out.value = clean.value;
  out.spread = clean.spread;
  out.rejected = clean.rejected + static_cast<std::uint32_t>(cold);
  out.samples = series_.samples();
  if (cold > 0)
    notes.push_back("cold start: " + std::to_string(cold) + " of " + std::to_string(out.samples.size()) +
                    " samples left out");
  return out;
}

} // namespace attune::measure
