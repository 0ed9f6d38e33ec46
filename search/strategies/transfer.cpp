#include "search/strategies/transfer.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace attune::search {
namespace {

constexpr std::size_t used_of_a_source = 2000, trees_wanted = 24, results_before_use = 5;

double kendall(std::span<const float> a, std::span<const double> b) {
  double agree = 0, pairs = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      if (a[i] == a[j] || b[i] == b[j]) continue;
      agree += (a[i] < a[j]) == (b[i] < b[j]) ? 1 : -1;
      ++pairs;
    }
  return pairs > 0 ? agree / pairs : 0;
}

} // namespace

transfer::transfer(const space& over, std::span<const prior_record> records) : features_(over) {
  std::map<std::uint32_t, std::vector<const prior_record*>> sources;
  for (const auto& r : records)
    if (over.contains(r.at) && r.result.what != observation::status::dropped) sources[r.source].push_back(&r);
  code_table x(features_.size());
  std::vector<float> y, weight;
  std::vector<std::uint16_t> row(features_.size());
  random_engine rng(1);
  for (const auto& [source, list] : sources) {
    // Each source has its own scale: only the shape of its costs is taken.
    training_set data(used_of_a_source);
    elite_set best(16);
    double similarity = 0;
    for (const auto* r : list) {
      const told_trial t{r->at, r->result.what, r->result.cost, true};
      data.take(t, rng);
      best.take(t);
      similarity = std::max(similarity, r->similarity);
    }
    const auto targets = data.targets();
    for (std::size_t i = 0; i < targets.size(); ++i) {
      features_.encode(data.items()[i].at, row);
      x.add(row);
      y.push_back(static_cast<float>(targets[i]));
      weight.push_back(static_cast<float>(std::clamp(similarity, 0.01, 1.0)));
    }
    best_.emplace_back(best.items().begin(), best.items().end());
  }
  if (y.empty()) return;
  std::vector<std::uint32_t> rows(y.size());
  std::iota(rows.begin(), rows.end(), 0u);
  trees_.resize(trees_wanted);
  const extra_tree::options how{std::max<std::size_t>(6, features_.size() / 3), 3};
  for (auto& t : trees_) t.grow(x, features_.columns(), y, weight, rows, how, rng);
}

std::vector<point> transfer::seeds(std::size_t count) const {
  std::vector<point> out;
  for (std::size_t k = 0; k < 16 && out.size() < count; ++k)
    for (const auto& source : best_)
      if (k < source.size() && out.size() < count) out.push_back(source[k].at);
  return out;
}

std::vector<float> transfer::forest(const code_table& at) const {
  std::vector<float> sum(at.rows()), one(at.rows());
  std::vector<std::uint32_t> scratch;
  for (const auto& t : trees_) {
    t.predict(at, one, scratch);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += one[i] / static_cast<float>(trees_wanted);
  }
  return sum;
}

std::vector<float> transfer::weigh(std::span<const point* const> x, std::span<const double> y) {
  code_table at(features_.size());
  std::vector<std::uint16_t> row(features_.size());
  for (const auto* p : x) {
    features_.encode(*p, row);
    at.add(row);
  }
  auto out = forest(at);
  weight_ = 0;
  if (x.size() >= results_before_use && kendall(out, y) > 0.15) {
    const double n = static_cast<double>(x.size());
    const double mx = std::accumulate(out.begin(), out.end(), 0.0) / n,
                 my = std::accumulate(y.begin(), y.end(), 0.0) / n;
    double xy = 0, xx = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      xy += (out[i] - mx) * (y[i] - my);
      xx += (out[i] - mx) * (out[i] - mx);
    }
    // One unit of ridge: a slope is believed as far as it was seen.
    weight_ = std::clamp(xy / (xx + 1), 0.0, 1.5);
  }
  for (auto& v : out) v *= static_cast<float>(weight_);
  return out;
}

std::vector<float> transfer::predict(std::span<const point> at) const {
  code_table codes(features_.size());
  std::vector<std::uint16_t> row(features_.size());
  for (const auto& p : at) {
    features_.encode(p, row);
    codes.add(row);
  }
  auto out = forest(codes);
  for (auto& v : out) v *= static_cast<float>(weight_);
  return out;
}

} // namespace attune::search
