#include "storage/formats/json.hpp"

#include "core/text.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>

namespace attune::storage::formats {
namespace {

using kind = json_document::kind;

/// RapidJSON's events into the flat list.
struct builder {
  std::vector<json_document::node>& nodes;
  std::array<std::uint32_t, json_document::deepest> open{};
  std::uint32_t depth = 0;
  bool too_deep = false;

  bool leaf(kind k, const char* text = nullptr, std::size_t size = 0) {
    nodes.push_back({k, static_cast<std::uint32_t>(size), static_cast<std::uint32_t>(nodes.size() + 1), text});
    return true;
  }
  bool start(kind k) {
    if (depth == open.size()) {
      too_deep = true;
      return false;
    }
    open[depth++] = static_cast<std::uint32_t>(nodes.size());
    return leaf(k);
  }
  bool close(std::uint32_t size) {
    auto& n = nodes[open[--depth]];
    n.size = size;
    n.next = static_cast<std::uint32_t>(nodes.size());
    return true;
  }
  // NOLINTBEGIN(readability-identifier-naming): RapidJSON's handler
  bool Null() { return leaf(kind::null); }
  bool Bool(bool b) { return leaf(b ? kind::yes : kind::no); }
  bool RawNumber(const char* s, rapidjson::SizeType n, bool) { return leaf(kind::number, s, n); }
  bool String(const char* s, rapidjson::SizeType n, bool) { return leaf(kind::string, s, n); }
  bool Key(const char* s, rapidjson::SizeType n, bool) { return leaf(kind::string, s, n); }
  bool StartObject() { return start(kind::object); }
  bool EndObject(rapidjson::SizeType n) { return close(n); }
  bool StartArray() { return start(kind::array); }
  bool EndArray(rapidjson::SizeType n) { return close(n); }
  // With numbers as text these are never called.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(std::int64_t) { return false; }
  bool Uint64(std::uint64_t) { return false; }
  bool Double(double) { return false; }
  // NOLINTEND(readability-identifier-naming)
};

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// The digits of a decimal number without its point, and where that stands: 0.digits times ten to the `point`.
struct decimal {
  bool negative = false;
  std::string digits; ///< without leading and trailing zeros; empty: zero
  int point = 0;
};

decimal decimal_of(double d) {
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), d, std::chars_format::scientific).ptr;
  std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  decimal out;
  if (text.starts_with('-')) {
    out.negative = true;
    text.remove_prefix(1);
  }
  const auto e = text.find('e');
  auto power = text.substr(e + 1);
  if (power.starts_with('+')) power.remove_prefix(1);
  int exponent = 0;
  std::from_chars(power.data(), power.data() + power.size(), exponent);
  for (const char c : text.substr(0, e))
    if (is_digit(c)) out.digits += c;
  while (out.digits.ends_with('0')) out.digits.pop_back();
  out.point = exponent + 1;
  return out;
}

void write(const decimal& d, std::string& out) {
  if (d.digits.empty()) {
    out += "0.0";
    return;
  }
  if (d.negative) out += '-';
  const int n = static_cast<int>(d.digits.size());
  if (d.point > 21 || d.point < -5) {
    out += d.digits[0];
    out += '.';
    out += n > 1 ? std::string_view(d.digits).substr(1) : std::string_view("0");
    out += 'e';
    out += std::to_string(d.point - 1);
  } else if (d.point <= 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-d.point), '0');
    out += d.digits;
  } else if (d.point >= n) {
    out += d.digits;
    out.append(static_cast<std::size_t>(d.point - n), '0');
    out += ".0";
  } else {
    out += std::string_view(d.digits).substr(0, static_cast<std::size_t>(d.point));
    out += '.';
    out += std::string_view(d.digits).substr(static_cast<std::size_t>(d.point));
  }
}

