#include "cli/completion.hpp"

#include "cli/commands.hpp"

namespace attune::cli {

namespace {

/// What is completed of a command: its options by their long names. They point into `of`.
std::vector<std::pair<std::string, const option_spec*>> long_names(const std::vector<option_spec>& of) {
  std::vector<std::pair<std::string, const option_spec*>> out;
  for (const auto& o : of)
    for (const auto& name : o.each_name())
      if (name.starts_with("--")) out.emplace_back(name, &o);
  return out;
}
void long_names(std::vector<option_spec>&&) = delete;

std::string words_for_shell(const command_spec& of) {
  std::string out;
  const auto add = [&out](const std::string& word) { out += (out.empty() ? "" : " ") + word; };
  for (const auto& c : of.below) add(c.name);
  for (const auto& [name, o] : long_names(of.options)) add(name);
  const auto common = common_options(of);
  for (const auto& [name, o] : long_names(common)) add(name);
  return out;
}

std::string bash(const command_spec& program) {
  std::string out = "# attune completion bash: source it, or put it where bash-completion looks.\n"
                    "_attune() {\n"
                    "  local cur=${COMP_WORDS[COMP_CWORD]} words= places=\n"
                    "  COMPREPLY=()\n"
                    "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                    "    words='" +
                    words_for_shell(program) +
                    "' places=1\n"
                    "  else\n"
                    "    case ${COMP_WORDS[1]} in\n";
  for (const auto& c : program.below) {
    out += "    " + c.name + ")\n      words='" + words_for_shell(c) + "'\n";
    if (!c.below.empty()) {
      out += "      [ \"$COMP_CWORD\" -eq 2 ] && places=1\n"
             "      if [ \"$COMP_CWORD\" -gt 2 ]; then\n        case ${COMP_WORDS[2]} in\n";
      for (const auto& d : c.below) out += "        " + d.name + ") words='" + words_for_shell(d) + "' ;;\n";
      out += "        esac\n      fi\n";
    }
    out += "      ;;\n";
  }
  // Elsewhere than where a command stands, what begins without a dash is a file.
  out += "    esac\n"
         "    case $cur in -*) ;; *) [ -n \"$places\" ] || return ;; esac\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         "}\n"
         "complete -o default -F _attune attune\n";
  return out;
}

/// In single quotes, for zsh.
std::string zsh_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// A shell array `name` of "word:what it is".
std::string zsh_list(const char* name, const std::vector<std::pair<std::string, std::string>>& all) {
  std::string out = std::string("local -a ") + name + "=(";
  for (const auto& [word, about] : all) out += "\n    " + zsh_quoted(word + ":" + about);
  return out + ")\n";
}

std::string zsh_commands(const command_spec& of) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& c : of.below) all.emplace_back(c.name, c.about);
  return zsh_list("commands", all) + "_describe -t commands command commands\n";
}

/// What stands behind a command: what begins with a dash is an option, all else is a file.
std::string zsh_options(const command_spec& of) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& [name, o] : long_names(of.options)) all.emplace_back(name, o->about);
  const auto common = common_options(of);
  for (const auto& [name, o] : long_names(common)) all.emplace_back(name, o->about);
  return zsh_list("options", all) + "if [[ $PREFIX == -* ]]; then _describe -o option options; else _files; fi\n";
}

std::string zsh(const command_spec& program) {
  std::string out = "#compdef attune\n"
                    "# attune completion zsh: source it, or put it as _attune into a folder of $fpath.\n"
                    "_attune() {\n"
                    "if (( CURRENT == 2 )); then\nif [[ $PREFIX == -* ]]; then\n" +
                    zsh_options(program) + "else\n" + zsh_commands(program) +
                    "fi\nreturn\nfi\n"
                    "case $words[2] in\n";
  for (const auto& c : program.below) {
    out += c.name + ")\n";
    if (c.below.empty()) {
      out += zsh_options(c);
    } else {
      out += "if (( CURRENT == 3 )); then\n" + zsh_commands(c) + "else\ncase $words[3] in\n";
      for (const auto& d : c.below) out += d.name + ")\n" + zsh_options(d) + ";;\n";
      out += "esac\nfi\n";
    }
    out += ";;\n";
  }
  // The first time that zsh completes with a file of $fpath, it runs the file as the function.
  return out + "esac\n}\n"
               "if [[ ${funcstack[1]} == _attune ]]; then _attune \"$@\"; else compdef _attune attune; fi\n";
}

/// In single quotes, for fish.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

void fish(std::string& out, const command_spec& of, const std::string& where) {
  const std::string begin = "complete -c attune -n " + quoted(where);
  for (const auto& c : of.below) out += begin + " -f -a " + c.name + " -d " + quoted(c.about) + "\n";
  const auto all = [&](const std::vector<option_spec>& options) {
    for (const auto& [name, o] : long_names(options))
      out += begin + " -l " + name.substr(2) + (o->flag() ? "" : " -r") + " -d " + quoted(o->about) + "\n";
  };
  all(of.options);
  all(common_options(of));
}

} // namespace

std::optional<std::string> completion_script(const std::string& shell, const command_spec& program) {
  if (shell == "bash") return bash(program);
  if (shell == "zsh") return zsh(program);
  if (shell != "fish") return std::nullopt;
  std::string out = "# attune completion fish: put it into ~/.config/fish/completions/attune.fish\n";
  fish(out, program, "__fish_use_subcommand");
  for (const auto& c : program.below) {
    std::string names;
    for (const auto& d : c.below) names += " " + d.name;
    fish(out, c,
         "__fish_seen_subcommand_from " + c.name +
             (names.empty() ? "" : "; and not __fish_seen_subcommand_from" + names));
    for (const auto& d : c.below)
      fish(out, d, "__fish_seen_subcommand_from " + c.name + "; and __fish_seen_subcommand_from " + d.name);
  }
  return out;
}

command_spec completion_command() {
  struct words {
    std::string shell;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"completion", "Print a script that completes attune's commands for a shell"};
  c.place("SHELL", w->shell, "bash, zsh or fish");
  c.more = R"(  source <(attune completion bash)
  source <(attune completion zsh)
  attune completion fish > ~/.config/fish/completions/attune.fish)";
  c.read = [w](const typed_line& line) -> reading {
    auto script = completion_script(w->shell, line.program);
    if (!script) throw usage_fault{"SHELL must be bash, zsh or fish, not '" + w->shell.substr(0, 60) + "'"};
    return early_end{0, *std::move(script), "", line.json};
  };
  return c;
}

} // namespace attune::cli
