#include "search/models/prior_model.hpp"

#include "search/models/target_scale.hpp"
#include "search/rank_quality.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace attune::search {
namespace {

constexpr std::size_t of_a_task = 2000, best_of_a_task = 16, results_before_use = 5;

struct prior_source {
  double similarity = 0;
  cost_scale images;
  std::vector<told_trial> results;
};

} // namespace

prior_model::prior_model(const space& over, const rank_features& features, std::span<const prior_record> records) {
  std::map<std::uint32_t, prior_source> by_number;
  for (const auto& r : records) {
    if (!over.contains(r.at) || r.result.what == observation::status::dropped) continue;
    auto& s = by_number[r.source];
    // The first of a task's: its records are given in the order that their giver thinks best.
    if (s.results.size() == of_a_task) continue;
    told_trial t{r.at, r.result.what, r.result.cost, true};
    if (t.what != observation::status::failed && !std::isfinite(t.cost)) t.what = observation::status::failed;
    if (t.what != observation::status::failed) s.images.add(t.cost);
    s.results.push_back(std::move(t));
    s.similarity = std::max(s.similarity, std::clamp(r.similarity, 0.01, 1.0));
  }
  std::vector<prior_source*> order;
  order.reserve(by_number.size());
  for (auto& [number, s] : by_number) order.push_back(&s);
  std::stable_sort(order.begin(), order.end(),
                   [](const prior_source* a, const prior_source* b) { return a->similarity > b->similarity; });
  training_rows rows(features.size());
  std::vector<std::uint16_t> row(features.size());
  for (auto* s : order) {
    std::vector<told_trial> measured;
    for (const auto& t : s->results)
      if (t.what == observation::status::measured) measured.push_back(t);
    if (measured.empty()) continue;
    const target_scale scale(s->images, measured);
    for (const auto& t : s->results) {
      features.encode(t.at, row);
      rows.add(row, t.what, t.what == observation::status::failed ? 0 : scale.target(t.cost), s->similarity);
    }
    std::stable_sort(measured.begin(), measured.end(),
                     [](const told_trial& a, const told_trial& b) { return a.cost < b.cost; });
    auto& best = best_.emplace_back();
    for (std::size_t i = 0; i < std::min(best_of_a_task, measured.size()); ++i) best.push_back(measured[i].at);
  }
  auto made = make_cost_model("forest", features.columns());
  if (made && (*made)->train(rows, 1)) model_ = std::move(*made);
}

std::vector<point> prior_model::seeds(std::size_t count) const {
  std::vector<point> out;
  for (std::size_t k = 0; k < best_of_a_task; ++k)
    for (const auto& best : best_)
      if (k < best.size() && out.size() < count) out.push_back(best[k]);
  return out;
}

std::vector<float> prior_model::predict(const code_table& x) const {
  prediction out;
  model_->predict(x, out);
  return std::move(out.score);
}

double prior_weight(std::span<const float> predicted, std::span<const double> came) {
  if (came.size() < results_before_use) return 0;
  const std::vector<double> p(predicted.begin(), predicted.end());
  if (kendall_tau(p, came).value_or(0) <= 0.15) return 0;
  const double n = static_cast<double>(p.size());
  const double mp = std::accumulate(p.begin(), p.end(), 0.0) / n,
               mc = std::accumulate(came.begin(), came.end(), 0.0) / n;
  double both = 0, squares = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    both += (p[i] - mp) * (came[i] - mc);
    squares += (p[i] - mp) * (p[i] - mp);
  }
  // One unit of ridge: a slope is believed as far as it was seen.
  return std::clamp(both / (squares + 1), 0.0, 1.5);
}

} // namespace attune::search
