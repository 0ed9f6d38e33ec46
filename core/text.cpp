#include "core/text.hpp"

#include "core/value.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace attune {

namespace {

/// Restricted Damerau-Levenshtein distance: insertions, deletions, substitutions and swaps of neighbours cost one.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

/// `v` rounded to three significant digits: a unit is chosen by what will be shown, so that 999.9 us is 1.00 ms.
double rounded(double v) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v, std::chars_format::scientific, 2).ptr;
  std::from_chars(buffer.data(), end, v);
  return v;
}

/// Three significant digits, without an exponent for numbers in [0.001, 100000), whose whole digits are all shown.
std::string three_digits(double v) {
  const double magnitude = std::fabs(rounded(v));
  if (magnitude != 0 && (magnitude < 1e-3 || magnitude >= 1e5)) {
    std::array<char, 32> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v, std::chars_format::general, 3).ptr;
    return {buffer.data(), end};
  }
  int decimals = 0;
  if (magnitude != 0)
    for (double below = 100; magnitude < below && decimals < 5; below /= 10) ++decimals;
  std::array<char, 64> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), v, std::chars_format::fixed, decimals).ptr;
  return {buffer.data(), end};
}

/// Whether a decimal floating-point text that does not fit a double is too small for it, not too large: by the power of
/// ten of its first digit that is not zero, since `0.000…1` has no exponent and `1000…e-9` has a negative one.
bool is_tiny(std::string_view number) noexcept {
  const auto e = number.find_first_of("eE");
  const auto digits = number.substr(0, e);
  std::int64_t exponent = 0;
  if (e != std::string_view::npos) {
    auto power = number.substr(e + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    if (std::from_chars(power.data(), power.data() + power.size(), exponent).ec != std::errc{})
      return power.starts_with('-');
  }
  const auto point = std::min(digits.find('.'), digits.size());
  const auto first = digits.find_first_of("123456789");
  if (first == std::string_view::npos) return true;
  const auto places = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  return exponent < -places;
}

} // namespace

std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > 256) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_distance = 0;
  for (const auto& candidate : candidates) {
    const std::size_t d = edit_distance(word, candidate), longer = std::max(word.size(), candidate.size());
    if (d * 3 > std::max<std::size_t>(longer, 3) || d >= longer) continue;
    if (!best || d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

std::optional<double> parse_double(std::string_view text) noexcept {
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && (text.front() == '+' || text.front() == '-')) return std::nullopt;
  }
  double d = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), d);
  if (end != text.data() + text.size() || text.empty()) return std::nullopt;
  if (ec == std::errc::result_out_of_range) {
    // from_chars leaves d alone; what strtod would give is infinity or zero.
    const double magnitude = is_tiny(text) ? 0.0 : HUGE_VAL;
    return text.front() == '-' ? -magnitude : magnitude;
  }
  if (ec != std::errc{}) return std::nullopt;
  return d;
}

std::optional<std::int64_t> parse_integer(std::string_view text) noexcept {
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return std::nullopt;
  }
  std::int64_t n = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return n;
}

result<nanoseconds> parse_duration(std::string_view text) {
  const auto trimmed = trim(text);
  const auto bad = [&](const std::string& why) {
    return error{errc::invalid_spec, "duration '" + std::string(text.substr(0, 40)) + "' " + why, {}};
  };
  if (trimmed == "0") return nanoseconds(0);
  const auto split_at = trimmed.find_first_not_of("+-0123456789.eE");
  if (split_at == std::string_view::npos)
    return bad("has no unit: write ns, us, ms, s, m, h or d behind the number, as in 10s");
  const auto number = parse_double(trimmed.substr(0, split_at));
  const auto unit = trim(trimmed.substr(split_at));
  double scale = 0;
  for (const auto& [name, factor] : {std::pair<std::string_view, double>{"ns", 1},
                                     {"us", 1e3},
                                     {"ms", 1e6},
                                     {"s", 1e9},
                                     {"m", 60e9},
                                     {"min", 60e9},
                                     {"h", 3600e9},
                                     {"d", 86400e9}})
    if (unit == name) scale = factor;
  if (!number) return bad("does not begin with a number, as 10s does");
  if (scale == 0) return bad("has an unknown unit: write ns, us, ms, s, m, h or d");
  if (!std::isfinite(*number) || *number < 0) return bad("must be finite and not negative");
  const double ns = *number * scale;
  if (ns > 86400e9 * 10000) return bad("is longer than 10000 days");
  return nanoseconds(std::llround(ns));
}

std::string human_duration(nanoseconds d) {
  const auto ns = static_cast<double>(d.count());
  const double magnitude = std::fabs(rounded(ns));
  if (magnitude < 1e3) return three_digits(ns) + " ns";
  if (magnitude < 1e6) return three_digits(ns / 1e3) + " us";
  if (magnitude < 1e9) return three_digits(ns / 1e6) + " ms";
  if (magnitude < 60e9) return three_digits(ns / 1e9) + " s";
  const auto whole = std::llround(std::fabs(ns) / 1e9);
  const char* sign = ns < 0 ? "-" : "";
  std::array<char, 64> buffer{};
  if (whole < 3600)
    std::snprintf(buffer.data(), buffer.size(), "%s%lld min %lld s", sign, whole / 60, whole % 60);
  else
    std::snprintf(buffer.data(), buffer.size(), "%s%lld h %lld min", sign, (whole + 30) / 3600,
                  (whole + 30) % 3600 / 60);
  return buffer.data();
}

std::string human_value(double v, std::string_view unit) {
  if (unit == "s" && std::isfinite(v)) {
    const double magnitude = std::fabs(rounded(v));
    if (magnitude == 0) return "0 s";
    if (magnitude < 1e-6) return three_digits(v * 1e9) + " ns";
    if (magnitude < 1e-3) return three_digits(v * 1e6) + " us";
    if (magnitude < 1) return three_digits(v * 1e3) + " ms";
    return three_digits(v) + " s";
  }
  auto out = three_digits(v);
  if (!unit.empty()) {
    out += ' ';
    out += unit;
  }
  return out;
}

std::string_view trim(std::string_view text) noexcept {
  constexpr std::string_view white = " \t\r\n\f\v";
  const auto first = text.find_first_not_of(white);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(white) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string tail(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  // The mark counts too, but where there is no room for it.
  constexpr std::string_view mark = "[...] ";
  const std::size_t room = bytes > mark.size() ? bytes - mark.size() : bytes;
  auto kept = text.substr(text.size() - room);
  const bool whole_line = text[text.size() - room - 1] == '\n';
  if (const auto line = kept.find('\n'); !whole_line && line != std::string_view::npos && line + 1 < kept.size())
    kept.remove_prefix(line + 1);
  // No half of a UTF-8 sequence (at most three bytes behind its first) at the beginning.
  for (int i = 0; i < 3 && !kept.empty() && (static_cast<unsigned char>(kept.front()) & 0xc0) == 0x80; ++i)
    kept.remove_prefix(1);
  return std::string(room < bytes ? mark : std::string_view{}) += kept;
}

} // namespace attune