std::optional<int> whole(std::string_view text) noexcept {
  int n = 0;
  if (text.empty() || !is_digit(text[0])) return std::nullopt;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (bad != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

} // namespace

bool json_document::parse(char* text, std::size_t size) {
  nodes_.clear();
  why_.clear();
  if (std::memchr(text, '\0', size) != nullptr) {
    why_ = "a zero byte stands in it";
    nodes_.push_back({});
    return false;
  }
  rapidjson::InsituStringStream stream(text);
  rapidjson::Reader reader;
  builder into{nodes_};
  constexpr unsigned flags =
      rapidjson::kParseInsituFlag | rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseNanAndInfFlag;
  const auto done = reader.Parse<flags>(stream, into);
  if (!done.IsError()) return true;
  why_ = into.too_deep
             ? "nested too deeply"
             : "no JSON at byte " + std::to_string(done.Offset() + 1) + ": " + rapidjson::GetParseError_En(done.Code());
  if (why_.ends_with('.')) why_.pop_back();
  nodes_.assign(1, {});
  return false;
}

bool json_ref::is_integer() const noexcept { return integer().has_value(); }

std::optional<double> json_ref::number() const noexcept { return is_number() ? parse_double(text()) : std::nullopt; }

std::optional<std::int64_t> json_ref::integer() const noexcept {
  return is_number() ? parse_integer(text()) : std::nullopt;
}

void dump(const json_ref& what, std::string& out) {
  if (what.is_string()) {
    json_string(what.text(), out);
  } else if (what.is_number()) {
    out += what.text();
  } else if (what.is_boolean()) {
    out += what.boolean() ? "true" : "false";
  } else if (what.is_array() || what.is_object()) {
    const bool object = what.is_object();
    out += object ? '{' : '[';
    bool first = true;
    for (auto it = what.begin(), stop = what.end(); it != stop; ++it) {
      if (!std::exchange(first, false)) out += ',';
      if (object) {
        json_string(it.key(), out);
        out += ':';
      }
      dump(*it, out);
    }
    out += object ? '}' : ']';
  } else {
    out += "null";
  }
}

std::optional<value> to_value(const json_ref& what) {
  if (what.is_boolean()) return value(what.boolean());
  if (what.is_number()) {
    if (const auto i = what.integer()) return value(*i);
    const auto d = what.number();
    if (!d || std::isnan(*d)) return std::nullopt;
    return value(*d);
  }
  std::string text;
  if (what.is_string()) {
    const auto s = what.text();
    if (s != "null" && !s.starts_with('[') && !s.starts_with('{') && !s.starts_with('"')) return value(s);
  }
  dump(what, text);
  return value(std::move(text));
}

bool value_to_json(const value& v, std::string& out) {
  switch (v.type()) {
  case value::kind::absent:
    out += "null";
    return false;
  case value::kind::boolean:
    out += v.as_bool() ? "true" : "false";
    return true;
  case value::kind::integer:
    json_integer(v.as_integer(), out);
    return true;
  case value::kind::real:
    json_real(v.as_real(), out);
    return true;
  case value::kind::order: {
    char before = '[';
    for (const auto& item : v.as_order().order) {
      out += std::exchange(before, ',');
      json_string(item, out);
    }
    if (before == '[') out += '[';
    out += ']';
    return false;
  }
  case value::kind::text:
    break;
  }
  const auto& text = v.as_text();
  if (text == "null" || text.starts_with('[') || text.starts_with('{') || text.starts_with('"')) {
    // Only what it would come back as: JSON text as dump has it.
    std::string copy = text, again;
    json_document parsed;
    if (parsed.parse(copy.data(), copy.size())) {
      dump(parsed.root(), again);
      if (again == text) {
        const auto back = to_value(parsed.root());
        if (back && *back == v) {
          out += text;
          return true;
        }
      }
    }
    json_string(text, out);
    return false;
  }
  json_string(text, out);
  return true;
}

void json_string(std::string_view text, std::string& out) {
  out += '"';
  std::size_t plain = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f) continue;
    out += text.substr(plain, i - plain);
    plain = i + 1;
    out += '\\';
    switch (c) {
    case '"':
    case '\\':
      out += text[i];
      break;
    case '\n':
      out += 'n';
      break;
    case '\t':
      out += 't';
      break;
    case '\r':
      out += 'r';
      break;
    default:
      out += "u00";
      out += "0123456789abcdef"[c >> 4];
      out += "0123456789abcdef"[c & 15];
    }
  }
  out += text.substr(plain);
  out += '"';
}

void json_real(double d, std::string& out) {
  if (std::isinf(d)) {
    out += d < 0 ? "-Infinity" : "Infinity";
    return;
  }
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), d).ptr;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

void json_integer(std::int64_t i, std::string& out) {
  std::array<char, 24> buffer{};
  out.append(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), i).ptr);
}

std::optional<double> parse_scaled(std::string_view text, int exponent) noexcept {
  if (exponent == 0) return parse_double(text);
  std::array<char, 64> buffer{};
  if (text.empty() || !is_digit(text.back()) || text.size() > 40) {
    // NaN and the like have no power of ten; numbers of that many digits are rounded twice.
    const auto d = parse_double(text);
    return d ? std::optional(exponent < 0 ? *d / std::pow(10.0, -exponent) : *d * std::pow(10.0, exponent)) : d;
  }
  const auto e = text.find_first_of("eE");
  int power = 0;
  if (e != std::string_view::npos) {
    auto written = text.substr(e + 1);
    if (written.starts_with('+')) written.remove_prefix(1);
    const auto [end, bad] = std::from_chars(written.data(), written.data() + written.size(), power);
    if (bad != std::errc() || end != written.data() + written.size() || power > 9999 || power < -9999)
      return parse_double(text);
  }
  const auto digits = text.substr(0, e);
  std::memcpy(buffer.data(), digits.data(), digits.size());
  auto* at = buffer.data() + digits.size();
  *at++ = 'e';
  at = std::to_chars(at, buffer.data() + buffer.size(), power + exponent).ptr;
  return parse_double({buffer.data(), static_cast<std::size_t>(at - buffer.data())});
}

