#include "search/strategies/portfolio.hpp"

#include "search/strategies/models.hpp"
#include "search/strategies/proposer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <deque>
#include <map>
#include <string>

namespace attune::search {
namespace {

constexpr std::size_t portfolio_rows = 200;
constexpr std::size_t sole_until = 30, portfolio_notes_at_most = 32;

/// Trials before a model is asked: enough to see each parameter move, not more than a part of a small budget.
std::size_t starts(const space& over, const strategy_options& o) {
  std::size_t n = 0;
  for (const auto& info : over.parameters()) n += info.size > 1 ? 1 : 0;
  n = std::clamp<std::size_t>(n + 4, 8, 20);
  if (o.budget) n = std::min<std::size_t>(n, std::max<std::size_t>(4, *o.budget / 4));
  return n;
}

/// The first trials: what was best for similar tasks, then a space-filling start; of that, as far as the similar tasks
/// are believed, the trials are the model's already.
class opening {
public:
  opening(const space& over, const strategy_options& o, const transfer& prior)
      : seeds_(prior.seeds(over, 2)), left_(starts(over, o)) {
    left_ -= std::min(left_, seeds_.size());
  }
  /// None: it is over, for this trial at least.
  std::optional<point> next(const ledger& all, bool anything_measured, double trust, random_engine& rng) {
    if (next_seed_ < seeds_.size()) return seeds_[next_seed_++];
    if (anything_measured && (left_ == 0 || (trust > 0 && rng.chance(trust)))) return std::nullopt;
    left_ -= std::min<std::size_t>(left_, 1);
    return farthest(all, rng);
  }

private:
  std::vector<point> seeds_;
  std::size_t next_seed_ = 0, left_;
};

class gp_search final : public proposer {
public:
  gp_search(const space& over, const strategy_options& o) : gp_(over, o.prior), start_(over, o, gp_.prior()) {}

  std::optional<point> propose(const ledger& all, random_engine& rng) override {
    said_.reset();
    if (auto p = start_.next(all, !elite_.empty(), gp_.trust(), rng)) return p;
    auto p = gp_.choose(all, data_, elite_, rng);
    if (p && !elite_.empty()) said_ = forecast{data_.cost_of(gp_.expected()), true};
    return p;
  }
  std::optional<forecast> last_forecast() const override { return said_; }
  std::vector<std::string> take_notes() override { return gp_.take_notes(); }
  void learn(const ledger& all, random_engine& rng) override {
    data_.take(all.told().back(), rng);
    elite_.take(all.told().back());
    gp_.look(data_);
  }

private:
  gp_chooser gp_;
  opening start_;
  training_set data_{portfolio_rows};
  elite_set elite_{8};
  std::optional<forecast> said_;
};

class portfolio final : public proposer {
public:
  portfolio(const space& over, const strategy_options& o)
      : gp_(over, o.prior, failures_are::weighed), start_(over, o, gp_.prior()), forest_(over) {}

  std::optional<point> propose(const ledger& all, random_engine& rng) override {
    said_.reset();
    if (auto p = start_.next(all, !elite_.empty(), gp_.trust(), rng)) return p;
    // With few results the process sees most; what pays is not yet known either.
    const arm a = all.told().size() < sole_until ? gaussian : draw(rng);
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
    if (p && a != local && !elite_.empty())
      said_ = forecast{data_.cost_of(a == gaussian ? gp_.expected() : forest_.expected()), true};
    return p;
  }
  std::optional<forecast> last_forecast() const override { return said_; }

  void learn(const ledger& all, random_engine& rng) override {
    const auto& t = all.told().back();
    data_.take(t, rng);
    elite_.take(t);
    gp_.look(data_);
    const auto from = origin_.find(t.at);
    if (from == origin_.end()) return;
    credit_[from->second].take(all.best() == &t);
    origin_.erase(from);
    if (all.told().size() >= sole_until) say_shares();
  }
  std::vector<std::string> take_notes() override {
    auto out = gp_.take_notes();
    out.insert(out.end(), notes_.begin(), notes_.end());
    notes_.clear();
    return out;
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

  /// A note where a share has moved by a tenth of all since the last one.
  void say_shares() {
    double total = 0, moved = 0;
    for (const auto& c : credit_) total += c.weight();
    std::array<double, 3> share{};
    for (std::size_t a = 0; a < share.size(); ++a) {
      share[a] = credit_[a].weight() / total;
      moved = std::max(moved, std::abs(share[a] - said_shares_[a]));
    }
    if (moved < 0.1) return;
    said_shares_ = share;
    char text[128];
    std::snprintf(
        text, sizeof text,
        "shares of the trials, by what finds a new best: process %.0f %%, forest %.0f %%, local moves %.0f %%",
        share[gaussian] * 100, share[forest] * 100, share[local] * 100);
    notes_.emplace_back(text);
    if (notes_.size() > portfolio_notes_at_most) notes_.pop_front();
  }

  gp_chooser gp_;
  opening start_;
  forest_chooser forest_;
  training_set data_{portfolio_rows};
  elite_set elite_{8};
  std::array<credit, 3> credit_{credit{0.9}, credit{0.06}, credit{0.06}};
  std::array<double, 3> said_shares_{};
  std::deque<std::string> notes_;
  std::map<point, arm> origin_; ///< what is pending, and whose idea it was
  std::optional<forecast> said_;
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
