#pragma once

#include "core/spec.hpp"
#include "storage/store.hpp"

#include <unordered_map>
#include <utility>
#include <vector>

namespace attune::storage {

/// Which records of a task stay, by one policy. What counts for a configuration is the newest (newer()) of its
/// conclusive records (measured, stopped early, or failed by the candidate's own fault): it *stands*. Of those:
///   - the `keep_best` best measured ones;
///   - the boundary, up to `boundary` on each side: the slowest that were measured or stopped early; and failures that
///     differ in one parameter's value from one that stays and did not fail, those next to the best ones first;
///   - of the rest a sample of `reservoir`, uniform, and the same each time: those with the smallest hashes of their
///     keys, so that what one thinning has kept the next one keeps too.
/// Whatever ended at `newer_than` or later stays besides, whether it stands or not. All else goes: duplicates (folded
/// into the one that stands), faults of the infrastructure, and what stands and was not chosen.
/// Pure, no I/O. Memory: about 100 bytes a record, and 8 a parameter where there is a boundary. One owner.
class retention_choice {
public:
  retention_choice(const retention& how, goal direction) : how_(how), direction_(direction) {}

  /// The records of one task, oldest first.
  void add(const record& r);

  struct answer {
    std::vector<record_id> gone; ///< ascending
    std::uint64_t folded = 0;    ///< of these: there is a newer one of the same configuration
    std::uint64_t best = 0, boundary = 0, reservoir = 0, newer = 0; ///< that stay, each by the first reason for it
  };
  answer choose() const;

private:
  enum class kind : std::uint8_t { measured, bounded, failed, nothing };
  struct seen {
    record_id id = 0;
    key128 key;
    double value = 0;
    kind what = kind::nothing;
    bool newer = false;
    nanoseconds at{0};
    std::size_t features = 0; ///< where its hashes begin, one for each parameter
    std::size_t count = 0;
  };
  std::vector<std::size_t> next_to_kept(const std::vector<std::size_t>& standing, const std::vector<bool>& stays) const;

  retention how_;
  goal direction_;
  std::vector<seen> all_;
  std::vector<std::uint64_t> features_;
};

} // namespace attune::storage
