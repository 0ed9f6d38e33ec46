#include "search/strategies/evolution.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace attune::search {
namespace {

class differential final : public proposer {
public:
  std::optional<point> propose(const ledger& all, random_engine& rng) override {
    if (all.told().size() + all.pending().size() < size_ || members_.size() < 4) return all.over().sample(rng);
    const std::size_t target = rng.below(members_.size());
    const auto& base = members_[target].at;
    const auto& best = *std::min_element(members_.begin(), members_.end(),
                                         [](const member& a, const member& b) { return a.cost < b.cost; });
    const auto &a = members_[rng.below(members_.size())].at, &b = members_[rng.below(members_.size())].at;
    const double f = 0.4 + 0.5 * rng.uniform();
    point child = base;
    const std::size_t sure = rng.below(child.size());
    const auto infos = all.over().parameters();
    for (std::size_t d = 0; d < child.size(); ++d) {
      if (d != sure && !rng.chance(0.6)) continue;
      if (!infos[d].ordinal || base[d] == inactive || a[d] == inactive || b[d] == inactive || best.at[d] == inactive) {
        // A difference of categories is one of the two, where they differ, else the best's.
        child[d] = a[d] != b[d] ? a[d] : best.at[d];
        continue;
      }
      // current-to-best/1, rounded at random so that differences below one step are not lost.
      const double to = base[d] + f * (static_cast<double>(best.at[d]) - base[d]) +
                        f * (static_cast<double>(a[d]) - static_cast<double>(b[d]));
      const double rounded = std::floor(to + rng.uniform());
      child[d] = static_cast<std::uint32_t>(std::clamp(rounded, 0.0, static_cast<double>(infos[d].size - 1)));
    }
    if (!all.over().contains(child)) child = all.over().repair(child, rng);
    if (all.known(child)) {
      const auto kind = rng.chance(0.5) ? neighbourhood::hamming : neighbourhood::adjacent;
      if (auto q = all.over().neighbour(child, kind, rng)) child = std::move(*q);
    }
    if (!all.known(child)) target_[child] = target;
    return child;
  }

  void learn(const ledger& all, random_engine&) override {
    const auto& t = all.told().back();
    const auto from = target_.find(t.at);
    const auto target = from == target_.end() ? members_.size() : from->second;
    if (from != target_.end()) target_.erase(from);
    if (t.what != observation::status::measured) return;
    if (members_.size() < size_)
      members_.push_back({t.at, t.cost});
    else if (target < members_.size()) {
      if (t.cost < members_[target].cost) members_[target] = {t.at, t.cost};
    }
  }

private:
  struct member {
    point at;
    double cost;
  };
  static constexpr std::size_t size_ = 16;
  std::vector<member> members_;
  std::map<point, std::size_t> target_; ///< pending, and whom it may replace
};

} // namespace

std::unique_ptr<strategy> make_differential(space_ptr over, strategy_options options) {
  return make_seeking("differential", std::move(over), std::move(options), std::make_unique<differential>());
}

} // namespace attune::search
