#pragma once

#include "search/space.hpp"
#include "search/strategy.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace attune::search {

/// One result as the strategies see it.
struct told_trial {
  point at;
  observation::status what = observation::status::failed; ///< never `dropped`
  double cost = 0;                                        ///< where measured or censored
  bool foreign = false;                                   ///< told without having been asked for
};

/// What a strategy's proposers know: which configurations were proposed, which are pending, how each ended.
/// Memory: one entry a trial. Threads: one owner.
class ledger {
public:
  explicit ledger(space_ptr over) : space_(std::move(over)) {}

  const space& over() const noexcept { return *space_; }
  const space_ptr& shared_space() const noexcept { return space_; }

  /// A configuration's name in this ledger: its index, or (where the space is not counted) 128 bits of hash.
  uint128 key(std::span<const std::uint32_t> p) const;

  /// True for what was proposed or told.
  bool known(std::span<const std::uint32_t> p) const { return known_.contains(key(p)); }
  bool known_key(uint128 k) const { return known_.contains(k); }
  /// How many configurations are known.
  std::size_t size() const noexcept { return known_.size(); }

  /// Marks as pending.
  void propose(std::span<const std::uint32_t> p);
  /// Takes a result. Returns false where it was dropped. A cost that is not finite counts as a failure.
  bool tell(std::span<const std::uint32_t> p, const observation& o);

  /// Every result in the order in which it came.
  std::span<const told_trial> told() const noexcept { return told_; }
  /// The measured one of the lowest cost (the first of equals); null where nothing was measured.
  const told_trial* best() const noexcept { return best_ == none ? nullptr : &told_[best_]; }
  std::size_t measured() const noexcept { return measured_; }
  std::size_t failures() const noexcept { return failures_; }
  /// Asked and not yet told, in the order of asking.
  std::span<const point> pending() const noexcept { return pending_; }

private:
  static constexpr std::size_t none = ~std::size_t{0};
  struct key_hash {
    std::size_t operator()(uint128 k) const noexcept {
      return static_cast<std::size_t>((static_cast<std::uint64_t>(k) ^ static_cast<std::uint64_t>(k >> 64) * 31) *
                                      0x9e3779b97f4a7c15u);
    }
  };
  space_ptr space_;
  std::unordered_set<uint128, key_hash> known_;
  std::vector<told_trial> told_;
  std::vector<point> pending_;
  std::size_t best_ = none, measured_ = 0, failures_ = 0;
};

} // namespace attune::search
