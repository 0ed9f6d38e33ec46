#include "core/evolution.hpp"

#include <algorithm>

namespace attune {

namespace {

bool blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }
bool operates(char c) { return std::string_view(";&|<>()").find(c) != std::string_view::npos; }
bool names_on(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

bool mentions(std::string_view word, const std::string& name) {
  if (word.find("{" + name + "}") != std::string_view::npos || word.find("{" + name + "*}") != std::string_view::npos)
    return true;
  for (const auto& variable : {"ATTUNE_" + name, "ATTUNE_" + upper(name)})
    for (auto at = word.find(variable); at != std::string_view::npos; at = word.find(variable, at + 1)) {
      const auto end = at + variable.size();
      if ((at == 0 || !names_on(word[at - 1])) && (end == word.size() || !names_on(word[end]))) return true;
    }
  return false;
}

bool mentions_any(std::string_view word, std::span<const std::string> names) {
  return std::ranges::any_of(names, [&](const auto& n) { return mentions(word, n); });
}

bool is_option(std::string_view word) {
  return word.starts_with("--") && word.size() > 2 && word.find_first_of("={}'\"$`") == std::string_view::npos;
}

/// White space, an operator of the shell, or a word with its quotes.
std::size_t end_of_token(std::string_view text, std::size_t at) {
  if (blank(text[at])) {
    while (at < text.size() && blank(text[at])) ++at;
    return at;
  }
  if (operates(text[at])) return at + 1;
  char quote = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      if (c == '\\' && quote == '"')
        ++at;
      else if (c == quote)
        quote = 0;
    } else if (c == '\\') {
      ++at;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (blank(c) || operates(c)) {
      break;
    }
  }
  return std::min(at, text.size());
}

std::string without_words(std::string_view text, std::span<const std::string> names) {
  std::vector<std::string_view> tokens; // kept
  const auto drop_space = [&] {
    if (!tokens.empty() && blank(tokens.back()[0])) tokens.pop_back();
  };
  bool leading = false; // a word at the very front was dropped: what separated it goes too
  for (std::size_t at = 0; at < text.size();) {
    const auto end = end_of_token(text, at);
    const auto token = text.substr(at, end - at);
    at = end;
    if (mentions_any(token, names)) {
      drop_space();
      if (!tokens.empty() && is_option(tokens.back())) {
        tokens.pop_back();
        drop_space();
      }
      leading = tokens.empty();
      continue;
    }
    if (leading && blank(token[0])) continue;
    leading = false;
    tokens.push_back(token);
  }
  std::string out;
  for (const auto t : tokens) out += t;
  return out;
}

void strip(command& c, std::span<const std::string> names) {
  if (!c.shell.empty()) c.shell = without_words(c.shell, names);
  std::vector<std::string> kept;
  for (auto& word : c.argv) {
    if (!mentions_any(word, names)) {
      kept.push_back(std::move(word));
    } else if (!kept.empty() && is_option(kept.back())) {
      kept.pop_back();
    }
  }
  c.argv = std::move(kept);
}

} // namespace

task_spec without_parameters(const task_spec& spec, std::span<const std::string> names) {
  auto out = spec;
  std::erase_if(out.parameters, [&](const parameter& p) { return std::ranges::find(names, p.name) != names.end(); });
  if (out.build) strip(out.build->run, names);
  strip(out.run.run, names);
  strip(out.run.check.run, names);
  return out;
}

} // namespace attune
