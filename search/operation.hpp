// Python's operators and functions over cells.
#pragma once

#include "search/cell.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace attune::search {

/// Everything that the constraint language can do with values.
enum class operation : std::uint8_t {
  // two operands
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power, //
  shift_left,
  shift_right,
  bit_and,
  bit_or,
  bit_xor, //
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  contains,
  excludes,  //
  subscript, // a[b]
  // one
  negate,
  plus,
  invert,
  logical_not,
  // and, or: of any number, returning an operand as Python does; `b if a else c` as (a, b, c)
  logical_and,
  logical_or,
  choose,
  // displays, of any number
  make_list,
  make_tuple,
  make_set,
  // functions
  call_min,
  call_max,
  call_abs,
  call_round,
  call_int,
  call_float,
  call_bool,
  call_len,
  call_sum,
  call_range,
  call_list,
  call_tuple,
  call_set,
  call_sorted,
  call_any,
  call_all,
  call_pow,
  // methods, the object first
  method_index,
  method_count,
  method_startswith,
  method_endswith,
};

/// The function or method of a name; none if there is none.
std::optional<operation> function_named(std::string_view name) noexcept;
std::optional<operation> method_named(std::string_view name) noexcept;
/// How many operands a function or method takes, {least, most}.
std::pair<std::size_t, std::size_t> arity(operation op) noexcept;
/// The operator or function as it is written.
std::string_view spelling(operation op) noexcept;

/// Python's truth. @pre c.present()
bool truth(cell c, const pool& p) noexcept;

/// What Python makes of `op` on `operands`, with these differences: integers are of 64 bits, and beyond is
/// failed(overflow) (Python's would grow); what raises in Python is failed with the fault's kind; a complex result is
/// failed(value). An operand that is failed or absent makes the result so (the first such in the order of evaluation;
/// `and`, `or` and the conditional look only at the operands that Python would evaluate). Total: never throws but
/// std::bad_alloc, never undefined, bounded by the pool.
cell operate(operation op, std::span<const cell> operands, pool& p);

/// The two operand cases of apply, without the span.
cell operate(operation op, cell a, cell b, pool& p);

/// The elements that Python would iterate over: those of a list, the characters of a text; none for anything else or
/// where the pool is full.
std::optional<std::vector<cell>> iterate(cell c, pool& p);

/// -1, 0, 1, or 2 where a NaN makes them unordered; exact between integers and floats. @pre a.number() && b.number()
int compare_numbers(cell a, cell b) noexcept;

} // namespace attune::search
