#pragma once

#include <optional>
#include <string>

namespace attune::cli {

/// The value of the environment's entry `name`, which is taken out of it: what is started later, candidates among it,
/// does not inherit it. None where it is not set. Before other threads read the environment.
std::optional<std::string> take_secret(const char* name);

} // namespace attune::cli
