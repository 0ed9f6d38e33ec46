#include "search/strategies/evolution.hpp"
#include "search/strategies/scale.hpp"

#include <algorithm>
#include <cmath>

namespace attune::search {
namespace {

class annealing final : public proposer {
public:
  explicit annealing(const strategy_options& o) : budget_(static_cast<double>(o.budget.value_or(400))) {}

  std::optional<point> propose(const ledger& all, random_engine& rng) override {
    const auto n = all.told().size() + all.pending().size();
    if (n < starts_ || current_.empty()) return all.over().sample(rng);
    // Far moves while it is hot, near ones when it is cold.
    const auto kind = rng.chance(0.35 + 0.35 * warmth(all)) ? neighbourhood::hamming : neighbourhood::adjacent;
    auto p = all.over().neighbour(current_, kind, rng);
    if (p && all.known(*p)) {
      // The near ones are used up: two steps.
      if (auto q = all.over().neighbour(*p, neighbourhood::hamming, rng)) p = std::move(q);
    }
    return p;
  }

  void learn(const ledger& all, random_engine& rng) override {
    const auto& t = all.told().back();
    if (t.what != observation::status::measured) {
      ++stuck_;
      return;
    }
    scale_.add(t.cost);
    if (current_.empty() || all.told().size() <= starts_) {
      if (current_.empty() || t.cost < current_cost_) move_to(t);
      spread(all);
      return;
    }
    const double worse = scale_(t.cost) - scale_(current_cost_);
    const double temperature = spread_ * 0.25 * warmth(all);
    if (worse < 0 || (temperature > 0 && rng.chance(std::exp(-worse / temperature)))) {
      stuck_ = worse < 0 ? 0 : stuck_ + 1;
      move_to(t);
    } else
      ++stuck_;
    if (all.best() == &t) stuck_ = 0;
    if (stuck_ > 24) {
      move_to(*all.best());
      stuck_ = 0;
    }
  }

private:
  /// 1 at the start, 0 at the end of the budget; beyond it, it starts again.
  double warmth(const ledger& all) const {
    const double part = std::fmod(static_cast<double>(all.told().size()) / budget_, 1.0);
    return (1 - part) * (1 - part);
  }
  void move_to(const told_trial& t) {
    current_ = t.at;
    current_cost_ = t.cost;
  }
  /// The middle half of the images of the first costs.
  void spread(const ledger& all) {
    std::vector<double> images;
    for (const auto& t : all.told())
      if (t.what == observation::status::measured) images.push_back(scale_(t.cost));
    std::sort(images.begin(), images.end());
    spread_ = images[images.size() * 3 / 4] - images[images.size() / 4];
  }

  static constexpr std::size_t starts_ = 10;
  double budget_;
  cost_scale scale_;
  point current_;
  double current_cost_ = 0, spread_ = 0;
  int stuck_ = 0;
};

} // namespace

std::unique_ptr<strategy> make_annealing(space_ptr over, strategy_options options) {
  auto idea = std::make_unique<annealing>(options);
  return make_seeking("annealing", std::move(over), std::move(options), std::move(idea));
}

} // namespace attune::search
