#include "search/strategies/moves.hpp"

#include <algorithm>
#include <cmath>

namespace attune::search {
namespace {

constexpr std::size_t remembered = 200;
/// Where the domains are longer than this together, neighbours are drawn, not listed_at_most.
constexpr std::uint64_t listed_at_most = 2000;
constexpr double failure_target = 0.7;

} // namespace

point farthest(const ledger& all, random_engine& rng, int draws) {
  const auto told = all.told().last(std::min(all.told().size(), remembered));
  point best;
  double best_distance = -1;
  for (int k = 0; k < draws; ++k) {
    point p = all.over().sample(rng);
    double nearest = 2;
    for (const auto& t : told) nearest = std::min(nearest, all.over().distance(p, t.at));
    for (const auto& q : all.pending()) nearest = std::min(nearest, all.over().distance(p, q));
    if (nearest > best_distance) {
      best_distance = nearest;
      best = std::move(p);
    }
  }
  return best;
}

void elite_set::take(const told_trial& t) {
  if (t.what != observation::status::measured) return;
  if (items_.size() == size_ && t.cost >= items_.back().cost) return;
  const auto place =
      std::upper_bound(items_.begin(), items_.end(), t.cost, [](double c, const told_trial& m) { return c < m.cost; });
  items_.insert(place, t);
  if (items_.size() > size_) items_.pop_back();
}

std::vector<point> candidates(const ledger& all, const elite_set& elite, std::size_t around, std::size_t count,
                              random_engine& rng) {
  std::vector<point> out;
  out.reserve(count);
  std::uint64_t values = 0;
  for (const auto& info : all.over().parameters()) values += info.size;
  const auto take = [&](point p) {
    if (!all.known(p)) out.push_back(std::move(p));
  };
  for (std::size_t e = 0; e < std::min(around, elite.items().size()); ++e) {
    const auto& from = elite.items()[e].at;
    if (values <= listed_at_most) {
      for (auto& q : all.over().neighbours(from, neighbourhood::hamming)) take(std::move(q));
      continue;
    }
    for (int k = 0; k < 96; ++k)
      if (auto q = all.over().neighbour(from, k % 2 == 0 ? neighbourhood::hamming : neighbourhood::adjacent, rng))
        take(std::move(*q));
  }
  // In a space that is nearly used up most draws are known: the tries are bounded, seeking_strategy has the rest.
  for (std::size_t k = 0; k < 2 * count && out.size() < count; ++k) take(all.over().sample(rng));
  return out;
}

void training_set::take(const told_trial& t, random_engine& rng) {
  ++seen_;
  if (t.what != observation::status::failed) scale_.add(t.cost);
  if (items_.size() < capacity_) {
    items_.push_back(t);
    return;
  }
  // Full: the better half is kept by cost, the other half is a reservoir of all that was seen (Vitter, 1985).
  const std::size_t half = capacity_ / 2;
  const auto better = [](const told_trial& a, const told_trial& b) {
    const bool ma = a.what == observation::status::measured, mb = b.what == observation::status::measured;
    return ma != mb ? ma : ma && a.cost < b.cost;
  };
  if (seen_ == capacity_ + 1) std::stable_sort(items_.begin(), items_.end(), better);
  told_trial out = t;
  if (better(out, items_[half - 1])) {
    const auto end = items_.begin() + static_cast<std::ptrdiff_t>(half);
    const auto place = std::upper_bound(items_.begin(), end, out, better);
    std::swap(out, items_[half - 1]);
    std::rotate(place, end - 1, end);
    // items_[half - 1] held the new one until it was rotated into its place; `out` is the one that fell out.
  }
  const std::uint64_t slot = rng.below(seen_);
  if (slot < capacity_ - half) items_[half + static_cast<std::size_t>(slot)] = std::move(out);
}

training_set::frame training_set::frame_of_images() const {
  std::vector<double> sorted;
  for (const auto& t : items_)
    if (t.what != observation::status::failed) sorted.push_back(scale_(t.cost));
  if (sorted.empty()) return {};
  std::sort(sorted.begin(), sorted.end());
  const double low = sorted.front(), middle = sorted[sorted.size() / 2];
  return {middle, std::max({middle - low, 1e-9 * std::abs(middle), 1e-300}), true};
}

double training_set::cost_of(double target) const {
  const auto f = frame_of_images();
  // The process may expect anything; what is above all that was seen needs no more digits than this.
  const double z = target > 0 ? std::expm1(std::min(target, 8.0)) : target;
  return scale_.cost(f.middle + f.span * z);
}

std::vector<double> training_set::targets() const {
  std::vector<double> out;
  out.reserve(items_.size());
  const auto f = frame_of_images();
  if (!f.any) {
    out.assign(items_.size(), 0);
    return out;
  }
  const auto target = [&](double image) {
    const double z = (image - f.middle) / f.span;
    return z > 0 ? std::log1p(z) : z;
  };
  for (const auto& t : items_) {
    if (t.what != observation::status::failed)
      out.push_back(target(scale_(t.cost)));
    else
      out.push_back(failure_target);
  }
  return out;
}

double expected_improvement(double best, double mean, double deviation) noexcept {
  if (deviation < 1e-12) return std::max(0.0, best - mean);
  const double z = (best - mean) / deviation;
  if (z < -8) return 0;
  return deviation * (z * 0.5 * std::erfc(-z * 0.70710678118654752) + 0.39894228040143268 * std::exp(-0.5 * z * z));
}

} // namespace attune::search
