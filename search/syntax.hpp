// The grammar of the constraint language: Python's expressions without lambda, assignment, strings with formats and
// calls of anything but the functions of search/operation.hpp. It knows no names and no types.
#pragma once

#include "core/error.hpp"
#include "search/operation.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attune::search {

/// Longest text and deepest nesting that are read; more is refused with a message.
inline constexpr std::size_t expression_bytes_max = 64 * 1024;
inline constexpr std::uint32_t expression_depth_max = 200;

/// A node of the tree; what it means is in `what`.
struct syntax_node {
  enum class kind : std::uint8_t {
    constant,      ///< `literal`
    name,          ///< `text`: a name, or a dotted name of workload or target
    apply,         ///< `op` on the kids
    comparison,    ///< kids a b c …, with `ops` between them: `a < b <= c`
    comprehension, ///< kids: the element, then for each `for`: the source; for each `if`: the condition (see clauses)
  };
  kind what = kind::constant;
  operation op = operation::add;
  cell literal;
  std::string text;
  std::vector<std::uint32_t> kids;
  std::vector<operation> ops;
  std::uint32_t begin = 0, end = 0; ///< bytes of the text
  std::uint32_t depth = 1;
  /// The `for` and `if` of a comprehension, from left to right: the names bound (empty: an `if`) and the kid.
  struct clause {
    std::vector<std::string> names;
    std::uint32_t kid = 0;
  };
  std::vector<clause> clauses;
};

/// What is wrong with an expression, and at which bytes of it.
struct syntax_error {
  std::string message;
  std::uint32_t begin = 0, end = 0;
};

/// A parsed expression. Literals live in the pool that it was parsed with.
struct syntax_tree {
  std::string text;
  std::vector<syntax_node> nodes; ///< kids before their parents
  std::uint32_t root = 0;
};

/// Reads one expression. On an error returns it in `wrong` and false.
bool parse(std::string_view text, pool& literals, syntax_tree& out, syntax_error& wrong);

/// The message in a first line that says all by itself, and below it, indented by two, the expression with a caret
/// under the place; cut to a window where the text is long, the message alone where it is empty:
///   `n % vec == 0`, column 1: unknown name `n`
///     n % vec == 0
///     ^
std::string with_caret(std::string_view text, const syntax_error& wrong);

} // namespace attune::search
