#include "measure/metric.hpp"

#include "core/text.hpp"
#include "core/value.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <regex>

namespace attune::measure {

namespace {

using nlohmann::json;

constexpr std::size_t longest_line = 8 << 10;

error bad_metric(std::string message) { return error{errc::invalid_spec, std::move(message), {}}; }

/// A number as a program prints it: alone, or with a unit behind it.
std::optional<double> number_of(std::string_view word) {
  if (auto whole = parse_double(word)) return whole;
  auto begin = word.find_first_of("0123456789.");
  const bool is_signed = word.starts_with('-') || word.starts_with('+');
  if (begin == std::string_view::npos || begin > (is_signed ? 1 : 0)) return std::nullopt;
  // 0x1F is no decimal number with the unit x1F.
  if (word.size() > begin + 1 && word[begin] == '0' && (word[begin + 1] == 'x' || word[begin + 1] == 'X'))
    return std::nullopt;
  auto end = word.find_last_of("0123456789.");
  for (std::size_t length = end + 1; length > begin; --length) {
    char next = length < word.size() ? word[length] : 'x';
    bool unit = (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') || next == '%' ||
                static_cast<unsigned char>(next) >= 0x80; // µs
    if (!unit) continue;
    auto rest = word.substr(length);
    if (rest.find_first_of("0123456789") != std::string_view::npos) return std::nullopt;
    if (auto number = parse_double(word.substr(0, length))) return number;
  }
  return std::nullopt;
}

bool between_words(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f' || c == '\0' ||
         std::string_view(",;:=()[]{}<>\"'|`").find(c) != std::string_view::npos;
}

/// The lines of a stream from the last to the first, ends of lines left out.
template <class Function>
void each_line_backwards(std::string_view text, Function&& function) {
  while (true) {
    auto at = text.rfind('\n');
    std::string_view line = at == std::string_view::npos ? text : text.substr(at + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!function(line) || at == std::string_view::npos) return;
    text = text.substr(0, at);
  }
}

template <class Function>
void each_line(std::string_view text, Function&& function) {
  while (!text.empty()) {
    auto at = text.find('\n');
    std::string_view line = text.substr(0, at);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    function(line);
  }
}

/// What every match of the pattern begins with, as far as it is plain text: lines without it need no search.
std::string plain_beginning(std::string_view pattern) {
  std::string out;
  for (char c : pattern) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) {
      // The last plain character may be optional.
      if ((c == '?' || c == '*' || c == '{') && !out.empty()) out.pop_back();
      break;
    }
    out += c;
  }
  return pattern.find('|') == std::string_view::npos ? out : std::string{};
}

std::string shown(std::string_view text) {
  std::string out(text.substr(0, 60));
  return text.size() > 60 ? out + "…" : out;
}

/// `unit` among memory_units().
std::optional<double> bytes_of(std::string_view unit) {
  for (const auto& [name, bytes] : memory_units())
    if (name == unit) return bytes;
  return std::nullopt;
}

/// What is wrong with a metric of the processes, as `a time (wall) and cannot be in 'MB'`; empty: nothing.
std::string wrong_amount(const metric_spec& spec) {
  const auto known = [&](std::span<const std::string_view> words) {
    return std::find(words.begin(), words.end(), spec.expression) != words.end();
  };
  const std::string cannot = " and cannot be in '" + spec.unit + "'";
  const bool time = spec.stored_unit() == "s";
  switch (spec.source) {
  case metric_spec::from::wall:
    return time ? "" : "a time (wall)" + cannot;
  case metric_spec::from::cpu:
    return time ? "" : "a time (cpu)" + cannot;
  case metric_spec::from::memory:
    return bytes_of(spec.unit) ? "" : "memory" + cannot + ": B, kB, MB, GB, KiB, MiB or GiB";
  case metric_spec::from::energy:
    if (!known(energy_domains())) return "the energy of '" + spec.expression + "', which is no domain of RAPL";
    return spec.unit == "J" ? "" : "an energy" + cannot + ": J";
  case metric_spec::from::counter:
    if (!known(counter_names())) return "of '" + spec.expression + "', which is no counter";
    if (spec.expression == "task-clock") return time ? "" : "a time (task-clock)" + cannot;
    return time ? "a count" + cannot : "";
  default:
    return {};
  }
}

} // namespace

struct metric_reader::compiled {
  metric_spec spec;
  std::regex pattern;
  std::string beginning;
  std::string pointer;
};

