#include "cli/init_draft.hpp"

#include "cli/json.hpp"
#include "cli/render.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <set>

namespace attune::cli {

namespace {

/// A text as YAML takes it, whatever is in it.
std::string quoted_yaml(const std::string& text) { return dump(json(text)); }

/// A value in a list. A real number stays one.
std::string yaml_scalar(const value& v) {
  if (v.type() == value::kind::text) return quoted_yaml(v.as_text());
  auto text = v.text();
  if (v.type() == value::kind::real && text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string yaml_list(const std::vector<value>& values) {
  std::string out = "[";
  for (const auto& v : values) out += (out.size() > 1 ? ", " : "") + yaml_scalar(v);
  return out + "]";
}

std::string doubled_braces(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '{') out += c;
  }
  return out;
}

std::string head_of_draft(const std::string& task, const std::string& from) {
  return "# Drafted by attune init from " + from +
         ". Look it over: the values are guesses around what is there now.\n"
         "# Then, with this file as SPEC:\n"
         "#   attune space SPEC              how many configurations that is\n"
         "#   attune tune SPEC --dry-run     what would be done\n"
         "#   attune tune SPEC\n"
         "task: " +
         quoted_yaml(task) +
         "\n"
         "# What the task is about beside its name: part of what is remembered, {workload.n} in commands.\n"
         "#workload: {n: 1024, dtype: f32}\n";
}

constexpr const char* about_constraints =
    "# What must hold between them, in Python's words: //, %, and, or, not, in, 8 <= a * b <= 64.\n"
    "#constraints:\n";

/// The parameter's form around a number that stands there now: powers of two stay powers of two.
std::string around(std::int64_t n, bool is_switch) {
  const auto standard = ", default: " + std::to_string(n) + "}";
  if (is_switch && (n == 0 || n == 1)) return "{values: [0, 1]" + standard;
  if (n >= 1 && (n & (n - 1)) == 0 && n <= (std::int64_t{1} << 40)) {
    const auto low = std::max<std::int64_t>(1, n / 4);
    return "{pow2: [" + std::to_string(low) + ", " + std::to_string(std::max<std::int64_t>(n * 4, 8)) + "]" + standard;
  }
  if (n < 0 || n > (std::int64_t{1} << 60)) return "{values: [" + std::to_string(n) + "]" + standard;
  std::set<std::int64_t> near{n};
  for (const std::int64_t v : {n / 4, n / 2, n * 2, n * 4})
    if (v > 0) near.insert(v);
  if (n == 0) near.insert({1, 2, 4});
  std::string list;
  for (const auto v : near) list += (list.empty() ? "" : ", ") + std::to_string(v);
  return "{values: [" + list + "]" + standard;
}

std::string around(double d) {
  if (d == 0) return "{values: [0.0, 0.5, 1.0], default: 0.0}";
  return "{values: " + yaml_list({value(d / 2), value(d), value(d * 2)}) + ", default: " + yaml_scalar(value(d)) + "}";
}

/// A source without its comments, and with its lines where they were; literals stay.
std::string without_comments(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i], next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (c == '/' && next == '/') {
      i = std::min(text.find('\n', i), text.size());
      if (i < text.size()) out += '\n';
    } else if (c == '/' && next == '*') {
      const auto end = std::min(text.find("*/", i + 2), text.size());
      out.append(static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(i),
                                                     text.begin() + static_cast<std::ptrdiff_t>(end), '\n')),
                 '\n');
      out += ' ';
      i = end + 1;
    } else if (c == '"') {
      out += c;
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i) {
        out += text[i];
        if (text[i] == '\\' && i + 1 < text.size()) out += text[++i];
      }
      if (i < text.size()) out += text[i];
    } else {
      out += c;
    }
  }
  return out;
}

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The name at the beginning of `text`, which it is taken from.
std::string take_name(std::string_view& text) {
  text = trim(text);
  std::size_t n = 0;
  while (n < text.size() && in_name(text[n])) ++n;
  std::string out(text.substr(0, n));
  text.remove_prefix(n);
  return out;
}

struct macro {
  std::string name, text; ///< its value as it stands
  int line = 0;
};

