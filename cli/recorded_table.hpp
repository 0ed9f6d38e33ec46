#pragma once

#include "search/replay.hpp"
#include "storage/recorded.hpp"

namespace attune::cli {

/// A recorded space as the replay plays it. Values are the file's own numbers. Errors: what enumerated_space says.
result<search::replay_table> table_of(const storage::recorded_space& recorded);

} // namespace attune::cli
