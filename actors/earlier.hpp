#pragma once

#include "search/space.hpp"
#include "storage/store.hpp"

#include <vector>

namespace attune::actors {

/// One earlier measurement with what it means today.
struct earlier_result {
  configuration config; ///< today's
  key128 key;           ///< today's
  storage::record from; ///< as it was recorded; its outcome's notes say what was taken for what
};

/// What the store knows of configurations of the task from before parameters with a default were added to its spec:
/// records of the same workload on the same target, built and measured as the spec says once what mentions the added
/// parameters is left out (core/evolution.hpp). Only conclusive ones (measured, or failed by the candidate's own
/// fault), the newest of each configuration, none that was measured as it is today. Reads the records of the tasks
/// concerned where the store has configurations that lack a parameter, else nothing. Errors: the store's; a source that
/// cannot be read.
result<std::vector<earlier_result>> earlier_results(const storage::store& from, const task& of,
                                                    const search::space& over);

} // namespace attune::actors
