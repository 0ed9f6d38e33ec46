#pragma once

#include "cli/command_line.hpp"
#include "core/spec.hpp"
#include "measure/confinement.hpp"

#include <functional>
#include <string>
#include <vector>

namespace attune::cli {

/// How an agent confines what it runs (--confine, --user, --limit): no new privileges, no core files, a temporary
/// folder of its own, limits of what it may use, another user; no network where the kernel lets a process have one of
/// its own. Errors: invalid_spec: no such user, or this process is not root and may not be another.
result<measure::confinement> confinement_of(const agent_options& options);

/// What is to be said of it when it is in force; where the supervisor could not take the network away (`taken`), what
/// is put before each command instead, if anything can be.
struct confinement_means {
  std::function<void(task_spec&)> apply; ///< puts the commands behind what confines them; may be empty
  std::vector<std::string> messages;
};
confinement_means confinement_left(const measure::confinement& wanted, bool taken);

} // namespace attune::cli
