#pragma once

#include "storage/formats/format.hpp"

namespace attune::storage::formats {

struct export_options {
  /// The tasks of that name, or whose key begins with it (eight hex digits at least); empty: all.
  std::string task;
  bool best = false; ///< only the best record of each task
};

struct export_report {
  std::uint64_t records = 0, tasks = 0; ///< written
  losses lost;
};

/// Writes the store's records in the order in which they were written, as they were when it began.
/// Errors: not_found (no such task, no record), invalid_spec (several tasks in a format that holds one), io (the sink
/// takes no more), the store's.
result<export_report> export_records(const store& from, sink& to, const format& as, const export_options& options);

} // namespace attune::storage::formats
