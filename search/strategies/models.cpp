#include "search/strategies/models.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace attune::search {
namespace {

constexpr std::size_t gp_candidates = 800, forest_candidates = 1200;
constexpr std::size_t elites_around = 4;
/// With so many own results the similar tasks have nothing more to say.
constexpr std::size_t most_with_foreign = 120;
/// Ranks agree that are this many standard deviations above chance (it is looked at again and again), and go on doing
/// so above the lower one. With fewer own results nothing is said; where they have not agreed by the last one, they
/// are not asked again.
constexpr double agrees_first = 2.5, agrees_still = 1;
constexpr std::size_t fewest_own = 8, agrees_by = 40;

/// The most promising candidate; of equals the first. None: there is none. `odds`: of a result; null: all have the
/// same.
std::optional<std::size_t> most_promising(const std::vector<point>& from, double best, std::span<const float> mean,
                                          std::span<const float> deviation, const result_odds* odds = nullptr) {
  if (from.empty()) return std::nullopt;
  std::vector<double> worth(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) worth[i] = expected_improvement(best, mean[i], deviation[i]);
  if (odds != nullptr) odds->weigh(from, worth);
  const auto top = std::max_element(worth.begin(), worth.end());
  if (*top > 0) return static_cast<std::size_t>(top - worth.begin());
  // Nothing is expected to be better: the lowest prediction, so that it does not walk in the order of the list.
  return static_cast<std::size_t>(std::min_element(mean.begin(), mean.end()) - mean.begin());
}

} // namespace

gp_chooser::gp_chooser(const space& over, std::span<const prior_record> prior, failures_are failures)
    : prior_(over, prior), model_(over), failures_(failures) {
  if (prior_.empty()) return;
  std::vector<const point*> x;
  for (const auto& p : prior_.points()) x.push_back(&p);
  foreign_.emplace(over);
  foreign_->set(x, prior_.targets());
  foreign_->tune(3);
  joint_.emplace(over, prior_.sources());
  joint_->begin_as(*foreign_);
}

double gp_chooser::trust() const noexcept {
  if (!joint_ || !agrees_) return 0;
  const double left = 1 - static_cast<double>(trained_) / static_cast<double>(most_with_foreign);
  return std::min(left, 1 / (1 + std::exp(-evidence_)));
}

gp_chooser::line gp_chooser::align(std::span<const told_trial> own, std::span<const double> y) const {
  std::vector<point> at;
  for (const auto& t : own) at.push_back(t.at);
  std::vector<float> f, unused;
  foreign_->predict(at, f, unused);
  const auto n = static_cast<double>(own.size());
  double my = 0, mf = 0, yy = 0, ff = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    my += y[i] / n;
    mf += static_cast<double>(f[i]) / n;
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    yy += (y[i] - my) * (y[i] - my);
    ff += (f[i] - mf) * (f[i] - mf);
  }
  // A tenth of the unit of targets, four times, so that few results do not stretch.
  const double slope = std::clamp(std::sqrt((ff + 0.04) / (yy + 0.04)), 0.5, 2.0);
  return {slope, mf - my * slope};
}

void gp_chooser::set_joint(std::span<const point* const> own, std::span<const double> y, line to) {
  std::vector<const point*> x;
  for (const auto& p : prior_.points()) x.push_back(&p);
  x.insert(x.end(), own.begin(), own.end());
  std::vector<double> targets(prior_.targets().begin(), prior_.targets().end());
  for (const double v : y) targets.push_back(to.slope * v + to.offset);
  std::vector<std::uint32_t> source(prior_.source().begin(), prior_.source().end());
  source.resize(x.size(), 0);
  joint_->set(x, targets, source);
}