metric_reader::metric_reader(std::unique_ptr<compiled> parts) : parts_(std::move(parts)) {}
metric_reader::metric_reader(metric_reader&&) noexcept = default;
metric_reader& metric_reader::operator=(metric_reader&&) noexcept = default;
metric_reader::~metric_reader() = default;

result<metric_reader> metric_reader::make(const metric_spec& spec) {
  auto parts = std::make_unique<compiled>();
  parts->spec = spec;
  switch (spec.source) {
  case metric_spec::from::pattern:
    if (spec.expression.empty()) return bad_metric("the pattern of the metric '" + spec.name + "' is empty");
    try {
      auto flags = std::regex::ECMAScript;
#ifdef __GLIBCXX__
      // A breadth-first search in place of a recursive one: no input can exhaust the stack or take exponential time.
      flags |= std::regex_constants::__polynomial;
#endif
      parts->pattern.imbue(std::locale::classic());
      parts->pattern.assign(spec.expression, flags);
    } catch (const std::regex_error& wrong) {
      return bad_metric("the pattern of the metric '" + spec.name + "' is wrong: " + wrong.what() + ": " +
                        spec.expression);
    }
    parts->beginning = plain_beginning(spec.expression);
    break;
  case metric_spec::from::json:
    try {
      // Compiled to see that it is right; it is made anew for each use, as it is no value that can be shared safely.
      [[maybe_unused]] const json::json_pointer seen{spec.expression};
      parts->pointer = spec.expression;
    } catch (const std::exception&) {
      return bad_metric("the JSON pointer of the metric '" + spec.name + "' is wrong: '" + spec.expression +
                        "'; it is empty or begins with / (RFC 6901)");
    }
    break;
  case metric_spec::from::file:
    if (spec.expression.empty()) return bad_metric("the file of the metric '" + spec.name + "' has no name");
    break;
  case metric_spec::from::wall:
  case metric_spec::from::cpu:
  case metric_spec::from::memory:
  case metric_spec::from::counter:
  case metric_spec::from::energy:
    if (auto wrong = wrong_amount(spec); !wrong.empty())
      return bad_metric("the metric '" + spec.name + "' is " + wrong);
    break;
  case metric_spec::from::last_number:
    break;
  }
  return metric_reader(std::move(parts));
}

std::optional<double> last_number(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    while (end > 0 && between_words(text[end - 1])) --end;
    std::size_t begin = end;
    while (begin > 0 && !between_words(text[begin - 1])) --begin;
    if (begin == end) return std::nullopt;
    std::string_view word = text.substr(begin, end - begin);
    // The full stop of a sentence.
    if (word.size() > 1 && word.back() == '.') word.remove_suffix(1);
    if (word.size() <= 400)
      if (auto number = number_of(word)) return number;
    end = begin;
  }
  return std::nullopt;
}

extracted check_samples(std::vector<double> samples, const metric_spec& spec, double divisor) {
  extracted out;
  const std::string name = "the metric '" + spec.name + "'";
  if (samples.empty()) {
    out.data = name + " has no sample";
    return out;
  }
  std::size_t zeros = 0;
  for (double& x : samples) {
    if (std::isnan(x)) {
      out.data = name + " is not a number (nan)";
      return out;
    }
    if (std::isinf(x)) {
      out.data = name + " is infinite (" + shortest(x) + ")";
      return out;
    }
    if (x < 0) {
      out.data = name + " is negative (" + shortest(x) + ")";
      return out;
    }
    x /= divisor;
    if (x == 0) {
      x = 0.0; // no sign
      ++zeros;
    }
  }
  if (zeros > 0)
    out.notes.push_back(name + " was exactly zero in " + std::to_string(zeros) + " of " +
                        std::to_string(samples.size()) + " samples: kept, but no ratio is formed with it");
  out.data = std::move(samples);
  return out;
}

