#pragma once

#include "core/error.hpp"
#include "storage/store.hpp"

#include <cstddef>
#include <iosfwd>

namespace attune::web {

/// Writes a session in the Chrome trace format (JSON object form, which Perfetto reads): a row for each place that ran
/// trials, rows for the builds, a row for each trial's waiting, a counter of the values. Only what this session
/// measured is in it. Times are from the records: a run ends `clean` before the record does; of a trial that waited
/// both before and after its build the record has the sum, and its build is drawn at the latest time that it can have
/// had. Answers how many trials. Errors: the store's.
result<std::size_t> write_trace(std::ostream& to, const storage::store& from, const storage::session_entry& session);

} // namespace attune::web
