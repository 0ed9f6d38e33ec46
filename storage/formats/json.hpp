#pragma once

#include "core/value.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune::storage::formats {

class json_document;

/// One value of a parsed text. A null reference (`!ref`) stands for what is not there; every question to it has the
/// empty answer. Valid as long as the document is neither parsed anew nor gone.
class json_ref {
public:
  json_ref() = default;
  explicit operator bool() const noexcept { return of_ != nullptr; }

  bool is_null() const noexcept;
  bool is_boolean() const noexcept;
  bool is_number() const noexcept;  ///< also Python's NaN, Infinity and -Infinity
  bool is_integer() const noexcept; ///< a number that is written as an integer and fits 64 bits
  bool is_string() const noexcept;
  bool is_array() const noexcept;
  bool is_object() const noexcept;

  bool boolean() const noexcept; ///< false where it is none
  /// A string's contents; a number as it is written; else empty.
  std::string_view text() const noexcept;
  std::optional<double> number() const noexcept; ///< as parse_double has it; none where it is no number
  std::optional<std::int64_t> integer() const noexcept;

  std::size_t size() const noexcept; ///< elements or members
  /// The i-th element of an array, or member's value of an object. O(i).
  json_ref operator[](std::size_t i) const noexcept;
  /// The member's value; the last one, where the key stands there more than once.
  json_ref find(std::string_view key) const noexcept;

  /// Walks over elements, or members (key() is the member's then).
  class iterator {
  public:
    iterator(const json_document* of, std::uint32_t at, std::size_t left, bool members)
        : of_(of), at_(at), left_(left), members_(members) {}
    json_ref operator*() const noexcept { return {of_, members_ ? at_ + 1 : at_}; }
    std::string_view key() const noexcept { return json_ref(of_, at_).text(); }
    iterator& operator++() noexcept;
    bool operator!=(const iterator& o) const noexcept { return left_ != o.left_; }

  private:
    const json_document* of_;
    std::uint32_t at_;
    std::size_t left_;
    bool members_;
  };
  iterator begin() const noexcept;
  iterator end() const noexcept;

private:
  friend class json_document;
  json_ref(const json_document* of, std::uint32_t at) : of_(of), at_(at) {}
  const json_document* of_ = nullptr;
  std::uint32_t at_ = 0;
};

/// Parses JSON in place (RapidJSON) into a flat list that keeps its memory from text to text: numbers stay as they are
/// written, so that nothing is lost of them and no locale is asked. Threads: one owner.
class json_document {
public:
  static constexpr std::uint32_t deepest = 200;

  /// `text` is changed; a zero byte must stand behind it. False where it is not one JSON value (why() says).
  bool parse(char* text, std::size_t size);
  const std::string& why() const noexcept { return why_; }
  json_ref root() const noexcept { return {this, 0}; }

  enum class kind : std::uint8_t { null, no, yes, number, string, array, object };
  struct node {
    kind type = kind::null;
    std::uint32_t size = 0; ///< elements, members, bytes
    std::uint32_t next = 0; ///< behind it and all in it
    const char* text = nullptr;
  };
  const node& at(std::uint32_t i) const noexcept { return nodes_[i]; }

private:
  std::vector<node> nodes_;
  std::string why_;
};

// Asked many times for each record that is read.
inline bool json_ref::is_null() const noexcept {
  return of_ != nullptr && of_->at(at_).type == json_document::kind::null;
}
inline bool json_ref::is_boolean() const noexcept {
  return of_ != nullptr &&
         (of_->at(at_).type == json_document::kind::yes || of_->at(at_).type == json_document::kind::no);
}
inline bool json_ref::is_number() const noexcept {
  return of_ != nullptr && of_->at(at_).type == json_document::kind::number;
}
inline bool json_ref::is_string() const noexcept {
  return of_ != nullptr && of_->at(at_).type == json_document::kind::string;
}
inline bool json_ref::is_array() const noexcept {
  return of_ != nullptr && of_->at(at_).type == json_document::kind::array;
}
inline bool json_ref::is_object() const noexcept {
  return of_ != nullptr && of_->at(at_).type == json_document::kind::object;
}
inline bool json_ref::boolean() const noexcept {
  return of_ != nullptr && of_->at(at_).type == json_document::kind::yes;
}

inline std::string_view json_ref::text() const noexcept {
  if (!is_string() && !is_number()) return {};
  const auto& n = of_->at(at_);
  return {n.text, n.size};
}

inline std::size_t json_ref::size() const noexcept { return is_array() || is_object() ? of_->at(at_).size : 0; }

inline json_ref json_ref::operator[](std::size_t i) const noexcept {
  if (i >= size()) return {};
  auto it = begin();
  for (; i > 0; --i) ++it;
  return *it;
}

inline json_ref json_ref::find(std::string_view key) const noexcept {
  json_ref out;
  if (is_object())
    for (auto it = begin(), stop = end(); it != stop; ++it)
      if (it.key() == key) out = *it;
  return out;
}

inline json_ref::iterator& json_ref::iterator::operator++() noexcept {
  at_ = of_->at(members_ ? at_ + 1 : at_).next;
  --left_;
  return *this;
}

inline json_ref::iterator json_ref::begin() const noexcept { return {of_, at_ + 1, size(), is_object()}; }
inline json_ref::iterator json_ref::end() const noexcept { return {of_, 0, 0, false}; }

/// Appends it as JSON on one line without blanks: numbers as they were written, strings as json_string has them.
void dump(const json_ref& what, std::string& out);

/// What JSON says as a value of a parameter, invertibly: booleans, integers and reals typed; lists, objects and null as
/// their JSON text; a string that looks like one of these in quotes; other strings as they are. Not a number: none.
std::optional<value> to_value(const json_ref& what);
/// Appends the JSON that to_value reads as `v`. False where it would be read as something else: an ordering (a list of
/// strings then), what is absent (null), a text that begins as JSON does and is none.
bool value_to_json(const value& v, std::string& out);

/// Appends a string in quotes. Bytes that are not UTF-8 go through as they are.
void json_string(std::string_view text, std::string& out);
/// Appends a real that is told from an integer (`1.0`, `1e+30`); infinities as Python has them. @pre not NaN
void json_real(double d, std::string& out);
void json_integer(std::int64_t i, std::string& out);

/// The number that `text` writes, times ten to the `exponent`, rounded once: parse_scaled("5.657844", -3) is
/// 0.005657844.
std::optional<double> parse_scaled(std::string_view text, int exponent) noexcept;
/// Appends the shortest text that parse_scaled reads as `d` with that exponent. @pre finite
void write_scaled(double d, int exponent, std::string& out);
/// A count of nanoseconds in a unit that is ten to the `exponent` of a second, exactly; and back, to the nearest
/// nanosecond (none where it is no finite number that fits).
void write_nanoseconds(std::int64_t ns, int exponent, std::string& out);
std::optional<std::int64_t> parse_nanoseconds(std::string_view text, int exponent) noexcept;

/// `2023-12-22 09:54:05.502007+00:00`, `2026-03-05 09:04:43 UTC`, `…T…Z`: nanoseconds since the epoch.
std::optional<std::int64_t> parse_time(std::string_view text) noexcept;
/// `2023-12-22 09:54:05.502007+00:00`, with as many digits of the second as it takes.
std::string time_text(std::int64_t ns);

} // namespace attune::storage::formats
