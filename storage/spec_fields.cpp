#include "storage/spec_fields.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace attune::storage {

namespace {

bool all_digits(std::string_view s, std::string_view digits) {
  return !s.empty() && s.find_first_not_of(digits) == std::string_view::npos;
}

bool is_decimal_integer(std::string_view s) {
  if (!s.empty() && (s.front() == '+' || s.front() == '-')) s.remove_prefix(1);
  return all_digits(s, "0123456789");
}

/// The core schema's [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool is_decimal_real(std::string_view s) {
  constexpr std::string_view digits = "0123456789";
  if (!s.empty() && (s.front() == '+' || s.front() == '-')) s.remove_prefix(1);
  const auto take_digits = [&] {
    const auto n = std::min(s.find_first_not_of(digits), s.size());
    s.remove_prefix(n);
    return n;
  };
  const auto whole = take_digits();
  if (!s.empty() && s.front() == '.') {
    s.remove_prefix(1);
    if (take_digits() == 0 && whole == 0) return false;
  } else if (whole == 0) {
    return false;
  }
  if (s.empty()) return true;
  return (s.front() == 'e' || s.front() == 'E') && is_decimal_integer(s.substr(1));
}

bool is_special_real(std::string_view s) {
  if (s == ".nan" || s == ".NaN" || s == ".NAN") return true;
  if (!s.empty() && (s.front() == '+' || s.front() == '-')) s.remove_prefix(1);
  return s == ".inf" || s == ".Inf" || s == ".INF";
}

std::string shown(std::string_view text) {
  std::string out(text.substr(0, 60));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return text.size() > 60 ? out + "…" : out;
}

enum class scalar_type : std::uint8_t { string, boolean, integer, real, special };

scalar_type type_of(const spec_node& node) {
  const auto& s = node.text;
  if (node.quoted) return scalar_type::string;
  if (s == "true" || s == "True" || s == "TRUE" || s == "false" || s == "False" || s == "FALSE")
    return scalar_type::boolean;
  if (is_decimal_integer(s) ||
      (s.starts_with("0x") && all_digits(std::string_view(s).substr(2), "0123456789abcdefABCDEF")) ||
      (s.starts_with("0o") && all_digits(std::string_view(s).substr(2), "01234567")))
    return scalar_type::integer;
  if (is_decimal_real(s)) return scalar_type::real;
  if (is_special_real(s)) return scalar_type::special;
  return scalar_type::string;
}

/// What wrong types are told: `run.warmup must be a whole number, not the string 'x'`.
[[noreturn]] void wrong_type(const spec_node& node, const std::string& name, std::string_view wanted) {
  refuse(node, name + " must be " + std::string(wanted) + ", not " + describe(node));
}

void need_scalar(const spec_node& node, const std::string& name, std::string_view wanted) {
  if (node.what == spec_node::kind::mapping)
    refuse(node, name + " must be " + std::string(wanted) +
                     ", not a map (a text that begins with { or holds ': ' must be quoted)");
  if (node.what != spec_node::kind::scalar) wrong_type(node, name, wanted);
}

} // namespace

void refuse(const spec_node& at, std::string message) { throw spec_fault{std::move(message), at.line, at.column}; }

std::string describe(const spec_node& node) {
  switch (node.what) {
  case spec_node::kind::null:
    return "nothing";
  case spec_node::kind::sequence:
    return "a list";
  case spec_node::kind::mapping:
    return "a map";
  case spec_node::kind::scalar:
    break;
  }
  switch (type_of(node)) {
  case scalar_type::string:
    return "the string '" + shown(node.text) + "'";
  case scalar_type::boolean:
    return "the boolean " + node.text;
  default:
    return "the number " + shown(node.text);
  }
}

