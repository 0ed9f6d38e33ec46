#pragma once

#include "storage/formats/format.hpp"

#include <cstddef>
#include <functional>

namespace attune::storage::formats {

struct import_options {
  read_options read;
  /// Computes `value`, `spread` and `rejected` from `samples`: the statistic that measures what is tuned here. What the
  /// file stated is kept as the further metric "stated" where it differs. Empty: the value stays as the file states it.
  /// Called on a thread of the import's own.
  std::function<void(measurement&)> restate;
  /// Each damage, in order, on the caller's thread.
  std::function<void(const damage&)> damaged;
};

struct import_report {
  /// So many damages are kept one by one.
  static constexpr std::size_t most_damages = 10'000;

  std::string format;
  std::uint64_t read = 0, added = 0, duplicates = 0, failures = 0, comments = 0;
  std::uint64_t others = 0;    ///< lines that were understood and are no records
  std::uint64_t by_median = 0; ///< of those read: their value is the cleaned median of the file's samples
  std::vector<damage> damaged;
  std::uint64_t damages = 0;
  std::vector<std::string> warnings;
};

/// Reads all records of a file into the store, in groups, each of which is on the disk before the next one is read.
/// What the store holds already is not added again. Memory does not depend on the file's size. Where the file cannot be
/// read to its end, what was read is kept and the report's last damage says so. Errors: the store's (what was added
/// before stays).
result<import_report> import_records(store& into, source& from, const format& as, const import_options& options);
/// The same into what `append` writes to: as store::append_new().
using append_records = std::function<status(std::span<foreign_record>)>;
result<import_report> import_records(const append_records& append, source& from, const format& as,
                                     const import_options& options);

} // namespace attune::storage::formats
