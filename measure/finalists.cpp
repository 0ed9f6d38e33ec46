#include "measure/finalists.hpp"

#include "core/median.hpp"
#include "measure/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace attune::measure {

namespace {

constexpr double median_error = 1.2533; // sqrt(pi / 2): the standard error of the median over that of the mean
constexpr double wide = 2.5;            // standard errors
constexpr double prior_degrees = 4;
constexpr std::uint32_t first_judgement = 3;

double variance(std::span<const double> x) {
  double mean = 0, squares = 0;
  for (const double v : x) mean += v / static_cast<double>(x.size());
  for (const double v : x) squares += (v - mean) * (v - mean);
  return squares / static_cast<double>(x.size() - 1);
}

/// A configuration as it was measured before.
struct entrant {
  std::size_t who;
  double cost, samples, deviation; ///< deviation: less than 0 where it has one sample
};

} // namespace

finalists::finalists(std::span<const std::vector<double>> measured, goal direction,
                     std::optional<std::size_t> reference, finalists_options options)
    : direction_(direction), options_(options), reference_(reference) {
  const double sign = direction == goal::minimize ? 1 : -1;
  std::vector<entrant> all;
  std::vector<double> relative;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (measured[i].empty()) continue;
    const auto kept = reject_outliers(std::span(measured[i]).subspan(cold_start(measured[i]))).kept;
    const double value = median(kept);
    const double deviation = kept.size() > 1 ? std::sqrt(variance(kept)) : -1;
    if (deviation >= 0 && value != 0) relative.push_back(deviation / std::abs(value));
    all.push_back({i, sign * value, static_cast<double>(kept.size()), deviation});
  }
  if (all.empty()) return;
  std::stable_sort(all.begin(), all.end(), [](const entrant& a, const entrant& b) { return a.cost < b.cost; });
  leader_ = all.front().who;

  const bool noise_known = !relative.empty();
  const double pooled = noise_known ? median(relative) : 0;
  const auto half_width = [&](const entrant& e) {
    const double common = pooled * std::abs(e.cost);
    const double own = e.deviation >= 0 ? (e.samples - 1) * e.deviation * e.deviation : 0;
    const double s = std::sqrt((prior_degrees * common * common + own) / (prior_degrees + e.samples - 1));
    return wide * median_error * s / std::sqrt(e.samples);
  };
  const double best_high =
      all.front().cost + half_width(all.front()) + std::abs(all.front().cost) * std::max(options_.drift, 0.0);
  for (const auto& e : all) {
    if (field_.size() >= std::max<std::size_t>(options_.most, 1)) break;
    if (noise_known && e.cost - half_width(e) > best_high) continue;
    field_.push_back({e.who, {}, true, false});
  }
  if (field_.size() == 1) {
    // Alone: nothing to be decided, and nothing to be measured but for an honest speed-up.
    state_ = verdict::separated;
  }
  if (reference_ && *reference_ < measured.size() && !measured[*reference_].empty()) {
    const bool runs_anyway =
        std::any_of(field_.begin(), field_.end(), [&](const finalist& f) { return f.who == *reference_; });
    if (!runs_anyway) field_.push_back({*reference_, {}, false, false});
  } else {
    reference_.reset();
  }
  if (field_.size() > 1 && options_.rounds > 0) {
    state_ = verdict::open;
    line_up();
  } else if (field_.size() > 1 && state_ != verdict::separated) {
    state_ = verdict::tied;
  }
}

void finalists::line_up() {
  order_.clear();
  for (std::size_t i = 0; i < field_.size(); ++i)
    if (!field_[i].out) order_.push_back(i);
  // Rotated by one after every two rounds, turned round in every second.
  std::rotate(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>((round_ / 2) % order_.size()), order_.end());
  if (round_ % 2 == 1) std::reverse(order_.begin(), order_.end());
  position_ = 0;
}

std::optional<std::size_t> finalists::next() const {
  if (state_ != verdict::open) return std::nullopt;
  return field_[order_[position_]].who;
}

void finalists::add(double value) {
  field_[order_[position_]].values.push_back(value);
  ++position_;
  step();
}

void finalists::fail() {
  finalist& f = field_[order_[position_]];
  f.out = true;
  f.candidate = false;
  if (reference_ == f.who) reference_.reset();
  order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(position_));
  step();
}

void finalists::end() {
  if (state_ != verdict::open) return;
  for (auto& f : field_)
    if (f.values.size() > round_) f.values.resize(round_);
  options_.rounds = round_;
  state_ = verdict::tied;
  if (round_ > 0) judge();
}

void finalists::step() {
  if (position_ < order_.size()) return;
  ++round_;
  judge();
  if (state_ == verdict::open) line_up();
}

std::pair<double, double> finalists::worse_by(const finalist& a, const finalist& b) const {
  const bool minimize = direction_ == goal::minimize;
  const std::size_t n = std::min(a.values.size(), b.values.size());
  bool ratios = true;
  for (std::size_t i = 0; i < n; ++i) ratios = ratios && a.values[i] > 0 && b.values[i] > 0;
  const double scale = ratios ? 1 : std::abs(median(b.values));
  std::vector<double> by(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double x = minimize ? a.values[i] : b.values[i], y = minimize ? b.values[i] : a.values[i];
    by[i] = ratios ? x / y - 1 : (x - y) / (scale > 0 ? scale : 1);
  }
  const auto clean = reject_outliers(by);
  const auto i = median_interval(clean.kept);
  return {i.low, i.high};
}

void finalists::judge() {
  const double sign = direction_ == goal::minimize ? 1 : -1;
  const finalist* leader = nullptr;
  double lowest = 0;
  for (const auto& f : field_) {
    if (f.out || !f.candidate) continue;
    const double cost = sign * summarize(f.values).value;
    if (leader == nullptr || cost < lowest) {
      leader = &f;
      lowest = cost;
    }
  }
  if (leader == nullptr) {
    leader_.reset();
    state_ = verdict::none;
    return;
  }
  leader_ = leader->who;
  bool over = round_ >= options_.rounds;
  if (round_ < first_judgement && !over) return;
  std::size_t beside = 0, close = 0;
  for (auto& f : field_) {
    if (f.out || !f.candidate || &f == leader) continue;
    const auto [low, high] = worse_by(f, *leader);
    if (round_ >= first_judgement && low > 0) {
      f.candidate = false;
      f.out = reference_ != f.who; // the reference goes on running
      continue;
    }
    ++beside;
    if (low >= -options_.margin) ++close;
  }
  if (beside == 0)
    state_ = verdict::separated;
  else if (over || close == beside)
    state_ = verdict::tied;
}

std::vector<std::size_t> finalists::tied() const {
  std::vector<std::size_t> out;
  for (const auto& f : field_)
    if (!f.out && f.candidate && leader_ != f.who) out.push_back(f.who);
  return out;
}

std::optional<double> finalists::speedup() const {
  if (!reference_ || !leader_) return std::nullopt;
  const auto reference = values(*reference_), winner = values(*leader_);
  if (reference.empty() || winner.empty()) return std::nullopt;
  const double slow = median(reference), fast = median(winner);
  if (!(slow > 0) || !(fast > 0)) return std::nullopt;
  return direction_ == goal::minimize ? slow / fast : fast / slow;
}

std::span<const double> finalists::values(std::size_t who) const {
  for (const auto& f : field_)
    if (f.who == who) return f.values;
  return {};
}

} // namespace attune::measure
