#pragma once

#include "core/spec.hpp"

#include <functional>
#include <string>
#include <vector>

namespace attune::cli {

/// How an agent confines what it runs (--confine): no new privileges, no core files; no network where the kernel lets a
/// process have one of its own. What cannot be had is said.
struct confinement_means {
  std::function<void(task_spec&)> apply; ///< puts the commands behind what confines them
  std::vector<std::string> messages;
};
confinement_means confinement();

} // namespace attune::cli
