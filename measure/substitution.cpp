#include "measure/substitution.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace attune::measure {

namespace {

bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool digit(char c) { return c >= '0' && c <= '9'; }
bool blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

error bad_template(std::string message) { return error{errc::invalid_spec, std::move(message), {}}; }

/// A piece of a text: literal, or the name of a value.
struct piece {
  std::string literal, name;
  bool words = false; ///< `{name*}`
};

result<std::vector<piece>> parse(std::string_view text) {
  std::vector<piece> out;
  std::string literal;
  auto flush = [&] {
    if (!literal.empty()) out.push_back({std::move(literal), {}, false});
    literal.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c != '{') {
      literal += c;
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == '{') {
      literal += '{';
      ++i;
      continue;
    }
    auto close = text.find('}', i);
    std::string_view inside =
        text.substr(i + 1, close == std::string_view::npos ? std::string_view::npos : close - i - 1);
    std::string_view name = inside;
    bool words = !name.empty() && name.back() == '*';
    if (words) name.remove_suffix(1);
    bool plain = !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), [](char x) {
      return letter(x) || digit(x) || x == '.' || x == '-';
    });
    if (!plain) {
      // Nothing that a name could be mistaken for; but blanks around one are a slip, not a shell's braces.
      std::string_view trimmed = trim(inside);
      if (close != std::string_view::npos && trimmed.size() != inside.size() && !trimmed.empty() &&
          letter(trimmed[0]) && blank(inside.front()) && blank(inside.back()) &&
          std::all_of(trimmed.begin(), trimmed.end(), [](char x) { return letter(x) || digit(x) || x == '.'; }))
        return bad_template("'{" + std::string(inside) + "}': write {" + std::string(trimmed) +
                            "} for the value, {{ for a brace");
      literal += c;
      continue;
    }
    if (close == std::string_view::npos)
      return bad_template("'{" + std::string(inside.substr(0, 40)) + "' is not closed; write {{ for a brace");
    flush();
    out.push_back({{}, std::string(name), words});
    i = close;
  }
  flush();
  return out;
}

std::string environment_name(std::string_view name) {
  std::string out = "ATTUNE_";
  for (char c : name) out += letter(c) || digit(c) ? c : '_';
  return out;
}

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

} // namespace

substitution::substitution(const task_spec& spec, const configuration& config, std::string artifact,
                           std::string workdir) {
  names_.reserve(config.size() + spec.workload.size() + spec.target.size() + 3);
  for (std::size_t i = 0; i < config.size(); ++i) names_.emplace_back(config.name(i), config[i].text());
  for (const auto& [name, v] : spec.workload) names_.emplace_back("workload." + name, v.text());
  for (const auto& [name, v] : spec.target) names_.emplace_back("target." + name, v.text());
  set("artifact", std::move(artifact));
  set("workdir", std::move(workdir));
  set("specdir", spec.directory);
}

void substitution::set(std::string name, std::string text) {
  for (auto& [have, value] : names_)
    if (have == name) {
      value = std::move(text);
      return;
    }
  names_.emplace_back(std::move(name), std::move(text));
}

const std::string* substitution::find(std::string_view name) const noexcept {
  for (const auto& [have, text] : names_)
    if (have == name) return &text;
  return nullptr;
}

namespace {

error unknown(const std::string& name, const std::vector<std::pair<std::string, std::string>>& names) {
  std::vector<std::string> known;
  known.reserve(names.size());
  for (const auto& [have, text] : names) known.push_back(have);
  std::string message = "'{" + name + "}' names nothing";
  if (auto near = nearest_word(name, known)) message += "; did you mean {" + *near + "}?";
  return bad_template(message + " (write {{ for a brace)");
}

} // namespace

result<std::string> substitution::expand(std::string_view text) const {
  auto pieces = parse(text);
  if (!pieces) return pieces.err();
  std::string out;
  for (const piece& part : *pieces) {
    out += part.literal;
    if (part.name.empty()) continue;
    const std::string* value = find(part.name);
    if (!value) return unknown(part.name, names_);
    out += *value;
  }
  return out;
}

