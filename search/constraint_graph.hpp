// All constraints of a space as one graph of shared subexpressions, split into the parts that must hold.
#pragma once

#include "search/bounds.hpp"
#include "search/domain.hpp"
#include "search/expression.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace attune::search {

/// A parameter as the constraints see it.
struct variable {
  const domain* values = nullptr;
  bool conditional = false;
  std::vector<cell> cells; ///< the values; empty where there are too many to hold
  bounds range;            ///< of the values, absence among them where conditional

  /// How many choices there are: the values, and absence last.
  std::uint64_t choices() const noexcept { return std::uint64_t{values->size()} + (conditional ? 1 : 0); }
  /// The cell of a choice; `p` takes what is not held.
  cell at(std::uint64_t choice, pool& p) const;
};

/// A subexpression. Kids stand before their parents.
struct graph_node {
  enum class kind : std::uint8_t {
    constant,  ///< `literal`
    parameter, ///< parameter `index`
    apply,     ///< `op` on the kids
    opaque,    ///< black box `index` on the kids, which are parameters
    activity,  ///< kids: a condition and its parameter, which must be there exactly where the condition is true
  };
  kind what = kind::constant;
  operation op = operation::add;
  std::uint32_t index = 0;
  cell literal;
  std::vector<std::uint32_t> kids;
  bounds range;
};

/// What is evaluated as a whole: a C++ callable, or a comprehension over parameters.
struct black_box {
  const expression* text = nullptr;
  std::uint32_t node = 0;
  const callable_constraint* callable = nullptr;
  std::vector<std::uint32_t> parameters; ///< of the kids

  /// @param operands the values of `parameters`; absent ones make the answer absent. An exception is failed(value).
  cell evaluate(std::span<const cell> operands, std::size_t all_parameters, pool& p) const;
};

/// What must hold by itself: a constraint, or one operand of an `and` at its top.
struct graph_part {
  std::uint32_t root = 0;
  std::uint32_t source = 0;         ///< which constraint (or condition) it comes from
  std::vector<std::uint32_t> scope; ///< the parameters that it reads, sorted
};

/// Builds the graph from constraints and conditions.
class constraint_graph {
public:
  constraint_graph(std::vector<variable> variables, pool& literals)
      : variables_(std::move(variables)), pool_(literals) {}

  /// Adds what must hold, numbered `source`. Errors: a constraint whose types never go together (with a caret).
  status require(const expression& e, std::uint32_t source);
  /// A callable over these parameters.
  void require(const callable_constraint& c, std::vector<std::uint32_t> over, std::uint32_t source);
  /// Parameter `p` is there exactly where `when` is true.
  status require_activity(const expression& when, std::uint32_t p, std::uint32_t source);

  std::span<const graph_node> nodes() const noexcept { return nodes_; }
  std::span<const graph_part> parts() const noexcept { return parts_; }
  std::span<const variable> variables() const noexcept { return variables_; }
  const black_box& box(std::uint32_t i) const { return boxes_[i]; }
  const pool& literals() const noexcept { return pool_; }

private:
  using key = std::vector<std::uint64_t>;
  std::uint32_t intern(graph_node n);
  status lower(const expression& e, std::uint32_t node, std::uint32_t& out);
  status split(const expression& e, std::uint32_t node, bool negated, std::uint32_t source);
  void add_part(std::uint32_t root, std::uint32_t source);

  std::vector<variable> variables_;
  pool& pool_;
  std::vector<graph_node> nodes_;
  std::map<key, std::uint32_t> known_;
  std::vector<black_box> boxes_;
  std::vector<graph_part> parts_;
  std::vector<std::int64_t> lowered_; ///< of the expression being added: its nodes' numbers here, -1: not yet
};

} // namespace attune::search
