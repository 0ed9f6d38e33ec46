#pragma once

#include "core/error.hpp"
#include "search/replay.hpp"
#include "storage/recorded.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace attune::cli {

/// What one strategy came to against a recorded space: run k had the seed `seed` + k.
struct played_strategy {
  std::string name;
  std::uint64_t seed = 1;
  std::vector<search::replay_run> runs;
};

/// Writes the report of runs against a recorded space (web/report.hpp), a session for each, in virtual time. `table` is
/// table_of(recorded). Errors: io, naming the file.
status write_played(const std::string& file, const std::string& name, const storage::recorded_space& recorded,
                    const search::replay_table& table, const std::vector<played_strategy>& all);

} // namespace attune::cli
