#include "search/strategies/models.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attune::search {
namespace {

constexpr std::size_t gp_candidates = 800, forest_candidates = 2000;
constexpr std::size_t elites_around = 4;

/// The most promising candidate; of equals the first.
std::optional<point> most_promising(std::vector<point>& from, double best, std::span<const float> mean,
                                    std::span<const float> deviation) {
  std::size_t chosen = from.size();
  double top = -1;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const double ei = expected_improvement(best, mean[i], deviation[i]);
    if (ei <= top) continue;
    top = ei;
    chosen = i;
  }
  if (chosen == from.size()) return std::nullopt;
  // Nothing is expected to be better: the lowest prediction, so that it does not walk in the order of the list.
  if (top <= 0) chosen = static_cast<std::size_t>(std::min_element(mean.begin(), mean.end()) - mean.begin());
  return std::move(from[chosen]);
}

} // namespace

std::optional<point> gp_chooser::choose(const ledger& all, const training_set& data, const elite_set& elite,
                                        random_engine& rng) {
  const auto items = data.items();
  if (items.empty()) return std::nullopt;
  auto y = data.targets();
  std::vector<const point*> x;
  for (const auto& t : items) x.push_back(&t.at);
  const double best = *std::min_element(y.begin(), y.end());
  if (!prior_.empty()) {
    const auto foreign = prior_.weigh(x, y);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] -= foreign[i];
  }
  model_.set(x, y);
  if (all.told().size() >= tune_at_) {
    if (!model_.tuning()) model_.begin_tuning(tune_at_ == 0 ? 3 : 2);
    tune_at_ = all.told().size() + std::max<std::size_t>(4, all.told().size() / 5);
  }
  if (model_.tuning()) model_.tune_some();
  std::vector<float> mean, deviation;
  if (!all.pending().empty()) {
    const auto pending = all.pending().last(std::min<std::size_t>(all.pending().size(), 64));
    model_.predict(pending, mean, deviation);
    for (std::size_t i = 0; i < pending.size(); ++i) {
      x.push_back(&pending[i]);
      y.push_back(mean[i]);
    }
    model_.set(x, y);
  }
  auto from = candidates(all, elite, elites_around, gp_candidates, rng);
  model_.predict(from, mean, deviation);
  if (!prior_.empty()) {
    const auto foreign = prior_.predict(from);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += foreign[i];
  }
  return most_promising(from, best, mean, deviation);
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
  const bool first = trees_.empty();
  if (first) trees_.resize(trees_wanted);
  const extra_tree::options how{std::max<std::size_t>(6, features_.size() / 3), 3};
  std::vector<std::uint32_t> rows(items.size());
  std::iota(rows.begin(), rows.end(), 0u);
  for (std::size_t k = 0; k < (first ? trees_wanted : renewed); ++k)
    trees_[next_++ % trees_wanted].grow(x_, features_.columns(), target, {}, rows, how, rng);
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
    sum[i] /= static_cast<float>(trees_wanted);
    const float variance = squares[i] / static_cast<float>(trees_wanted) - sum[i] * sum[i];
    squares[i] = std::sqrt(std::max(1e-6f, variance));
  }
  return most_promising(from, *std::min_element(y.begin(), y.end()), sum, squares);
}

} // namespace attune::search
