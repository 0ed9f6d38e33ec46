#pragma once

#include "cli/output.hpp"
#include "cli/plan.hpp"

#include <string>

namespace attune::cli {

/// `tune --offline`: for each task the configurations that a cost model expects most of, from the store's records of it
/// and of similar tasks. Nothing is built, run or written; `best` stays empty, since nothing was measured.
int run_offline(const plan& p, const std::string& store, output& io);

} // namespace attune::cli
