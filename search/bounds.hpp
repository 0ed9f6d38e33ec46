// What is known of an expression's value before all its parameters are: an abstract interpretation over intervals.
#pragma once

#include "search/operation.hpp"

#include <cstdint>
#include <limits>
#include <span>

namespace attune::search {

/// A set of values that contains every value that an expression can still take: which types, between which numbers, and
/// whether it can fail or be absent. Always too wide rather than too narrow.
struct bounds {
  enum types : std::uint8_t {
    boolean = 1,
    integer = 2,
    real = 4,
    text = 8,
    list = 16,
    whole = boolean | integer,
    number = whole | real,
    any = number | text | list,
  };

  std::uint8_t types = 0; ///< which types a present value can have; 0: never present
  bool fails = false;     ///< may be failed
  bool absent = false;    ///< may be absent
  bool nan = false;       ///< a real may be NaN
  std::int64_t lo = std::numeric_limits<std::int64_t>::min(); ///< of whole numbers, where types has no real
  std::int64_t hi = std::numeric_limits<std::int64_t>::max();
  double real_lo = -std::numeric_limits<double>::infinity(); ///< of all numbers, where types has real
  double real_hi = std::numeric_limits<double>::infinity();

  static bounds of(cell c) noexcept;
  static bounds unknown() noexcept;
  static bounds of_types(std::uint8_t types, bool fails) noexcept;
  static bounds between(std::int64_t lo, std::int64_t hi) noexcept;
  /// The union.
  bounds& join(const bounds& other) noexcept;

  bool numbers_only() const noexcept { return types != 0 && (types & ~number) == 0; }
  bool whole_only() const noexcept { return types != 0 && (types & ~whole) == 0; }
  /// Present and whole for sure.
  bool plain_whole() const noexcept { return whole_only() && !fails && !absent; }
  bool may_be_true() const noexcept;
  bool may_be_false() const noexcept;
};

/// What `op` makes of operands within these bounds.
bounds operate(operation op, std::span<const bounds> operands) noexcept;

/// True if no operands of these types go together: whatever the values, Python would raise a TypeError.
bool clash(operation op, std::span<const bounds> operands) noexcept;

/// What is known of a constraint: it holds where its value is true or absent.
enum class verdict : std::uint8_t { open, holds, broken };
verdict judge(const bounds& b) noexcept;

} // namespace attune::search
