#include "search/offline.hpp"

#include "search/cost_model.hpp"
#include "search/feasibility.hpp"
#include "search/models/evolve.hpp"
#include "search/models/target_scale.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace attune::search {
namespace {

constexpr std::size_t records_of_a_task = 4000, elites = 8;

struct source {
  double similarity = 0;
  cost_scale images;
  std::vector<told_trial> results, measured;
};

} // namespace

result<offline_answer> predict_best(const space_ptr& over, std::span<const prior_record> records, std::size_t count,
                                    std::uint64_t seed) {
  std::map<std::uint32_t, source> sources;
  for (const auto& r : records) {
    if (!over->contains(r.at) || r.result.what == observation::status::dropped) continue;
    auto& s = sources[r.source];
    if (s.results.size() == records_of_a_task) continue;
    told_trial t{r.at, r.result.what, r.result.cost, true};
    if (t.what != observation::status::failed && !std::isfinite(t.cost)) t.what = observation::status::failed;
    if (t.what != observation::status::failed) s.images.add(t.cost);
    if (t.what == observation::status::measured) s.measured.push_back(t);
    s.results.push_back(std::move(t));
    s.similarity = std::max(s.similarity, std::clamp(r.similarity, 0.01, 1.0));
  }
  const rank_features features(*over);
  training_rows rows(features.size());
  std::vector<std::uint16_t> row(features.size());
  std::vector<std::uint8_t> gave_result;
  std::vector<told_trial> elite;
  std::optional<target_scale> own;
  offline_answer out;
  for (auto& [number, s] : sources) {
    if (!s.measured.empty()) {
      const target_scale scale(s.images, s.measured);
      if (number == own_source) own = scale;
      for (const auto& t : s.results)
        rows.add((features.encode(t.at, row), row), t.what,
                 t.what == observation::status::failed ? 0 : scale.target(t.cost), s.similarity);
      std::stable_sort(s.measured.begin(), s.measured.end(),
                       [](const told_trial& a, const told_trial& b) { return a.cost < b.cost; });
      elite.insert(elite.end(), s.measured.begin(),
                   s.measured.begin() + static_cast<std::ptrdiff_t>(std::min(elites, s.measured.size())));
    } else {
      for (const auto& t : s.results)
        rows.add((features.encode(t.at, row), row), observation::status::failed, 0, s.similarity);
    }
    for (const auto& t : s.results) gave_result.push_back(t.what != observation::status::failed ? 1 : 0);
    (number == own_source ? out.own : out.similar) += s.results.size();
  }
  auto model = make_cost_model(cost_models().front(), features.columns());
  if (!model) return model.err();
  if (const auto learned = (*model)->train(rows, seed); !learned) return learned.err();
  feasibility_model feasible(features.columns());
  feasible.train(rows.x, gave_result, seed);

  const auto codes = [&](std::span<const candidate> of) {
    code_table x(features.size());
    for (const auto& c : of) {
      features.encode(c.at, row);
      x.add(row);
    }
    return x;
  };
  prediction expected;
  std::vector<float> probability;
  const auto judge = [&](std::span<candidate> of) {
    const auto x = codes(of);
    (*model)->predict(x, expected);
    probability.assign(of.size(), 1);
    feasible.probability(x, probability);
    for (std::size_t i = 0; i < of.size(); ++i) {
      of[i].target = expected.score[i];
      // What is as likely to fail as not is no answer, however fast it would be.
      of[i].promise = -expected.score[i] - (probability[i] < 0.5f ? 1e3 : 0);
    }
  };
  random_engine rng = random_engine(seed).fork("offline");
  auto best = evolve(over, elite, {}, judge, rng, out.looked_at);
  if (best.size() > count) best.resize(count);
  judge(best);
  out.model = (*model)->name();
  for (std::size_t i = 0; i < best.size(); ++i) {
    predicted_configuration p{std::move(best[i].at), {}, {}, {}, probability[i]};
    if (own) {
      const auto& images = sources[own_source].images;
      const auto cost = [&](double target) { return images.cost(own->image(target)); };
      p.cost = cost(expected.score[i]);
      p.low = cost(expected.score[i] - expected.deviation[i]);
      p.high = cost(expected.score[i] + expected.deviation[i]);
    }
    out.best.push_back(std::move(p));
  }
  return out;
}

} // namespace attune::search
