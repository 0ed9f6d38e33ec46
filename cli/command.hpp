// What each command is called, takes and means, as data: the parser, --help, the man pages and the shells' completions
// are made of it.
#pragma once

#include "cli/command_line.hpp"

#include <charconv>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace attune::cli {

/// What is wrong with a command line: one line. Thrown by command_spec::read, caught by parse_command_line.
struct usage_fault {
  std::string message;
};

/// An option, or (without dashes in its name) an argument by its place.
struct option_spec {
  std::string names; ///< "-o,--output"; "SPEC"
  std::string value; ///< how the help calls its value; empty: it is a flag (an argument: nothing is added to its name)
  std::string about;
  /// Where it is put. A text without a `value` is a flag that may have one (`--dashboard=…`). A list takes one value
  /// each time it stands on the line; as an argument, all that there are.
  std::variant<bool*, std::string*, std::vector<std::string>*> to;
  bool required = false;

  bool by_place() const noexcept { return !names.starts_with('-'); }
  bool many() const noexcept { return std::holds_alternative<std::vector<std::string>*>(to); }
  bool flag() const noexcept { return !by_place() && value.empty(); }
  /// Its names, the short one first.
  std::vector<std::string> each_name() const;
};

struct command_spec;

/// What a command's `read` may ask of the line beside what its own options were put into.
struct typed_line {
  bool json = false;
  std::string store;                           ///< as it was given; empty: it was not
  std::function<bool(std::string_view)> given; ///< whether an option (by its long name, with dashes) stood there
  const command_spec& program;
};

using reading = std::variant<any_options, early_end>;

/// One command; or, with some `below` it, a group of which one is needed.
struct command_spec {
  std::string name, about;
  std::string more{}; ///< the end of its help: what it means, and examples, indented by two
  std::vector<option_spec> options{};
  std::vector<command_spec> below{};
  /// Judges what was put into the options' places, which it keeps. Throws usage_fault.
  std::function<reading(const typed_line&)> read{};

  option_spec& flag(std::string names, bool& to, std::string about) {
    return options.emplace_back(option_spec{std::move(names), {}, std::move(about), &to});
  }
  option_spec& flag(std::string names, std::string& to, std::string about) {
    return options.emplace_back(option_spec{std::move(names), {}, std::move(about), &to});
  }
  option_spec& value(std::string names, std::string shown, std::string& to, std::string about) {
    return options.emplace_back(option_spec{std::move(names), std::move(shown), std::move(about), &to});
  }
  /// May be repeated.
  option_spec& values(std::string names, std::string shown, std::vector<std::string>& to, std::string about) {
    return options.emplace_back(option_spec{std::move(names), std::move(shown), std::move(about), &to});
  }
  option_spec& place(std::string name, std::string& to, std::string about, bool required = true) {
    return options.emplace_back(option_spec{std::move(name), {}, std::move(about), &to, required});
  }
  option_spec& places(std::string name, std::string shown, std::vector<std::string>& to, std::string about) {
    return options.emplace_back(option_spec{std::move(name), std::move(shown), std::move(about), &to});
  }
};

/// The whole program, its commands below it.
command_spec program_spec();

/// The options that every command has: --help, and where it is none of a group's, --json and --store. For what shows
/// them; the parser puts them in itself.
std::vector<option_spec> common_options(const command_spec& of);

/// The exit codes and what they mean, for the end of the help.
std::string exit_codes_text();
std::string program_version();

/// A device's labels: its class (empty: none is given) as `device`, then each `K=V`. Throws usage_fault.
std::vector<std::pair<std::string, std::string>> read_labels(const std::string& device,
                                                             const std::vector<std::string>& labels);

/// How a hub is reached, as several commands ask for it.
struct hub_words {
  std::string hub, token_file, ca_file;
  bool plain = false;
  void add(command_spec& to, const std::string& about, bool needed);
  hub_access read() const;
};

/// A whole number in [least, most]. Throws usage_fault that names the option.
template <class Number>
Number read_count(const std::string& option, const std::string& text, Number least,
                  Number most = std::numeric_limits<Number>::max()) {
  Number n = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (ec != std::errc{} || end != text.data() + text.size() || n < least || n > most)
    throw usage_fault{option + " must be a whole number from " + std::to_string(least) +
                      (most == std::numeric_limits<Number>::max() ? " on" : " to " + std::to_string(most)) + ", not '" +
                      text.substr(0, 60) + "'"};
  return n;
}

/// Bytes: a whole number from 1 on, with K, M, G or T behind it where it counts those (of 1024). Throws usage_fault
/// that names `option`.
std::uint64_t read_size(const std::string& option, const std::string& text);

} // namespace attune::cli
