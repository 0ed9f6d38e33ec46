#include "search/strategies/evolution.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace attune::search {
namespace {

class swarm final : public proposer {
public:
  std::optional<point> propose(const ledger& all, random_engine& rng) override {
    const auto infos = all.over().parameters();
    if (particles_.size() < size_) {
      point p = all.over().sample(rng);
      particle fresh;
      fresh.velocity.resize(p.size());
      for (std::size_t d = 0; d < p.size(); ++d) {
        fresh.position.push_back(p[d] == inactive ? 0.0 : p[d]);
        fresh.velocity[d] = (rng.uniform() - 0.5) * 0.25 * infos[d].size;
      }
      pending_[p] = particles_.size();
      particles_.push_back(std::move(fresh));
      return p;
    }
    const auto* best = all.best();
    if (best == nullptr) return all.over().sample(rng);
    const std::size_t chosen = next_++ % particles_.size();
    auto& x = particles_[chosen];
    point p(x.position.size());
    for (std::size_t d = 0; d < p.size(); ++d) {
      const auto size = static_cast<double>(infos[d].size);
      const double own = x.best.empty() || x.best[d] == inactive ? x.position[d] : x.best[d];
      const double leader = best->at[d] == inactive ? x.position[d] : best->at[d];
      if (!infos[d].ordinal) {
        // No way leads from one category to another: it is one of the three.
        const double u = rng.uniform();
        x.position[d] = u < 0.45 ? leader : u < 0.8 ? own : x.position[d];
        if (rng.chance(0.05)) x.position[d] = static_cast<double>(rng.below(infos[d].size));
      } else {
        x.velocity[d] = 0.6 * x.velocity[d] + 1.4 * rng.uniform() * (own - x.position[d]) +
                        1.6 * rng.uniform() * (leader - x.position[d]);
        x.velocity[d] = std::clamp(x.velocity[d], -0.4 * size, 0.4 * size);
        x.position[d] = std::clamp(x.position[d] + x.velocity[d], 0.0, size - 1);
      }
      p[d] = static_cast<std::uint32_t>(std::clamp(std::floor(x.position[d] + rng.uniform()), 0.0, size - 1));
    }
    if (!all.over().contains(p)) p = all.over().repair(p, rng);
    if (all.known(p)) {
      const auto kind = rng.chance(0.5) ? neighbourhood::hamming : neighbourhood::adjacent;
      if (auto q = all.over().neighbour(p, kind, rng)) p = std::move(*q);
    }
    if (!all.known(p)) pending_[p] = chosen;
    return p;
  }

  void learn(const ledger& all, random_engine&) override {
    const auto& t = all.told().back();
    const auto from = pending_.find(t.at);
    if (from == pending_.end()) return;
    auto& x = particles_[from->second];
    pending_.erase(from);
    if (t.what != observation::status::measured || (!x.best.empty() && t.cost >= x.best_cost)) return;
    x.best = t.at;
    x.best_cost = t.cost;
  }

private:
  struct particle {
    std::vector<double> position, velocity;
    point best; ///< empty: nothing measured yet
    double best_cost = 0;
  };
  static constexpr std::size_t size_ = 16;
  std::vector<particle> particles_;
  std::map<point, std::size_t> pending_;
  std::size_t next_ = 0;
};

} // namespace

std::unique_ptr<strategy> make_swarm(space_ptr over, strategy_options options) {
  return make_seeking("swarm", std::move(over), std::move(options), std::make_unique<swarm>());
}

} // namespace attune::search
