#pragma once

#include "core/estimate.hpp"
#include "search/space.hpp"

#include <optional>
#include <span>
#include <string>
#include <unordered_map>

namespace attune::search {

/// Says what a configuration would come to that lies between two that were measured, where that is as good as known:
/// there is an ordinal parameter in which it differs by one step from either of them (the next and the previous value
/// that give valid configurations) and in nothing else, their values differ by no more than `tolerance` of the smaller
/// one, and the better of them is worse than the best so far by more than that. The estimate is their mean. Of several
/// parameters of which this is true the one whose neighbours agree most is taken.
///
/// So an estimate is never the best, nor next to it: what could be the best is measured. Estimates are no measurements
/// here either, and nothing is estimated by them.
///
/// Pure, deterministic, one owner. Cost: estimate_of() that of space::neighbours(). Memory: a point for each result.
class near_reuse {
public:
  /// @param tolerance a fraction, such as the noise that the user accepts
  near_reuse(space_ptr over, goal direction, double tolerance)
      : space_(std::move(over)), direction_(direction), tolerance_(tolerance) {}

  /// A configuration was measured; the newest value counts.
  void measured(std::span<const std::uint32_t> p, const key128& key, double value);
  /// It has no value (any more): it failed, or was stopped early.
  void unmeasured(std::span<const std::uint32_t> p);

  /// @param best the best value so far; none: nothing is estimated yet
  std::optional<estimate> estimate_of(std::span<const std::uint32_t> p, std::optional<double> best) const;

private:
  struct known {
    key128 key;
    double value = 0;
  };
  const known* find(std::span<const std::uint32_t> p) const;

  space_ptr space_;
  goal direction_;
  double tolerance_;
  std::unordered_map<std::string, known> known_; ///< by the point's bytes
};

} // namespace attune::search