void gp_chooser::look(const training_set& data) {
  if (!joint_) return;
  const auto own = data.items();
  const auto count = std::to_string(own.size());
  if (own.size() >= most_with_foreign) {
    if (agrees_) notes_.push_back("what similar tasks have shown is dropped: " + count + " own results say more");
    return joint_.reset();
  }
  std::vector<point> at;
  for (const auto& t : own) at.push_back(t.at);
  std::vector<float> f, unused;
  foreign_->predict(at, f, unused);
  const auto y = data.targets();
  // Agreement of ranks, in standard deviations of what chance would give (Kendall, 1938).
  const auto n = static_cast<double>(own.size());
  double agree = 0;
  for (std::size_t i = 0; i < own.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (y[i] != y[j] && f[i] != f[j]) agree += (y[i] < y[j]) == (f[i] < f[j]) ? 1 : -1;
  const double z = agree / std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  const bool before = agrees_;
  agrees_ = own.size() >= fewest_own && z > (before ? agrees_still : agrees_first);
  if (agrees_ != before)
    notes_.push_back(agrees_ ? "similar tasks are believed: they rank " + count + " own results as they came"
                             : "similar tasks are not believed: they no longer rank " + count +
                                   " own results as they came");
  if (!agrees_ && own.size() >= agrees_by) {
    notes_.push_back("what similar tasks have shown is dropped: it misleads, by " + count + " own results");
    joint_.reset();
  }
  if (!agrees_) return;
  // Both processes predict what has come since they were trained.
  for (std::size_t i = before ? trained_ : own.size(); i < own.size(); ++i) {
    const double with = joint_->log_density(own[i].at, to_.slope * y[i] + to_.offset) + std::log(to_.slope);
    const double gain = with - model_.log_density(own[i].at, y[i]);
    evidence_ = 0.95 * evidence_ + std::clamp(gain, -2.0, 2.0);
  }
  train(own, y);
}

void gp_chooser::train(std::span<const told_trial> own, std::span<const double> y) {
  std::vector<const point*> x;
  for (const auto& t : own) x.push_back(&t.at);
  const bool due = own.size() >= tune_at_;
  const auto tune = [&](gaussian_process& m) {
    if (due && !m.tuning()) m.begin_tuning(tuned_ ? 2 : 3);
    if (m.tuning()) m.tune_some();
  };
  if (due) tune_at_ = own.size() + std::max<std::size_t>(4, own.size() / 5);
  model_.set(x, y);
  tune(model_);
  if (joint_ && agrees_) {
    to_ = align(own, y);
    set_joint(x, y, to_);
    tune(*joint_);
  }
  tuned_ = true;
  trained_ = own.size();
}

std::optional<point> gp_chooser::choose(const ledger& all, const training_set& data, const elite_set& elite,
                                        random_engine& rng) {
  const auto items = data.items();
  if (items.empty()) return std::nullopt;
  auto y = data.targets();
  const double best = *std::min_element(y.begin(), y.end());
  // look() has trained where it had to; what is pending was put into the data since.
  if (!agrees_ || trained_ != items.size() || crowded_) train(items, y);
  const bool both = trust() > 0 && rng.chance(trust());
  gaussian_process& model = both ? *joint_ : model_;
  const line to = both ? to_ : line{};
  std::vector<float> mean, deviation;
  crowded_ = !all.pending().empty();
  if (crowded_) {
    const auto pending = all.pending().last(std::min<std::size_t>(all.pending().size(), 64));
    model.predict(pending, mean, deviation);
    std::vector<const point*> x;
    for (const auto& t : items) x.push_back(&t.at);
    for (std::size_t i = 0; i < pending.size(); ++i) {
      x.push_back(&pending[i]);
      y.push_back((static_cast<double>(mean[i]) - to.offset) / to.slope);
    }
    if (both)
      set_joint(x, y, to);
    else
      model.set(x, y);
  }
  if (failures_ == failures_are::weighed && all.failures() > 0 && all.told().size() >= odds_due_) {
    if (!odds_) odds_.emplace(all.over());
    odds_->learn(items, rng());
    odds_due_ = all.told().size() + 1 + items.size() / 25;
  }
  auto among = candidates(all, elite, elites_around, gp_candidates, rng);
  model.predict(among, mean, deviation);
  const auto chosen = most_promising(among, to.slope * best + to.offset, mean, deviation, odds_ ? &*odds_ : nullptr);
  if (!chosen) return std::nullopt;
  expected_ = (static_cast<double>(mean[*chosen]) - to.offset) / to.slope;
  return std::move(among[*chosen]);
}

std::optional<point> forest_chooser::choose(const ledger& all, const training_set& data, const elite_set& elite,
                                            random_engine& rng) {
  const auto items = data.items();
  if (items.empty()) return std::nullopt;
  const auto y = data.targets();
  std::vector<std::uint16_t> row(features_.size());
  x_.clear();
  for (const auto& t : items) {
    features_.encode(t.at, row);
    x_.add(row);
  }
  std::vector<float> target(y.begin(), y.end());
  // The forest is filled over the first asks, then renewed part by part.
  const std::size_t grown = std::min(trees_wanted - trees_.size(), 2 * renewed);
  trees_.resize(trees_.size() + grown);
  if (grown > 0) next_ = trees_.size() - grown;
  const extra_tree::options how{std::max<std::size_t>(6, features_.size() / 3), 3};
  std::vector<std::uint32_t> rows(items.size());
  std::iota(rows.begin(), rows.end(), 0u);
  for (std::size_t k = 0; k < (grown > 0 ? grown : renewed); ++k)
    trees_[next_++ % trees_.size()].grow(x_, features_.columns(), target, {}, rows, how, rng);
  auto from = candidates(all, elite, elites_around, forest_candidates, rng);
  at_.clear();
  for (const auto& p : from) {
    features_.encode(p, row);
    at_.add(row);
  }
  std::vector<float> sum(from.size()), squares(from.size()), one(from.size());
  for (const auto& t : trees_) {
    t.predict(at_, one, scratch_);
    for (std::size_t i = 0; i < from.size(); ++i) {
      sum[i] += one[i];
      squares[i] += one[i] * one[i];
    }
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    sum[i] /= static_cast<float>(trees_.size());
    const float variance = squares[i] / static_cast<float>(trees_.size()) - sum[i] * sum[i];
    squares[i] = std::sqrt(std::max(1e-6f, variance));
  }
  const auto chosen = most_promising(from, *std::min_element(y.begin(), y.end()), sum, squares);
  if (!chosen) return std::nullopt;
  expected_ = static_cast<double>(sum[*chosen]);
  return std::move(from[*chosen]);
}

} // namespace attune::search
