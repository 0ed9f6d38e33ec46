#pragma once

#include "cli/command_line.hpp"
#include "cli/load.hpp"
#include "core/budget.hpp"
#include "core/error.hpp"
#include "core/task.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attune::cli {

/// Puts the command line's options in place of what the spec says; trials and time are each task's own where no budget
/// is shared.
void apply(const tune_options& options, task_spec& spec, bool shared);

/// One task about to be tuned.
struct planned_task {
  task_ptr of;
  search::space_ptr over;
  std::optional<std::uint64_t> trials; ///< what the budget comes to; none: time alone bounds it
};

struct plan {
  std::vector<planned_task> tasks;
  std::optional<budget_spec> budget; ///< what they share
  how_many slots, builders;
  std::uint32_t cores = 1;           ///< of each slot
  std::vector<std::string> messages; ///< for a person, before it begins: what was read leniently, what was noticed
};

/// Reads and checks all that can be wrong before anything is started or written. Errors: invalid_spec: a spec, a space,
/// a command, a source, the strategy, a fraction of a space that cannot be counted, tasks that ask for different slots
/// or builders, the same session twice (where a budget is shared it is one with the sum of the weights), spec files
/// with different budgets, a policy without a budget or without several tasks.
result<plan> make_plan(const tune_options& options);

/// What `tune --dry-run` says.
nlohmann::ordered_json plan_json(const plan& p, const std::string& store);
std::string render_plan(const plan& p, const std::string& store);

} // namespace attune::cli
