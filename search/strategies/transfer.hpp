#pragma once

#include "search/strategies/moves.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace attune::search {

/// What similar tasks have shown, as data for a model and as places to begin. At most `kept` results
/// over all sources, evenly by rank; only the shape of a source's costs is used, not
/// their scale. Of more than three sources the most similar ones.
class transfer {
public:
  static constexpr std::size_t kept = 120, most_sources = 3;
  transfer(const space& over, std::span<const prior_record> records);

  bool empty() const noexcept { return targets_.empty(); }
  std::size_t sources() const noexcept { return best_.size(); }
  std::span<const point> points() const noexcept { return points_; }
  /// As training_set::targets() has them, each source by itself.
  std::span<const double> targets() const noexcept { return targets_; }
  /// Of each point, from 1.
  std::span<const std::uint32_t> source() const noexcept { return source_; }
  /// Where to begin: the best of the most similar task, then, of the good ones of all tasks, those that are farthest
  /// from what was taken before; at most `count`.
  std::vector<point> seeds(const space& over, std::size_t count) const;

private:
  std::vector<point> points_;
  std::vector<double> targets_;
  std::vector<std::uint32_t> source_;
  std::vector<std::vector<point>> best_; ///< per source, by cost
};

} // namespace attune::search