spec_section::spec_section(const spec_node& node, std::string path, std::initializer_list<std::string_view> known)
    : node_(&node), path_(std::move(path)) {
  if (node.what != spec_node::kind::mapping)
    refuse(node, (path_.empty() ? "a spec" : path_) + " must be a map of keys, not " + describe(node));
  for (const auto& entry : node.entries) {
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    const std::vector<std::string> words(known.begin(), known.end());
    std::string message = "unknown key '" + shown(entry.key) + "'";
    if (!path_.empty()) message += " in " + path_;
    if (const auto near = nearest_word(entry.key, words)) {
      message += "; did you mean '" + *near + "'?";
    } else {
      message += "; known are";
      for (std::size_t i = 0; i < words.size(); ++i) message += (i == 0 ? " " : ", ") + words[i];
    }
    throw spec_fault{std::move(message), entry.line, entry.column};
  }
}

const spec_node& spec_section::need(std::string_view key) const {
  if (const auto* found = find(key)) return *found;
  refuse(*node_, (path_.empty() ? "the spec" : path_) + " has no '" + std::string(key) + "', which it needs");
}

std::string spec_section::name(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

value read_value(const spec_node& node, const std::string& name) {
  need_scalar(node, name, "a number, a string or a boolean");
  std::string_view s = node.text;
  switch (type_of(node)) {
  case scalar_type::string:
    return value(node.text);
  case scalar_type::boolean:
    return value(s.front() == 't' || s.front() == 'T');
  case scalar_type::integer: {
    if (s.starts_with("0x") || s.starts_with("0o")) {
      std::int64_t n = 0;
      const auto [end, ec] = std::from_chars(s.data() + 2, s.data() + s.size(), n, s[1] == 'x' ? 16 : 8);
      if (ec == std::errc{} && end == s.data() + s.size()) return value(n);
    } else if (const auto n = parse_integer(s)) {
      return value(*n);
    }
    refuse(node, name + ": the integer " + shown(s) + " does not fit into 64 bits");
  }
  case scalar_type::real:
    if (const auto d = parse_double(s); d && std::isfinite(*d)) return value(*d);
    refuse(node, name + ": the number " + shown(s) + " is too large");
  case scalar_type::special:
    break;
  }
  refuse(node, name + ": " + shown(s) + " is no finite number");
}

std::string read_string(const spec_node& node, const std::string& name) {
  need_scalar(node, name, "a string");
  if (type_of(node) != scalar_type::string)
    refuse(node, name + " must be a string, not " + describe(node) + ": put quotes around it if it is meant as text");
  return node.text;
}

std::string read_text(const spec_node& node, const std::string& name) {
  need_scalar(node, name, "a text");
  return node.text;
}

std::int64_t read_integer(const spec_node& node, const std::string& name, std::int64_t least, std::int64_t most) {
  need_scalar(node, name, "a whole number");
  if (type_of(node) != scalar_type::integer) wrong_type(node, name, "a whole number");
  const auto n = read_value(node, name).as_integer();
  if (n < least) refuse(node, name + " must be at least " + std::to_string(least) + ", not " + std::to_string(n));
  if (n > most) refuse(node, name + " must be at most " + std::to_string(most) + ", not " + std::to_string(n));
  return n;
}

std::uint64_t read_unsigned(const spec_node& node, const std::string& name) {
  need_scalar(node, name, "a whole number");
  if (type_of(node) != scalar_type::integer) wrong_type(node, name, "a whole number");
  std::string_view s = node.text;
  if (s.starts_with('+')) s.remove_prefix(1);
  std::uint64_t n = 0;
  const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), n);
  if (ec != std::errc{} || end != s.data() + s.size())
    refuse(node, name + " must be a whole number from 0 to 18446744073709551615, not " + shown(node.text));
  return n;
}

bool read_boolean(const spec_node& node, const std::string& name) {
  need_scalar(node, name, "true or false");
  if (type_of(node) != scalar_type::boolean) wrong_type(node, name, "true or false");
  return node.text.front() == 't' || node.text.front() == 'T';
}

double read_number(const spec_node& node, const std::string& name) {
  need_scalar(node, name, "a number");
  const auto v = read_value(node, name);
  if (!v.is_number()) wrong_type(node, name, "a number");
  return v.to_double();
}