extracted metric_reader::extract(const run_output& run) const {
  const metric_spec& spec = parts_->spec;
  const std::string name = "the metric '" + spec.name + "'";
  static const captured nothing;
  const captured& out = run.out ? *run.out : nothing;
  std::vector<double> samples;
  std::vector<std::string> notes;
  auto fail = [&](std::string why) { return extracted{std::move(why), std::move(notes)}; };
  auto finish = [&](double divisor) {
    auto checked = check_samples(std::move(samples), spec, divisor);
    notes.insert(notes.end(), checked.notes.begin(), checked.notes.end());
    checked.notes = std::move(notes);
    return checked;
  };

  switch (spec.source) {
  case metric_spec::from::wall:
    samples.push_back(seconds(run.wall));
    return finish(1);

  case metric_spec::from::cpu:
  case metric_spec::from::memory:
  case metric_spec::from::counter:
  case metric_spec::from::energy: {
    if (!run.amount) return fail(name + " is missing: " + run.missing);
    samples.push_back(*run.amount);
    auto checked = finish(spec.source == metric_spec::from::memory ? bytes_of(spec.unit).value_or(1) : 1);
    // No page fault, no joule: an ordinary count.
    checked.notes.clear();
    return checked;
  }

  case metric_spec::from::file: {
    auto number = last_number(run.file);
    if (!number) return fail(name + " is missing: no number in '" + spec.expression + "'");
    samples.push_back(*number);
    return finish(spec.divisor());
  }

  case metric_spec::from::last_number: {
    auto number = last_number(out.tail);
    if (!number) number = last_number(out.head);
    if (!number) return fail(name + " is missing: no number on standard output");
    samples.push_back(*number);
    return finish(spec.divisor());
  }

  case metric_spec::from::pattern: {
    std::string wrong;
    bool long_lines = false;
    auto search = [&](std::string_view line) {
      if (!wrong.empty()) return;
      if (line.size() > longest_line) {
        long_lines = true;
        line = line.substr(0, longest_line);
      }
      if (line.find(parts_->beginning) == std::string_view::npos) return;
      using iterator = std::regex_iterator<std::string_view::const_iterator>;
      for (iterator at(line.begin(), line.end(), parts_->pattern), end; at != end; ++at) {
        std::size_t group = at->size() > 1 ? 1 : 0;
        std::string text = (*at)[group].str();
        auto number = parse_double(trim(text));
        if (!number) {
          wrong = name + " is not a number: '" + shown(text) + "' in the line '" + shown(line) + "'";
          return;
        }
        samples.push_back(*number);
      }
    };
    try {
      each_line(out.head, search);
      each_line(out.tail, search);
    } catch (const std::regex_error& failed) {
      return fail(name + ": the pattern could not be searched for: " + failed.what());
    }
    if (long_lines) notes.push_back("lines over 8 KiB were searched in their first 8 KiB only");
    if (!wrong.empty()) return fail(wrong);
    if (samples.empty()) return fail(name + " is missing: nothing on standard output matches " + spec.expression);
    return finish(spec.divisor());
  }

  case metric_spec::from::json: {
    std::optional<json> found;
    std::string wrong;
    auto look = [&](std::string_view line) {
      line = trim(line);
      if (line.empty()) return true;
      bool object = line.front() == '{', list = line.front() == '[';
      if (!object && !list && !parts_->pointer.empty()) return true;
      json parsed = json::parse(line.begin(), line.end(), nullptr, false);
      if (!parsed.is_discarded()) {
        found = std::move(parsed);
        return false;
      }
      // An object that is none must not let an older line speak for this run.
      if (!object) return true;
      wrong = name + " cannot be read: the last line that begins as JSON is none" +
              (line.find("NaN") != std::string_view::npos || line.find("Infinity") != std::string_view::npos
                   ? " (it holds NaN or Infinity)"
                   : "") +
              ": " + shown(line);
      return false;
    };
    each_line_backwards(out.tail, look);
    if (!found && wrong.empty()) each_line_backwards(out.head, look);
    if (!wrong.empty()) return fail(wrong);
    if (!found) return fail(name + " is missing: no line of standard output is JSON");
    json::json_pointer pointer(parts_->pointer);
    if (!found->contains(pointer))
      return fail(name + " is missing: the JSON line has nothing at '" + parts_->pointer + "'");
    const json& value = (*found)[pointer];
    auto take = [&](const json& item) {
      if (item.is_number()) {
        samples.push_back(item.get<double>());
        return true;
      }
      wrong = name + " is not a number at '" + parts_->pointer +
              "': " + shown(item.dump(-1, ' ', false, json::error_handler_t::replace));
      return false;
    };
    if (value.is_array()) {
      for (const json& item : value)
        if (!take(item)) return fail(wrong);
      if (samples.empty()) return fail(name + " is missing: the list at '" + parts_->pointer + "' is empty");
    } else if (!take(value)) {
      return fail(wrong);
    }
    return finish(spec.divisor());
  }
  }
  return fail(name + " has no source");
}

} // namespace attune::measure
