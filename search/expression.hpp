// The constraint language: Python's expressions over parameters, `workload.x` and `target.x`, parsed once.
#pragma once

#include "core/configuration.hpp"
#include "core/error.hpp"
#include "search/cell.hpp"
#include "search/syntax.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune::search {

/// The names that an expression may use.
struct scope {
  std::span<const std::string> parameters;
  const arguments* workload = nullptr;
  const arguments* target = nullptr;
};

/// One parsed expression, its names resolved and its constant parts computed. Immutable; literals and constants live in
/// the pool that it was read with, which must outlive it.
class expression {
public:
  /// A node of the resolved tree. Kids stand before their parents in nodes().
  struct node {
    enum class kind : std::uint8_t {
      constant,  ///< `literal`
      parameter, ///< the value of parameter `index`
      local,     ///< the variable `index` of a comprehension around it
      apply,     ///< `op` on the kids
      gather,    ///< a comprehension: the element, then what each clause needs
    };
    kind what = kind::constant;
    operation op = operation::add;
    cell literal;
    std::uint32_t index = 0;
    std::vector<std::uint32_t> kids;
    std::uint32_t begin = 0, end = 0; ///< bytes of text()
    struct clause {
      std::vector<std::uint32_t> locals; ///< what the loop binds; empty: a condition
      std::uint32_t kid = 0;             ///< a number into nodes()
    };
    std::vector<clause> clauses;
  };

  /// Reads `text`. An error's message is that of with_caret() (search/syntax.hpp); the place in a file is the caller's
  /// to add.
  static result<expression> read(std::string_view text, const scope& names, pool& literals);

  const std::string& text() const noexcept { return text_; }
  std::span<const node> nodes() const noexcept { return nodes_; }
  std::uint32_t root() const noexcept { return root_; }
  /// The parameters that the node reads, sorted.
  std::vector<std::uint32_t> parameters_of(std::uint32_t node) const;

  /// The value for these values of all parameters (as they are numbered in the scope); as Python evaluates it, but for
  /// what search/operation.hpp says.
  cell evaluate(std::span<const cell> parameters, pool& p) const { return evaluate(root_, parameters, p); }
  /// The same for one node that stands in no comprehension.
  cell evaluate(std::uint32_t node, std::span<const cell> parameters, pool& p) const;

  /// `message` with this expression and a caret under the node (with_caret()).
  std::string at(std::uint32_t node, std::string message) const;

private:
  std::string text_;
  std::vector<node> nodes_;
  std::uint32_t root_ = 0;
  std::uint32_t locals_ = 0;
  friend class resolver;
};

/// The values of a list written as an expression without parameters (`[2**i for i in range(5)] + [3]`). Errors
/// (invalid_spec): it does not parse, is no list, holds something that is no value, or more than 2^20 of them.
result<std::vector<value>> read_list(std::string_view text);

} // namespace attune::search