nanoseconds read_duration(const spec_node& node, const std::string& name) {
  need_scalar(node, name, "a duration with its unit, as in 10s");
  const auto d = parse_duration(node.text);
  if (!d) refuse(node, name + ": " + d.err().message);
  if (d->count() == 0) refuse(node, name + " must be longer than nothing");
  return *d;
}

double read_percentage(const spec_node& node, const std::string& name) {
  need_scalar(node, name, "a percentage, as in 2%");
  std::string_view s = trim(node.text);
  if (!s.ends_with('%')) refuse(node, name + " must be a percentage with its sign, as in 2%, not " + describe(node));
  s.remove_suffix(1);
  const auto d = parse_double(trim(s));
  if (!d || !(*d > 0) || !(*d <= 100))
    refuse(node, name + " must be a percentage above 0% and up to 100%, not " + shown(node.text));
  return *d / 100;
}

double read_fraction(const spec_node& node, const std::string& name) {
  constexpr std::string_view wanted = "a number above 0 and up to 1, or a percentage";
  need_scalar(node, name, wanted);
  if (trim(node.text).ends_with('%')) return read_percentage(node, name);
  const auto type = type_of(node);
  if (type == scalar_type::string || type == scalar_type::boolean) wrong_type(node, name, wanted);
  const double d = read_number(node, name);
  if (!(d > 0) || !(d <= 1)) refuse(node, name + " must be " + std::string(wanted) + ", not " + shown(node.text));
  return d;
}

command read_command(const spec_node& node, const std::string& name) {
  command c;
  if (node.what == spec_node::kind::sequence) {
    if (node.items.empty()) refuse(node, name + " is an empty list; it needs at least the program");
    // The words of an argv are text whatever they look like: `[sleep, 1]` is what people write.
    for (const auto& item : node.items) c.argv.push_back(read_text(*item, "a word of " + name));
    return c;
  }
  c.shell = read_string(node, name);
  if (trim(c.shell).empty()) refuse(node, name + " is empty");
  return c;
}

std::vector<std::string> read_strings(const spec_node& node, const std::string& name) {
  if (node.what != spec_node::kind::sequence) wrong_type(node, name, "a list of strings");
  std::vector<std::string> out;
  for (const auto& item : node.items) {
    out.push_back(read_string(*item, "an entry of " + name));
    if (out.back().empty()) refuse(*item, "an entry of " + name + " is empty");
  }
  return out;
}

arguments read_arguments(const spec_node& node, const std::string& name) {
  if (node.what != spec_node::kind::mapping) wrong_type(node, name, "a map of names and values");
  arguments out;
  for (const auto& entry : node.entries) {
    if (!is_identifier(entry.key))
      throw spec_fault{"'" + shown(entry.key) + "' in " + name + " is no name: letters, digits and _, no digit first",
                       entry.line, entry.column};
    const auto path = name + "." + entry.key;
    if (entry.value->what != spec_node::kind::sequence) {
      out.emplace_back(entry.key, read_value(*entry.value, path));
      continue;
    }
    permutation list;
    for (const auto& item : entry.value->items) {
      const auto v = read_value(*item, "an entry of " + path);
      std::string text = v.text();
      if (v.type() == value::kind::real && is_decimal_integer(text)) text += ".0";
      if (v.type() == value::kind::text &&
          (text.starts_with('"') ||
           type_of(spec_node{spec_node::kind::scalar, false, text, 0, 0, {}, {}, 1}) != scalar_type::string))
        text.insert(0, 1, '"').append(1, '"');
      list.order.push_back(std::move(text));
    }
    out.emplace_back(entry.key, value(std::move(list)));
  }
  return out;
}

bool is_identifier(std::string_view text) noexcept {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  if (text.empty() || letters.find(text.front()) == std::string_view::npos) return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return letters.find(c) != std::string_view::npos || (c >= '0' && c <= '9'); });
}

} // namespace attune::storage
