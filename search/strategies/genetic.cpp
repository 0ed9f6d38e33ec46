#include "search/strategies/evolution.hpp"

#include <algorithm>

namespace attune::search {
namespace {

class genetic final : public proposer {
public:
  std::optional<point> propose(const ledger& all, random_engine& rng) override {
    const auto n = all.told().size() + all.pending().size();
    if (n < size_ || population_.size() < 2) return all.over().sample(rng);
    const point &a = tournament(rng), &b = tournament(rng);
    point child = a;
    for (std::size_t d = 0; d < child.size(); ++d)
      if (rng.chance(0.5)) child[d] = b[d];
    if (!all.over().contains(child)) child = all.over().repair(child, rng);
    if (rng.chance(0.4) || all.known(child)) {
      const auto kind = rng.chance(0.5) ? neighbourhood::hamming : neighbourhood::adjacent;
      if (auto q = all.over().neighbour(child, kind, rng)) child = std::move(*q);
    }
    return child;
  }

  void learn(const ledger& all, random_engine&) override {
    const auto& t = all.told().back();
    if (t.what != observation::status::measured) return;
    population_.insert(std::upper_bound(population_.begin(), population_.end(), t.cost,
                                        [](double c, const member& m) { return c < m.cost; }),
                       {t.at, t.cost});
    if (population_.size() > size_) population_.pop_back();
  }

private:
  struct member {
    point at;
    double cost;
  };
  /// The best of three: the population is sorted.
  const point& tournament(random_engine& rng) const {
    std::size_t best = rng.below(population_.size());
    for (int k = 0; k < 2; ++k) best = std::min<std::size_t>(best, rng.below(population_.size()));
    return population_[best].at;
  }

  static constexpr std::size_t size_ = 20;
  std::vector<member> population_; ///< by cost
};

} // namespace

std::unique_ptr<strategy> make_genetic(space_ptr over, strategy_options options) {
  return make_seeking("genetic", std::move(over), std::move(options), std::make_unique<genetic>());
}

} // namespace attune::search