/// Macros that the line of the compiler may set.
struct macros_seen {
  std::vector<macro> settable;
  std::set<std::string> asked; ///< that stand in an #if
};

macros_seen macros_of(const std::string& source) {
  macros_seen out;
  struct block {
    std::string guard; ///< that is not defined in it; empty: it says nothing of that
    bool valued = false;
  };
  std::vector<block> open;
  std::set<std::string> known;
  int line = 0;
  for (auto text : split(source, '\n')) {
    ++line;
    text = trim(text);
    if (!text.starts_with('#')) continue;
    text.remove_prefix(1);
    const auto directive = take_name(text);
    if (directive == "ifndef") {
      open.push_back({take_name(text), false});
    } else if (directive == "if" || directive == "ifdef") {
      std::string guard;
      auto rest = trim(text);
      if (directive == "if" && rest.starts_with("!defined")) {
        rest.remove_prefix(8);
        rest = trim(rest);
        if (rest.starts_with('(')) rest.remove_prefix(1);
        guard = take_name(rest);
      } else {
        while (!rest.empty()) {
          if (const auto name = take_name(rest); !name.empty())
            out.asked.insert(name);
          else if (!rest.empty())
            rest.remove_prefix(1);
        }
      }
      open.push_back({guard, false});
    } else if (directive == "else" || directive == "elif") {
      if (!open.empty()) open.back().guard.clear();
    } else if (directive == "endif") {
      if (!open.empty()) open.pop_back();
    } else if (directive == "define" && !open.empty() && !open.back().guard.empty()) {
      auto& b = open.back();
      const auto name = take_name(text);
      if (text.starts_with('(')) continue; // a function
      const std::string what(trim(text));
      // The guard's own, and what is set beside it; a guard without a value is that of a header.
      if (name == b.guard && what.empty()) b.guard.clear();
      if (name == b.guard) b.valued = true;
      if (what.empty() || what.ends_with('\\') || (name != b.guard && !b.valued)) continue;
      if (known.insert(name).second) out.settable.push_back({name, what, line});
    }
  }
  return out;
}

/// `64`, `0x40u`, `1'024`.
std::optional<std::int64_t> integer_literal(std::string text) {
  std::erase(text, '\'');
  while (!text.empty() && std::string_view("uUlL").find(text.back()) != std::string_view::npos) text.pop_back();
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  if (text.starts_with("0x") || text.starts_with("0X")) {
    std::int64_t n = 0;
    const auto [end, ec] = std::from_chars(text.data() + 2, text.data() + text.size(), n, 16);
    return ec == std::errc{} && end == text.data() + text.size() ? std::optional(n) : std::nullopt;
  }
  return parse_integer(text);
}

std::optional<double> real_literal(std::string text) {
  if (!text.empty() && (text.back() == 'f' || text.back() == 'F')) text.pop_back();
  if (text.find_first_of("0123456789") == std::string::npos) return std::nullopt;
  return parse_double(text);
}

struct timing {
  std::string name = "time", unit = "s", pattern;
  bool maximize = false, printed = false;
};

