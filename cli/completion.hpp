#pragma once

#include <optional>
#include <string>
#include <vector>

namespace attune::cli {

/// A command as a shell completes it.
struct command_words {
  struct option {
    std::string name; ///< with its dashes
    std::string about;
    bool wants_value = false;
  };
  std::string name, about;
  std::vector<option> options;
  std::vector<command_words> commands;
};

/// A script that completes commands and options, and files elsewhere, for `bash`, `zsh` or `fish`; none for another
/// shell.
std::optional<std::string> completion_script(const std::string& shell, const command_words& program);

} // namespace attune::cli
