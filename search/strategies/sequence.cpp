#include "search/strategies/sequence.hpp"

#include "search/strategies/index_permutation.hpp"
#include "search/strategies/proposer.hpp"

#include <algorithm>
#include <deque>
#include <string>
#include <unordered_set>

namespace attune::search {
namespace {

struct index_hash {
  std::size_t operator()(uint128 k) const noexcept {
    return static_cast<std::size_t>((static_cast<std::uint64_t>(k) ^ static_cast<std::uint64_t>(k >> 64) * 31) *
                                    0x9e3779b97f4a7c15u);
  }
};

/// The index range in its order or permuted. Everything before the cursor was proposed, so no set of the visited is
/// needed: only what was proposed or told ahead of the cursor is kept.
class sequence_strategy final : public strategy {
public:
  sequence_strategy(std::string_view name, space_ptr over, const strategy_options& options,
                    std::optional<index_permutation> order)
      : name_(name), space_(std::move(over)), size_(*space_->count()), order_(order) {
    for (const auto& p : options.first)
      if (const auto i = space_->index_of(p)) first_.push_back(*i);
  }

  std::string_view name() const override { return name_; }

  std::optional<point> ask() override {
    std::optional<uint128> i;
    while (!i && !again_.empty()) {
      i = again_.front();
      again_.pop_front();
    }
    while (!i && !first_.empty()) {
      if (proposed(first_.front()))
        first_.pop_front();
      else
        i = take_first();
    }
    while (!i && cursor_ < size_) {
      const uint128 position = cursor_++;
      const uint128 candidate = order_ ? order_->at(position) : position;
      // Told or proposed out of turn: now it is behind the cursor and needs no note.
      if (ahead_.erase(candidate) == 0) i = candidate;
    }
    if (!i) return std::nullopt;
    return space_->at(*i);
  }

  void tell(std::span<const std::uint32_t> p, const observation& o) override {
    const auto i = space_->index_of(p);
    if (!i) return;
    if (o.what == observation::status::dropped) {
      if (proposed(*i) && std::find(again_.begin(), again_.end(), *i) == again_.end()) again_.push_back(*i);
      return;
    }
    if (!again_.empty()) std::erase(again_, *i);
    if (!proposed(*i)) ahead_.insert(*i);
  }

private:
  uint128 position(uint128 i) const { return order_ ? order_->position_of(i) : i; }
  bool proposed(uint128 i) const { return position(i) < cursor_ || ahead_.contains(i); }
  uint128 take_first() {
    const uint128 i = first_.front();
    first_.pop_front();
    ahead_.insert(i);
    return i;
  }

  std::string name_;
  space_ptr space_;
  uint128 size_;
  std::optional<index_permutation> order_;
  uint128 cursor_ = 0;
  std::deque<uint128> first_, again_;
  std::unordered_set<uint128, index_hash> ahead_;
};

/// Draws; what is known is drawn again by seeking_strategy.
class drawing final : public proposer {
public:
  std::optional<point> propose(const ledger& all, random_engine& rng) override { return all.over().sample(rng); }
};

/// The order of a space that has no index: walked in growing portions, since a walk can only begin at the start. The
/// portions double, so walking costs twice what one pass does.
class walking final : public proposer {
public:
  std::optional<point> propose(const ledger& all, random_engine&) override {
    if (portion_.empty()) {
      const std::size_t want = std::max<std::size_t>(1024, walked_);
      std::size_t at = 0;
      all.over().for_each([&](std::span<const std::uint32_t> p) {
        if (at++ >= walked_) portion_.emplace_back(p.begin(), p.end());
        return portion_.size() < want;
      });
      walked_ += portion_.size();
    }
    while (!portion_.empty()) {
      point p = std::move(portion_.front());
      portion_.pop_front();
      if (!all.known(p)) return p;
    }
    return std::nullopt;
  }

private:
  std::deque<point> portion_;
  std::size_t walked_ = 0;
};

} // namespace

std::unique_ptr<strategy> make_grid(space_ptr over, strategy_options options) {
  if (!over->count()) return make_seeking("grid", std::move(over), std::move(options), std::make_unique<walking>());
  return std::make_unique<sequence_strategy>("grid", std::move(over), std::move(options), std::nullopt);
}

std::unique_ptr<strategy> make_random(space_ptr over, strategy_options options) {
  if (!over->count()) return make_seeking("random", std::move(over), std::move(options), std::make_unique<drawing>());
  const auto n = *over->count();
  const auto seed = random_engine(options.seed).fork("random")();
  return std::make_unique<sequence_strategy>("random", std::move(over), std::move(options), index_permutation(n, seed));
}

} // namespace attune::search
