#include "search/strategies/index_permutation.hpp"
#include "search/strategies/proposer.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <string>

namespace attune::search {
namespace {

/// How often an idea is asked again when it proposes what is known.
constexpr int attempts = 12;
/// Draws from an uncounted space before it is walked through.
constexpr int draws = 256;

class seeking_strategy final : public strategy {
public:
  seeking_strategy(std::string_view name, space_ptr over, strategy_options options, std::unique_ptr<proposer> idea)
      : name_(name),
        all_(std::move(over)),
        rng_(random_engine(options.seed).fork(name)),
        fallback_rng_(random_engine(options.seed).fork("fallback")),
        idea_(std::move(idea)) {
    if (const auto n = all_.over().count()) order_.emplace(*n, fallback_rng_());
    for (auto& p : options.first)
      if (all_.over().contains(p)) first_.push_back(std::move(p));
  }

  std::string_view name() const override { return name_; }

  std::optional<point> ask() override {
    forecast_.reset();
    auto p = next();
    if (p) all_.propose(*p);
    return p;
  }

  void tell(std::span<const std::uint32_t> p, const observation& o) override {
    if (!all_.over().contains(p)) return;
    point at(p.begin(), p.end());
    if (o.what == observation::status::dropped) {
      // One that was never asked for teaches nothing, not even that it may be proposed.
      if (!pending(at)) return;
      all_.tell(p, o);
      again_.push_back(std::move(at));
      return;
    }
    if (!again_.empty()) std::erase(again_, at);
    all_.tell(p, o);
    idea_->learn(all_, rng_);
  }

  std::shared_ptr<training> wanted() override { return idea_->wanted(); }
  std::shared_ptr<training> needed() const override { return idea_->needed(); }
  std::vector<std::string> take_notes() override { return idea_->take_notes(); }
  std::optional<forecast> last_forecast() const override { return forecast_; }

private:
  std::optional<point> next() {
    // What was dropped was the best idea when it was proposed: it goes first.
    while (!again_.empty()) {
      point p = std::move(again_.front());
      again_.pop_front();
      if (!pending(p)) return p;
    }
    while (!first_.empty()) {
      point p = std::move(first_.front());
      first_.pop_front();
      if (!all_.known(p)) return p;
    }
    if (const auto n = all_.over().count(); n && all_.size() >= *n) return std::nullopt;
    for (int k = 0; k < attempts; ++k) {
      auto p = idea_->propose(all_, rng_);
      if (!p) break;
      if (!all_.over().contains(*p) || all_.known(*p)) continue;
      forecast_ = idea_->last_forecast();
      if (forecast_ && !std::isfinite(forecast_->cost)) forecast_.reset();
      return p;
    }
    return unvisited();
  }

  bool pending(const point& p) const {
    return std::find(all_.pending().begin(), all_.pending().end(), p) != all_.pending().end();
  }

  std::optional<point> unvisited() {
    if (order_) {
      for (; cursor_ < order_->size(); ++cursor_) {
        const uint128 i = order_->at(cursor_);
        if (!all_.known_key(i)) return all_.over().at(i);
      }
      return std::nullopt;
    }
    for (int k = 0; k < draws; ++k) {
      point p = all_.over().sample(fallback_rng_);
      if (!all_.known(p)) return p;
    }
    std::optional<point> found;
    all_.over().for_each([&](std::span<const std::uint32_t> p) {
      if (all_.known(p)) return true;
      found.emplace(p.begin(), p.end());
      return false;
    });
    return found;
  }

  std::string name_;
  ledger all_;
  random_engine rng_, fallback_rng_;
  std::unique_ptr<proposer> idea_;
  std::optional<index_permutation> order_;
  uint128 cursor_ = 0;
  std::deque<point> first_, again_;
  std::optional<forecast> forecast_; ///< of what ask() gave last
};

} // namespace

std::unique_ptr<strategy> make_seeking(std::string_view name, space_ptr over, strategy_options options,
                                       std::unique_ptr<proposer> idea) {
  return std::make_unique<seeking_strategy>(name, std::move(over), std::move(options), std::move(idea));
}

} // namespace attune::search
