#include "search/strategies/portfolio.hpp"

#include "search/strategies/models.hpp"
#include "search/strategies/proposer.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace attune::search {
namespace {

constexpr std::size_t capacity = 200;

/// Trials before a model is asked: enough to see each parameter move, not more than a part of a small budget.
std::size_t starts(const space& over, const strategy_options& o) {
  std::size_t n = 0;
  for (const auto& info : over.parameters()) n += info.size > 1 ? 1 : 0;
  n = std::clamp<std::size_t>(n + 4, 8, 20);
  if (o.budget) n = std::min<std::size_t>(n, std::max<std::size_t>(4, *o.budget / 4));
  return n;
}

class gp_search final : public proposer {
public:
  gp_search(const space& over, const strategy_options& o) : starts_(starts(over, o)), gp_(over, o.prior) {
    seeds_ = gp_.prior().seeds(6);
  }

  std::optional<point> propose(const ledger& all, random_engine& rng) override {
    if (next_seed_ < seeds_.size()) return seeds_[next_seed_++];
    if (all.told().size() + all.pending().size() < starts_ || elite_.empty()) return farthest(all, rng);
    return gp_.choose(all, data_, elite_, rng);
  }
  void learn(const ledger& all, random_engine& rng) override {
    data_.take(all.told().back(), rng);
    elite_.take(all.told().back());
  }

private:
  std::size_t starts_;
  std::vector<point> seeds_; ///< what was best for similar tasks
  std::size_t next_seed_ = 0;
  gp_chooser gp_;
  training_set data_{capacity};
  elite_set elite_{8};
};

class portfolio final : public proposer {
public:
  portfolio(const space& over, const strategy_options& o)
      : starts_(starts(over, o)), gp_(over, o.prior), forest_(over) {
    seeds_ = gp_.prior().seeds(6);
  }

  std::optional<point> propose(const ledger& all, random_engine& rng) override {
    if (next_seed_ < seeds_.size()) return seeds_[next_seed_++];
    if (all.told().size() + all.pending().size() < starts_ || elite_.empty()) return farthest(all, rng);
    const arm a = draw(rng);
    std::optional<point> p;
    if (a == gaussian)
      p = gp_.choose(all, data_, elite_, rng);
    else if (a == forest)
      p = forest_.choose(all, data_, elite_, rng);
    else {
      const auto kind = rng.chance(0.5) ? neighbourhood::hamming : neighbourhood::adjacent;
      p = all.over().neighbour(elite_.pick(rng).at, kind, rng);
    }
    if (p && !all.known(*p)) origin_[*p] = a;
    return p;
  }

  void learn(const ledger& all, random_engine& rng) override {
    const auto& t = all.told().back();
    data_.take(t, rng);
    elite_.take(t);
    const auto from = origin_.find(t.at);
    if (from == origin_.end()) return;
    credit_[from->second].take(all.best() == &t);
    origin_.erase(from);
  }

private:
  enum arm : std::uint8_t { gaussian, forest, local };

  /// How often an arm has lately found a new best.
  struct credit {
    double share = 1; ///< of the budget, before anything was seen
    double tried = 0, won = 0;
    void take(bool win) {
      tried = tried * 0.97 + 1;
      won = won * 0.97 + (win ? 1 : 0);
    }
    double weight() const { return share * (0.25 + (won + 0.5) / (tried + 2)); }
  };

  arm draw(random_engine& rng) const {
    double total = 0;
    for (const auto& c : credit_) total += c.weight();
    double left = rng.uniform() * total;
    for (const arm a : {gaussian, forest}) {
      left -= credit_[a].weight();
      if (left < 0) return a;
    }
    return local;
  }

  std::size_t starts_;
  std::vector<point> seeds_; ///< what was best for similar tasks
  std::size_t next_seed_ = 0;
  gp_chooser gp_;
  forest_chooser forest_;
  training_set data_{capacity};
  elite_set elite_{8};
  std::array<credit, 3> credit_{credit{0.9}, credit{0.06}, credit{0.06}};
  std::map<point, arm> origin_; ///< what is pending, and whose idea it was
};

} // namespace

std::unique_ptr<strategy> make_gp(space_ptr over, strategy_options options) {
  auto idea = std::make_unique<gp_search>(*over, options);
  return make_seeking("gp", std::move(over), std::move(options), std::move(idea));
}

std::unique_ptr<strategy> make_auto(space_ptr over, strategy_options options) {
  auto idea = std::make_unique<portfolio>(*over, options);
  return make_seeking("auto", std::move(over), std::move(options), std::move(idea));
}

} // namespace attune::search
