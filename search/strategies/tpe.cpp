#include "search/strategies/evolution.hpp"
#include "search/strategies/moves.hpp"

#include <algorithm>
#include <cmath>

namespace attune::search {
namespace {

/// Ordinals have a discrete kernel that falls with the distance of ranks, categories one that is flat outside the
/// value; the density of a group is the mean of its members' products of kernels (multivariate).
class parzen final : public proposer {
public:
  std::optional<point> propose(const ledger& all, random_engine& rng) override {
    if (all.told().size() + all.pending().size() < starts_ || elite_.empty()) return farthest(all, rng, 8);
    std::vector<const told_trial*> sorted;
    for (const auto& t : data_.items()) sorted.push_back(&t);
    std::stable_sort(sorted.begin(), sorted.end(), [](const told_trial* a, const told_trial* b) {
      const bool ma = a->what == observation::status::measured, mb = b->what == observation::status::measured;
      return ma != mb ? ma : ma && a->cost < b->cost;
    });
    const std::size_t good = std::clamp<std::size_t>(
        static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(sorted.size())))), 3, sorted.size());
    const std::span<const told_trial*const> l(sorted.data(), good), g(sorted.data() + good, sorted.size() - good);
    auto from = candidates(all, elite_, 3, 160, rng);
    // Draws from the density of the good ones: one of them, each parameter moved by its kernel.
    const auto infos = all.over().parameters();
    for (int k = 0; k < 96; ++k) {
      point p = l[std::min(rng.below(good), rng.below(good))]->at;
      for (std::size_t d = 0; d < p.size(); ++d) {
        if (p[d] == inactive || !rng.chance(0.3)) continue;
        if (!infos[d].ordinal || rng.chance(0.2))
          p[d] = static_cast<std::uint32_t>(rng.below(infos[d].size));
        else {
          const double step = rng.normal() * std::max(1.0, width_ * infos[d].size);
          p[d] = static_cast<std::uint32_t>(
              std::clamp(std::round(p[d] + step), 0.0, static_cast<double>(infos[d].size - 1)));
        }
      }
      if (!all.over().contains(p)) continue;
      if (!all.known(p)) from.push_back(std::move(p));
    }
    std::size_t chosen = from.size();
    double top = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const double ratio = density(all.over(), from[i], l) / (density(all.over(), from[i], g) + 1e-12);
      if (chosen != from.size() && ratio <= top) continue;
      chosen = i;
      top = ratio;
    }
    if (chosen == from.size()) return std::nullopt;
    return std::move(from[chosen]);
  }

  void learn(const ledger& all, random_engine& rng) override {
    data_.take(all.told().back(), rng);
    elite_.take(all.told().back());
  }

private:
  static double density(const space& over, const point& p, std::span<const told_trial* const> of) {
    const auto infos = over.parameters();
    double sum = 0;
    for (const auto* t : of) {
      double product = 1;
      for (std::size_t d = 0; d < p.size(); ++d) {
        if (infos[d].size < 2 || p[d] == t->at[d]) continue;
        if (!infos[d].ordinal || p[d] == inactive || t->at[d] == inactive)
          product *= 0.2;
        else {
          const double z = std::abs(static_cast<double>(p[d]) - static_cast<double>(t->at[d])) /
                           std::max(1.0, width_ * infos[d].size);
          product *= 0.6 / (1 + z * z);
        }
      }
      sum += product;
    }
    return of.empty() ? 0 : sum / static_cast<double>(of.size());
  }

  static constexpr std::size_t starts_ = 12;
  static constexpr double width_ = 0.12;
  training_set data_{120};
  elite_set elite_{8};
};

} // namespace

std::unique_ptr<strategy> make_tpe(space_ptr over, strategy_options options) {
  return make_seeking("tpe", std::move(over), std::move(options), std::make_unique<parzen>());
}

} // namespace attune::search
