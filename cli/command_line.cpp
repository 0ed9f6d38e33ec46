#include "cli/command_line.hpp"

#include "cli/command.hpp"
#include "core/text.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace attune::cli {

namespace {

/// A command's declaration in CLI11's terms; `json` and `store` are common to all.
struct parser {
  CLI::App app;
  bool json = false;
  std::string store;
  std::vector<std::pair<const CLI::App*, const command_spec*>> made;

  explicit parser(const command_spec& program) : app(program.about, program.name) {
    app.require_subcommand(1);
    app.set_version_flag("--version", "attune " + program_version());
    app.set_help_flag("-h,--help", "Print this help, or that of a command: attune COMMAND --help");
    fill(app, program);
  }

  void fill(CLI::App& to, const command_spec& from) {
    to.get_formatter()->column_width(34);
    to.footer(from.more);
    made.emplace_back(&to, &from);
    const bool group = !from.below.empty();
    if (!group || to.get_parent() == nullptr) {
      to.add_flag("--json", json, "Print one JSON document on standard output, and nothing else there");
      to.add_option("--store", store,
                    "The folder of the store (else $ATTUNE_STORE, $XDG_DATA_HOME/attune, ~/.local/share/attune)")
          ->type_name("DIR");
    }
    for (const auto& o : from.options) add(to, o);
    for (const auto& sub : from.below) {
      auto* one = to.add_subcommand(sub.name, sub.about);
      one->set_help_flag("-h,--help", "Print this help");
      if (!sub.below.empty()) one->require_subcommand(1);
      fill(*one, sub);
    }
  }

  static void add(CLI::App& to, const option_spec& o) {
    CLI::Option* made_one = std::visit(
        [&](auto* place) -> CLI::Option* {
          if (o.flag()) {
            if constexpr (std::is_same_v<decltype(place), std::vector<std::string>*>)
              return nullptr; // there is none: a flag is said once
            else
              return to.add_flag(o.names, *place, o.about);
          } else {
            if constexpr (std::is_same_v<decltype(place), bool*>)
              return nullptr;
            else
              return to.add_option(o.names, *place, o.about);
          }
        },
        o.to);
    if (o.required) made_one->required();
    if (!o.flag()) made_one->type_name(o.value);
    if (o.many() && !o.by_place())
      made_one->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
};

/// The command that a line names, for the message's beginning and the known options.
const CLI::App* named_command(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return at;
}

std::string full_name(const CLI::App* app) {
  std::string out = app->get_name();
  for (const auto* above = app->get_parent(); above != nullptr; above = above->get_parent())
    out.insert(0, above->get_name() + " ");
  return out;
}

std::string nearest_hint(const CLI::App& command, const std::string& word) {
  std::vector<std::string> known;
  if (word.starts_with('-')) {
    for (const auto* option : command.get_options())
      for (const auto& name : option->get_lnames()) known.push_back("--" + name);
  } else {
    for (const auto* sub : command.get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(sub->get_name());
  }
  const auto near = nearest_word(word.substr(0, word.find('=')), known);
  return near ? "; did you mean '" + *near + "'?" : "";
}

/// One line for what CLI11 found wrong.
std::string explain(const CLI::App& app, const CLI::ParseError& e) {
  const auto* command = named_command(app);
  std::string text;
  const auto left = app.remaining(true);
  if (dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr && !left.empty()) {
    const bool option = left.front().starts_with('-');
    const bool no_command =
        command->get_subcommands().empty() && !command->get_subcommands([](const CLI::App*) { return true; }).empty();
    text = (option       ? "unknown option '"
            : no_command ? "unknown command '"
                         : "unexpected argument '") +
           left.front() + "'" + nearest_hint(*command, left.front());
  } else if (dynamic_cast<const CLI::RequiredError*>(&e) != nullptr &&
             !command->get_subcommands([](const CLI::App*) { return true; }).empty()) {
    // The word in its place, where there is one, is what is wrong.
    text = left.empty() ? "a command is needed"
                        : "unknown command '" + left.front() + "'" + nearest_hint(*command, left.front());
  } else {
    text = e.what();
    text.resize(std::min(text.size(), text.find('\n')));
    if (dynamic_cast<const CLI::RequiredError*>(&e) != nullptr && text.find("SPEC") != std::string::npos)
      text = "a spec file is needed";
  }
  return full_name(command) + ": " + text + " (see " + full_name(command) + " --help)";
}

} // namespace

std::string default_store(const environment& env) {
  const auto get = [&](const char* name) {
    const char* text = env(name);
    return std::string(text == nullptr ? "" : text);
  };
  if (auto own = get("ATTUNE_STORE"); !own.empty()) return own;
  if (const auto data = get("XDG_DATA_HOME"); data.starts_with('/')) return data + "/attune";
  if (const auto home = get("HOME"); !home.empty()) return home + "/.local/share/attune";
  return {};
}

std::variant<command_line, early_end> parse_command_line(const std::vector<std::string>& arguments,
                                                         const environment& env) {
  const bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  const auto program = program_spec();
  parser p(program);
  try {
    // CLI11 takes the arguments from the back.
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    p.app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    return early_end{0, p.app.help(), "", json};
  } catch (const CLI::CallForVersion& e) {
    return early_end{0, std::string(e.what()) + "\n", "", json};
  } catch (const CLI::ParseError& e) {
    if (arguments.empty()) return early_end{2, "", p.app.help(), false};
    return early_end{2, "", explain(p.app, e), json};
  }
  const auto* named = named_command(p.app);
  const auto at = std::find_if(p.made.begin(), p.made.end(), [&](const auto& one) { return one.first == named; });
  command_line line;
  line.json = p.json;
  line.store = p.store.empty() ? default_store(env) : p.store;
  try {
    auto read = at->second->read(
        {p.json, p.store, [&](std::string_view option) { return named->count(std::string(option)) > 0; }, program});
    if (auto* end = std::get_if<early_end>(&read)) return std::move(*end);
    line.command = std::move(std::get<any_options>(read));
  } catch (const usage_fault& f) {
    return early_end{2, "", full_name(named) + ": " + f.message, json};
  }
  return line;
}

} // namespace attune::cli