/// The text before a number in a regular expression.
std::string escaped_for_pattern(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string lower_text(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// A unit that stands behind a number or in the words before it.
std::optional<std::string> unit_in(const std::string& text) {
  for (const auto& [word, unit] : {std::pair{"ms", "ms"},
                                   {"us", "us"},
                                   {"ns", "ns"},
                                   {"msec", "ms"},
                                   {"usec", "us"},
                                   {"milliseconds", "ms"},
                                   {"microseconds", "us"},
                                   {"nanoseconds", "ns"},
                                   {"seconds", "s"},
                                   {"sec", "s"},
                                   {"s", "s"}})
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      const auto end = at + std::string_view(word).size();
      if ((at == 0 || !in_name(text[at - 1])) && (end == text.size() || !in_name(text[end]))) return unit;
    }
  return std::nullopt;
}

/// What the program prints of its time: the first literal that has a word for it before a number.
timing timing_of(const std::string& source) {
  timing best;
  std::string clock;
  for (const auto& [word, unit] : {std::pair{"milli", "ms"}, {"micro", "us"}, {"nano", "ns"}})
    if (clock.empty() && source.find(std::string("std::") + word) != std::string::npos) clock = unit;
  if (clock.empty() && source.find("chrono::milliseconds") != std::string::npos) clock = "ms";
  if (clock.empty() && source.find("chrono::microseconds") != std::string::npos) clock = "us";
  if (clock.empty() && source.find("chrono::nanoseconds") != std::string::npos) clock = "ns";
  const auto timed = [&](const std::string& before, const std::string& behind) {
    const auto words = lower_text(before), all = lower_text(before + " " + behind);
    timing t;
    t.printed = true;
    for (const auto* word : {"gflop", "mflop", "tflop", "gb/s", "mb/s", "throughput", "bandwidth", "per second"})
      if (all.find(word) != std::string::npos) {
        t.maximize = true;
        t.name = std::string(word) == "gb/s" || std::string(word) == "mb/s" || std::string(word) == "bandwidth"
                     ? "bandwidth"
                     : "throughput";
        t.unit = std::string(word).find("flop") != std::string::npos  ? std::string(word) + "s"
                 : std::string(word).find("b/s") != std::string::npos ? std::string(word)
                                                                      : "per_s";
      }
    bool about = t.maximize;
    for (const auto* word : {"time", "elapsed", "took", "duration", "latency", "median", "runtime"})
      about = about || words.find(word) != std::string::npos;
    const auto unit =
        unit_in(lower_text(behind.substr(0, 16))) ? unit_in(lower_text(behind.substr(0, 16))) : unit_in(words);
    if (!about && !unit) return false;
    if (!t.maximize) t.unit = unit.value_or(clock.empty() ? "s" : clock);
    const std::string label(trim(before));
    if (!label.empty()) t.pattern = escaped_for_pattern(label) + " *([-+0-9.eE]+)";
    best = t;
    return true;
  };
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '"' || (i > 0 && source[i - 1] == '\'')) continue;
    std::string literal;
    std::size_t end = i + 1;
    for (; end < source.size() && source[end] != '"' && source[end] != '\n'; ++end) {
      if (source[end] == '\\' && end + 1 < source.size()) {
        ++end;
        literal += source[end] == 'n' ? '\n' : source[end] == 't' ? '\t' : source[end];
      } else {
        literal += source[end];
      }
    }
    i = end;
    // printf's: words, then a conversion of a number.
    for (auto at = literal.find('%'); at != std::string::npos; at = literal.find('%', at + 1)) {
      const auto kind = literal.find_first_not_of("-+ #0123456789.lhzjtL", at + 1);
      if (kind == std::string::npos) break;
      if (std::string_view("fFgGeEdiu").find(literal[kind]) == std::string_view::npos) continue;
      auto before = literal.substr(0, at);
      if (const auto cut = before.find_last_of("\n\t,;"); cut != std::string::npos) before = before.substr(cut + 1);
      if (before.find('%') != std::string::npos) before = before.substr(before.find_last_of("% ") + 1);
      if (timed(before, literal.substr(kind + 1))) return best;
    }
    // A stream's: words, then <<.
    std::string_view rest(source);
    rest = trim(rest.substr(std::min(end + 1, rest.size()), 200));
    if (!rest.starts_with("<<") || literal.empty()) continue;
    const auto next = rest.find('"');
    const std::string behind(next == std::string_view::npos
                                 ? std::string_view{}
                                 : rest.substr(next + 1, rest.find('"', next + 1) - next - 1));
    if (timed(literal.substr(literal.find_last_of('\n') + 1), behind)) return best;
  }
  return best;
}

