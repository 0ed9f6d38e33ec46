#include "search/strategies/portfolio.hpp"

#include "search/strategies/proposer.hpp"

#include <algorithm>

namespace attune::search {
namespace {

/// A space-filling start, then crossings of the best and moves around the best.
class portfolio final : public proposer {
public:
  std::optional<point> propose(const ledger& all, random_engine& rng) override {
    const auto n = all.told().size() + all.pending().size();
    if (n < 16 || elite_.empty()) return farthest(all, rng);
    const auto& from = elite_[std::min(rng.below(elite_.size()), rng.below(elite_.size()))];
    return all.over().neighbour(from.at, rng.chance(0.5) ? neighbourhood::hamming : neighbourhood::adjacent, rng);
  }

  void learn(const ledger& all, random_engine&) override {
    const auto& t = all.told().back();
    if (t.what != observation::status::measured) return;
    elite_.insert(std::upper_bound(elite_.begin(), elite_.end(), t.cost,
                                   [](double c, const told_trial& m) { return c < m.cost; }),
                  t);
    if (elite_.size() > 8) elite_.pop_back();
  }

private:
  /// Mitchell's best candidate: of some draws the one that is farthest from all that was proposed.
  static point farthest(const ledger& all, random_engine& rng) {
    point best;
    double best_distance = -1;
    for (int k = 0; k < 16; ++k) {
      point p = all.over().sample(rng);
      double nearest = 2;
      for (const auto& t : all.told()) nearest = std::min(nearest, all.over().distance(p, t.at));
      for (const auto& q : all.pending()) nearest = std::min(nearest, all.over().distance(p, q));
      if (nearest > best_distance) {
        best_distance = nearest;
        best = std::move(p);
      }
    }
    return best;
  }
  std::vector<told_trial> elite_;
};

} // namespace

std::unique_ptr<strategy> make_auto(space_ptr over, strategy_options options) {
  return make_seeking("auto", std::move(over), std::move(options), std::make_unique<portfolio>());
}

} // namespace attune::search
