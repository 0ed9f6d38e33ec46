#pragma once

#include "core/clock.hpp"
#include "core/error.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune {

/// The candidate nearest to `word` by edit distance (Damerau-Levenshtein, restricted), if near enough to be a likely
/// misspelling (at most a third of the longer word, and at least one letter right); none otherwise.
std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string> candidates);

/// `500ms`, `10s`, `5m`, `2h`, `1.5s`; units ns us ms s m min h d. A number without a unit is refused (except `0`), as
/// are negative and non-finite ones, and more than 10,000 days.
result<nanoseconds> parse_duration(std::string_view text);

/// `1.23 ms`, `45.0 s`, `3 min 20 s`, `2 h 5 min`: for a person, three significant digits up to a minute, then to the
/// nearest second, from an hour on to the nearest minute.
std::string human_duration(nanoseconds d);
/// A value in its unit for a person, three significant digits: seconds scaled to ns/us/ms/s, anything else `value
/// unit`.
std::string human_value(double v, std::string_view unit);

/// Reads a whole decimal floating-point text (as strtod in the C locale would, also `1e-3`, `+.5`, `nan`, `inf`); none
/// if anything is left over. What is too large or too small is infinity or zero, as there. Never looks at the process's
/// locale.
std::optional<double> parse_double(std::string_view text) noexcept;
/// Reads a whole decimal 64-bit integer, sign allowed; none on overflow or anything left over.
std::optional<std::int64_t> parse_integer(std::string_view text) noexcept;

/// `text` with leading and trailing ASCII white space gone.
std::string_view trim(std::string_view text) noexcept;
/// Split at every `separator`; an empty text gives one empty part.
std::vector<std::string_view> split(std::string_view text, char separator);
/// At most `bytes` bytes: the end of `text`, from a line's beginning where possible, never from within a UTF-8
/// sequence, with `[...] ` before it where something was cut and `bytes` leaves room for that.
std::string tail(std::string_view text, std::size_t bytes);

} // namespace attune
