#pragma once

#include "cli/command.hpp"

#include <string>
#include <utility>
#include <vector>

namespace attune::cli {

/// The manual pages of section 1, in man's macros (groff_man(7)): of the program, and one of each command
/// (attune-tune.1, attune-db-forget.1), each with its file's name, from the declarations that --help is made of.
std::vector<std::pair<std::string, std::string>> man_pages(const command_spec& program);

} // namespace attune::cli