void write_scaled(double d, int exponent, std::string& out) {
  if (exponent == 0) return json_real(d, out);
  auto shortest_form = decimal_of(d);
  shortest_form.point -= exponent;
  write(shortest_form, out);
}

void write_nanoseconds(std::int64_t ns, int exponent, std::string& out) {
  decimal d;
  d.negative = ns < 0;
  d.digits = std::to_string(ns < 0 ? ~static_cast<std::uint64_t>(ns) + 1 : static_cast<std::uint64_t>(ns));
  d.point = static_cast<int>(d.digits.size()) - 9 - exponent;
  const auto first = d.digits.find_first_not_of('0');
  if (first == std::string::npos) d.digits.clear();
  while (d.digits.ends_with('0')) d.digits.pop_back();
  write(d, out);
}

std::optional<std::int64_t> parse_nanoseconds(std::string_view text, int exponent) noexcept {
  // A plain decimal exactly (a time of day has more digits than a double); any other form through a double.
  const bool negative = text.starts_with('-');
  auto rest = negative ? text.substr(1) : text;
  const auto point = rest.find('.');
  const auto before = rest.substr(0, point), after = point == std::string_view::npos ? "" : rest.substr(point + 1);
  const int places = 9 + exponent; // of the unit that are nanoseconds
  const auto digits_only = [](std::string_view t) { return t.find_first_not_of("0123456789") == t.npos; };
  if (!before.empty() && places >= 0 && before.size() + static_cast<std::size_t>(places) <= 19 && digits_only(before) &&
      digits_only(after)) {
    std::uint64_t n = 0; // of 19 digits: it fits
    for (const char c : before) n = n * 10 + static_cast<unsigned>(c - '0');
    for (int i = 0; i < places; ++i)
      n = n * 10 + static_cast<unsigned>(
                       static_cast<std::size_t>(i) < after.size() ? after[static_cast<std::size_t>(i)] - '0' : 0);
    if (after.size() > static_cast<std::size_t>(places) && after[static_cast<std::size_t>(places)] >= '5') ++n;
    if (n > INT64_MAX) return std::nullopt;
    return negative ? -static_cast<std::int64_t>(n) : static_cast<std::int64_t>(n);
  }
  const auto d = parse_scaled(text, exponent);
  if (!d || !std::isfinite(*d) || std::fabs(*d) > 9.2e9) return std::nullopt;
  return std::llround(*d * 1e9);
}

std::optional<std::int64_t> parse_time(std::string_view text) noexcept {
  // YYYY-MM-DD?hh:mm:ss[.f…][ UTC|Z|±hh[:]mm]
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':') return std::nullopt;
  const auto year = whole(text.substr(0, 4)), month = whole(text.substr(5, 2)), day = whole(text.substr(8, 2)),
             hour = whole(text.substr(11, 2)), minute = whole(text.substr(14, 2)), second = whole(text.substr(17, 2));
  if (!year || !month || !day || !hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 60)
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  // As nanoseconds in 64 bits.
  if (!date.ok() || *year < 1700 || *year > 2200) return std::nullopt;
  std::int64_t ns = 0;
  auto rest = text.substr(19);
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    std::size_t n = 0;
    for (; n < rest.size() && is_digit(rest[n]); ++n)
      if (n < 9) ns = ns * 10 + (rest[n] - '0');
    for (auto k = std::min<std::size_t>(n, 9); k < 9; ++k) ns *= 10;
    rest.remove_prefix(n);
  }
  std::int64_t s = std::int64_t{std::chrono::sys_days(date).time_since_epoch().count()} * 86400 + *hour * 3600 +
                   *minute * 60 + *second;
  rest = trim(rest);
  if (!rest.empty() && rest != "UTC" && rest != "Z" && rest != "z") {
    if (rest.size() < 5 || (rest[0] != '+' && rest[0] != '-')) return std::nullopt;
    const auto h = whole(rest.substr(1, 2)), m = whole(rest.substr(rest.size() - 2));
    if (!h || !m) return std::nullopt;
    s += (rest[0] == '+' ? -1 : 1) * (*h * 3600 + *m * 60);
  }
  return s * 1'000'000'000 + ns;
}

std::string time_text(std::int64_t ns) {
  const std::chrono::sys_time<std::chrono::nanoseconds> at{std::chrono::nanoseconds(ns)};
  const auto days = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss clock(at - days);
  std::array<char, 64> buffer{};
  const int n = std::snprintf(buffer.data(), buffer.size(), "%04d-%02u-%02u %02d:%02d:%02d",
                              static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                              static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                              static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()));
  std::string out(buffer.data(), static_cast<std::size_t>(n));
  if (const auto part = clock.subseconds().count(); part != 0) {
    auto digits = std::to_string(part);
    digits.insert(0, 9 - digits.size(), '0');
    digits.erase(digits.find_last_not_of('0') + 1);
    out += '.' + digits;
  }
  return out + "+00:00";
}

} // namespace attune::storage::formats
