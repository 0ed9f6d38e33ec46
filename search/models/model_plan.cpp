#include "search/models/model_plan.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <cstdlib>
static double knob(const char*n,double d){const char*v=getenv(n);return v?atof(v):d;}

namespace attune::search {
namespace {

constexpr std::size_t planned_at_most = 64, parents = 32, elites_around = 4, drawn = 500, children = 250, generations = 4;
/// Where the domains are longer than this together, neighbours are drawn, not listed.
constexpr std::uint64_t listed = 400;
constexpr std::size_t results_for_boosting = 12;
/// No model is more certain than this, in parts of the distance from the best to the middle.
constexpr float least_deviation = 0.05f;

struct key_hash {
  std::size_t operator()(uint128 k) const noexcept {
    return static_cast<std::size_t>((static_cast<std::uint64_t>(k) ^ static_cast<std::uint64_t>(k >> 64) * 31) *
                                    0x9e3779b97f4a7c15u);
  }
};

} // namespace

target_scale::target_scale(const cost_scale& images, std::span<const told_trial> results) : images_(images) {
  std::vector<double> measured;
  for (const auto& r : results)
    if (r.what == observation::status::measured) measured.push_back(images_(r.cost));
  std::sort(measured.begin(), measured.end());
  middle_ = measured[measured.size() / 2];
  span_ = std::max({middle_ - measured.front(), 1e-9 * std::abs(middle_), 1e-300});
}

double target_scale::target(double cost) const {
  const double z = (images_(cost) - middle_) / span_;
  return z > 0 ? std::log1p(z) : z;
}

double target_scale::image(double target) const {
  return middle_ + span_ * (target > 0 ? std::expm1(target) : target);
}

code_table plan_training::codes(std::span<const point> of) const {
  code_table out(from_.features->size());
  std::vector<std::uint16_t> row(from_.features->size());
  for (const auto& p : of) {
    from_.features->encode(p, row);
    out.add(row);
  }
  return out;
}

void plan_training::give_up() noexcept {
  learned_ = error{errc::internal, "the training ran out of memory", {}};
  plan_.clear();
}

void plan_training::work() {
  learn();
  if (learned_) evolve();
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
  std::vector<const point*> own;
  std::vector<double> targets;
  for (const auto& r : from_.results) {
    from_.features->encode(r.at, row);
    const double target = r.what == observation::status::failed ? 0 : scale_.target(r.cost);
    rows.add(row, r.what, target);
    gave_result.push_back(r.what != observation::status::failed ? 1 : 0);
    if (r.what != observation::status::measured || !std::isfinite(target)) continue;
    own.push_back(&r.at);
    targets.push_back(target);
  }
  if (from_.prior && !from_.prior->empty() && !own.empty()) {
    // The model learns how this task differs from what similar ones have shown, as far as these agree with it.
    prior_ = *from_.prior;
    prior_->weigh(own, targets);
    std::vector<point> all;
    for (const auto& r : from_.results) all.push_back(r.at);
    const auto foreign = prior_->predict(all);
    for (std::size_t i = 0; i < rows.size(); ++i) rows.y[i] -= foreign[i];
  }
  auto made = make_cost_model(measured < (std::size_t)knob("RFB",12) ? "forest" : from_.model, from_.features->columns());
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
  std::vector<point> at;
  for (const auto& e : from_.elite) at.push_back(e.at);
  prediction of_elite;
  model_->predict(codes(at), of_elite);
  if (prior_) {
    const auto foreign = prior_->predict(at);
    for (std::size_t i = 0; i < at.size(); ++i) of_elite.score[i] += foreign[i];
  }
  best_ = knob("B1",0)>0 || of_elite.score.empty() ? -1 : *std::min_element(of_elite.score.begin(), of_elite.score.end());
}

double plan_training::expected_image(const point& p) const {
  prediction out;
  model_->predict(codes({&p, 1}), out);
  double target = out.score[0];
  if (prior_) target += prior_->predict({&p, 1})[0];
  return scale_.image(target);
}

std::vector<plan_training::scored> plan_training::score(std::vector<point> of) const {
  const auto x = codes(of);
  prediction expected;
  model_->predict(x, expected);
  std::vector<float> probability(of.size());
  feasible_->probability(x, probability);
  if (prior_) {
    const auto foreign = prior_->predict(of);
    for (std::size_t i = 0; i < of.size(); ++i) expected.score[i] += foreign[i];
  }
  std::vector<scored> out;
  for (std::size_t i = 0; i < of.size(); ++i) {
    const double deviation = std::max(expected.deviation[i]*(float)knob("DS",1), (float)knob("LD",0.05));
    const double gain = expected_improvement(best_, expected.score[i], deviation);
    out.push_back({std::move(of[i]), gain * std::pow(probability[i],knob("FP",1)), expected.score[i]});
  }
  return out;
}

void plan_training::evolve() {
  const space& over = *from_.over;
  random_engine rng = random_engine(from_.seed).fork("plan");
  const ledger keys(from_.over);
  std::unordered_set<uint128, key_hash> seen(from_.known.begin(), from_.known.end());
  std::vector<point> fresh;
  const auto take = [&](point p) {
    if (seen.insert(keys.key(p)).second) fresh.push_back(std::move(p));
  };
  std::uint64_t values = 0;
  for (const auto& info : over.parameters()) values += info.size;
  for (std::size_t e = 0; e < std::min(elites_around, from_.elite.size()); ++e) {
    const auto& around = from_.elite[e].at;
    if (values <= listed) {
      for (auto& q : over.neighbours(around, neighbourhood::hamming)) take(std::move(q));
      continue;
    }
    for (int k = 0; k < 96; ++k)
      if (auto q = over.neighbour(around, k % 2 == 0 ? neighbourhood::hamming : neighbourhood::adjacent, rng))
        take(std::move(*q));
  }
  for (std::size_t k = 0; k < drawn; ++k) take(over.sample(rng));
  std::vector<scored> best;
  for (std::size_t g = 0;; ++g) {
    looked_at_ += fresh.size();
    for (auto& s : score(std::exchange(fresh, {}))) best.push_back(std::move(s));
    std::stable_sort(best.begin(), best.end(), [](const scored& a, const scored& b) {
      return a.promise != b.promise ? a.promise > b.promise : a.target < b.target;
    });
    if (best.size() > planned_at_most) best.resize(planned_at_most);
    if (g == generations || best.empty()) break;
    const std::size_t fathers = std::min(parents, best.size());
    for (std::size_t k = 0; k < children; ++k) {
      const auto& a = best[std::min(rng.below(fathers), rng.below(fathers))].at;
      if (rng.chance(0.3) && fathers > 1) {
        // Uniform crossover, mended into the valid set.
        const auto& b = best[rng.below(fathers)].at;
        point p = a;
        for (std::size_t d = 0; d < p.size(); ++d)
          if (rng.chance(0.5)) p[d] = b[d];
        take(over.contains(p) ? std::move(p) : over.repair(p, rng));
        continue;
      }
      auto q = over.neighbour(a, rng.chance(0.5) ? neighbourhood::hamming : neighbourhood::adjacent, rng);
      if (q && rng.chance(0.3)) {
        if (auto further = over.neighbour(*q, neighbourhood::hamming, rng)) q = std::move(further);
      }
      if (q) take(std::move(*q));
    }
  }
  for (auto& s : best) plan_.push_back({std::move(s.at), s.promise, scale_.image(s.target)});
}

} // namespace attune::search
