#include "search/near_reuse.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace attune::search {

namespace {

std::string bytes_of(std::span<const std::uint32_t> p) {
  return {reinterpret_cast<const char*>(p.data()), p.size_bytes()};
}

/// The only parameter in which two points differ; none where that is not one.
std::optional<std::size_t> only_difference(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  std::optional<std::size_t> out;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (out) return std::nullopt;
    out = i;
  }
  return out;
}

} // namespace

void near_reuse::measured(std::span<const std::uint32_t> p, const key128& key, double value) {
  if (std::isfinite(value))
    known_[bytes_of(p)] = {key, value};
  else
    unmeasured(p);
}

void near_reuse::unmeasured(std::span<const std::uint32_t> p) { known_.erase(bytes_of(p)); }

const near_reuse::known* near_reuse::find(std::span<const std::uint32_t> p) const {
  const auto at = known_.find(bytes_of(p));
  return at == known_.end() ? nullptr : &at->second;
}

std::optional<estimate> near_reuse::estimate_of(std::span<const std::uint32_t> p, std::optional<double> best) const {
  if (!best || known_.size() < 2) return std::nullopt;
  struct sides {
    const known *below = nullptr, *above = nullptr;
  };
  std::vector<sides> by_parameter(p.size());
  const auto parameters = space_->parameters();
  for (const auto& q : space_->neighbours(p, neighbourhood::adjacent)) {
    const auto k = only_difference(p, q);
    if (!k || !parameters[*k].ordinal || p[*k] == inactive || q[*k] == inactive) continue;
    const bool lower = space_->value_at(*k, q[*k]).to_double() < space_->value_at(*k, p[*k]).to_double();
    (lower ? by_parameter[*k].below : by_parameter[*k].above) = find(q);
  }
  std::optional<estimate> out;
  double closest = std::numeric_limits<double>::infinity();
  for (const auto& s : by_parameter) {
    if (s.below == nullptr || s.above == nullptr) continue;
    const double a = s.below->value, b = s.above->value;
    const double apart = std::abs(a - b);
    const double better = direction_ == goal::minimize ? std::min(a, b) : std::max(a, b);
    if (!(apart <= tolerance_ * std::min(std::abs(a), std::abs(b)))) continue;
    if (!(std::abs(better - *best) > tolerance_ * std::abs(*best))) continue;
    if (apart >= closest) continue;
    closest = apart;
    out = estimate{a + (b - a) / 2, s.below->key, s.above->key};
  }
  return out;
}

} // namespace attune::search
