// core: what everything speaks: values, configurations, workloads, targets, measurements, errors, clocks, hashing.
// It does no I/O (but for reading what this machine is, core/target.hpp), starts no thread and knows no other room.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace attune {

/// An ordering of names, the value of a permutation parameter. Substituted as `i,j,k`.
struct permutation {
  std::vector<std::string> order;
  friend bool operator==(const permutation&, const permutation&) = default;
};

/// The absence of a value: a conditional parameter whose condition is false. Substituted as the empty text.
struct absent_t {
  friend bool operator==(absent_t, absent_t) = default;
};

/// One typed value of a parameter or of a workload's argument.
///
/// Equality is by type and value: `1`, `1.0`, `"1"` and `true` are four different values (this is what identity needs).
/// Arithmetic comparison, as in constraints, is the constraint language's business (search/expression.hpp).
/// A floating-point value is never NaN (the parsers refuse it); `-0.0` is stored as `0.0`.
/// Thread-safety: a plain value type.
class value {
public:
  enum class kind : std::uint8_t { absent, boolean, integer, real, text, order };

  value() = default;
  value(bool b) : data_(b) {}                           // NOLINT(google-explicit-constructor)
  value(int i) : data_(static_cast<std::int64_t>(i)) {} // NOLINT(google-explicit-constructor)
  value(std::int64_t i) : data_(i) {}                   // NOLINT(google-explicit-constructor)
  value(double d) : data_(d == 0.0 ? 0.0 : d) {}        // NOLINT(google-explicit-constructor)
  value(std::string s) : data_(std::move(s)) {}         // NOLINT(google-explicit-constructor)
  value(const char* s) : data_(std::string(s)) {}       // NOLINT(google-explicit-constructor)
  value(std::string_view s) : data_(std::string(s)) {}  // NOLINT(google-explicit-constructor)
  value(permutation p) : data_(std::move(p)) {}         // NOLINT(google-explicit-constructor)

  kind type() const noexcept { return static_cast<kind>(data_.index()); }
  bool is_absent() const noexcept { return type() == kind::absent; }
  bool is_number() const noexcept { return type() == kind::integer || type() == kind::real; }

  /// Typed access; @pre type() is the matching kind (std::bad_variant_access otherwise).
  bool as_bool() const { return std::get<bool>(data_); }
  std::int64_t as_integer() const { return std::get<std::int64_t>(data_); }
  double as_real() const { return std::get<double>(data_); }
  const std::string& as_text() const { return std::get<std::string>(data_); }
  const permutation& as_order() const { return std::get<permutation>(data_); }

  /// The number as a double (integers and booleans too). @pre not text, order or absent.
  double to_double() const;

  /// The text put into commands: integers in decimal, reals in the shortest form that reads back equal (`1.0` is `1`),
  /// booleans `true`/`false`, permutations comma-separated, absent the empty text. Independent of the locale.
  std::string text() const;

  friend bool operator==(const value&, const value&) = default;

private:
  std::variant<absent_t, bool, std::int64_t, double, std::string, permutation> data_;
};

/// Equal as a person counts: numbers by what they are worth (`1` and `1.0`), all else exactly.
inline bool same_value(const value& a, const value& b) {
  if (a.is_number() && b.is_number()) return a.to_double() == b.to_double();
  return a == b;
}

/// The name of a kind for messages: "integer", "float", "boolean", "string", "permutation", "absent".
const char* to_string(value::kind k) noexcept;

/// Appends the canonical, typed, self-delimiting encoding of `v` to `out`; distinct values have distinct encodings and
/// no encoding is a prefix of another. One tag byte, then: `a` absent; `t`/`f` booleans; `i` + decimal + `;` integers;
/// `d` + the IEEE-754 bits as 16 hex digits reals; `s` + byte length + `:` + bytes text; `p` + count + `:` + each
/// element as text is encoded.
void encode(const value& v, std::string& out);

/// The shortest decimal text that reads back as `d`, never in the locale's form: 0.1, 1, 1e+30, inf, nan.
std::string shortest(double d);

} // namespace attune
