#include "search/models/model_plan.hpp"

#include "search/strategies/moves.hpp"

#include <algorithm>
#include <cmath>

namespace attune::search {
namespace {

constexpr std::size_t results_for_boosting = 12;
/// No model is more certain than this, in parts of the distance from the best to the middle.
constexpr float least_deviation = 0.05f;

} // namespace

code_table plan_training::codes(std::span<const candidate> of) const {
  code_table out(from_.features->size());
  std::vector<std::uint16_t> row(from_.features->size());
  for (const auto& c : of) {
    from_.features->encode(c.at, row);
    out.add(row);
  }
  return out;
}

prediction plan_training::expect(const code_table& x) const {
  prediction out;
  model_->predict(x, out);
  if (believed_ > 0) {
    const auto foreign = from_.prior->predict(x);
    for (std::size_t i = 0; i < x.rows(); ++i) out.score[i] += static_cast<float>(believed_) * foreign[i];
  }
  return out;
}

void plan_training::give_up() noexcept {
  learned_ = error{errc::internal, "no memory", {}};
  plan_.clear();
}

void plan_training::work() {
  learn();
  if (!learned_) return;
  random_engine rng = random_engine(from_.seed).fork("plan");
  plan_ = evolve(
      from_.over, from_.elite, from_.known, [this](std::span<candidate> of) { judge(of); }, rng, looked_at_);
}

void plan_training::learn() {
  std::size_t measured = 0;
  for (const auto& r : from_.results) measured += r.what == observation::status::measured ? 1 : 0;
  if (measured == 0) {
    learned_ = error{errc::not_found, "nothing has been measured yet", {}};
    return;
  }
  scale_ = target_scale(from_.images, from_.results);
  training_rows rows(from_.features->size());
  std::vector<std::uint16_t> row(from_.features->size());
  std::vector<std::uint8_t> gave_result;
  for (const auto& r : from_.results) {
    from_.features->encode(r.at, row);
    rows.add(row, r.what, r.what == observation::status::failed ? 0 : scale_.target(r.cost));
    gave_result.push_back(r.what != observation::status::failed ? 1 : 0);
  }
  if (from_.prior && !from_.prior->empty()) {
    const auto foreign = from_.prior->predict(rows.x);
    std::vector<float> predicted;
    std::vector<double> came;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows.what[i] != observation::status::measured || !std::isfinite(rows.y[i])) continue;
      predicted.push_back(foreign[i]);
      came.push_back(rows.y[i]);
    }
    believed_ = prior_weight(predicted, came);
    for (std::size_t i = 0; i < rows.size(); ++i) rows.y[i] -= static_cast<float>(believed_) * foreign[i];
  }
  auto made = make_cost_model(measured < results_for_boosting ? "forest" : from_.model, from_.features->columns());
  if (!made) {
    learned_ = made.err();
    return;
  }
  model_ = std::move(*made);
  learned_ = model_->train(rows, from_.seed);
  if (!learned_) return;
  feasible_.emplace(from_.features->columns());
  feasible_->train(rows.x, gave_result, from_.seed);
  // What is to be beaten is seen through the model too: then its bias does not look like a lack of promise.
  std::vector<candidate> elite;
  for (const auto& e : from_.elite) elite.push_back({e.at});
  const auto of_elite = expect(codes(elite));
  to_beat_ = of_elite.score.empty() ? -1 : *std::min_element(of_elite.score.begin(), of_elite.score.end());
}

double plan_training::expected_image(const point& p) const {
  const candidate one{p};
  return scale_.image(expect(codes({&one, 1})).score[0]);
}

void plan_training::judge(std::span<candidate> of) const {
  const auto x = codes(of);
  const auto expected = expect(x);
  std::vector<float> probability(of.size());
  feasible_->probability(x, probability);
  for (std::size_t i = 0; i < of.size(); ++i) {
    const double deviation = std::max(expected.deviation[i], least_deviation);
    of[i].promise = expected_improvement(to_beat_, expected.score[i], deviation) * probability[i];
    of[i].target = expected.score[i];
  }
}

} // namespace attune::search
