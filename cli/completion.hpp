#pragma once

#include "cli/command.hpp"

#include <optional>
#include <string>

namespace attune::cli {

/// A script that completes commands and options, and files elsewhere, for `bash`, `zsh` or `fish`; none for another
/// shell.
std::optional<std::string> completion_script(const std::string& shell, const command_spec& program);

} // namespace attune::cli
