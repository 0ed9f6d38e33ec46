#include "search/strategies/evolution.hpp"
#include "search/strategies/moves.hpp"

#include <algorithm>
#include <deque>
#include <set>

namespace attune::search {
namespace {

/// The best configuration of this climb whose neighbourhood is not used up is looked around, near neighbours first;
/// once something better comes, the search goes on from there. What was looked around is tabu.
class local final : public proposer {
public:
  std::optional<point> propose(const ledger& all, random_engine& rng) override {
    for (int rounds = 0; rounds < 16; ++rounds) {
      while (!queue_.empty()) {
        point p = std::move(queue_.front());
        queue_.pop_front();
        if (!all.known(p)) return p;
      }
      if (climb_.size() < starts_ || barren_ >= patience_) return restart(all, rng);
      if (!look_around(all, rng)) return restart(all, rng);
    }
    return std::nullopt;
  }

  void learn(const ledger& all, random_engine&) override {
    const auto& t = all.told().back();
    if (t.what != observation::status::measured) return;
    const auto place = std::upper_bound(climb_.begin(), climb_.end(), t.cost,
                                        [](double c, const told_trial& m) { return c < m.cost; });
    const bool better = place == climb_.begin() && !climb_.empty();
    climb_.insert(place, t);
    if (climb_.size() > kept_) climb_.pop_back();
    if (!better || climb_.size() <= starts_) return;
    // First improvement: on from here.
    queue_.clear();
    barren_ = 0;
  }

private:
  point restart(const ledger& all, random_engine& rng) {
    if (barren_ >= patience_ || climb_.size() >= starts_) {
      climb_.clear();
      barren_ = 0;
    }
    return farthest(all, rng, 8);
  }

  bool look_around(const ledger& all, random_engine& rng) {
    for (const auto& c : climb_) {
      if (!tabu_.insert(c.at).second) continue;
      for (const auto kind : {neighbourhood::adjacent, neighbourhood::hamming}) {
        auto near = all.over().neighbours(c.at, kind);
        std::erase_if(near, [&](const point& p) { return all.known(p); });
        rng.shuffle(std::span(near));
        // All that are near, and a part of the far ones, which are many.
        if (kind == neighbourhood::hamming && near.size() > far_) near.resize(far_);
        for (auto& p : near) queue_.push_back(std::move(p));
      }
      ++barren_;
      if (!queue_.empty()) return true;
    }
    return false;
  }

  static constexpr std::size_t starts_ = 6, kept_ = 64, far_ = 16;
  static constexpr int patience_ = 4;
  std::vector<told_trial> climb_; ///< since the last restart, by cost
  std::deque<point> queue_;
  std::set<point> tabu_;
  int barren_ = 0; ///< neighbourhoods looked at since something better was found
};

} // namespace

std::unique_ptr<strategy> make_local(space_ptr over, strategy_options options) {
  return make_seeking("local", std::move(over), std::move(options), std::make_unique<local>());
}

} // namespace attune::search
