#pragma once

#include "core/clock.hpp"
#include "core/hash.hpp"
#include "core/spec.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace attune::storage {

/// How many of a task's best are answered, exactly.
inline constexpr std::size_t best_answered = 16;

/// The best configurations of one task, kept while its records are written. What counts for a configuration is its
/// newest conclusive record (one that was measured, or failed by the candidate's own fault), by when it was measured,
/// of two at one time the one that was written later: measured again, it has the new value; failed since, it is out;
/// what is older than that and is written later (an import) changes nothing. Values that are not finite or are negative
/// never enter.
///
/// It keeps more than are answered, and with `floor` the best value of all that it leaves out. So it stays exact when
/// entries become worse or go. The records have to be read again (incomplete()) only when fewer than best_answered are
/// left and something is left out, or when something older would enter whose configuration may have a newer record that
/// the table does not hold. Pure, no I/O. Thread-safety: one owner.
class best_table {
public:
  struct entry {
    key128 key;
    std::uint64_t record = 0;
    double value = 0;
    nanoseconds at{0}; ///< since when it counts (record::counts_from)
    friend bool operator==(const entry&, const entry&) = default;
  };

  static constexpr std::size_t capacity = 64;

  best_table() = default;
  explicit best_table(goal direction) : direction_(direction) {}
  /// As it was written. Entries in whatever order; too many are cut. Not `known`: it is incomplete().
  best_table(goal direction, std::vector<entry> entries, std::optional<double> floor, bool known = true);

  /// False where apply() with the same arguments would change nothing: cheap, for every record.
  bool concerns(const key128& key, std::optional<double> value) const noexcept;

  /// One more conclusive result of `key`: its value, or none where it failed. `late`: something of this task was
  /// measured after `at` and applied before. @pre `record` is newer than all before.
  void apply(const key128& key, std::uint64_t record, std::optional<double> value, nanoseconds at = nanoseconds(0),
             bool late = false);

  /// Best first; of equal values the older record first.
  std::span<const entry> entries() const noexcept { return entries_; }
  std::optional<double> floor() const noexcept { return floor_; }
  goal direction() const noexcept { return direction_; }
  /// False: nothing is known of which are the best, and apply() does nothing.
  bool known() const noexcept { return known_; }
  /// True where the first best_answered are not known to be the best.
  bool incomplete() const noexcept { return !known_ || (floor_ && entries_.size() < best_answered); }

  /// The table of a whole history: each element one conclusive result, `value` NaN for a failure. Reorders `history`.
  static best_table of(goal direction, std::vector<entry>& history);

  friend bool operator==(const best_table&, const best_table&) = default;

private:
  bool better(double a, double b) const noexcept { return direction_ == goal::minimize ? a < b : a > b; }
  bool before(const entry& a, const entry& b) const noexcept;

  goal direction_ = goal::minimize;
  std::vector<entry> entries_;
  std::optional<double> floor_;
  bool known_ = true;
};

/// What of an outcome's value may be the best: none for what is not finite or negative.
std::optional<double> eligible(double value) noexcept;

} // namespace attune::storage
