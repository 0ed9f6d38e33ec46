#include "cli/completion.hpp"

namespace attune::cli {

namespace {

std::string joined(const command_words& of) {
  std::string out;
  for (const auto& c : of.commands) out += (out.empty() ? "" : " ") + c.name;
  for (const auto& o : of.options) out += (out.empty() ? "" : " ") + o.name;
  return out;
}

std::string bash(const command_words& program) {
  std::string out = "# attune completion bash: source it, or put it where bash-completion looks.\n"
                    "_attune() {\n"
                    "  local cur=${COMP_WORDS[COMP_CWORD]} words=\n"
                    "  COMPREPLY=()\n"
                    "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                    "    words='" +
                    joined(program) +
                    "'\n"
                    "  else\n"
                    "    case ${COMP_WORDS[1]} in\n";
  for (const auto& c : program.commands) {
    out += "    " + c.name + ")\n      words='" + joined(c) + "'\n";
    if (!c.commands.empty()) {
      out += "      if [ \"$COMP_CWORD\" -gt 2 ]; then\n        case ${COMP_WORDS[2]} in\n";
      for (const auto& d : c.commands) out += "        " + d.name + ") words='" + joined(d) + "' ;;\n";
      out += "        esac\n      fi\n";
    }
    out += "      ;;\n";
  }
  out += "    esac\n"
         "    case $cur in -*) ;; *) [ \"$COMP_CWORD\" -eq 2 ] && [ \"${COMP_WORDS[1]}\" = db ] || return ;; esac\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         "}\n"
         "complete -o default -F _attune attune\n";
  return out;
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

void fish(std::string& out, const command_words& of, const std::string& where) {
  for (const auto& c : of.commands)
    out += "complete -c attune -n " + quoted(where) + " -f -a " + c.name + " -d " + quoted(c.about) + "\n";
  for (const auto& o : of.options) {
    const bool whole = o.name.starts_with("--");
    out += "complete -c attune -n " + quoted(where) + (whole ? " -l " + o.name.substr(2) : " -s " + o.name.substr(1)) +
           (o.wants_value ? " -r" : "") + " -d " + quoted(o.about) + "\n";
  }
}

} // namespace

std::optional<std::string> completion_script(const std::string& shell, const command_words& program) {
  if (shell == "bash") return bash(program);
  if (shell == "zsh") return "#compdef attune\nautoload -U +X bashcompinit && bashcompinit\n" + bash(program);
  if (shell != "fish") return std::nullopt;
  std::string out = "# attune completion fish: put it into ~/.config/fish/completions/attune.fish\n";
  fish(out, program, "__fish_use_subcommand");
  for (const auto& c : program.commands) {
    std::string names;
    for (const auto& d : c.commands) names += " " + d.name;
    fish(out, c,
         "__fish_seen_subcommand_from " + c.name +
             (names.empty() ? "" : "; and not __fish_seen_subcommand_from" + names));
    for (const auto& d : c.commands)
      fish(out, d, "__fish_seen_subcommand_from " + c.name + "; and __fish_seen_subcommand_from " + d.name);
  }
  return out;
}

} // namespace attune::cli
