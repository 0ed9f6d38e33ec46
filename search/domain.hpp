// The values that a parameter can take, numbered.
#pragma once

#include "core/error.hpp"
#include "core/spec.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attune::search {

/// The values of one parameter in the order of declaration, numbered from 0. Ranges and permutations are not held but
/// computed. Immutable.
class domain {
public:
  /// Most values that a domain can have.
  static constexpr std::uint64_t size_max = 0xfffffffeu;

  /// Errors (invalid_spec, with the parameter's place): no values, doubled ones (numbers are doubled where they are
  /// equal, so `1` and `1.0` are), NaN or infinite ones, a step of zero or against the range, more than size_max.
  static result<domain> make(const parameter& p);

  std::uint32_t size() const noexcept { return size_; }
  /// @pre index < size()
  value at(std::uint32_t index) const;
  /// The index of a value; numbers match by value (`64` finds `64.0`), a permutation also as its text `i,j,k`.
  std::optional<std::uint32_t> find(const value& v) const;

  /// All values are numbers: neighbours in order() are alike.
  bool ordinal() const noexcept { return ordinal_; }
  /// Positive numbers that grow by factors rather than by steps.
  bool geometric() const noexcept { return geometric_; }
  /// Where the value stands among the sorted ones, and the inverse; the index itself unless the numbers are listed out
  /// of order.
  std::uint32_t rank(std::uint32_t index) const noexcept { return rank_.empty() ? index : rank_[index]; }
  std::uint32_t at_rank(std::uint32_t rank) const noexcept { return by_rank_.empty() ? rank : by_rank_[rank]; }
  /// Whether the values are permutations.
  bool permutes() const noexcept { return !items_.empty(); }

private:
  enum class form : std::uint8_t { listed, integers, reals, powers, orders };

  status list(std::vector<value> values);
  status integers(const integer_range& r);
  status reals(const real_range& r);
  status grid(const real_grid& g);
  status powers(const power_range& r);
  status orders(const permutation_of& p);
  void measure();

  form form_ = form::listed;
  std::uint32_t size_ = 0;
  bool ordinal_ = true;
  bool geometric_ = false;
  std::vector<value> values_;
  std::vector<std::uint32_t> rank_, by_rank_;
  std::int64_t first_ = 0, step_ = 1; ///< integers; reals in units of 10^-digits_; powers: the first exponent
  int digits_ = 0;
  std::vector<std::string> items_;
};

} // namespace attune::search