/// The files that it includes by quotes and that lie beside it, theirs too.
std::vector<std::string> included_beside(const source_file& source) {
  std::vector<std::string> out, todo{source.text};
  std::set<std::string> seen;
  while (!todo.empty() && out.size() < 256) {
    const auto text = without_comments(todo.back());
    todo.pop_back();
    for (auto line : split(text, '\n')) {
      line = trim(line);
      if (!line.starts_with('#')) continue;
      line.remove_prefix(1);
      if (take_name(line) != "include") continue;
      line = trim(line);
      if (!line.starts_with('"')) continue;
      const std::string name(line.substr(1, line.find('"', 1) - 1));
      if (!seen.insert(name).second) continue;
      auto found = source.beside ? source.beside(name) : std::nullopt;
      if (!found) continue;
      out.push_back(name);
      todo.push_back(std::move(*found));
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

} // namespace

spec_draft draft_of_source(const std::string& task, const source_file& source) {
  spec_draft out;
  const auto code = without_comments(source.text);
  const auto seen = macros_of(code);
  const bool cuda = source.path.ends_with(".cu"), c = source.path.ends_with(".c");
  std::string compiler = cuda ? "nvcc {opt}" : std::string(c ? "gcc" : "g++") + " {opt} -march=native";
  static constexpr std::array<const char*, 5> newer{"<span>", "<concepts>", "<ranges>", "<bit>", "<numbers>"};
  if (!c && std::any_of(newer.begin(), newer.end(), [&](const char* h) { return code.find(h) != std::string::npos; }))
    compiler += " -std=c++20";
  if (code.find("#pragma omp") != std::string::npos || code.find("<omp.h>") != std::string::npos)
    compiler += cuda ? " -Xcompiler -fopenmp" : " -fopenmp";
  if (code.find("<thread>") != std::string::npos || code.find("<pthread.h>") != std::string::npos)
    compiler += cuda ? "" : " -pthread";

  std::vector<std::pair<std::string, std::string>> lines; // of `parameters`, with what is said beside each
  std::map<std::string, std::string> defined;             // macro to parameter
  std::set<std::string> names{"opt"};
  std::string flags;
  for (const auto& m : seen.settable) {
    auto name = lower_text(m.name);
    if (!names.insert(name).second || std::isdigit(static_cast<unsigned char>(name.front())) != 0) {
      name = m.name;
      names.insert(name);
    }
    const auto value_text = m.text;
    const bool is_switch = seen.asked.contains(m.name) || name.starts_with("use_") || name.starts_with("enable_") ||
                           name.starts_with("has_") || code.find("if constexpr (" + m.name + ")") != std::string::npos;
    std::string form;
    if (const auto n = integer_literal(value_text))
      form = around(*n, is_switch);
    else if (const auto d = real_literal(value_text))
      form = around(*d);
    else if (value_text == "true" || value_text == "false")
      form = "{bool: true, default: " + value_text + "}";
    else
      form = "[" + quoted_yaml(value_text) + "]";
    const bool single = form.starts_with("[\"");
    lines.emplace_back("  " + name + ": " + form, m.name + ", line " + std::to_string(m.line) +
                                                      (single ? ": put the others that it may be beside it" : ""));
    if (single) out.notes.push_back(m.name + " is " + value_text + ": put beside it what else it may be");
    flags += " -D" + m.name + "=" + (single ? "'{" + name + "}'" : "{" + name + "}");
    defined[m.name] = name;
  }
  lines.emplace_back(cuda ? "  opt: [\"-O2\", \"-O3\", \"-O3 --use_fast_math\"]"
                          : "  opt: [\"-O2\", \"-O3\", \"-O3 -funroll-loops\", \"-O3 -ffast-math\"]",
                     cuda ? "" : "-ffast-math changes results: leave it out where that matters");
  if (seen.settable.empty())
    out.notes.push_back("no choices were found in the source: make each one a macro (#ifndef TILE, #define TILE 16, "
                        "#endif), and run this again");

  const auto own_name =
      source.path.substr(source.path.rfind('/') == std::string::npos ? 0 : source.path.rfind('/') + 1);
  const auto folder = source.path.substr(0, source.path.size() - own_name.size());
  std::string text = head_of_draft(task, own_name) + "parameters:\n";
  std::size_t wide = 0;
  for (const auto& [line, about] : lines) wide = std::max(wide, std::min<std::size_t>(line.size(), 60));
  for (const auto& [line, about] : lines) text += (about.empty() ? line : padded(line, wide) + "  # " + about) + "\n";
  text += about_constraints;
  if (defined.size() >= 2)
    text += "#  - " + defined.begin()->second + " * " + std::next(defined.begin())->second + " <= 4096\n";
  std::string asked;
  for (const auto& name : seen.asked) {
    const bool own = std::any_of(name.begin(), name.end(), [](unsigned char ch) { return std::isupper(ch) != 0; }) &&
                     std::none_of(name.begin(), name.end(), [](unsigned char ch) { return std::islower(ch) != 0; });
    if (own && !name.starts_with('_') && name != "NDEBUG" && !defined.contains(name)) asked += " " + name;
  }
  if (!asked.empty())
    text += "# The source also asks whether these are defined, and defines them nowhere:" + asked + "\n";

  text += "build:\n  command: " +
          quoted_yaml(compiler + flags + " " + doubled_braces(shell_word(source.path)) + " -o {artifact}") + "\n";
  text += "  # Their contents are part of what is remembered: change one, and all is measured anew.\n  sources: [" +
          quoted_yaml(source.path);
  for (const auto& name : included_beside(source)) text += ", " + quoted_yaml(folder + name);
  text += "]\n  timeout: 60s\n";

  const auto main_at = code.find("main");
  bool has_main = false;
  for (auto at = main_at; at != std::string::npos && !has_main; at = code.find("main", at + 1)) {
    auto behind = std::string_view(code).substr(at + 4);
    has_main = (at == 0 || !in_name(code[at - 1])) && trim(behind.substr(0, 20)).starts_with('(');
  }
  if (!has_main)
    out.notes.push_back(own_name + " has no main(): build it together with a program that calls it and prints how "
                                   "long that took");
  const bool arguments = code.find("argv[1]") != std::string::npos;
  text += "run:\n";
  if (arguments) text += "  # It reads arguments: put them behind the artifact, as in \"{artifact} {workload.n}\".\n";
  text += "  command: \"{artifact}\"\n  timeout: 30s\n";
  const auto when = timing_of(code);
  if (when.printed) {
    text += "  metric: {name: " + when.name + ", unit: " + quoted_yaml(when.unit) +
            (when.maximize ? ", goal: maximize" : "");
    if (!when.pattern.empty()) text += ", pattern: " + quoted_yaml(when.pattern);
    text += "} # every match is a sample\n";
  } else {
    text +=
        "  # It prints no time that was recognised: the whole process is timed. Better: time the part that matters,\n"
        "  # print it (\"time: 1.234\"), and have it read: {name: time, unit: ms, pattern: \"time: ([0-9.]+)\"}\n"
        "  metric: {name: time, unit: s, wall: true}\n";
    out.notes.push_back("no printed time was recognised: the whole process is timed");
  }
  text += "  repeats: {min: 3, max: 9, until: 2%} # until the 95 % interval of the median is within 2 %\n"
          "  # A fast wrong result must not win: exit code 0 says that it is right.\n"
          "  #check: {command: \"{artifact} --verify\", timeout: 20s}\n"
          "search: {trials: 100, seed: 1} # time: 10m limits it too\n";
  out.text = std::move(text);
  return out;
}

result<spec_draft> draft_of_command(const std::string& task, const std::string& command) {
  spec_draft out;
  std::vector<std::pair<std::string, std::string>> found; // name, form
  const auto add = [&](const std::string& name, std::string form) {
    for (const auto& [known, f] : found)
      if (known == name) return;
    found.emplace_back(name, std::move(form));
  };
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i] != '{') continue;
    if (i + 1 < command.size() && command[i + 1] == '{') {
      ++i;
      continue;
    }
    auto rest = std::string_view(command).substr(i + 1);
    const auto name = take_name(rest);
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0 ||
        !(rest.starts_with('}') || rest.starts_with("*}")))
      continue;
    if (name == "artifact" || name == "workdir" || name == "specdir") continue;
    add(name, "[1, 2, 4, 8]");
  }
  std::string run = command;
  if (found.empty()) {
    // The numbers behind options: they become places.
    run.clear();
    std::string option;
    std::size_t at = 0;
    while (at < command.size()) {
      const auto end = std::min(command.find_first_of(" \t=", at), command.size());
      const auto word = command.substr(at, end - at);
      const auto n = integer_literal(word);
      const auto d = n ? std::nullopt : real_literal(word);
      if (!option.empty() && (n || d) && !word.starts_with('-')) {
        std::string name;
        for (const char ch : option.substr(option.find_first_not_of('-'))) name += in_name(ch) ? ch : '_';
        if (!name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0) {
          add(name, n ? around(*n, false) : around(*d));
          run += "{" + name + "}";
        } else {
          run += word;
        }
        option.clear();
      } else {
        run += doubled_braces(word);
        option = word.starts_with('-') && word.find_first_not_of('-') != std::string::npos ? word : "";
      }
      if (end < command.size()) run += command[end];
      at = end + 1;
    }
    if (found.empty())
      return error{errc::invalid_spec,
                   "nothing in the command can vary: write {name} where a value goes, as in './bench --block {block}'",
                   {}};
  } else {
    out.notes.push_back("the values of the parameters are placeholders: put yours there");
  }
  std::string text = head_of_draft(task, "a command") + "parameters:\n";
  for (const auto& [name, form] : found) text += "  " + name + ": " + form + "\n";
  text +=
      "# Other forms: {range: [1, 8]}, {pow2: [1, 64]}, [\"-O2\", \"-O3\"], {bool: true}, {permutation: [i, j, k]}\n";
  text += about_constraints;
  text += "# Where it is to be built first; {artifact} is what that makes:\n"
          "#build: {command: \"make bench OUT={artifact}\", sources: [bench.c], timeout: 60s}\n"
          "run:\n  command: " +
          quoted_yaml(run) +
          "\n  timeout: 60s\n"
          "  # The whole process is timed. What it prints can be read instead:\n"
          "  # {name: time, unit: ms, pattern: \"time: ([0-9.]+)\"} or {name: rate, unit: per_s, goal: maximize, json: "
          "/rate}\n"
          "  metric: {name: time, unit: s, wall: true}\n"
          "  repeats: {min: 3, max: 9, until: 2%} # until the 95 % interval of the median is within 2 %\n"
          "search: {trials: 50, seed: 1} # time: 10m limits it too\n";
  out.text = std::move(text);
  return out;
}

