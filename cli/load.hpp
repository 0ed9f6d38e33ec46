#pragma once

#include "core/error.hpp"
#include "core/spec.hpp"
#include "search/space.hpp"

#include <string>
#include <vector>

namespace attune::cli {

/// One task as it was read, with its space.
struct loaded_task {
  task_spec spec;
  search::space_ptr space;
  double build_ms = 0; ///< what compiling the space took
};

/// Reads a spec file and compiles its spaces. `only`: the name of one task, or empty for all. Errors: invalid_spec.
result<std::vector<loaded_task>> load(const std::string& spec, const std::string& only = {});

} // namespace attune::cli