result<std::vector<std::string>> substitution::command_line(const command& what) const {
  if (what.argv.empty()) {
    auto text = expand(what.shell);
    if (!text) return text.err();
    return std::vector<std::string>{"/bin/sh", "-c", std::move(*text)};
  }
  std::vector<std::string> out;
  for (const std::string& element : what.argv) {
    auto pieces = parse(element);
    if (!pieces) return pieces.err();
    bool words = std::any_of(pieces->begin(), pieces->end(), [](const piece& p) { return p.words; });
    if (!words) {
      auto text = expand(element);
      if (!text) return text.err();
      out.push_back(std::move(*text));
      continue;
    }
    if (pieces->size() != 1)
      return bad_template("'" + element + "': in a list command {" +
                          "name*} must be a whole element, as it may become several");
    const piece& part = pieces->front();
    const std::string* value = find(part.name);
    if (!value) return unknown(part.name, names_);
    auto split = split_words(*value);
    if (!split)
      return bad_template("the value of '" + part.name + "' cannot be split into words: " + split.err().message);
    for (auto& word : *split) out.push_back(std::move(word));
  }
  if (out.empty() || out[0].empty()) return bad_template("the command's program is an empty text");
  return out;
}

std::vector<std::string> substitution::environment() const {
  std::set<std::string> taken{"ATTUNE_TRIAL"};
  std::vector<std::string> out;
  out.reserve(names_.size() * 2);
  auto add = [&](const std::string& name, const std::string& text) {
    // An environment entry ends at a zero byte; such a value reaches commands by its placeholder alone.
    if (text.find('\0') == std::string::npos && taken.insert(name).second) out.push_back(name + "=" + text);
  };
  for (const auto& [name, text] : names_) add(environment_name(name), text);
  for (const auto& [name, text] : names_) add(upper(environment_name(name)), text);
  return out;
}

result<std::vector<std::string>> placeholders(std::string_view text) {
  auto pieces = parse(text);
  if (!pieces) return pieces.err();
  std::vector<std::string> out;
  for (piece& part : *pieces)
    if (!part.name.empty()) out.push_back(std::move(part.name));
  return out;
}

result<std::vector<std::string>> split_words(std::string_view text) {
  std::vector<std::string> out;
  std::optional<std::string> word;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (blank(c)) {
      if (word) out.push_back(std::move(*word));
      word.reset();
      continue;
    }
    if (!word) word.emplace();
    if (c == '\'') {
      auto close = text.find('\'', i + 1);
      if (close == std::string_view::npos) return bad_template("a ' is not closed in: " + std::string(text));
      word->append(text.substr(i + 1, close - i - 1));
      i = close;
    } else if (c == '"') {
      bool closed = false;
      for (++i; i < text.size(); ++i) {
        if (text[i] == '"') {
          closed = true;
          break;
        }
        // Inside double quotes a backslash quotes these four alone (POSIX 2.2.3).
        if (text[i] == '\\' && i + 1 < text.size() &&
            std::string_view("$`\"\\").find(text[i + 1]) != std::string_view::npos)
          ++i;
        *word += text[i];
      }
      if (!closed) return bad_template("a \" is not closed in: " + std::string(text));
    } else if (c == '\\') {
      if (i + 1 == text.size()) return bad_template("a \\ quotes nothing at the end of: " + std::string(text));
      *word += text[++i];
    } else {
      *word += c;
    }
  }
  if (word) out.push_back(std::move(*word));
  return out;
}

bool names_placeholder(const command& what, std::string_view name) {
  auto in = [&](std::string_view text) {
    auto names = placeholders(text);
    return names && std::find(names->begin(), names->end(), name) != names->end();
  };
  return in(what.shell) || std::any_of(what.argv.begin(), what.argv.end(), in);
}

bool builds_in_place(const task_spec& spec) {
  return spec.build && !spec.build->run.empty() && spec.build->cwd == working_directory::specdir &&
         !names_placeholder(spec.build->run, "artifact") && !names_placeholder(spec.build->run, "workdir");
}

} // namespace attune::measure