spec_draft draft_of_space(const task_spec& read, const search::space& over) {
  spec_draft out;
  const auto own_name = read.file.substr(read.file.rfind('/') == std::string::npos ? 0 : read.file.rfind('/') + 1);
  std::string text = head_of_draft(read.name, own_name) + "parameters:\n";
  std::string words;
  for (std::size_t p = 0; p < over.parameters().size(); ++p) {
    const auto& info = over.parameters()[p];
    std::vector<value> values;
    for (std::uint32_t k = 0; k < info.size; ++k) values.push_back(over.value_at(p, k));
    std::string form = yaml_list(values);
    for (const auto& declared : read.parameters)
      if (declared.name == info.name && declared.standard)
        form = "{values: " + form + ", default: " + yaml_scalar(*declared.standard) + "}";
    text += "  " + info.name + ": " + form + "\n";
    words += " --" + info.name + " {" + info.name + "}";
  }
  if (!read.constraints.empty()) text += "constraints:\n";
  for (const auto& c : read.constraints) text += "  - " + quoted_yaml(c.expression) + "\n";
  text += "# T1 does not say how a configuration is built and run: that is to be put here.\n"
          "#build: {command: \"make bench OUT={artifact}\", sources: [bench.c], timeout: 60s}\n"
          "run:\n  command: " +
          quoted_yaml("./measure" + words) + "\n  timeout: 60s\n";
  const auto& m = read.run.metrics.front();
  text += "  # The last number that it prints; {pattern: \"time: ([0-9.]+)\"} and others read elsewhere.\n"
          "  metric: {name: " +
          quoted_yaml(m.name) + ", unit: " + quoted_yaml(m.unit) +
          (m.direction == goal::maximize ? ", goal: maximize" : "") + "}\n";
  text += "  repeats: {min: 3, max: 9, until: 2%}\nsearch: {";
  if (read.search.trials)
    text += "trials: " + std::to_string(*read.search.trials) + ", ";
  else if (read.search.fraction)
    text += "fraction: " + shortest(*read.search.fraction) + ", ";
  else if (!read.search.time)
    text += "trials: 100, ";
  if (read.search.time) text += "time: " + shortest(seconds(*read.search.time)) + "s, ";
  text += "seed: 1}\n";
  out.notes.push_back("run.command is a placeholder: T1 does not say how a configuration is run");
  out.text = std::move(text);
  return out;
}

} // namespace attune::cli
