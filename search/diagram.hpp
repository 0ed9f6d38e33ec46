// A multi-valued decision diagram with counts: the valid assignments of one group of parameters.
#pragma once

#include "core/random.hpp"
#include "search/program.hpp"
#include "search/space.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace attune::search {

/// How much a build may cost; deterministic, so that the same spec compiles to the same structure everywhere.
struct build_limits {
  std::uint64_t states = 2'000'000;    ///< distinct partial assignments, over all layers
  std::uint64_t steps = 60'000'000;    ///< choices tried
  std::uint64_t bytes = 1'500'000'000; ///< of memory
};

/// What a build noticed.
struct build_report {
  bool over_limit = false;
  std::uint64_t steps = 0;
  std::vector<std::uint8_t> overflowed, faulted; ///< by part of the program
};

/// A reduced, ordered decision diagram: one layer a parameter, equal subtrees shared, each node with the number of its
/// valid completions (Bergman et al., Decision Diagrams for Optimization, 2016, chapter 3). Immutable.
class diagram {
public:
  /// Nothing where the limits were reached or the count does not fit 128 bits (`report.over_limit`); a diagram that is
  /// empty() where there is no valid assignment.
  static std::unique_ptr<diagram> build(const program& p, const build_limits& limits, build_report& report);

  /// The parameters, first decided first.
  std::span<const std::uint32_t> order() const noexcept { return order_; }
  bool empty() const noexcept { return count_[root_] == 0; }
  uint128 count() const noexcept { return count_[root_]; }
  std::size_t nodes() const noexcept { return first_.size() - 1; }
  std::size_t edges() const noexcept { return label_.size(); }

  // Walking. A node is a number; behind the last layer stands `end`.
  static constexpr std::uint32_t end = 0;
  static constexpr std::uint32_t none = 0xffffffffu;
  std::uint32_t root() const noexcept { return root_; }
  uint128 count(std::uint32_t node) const noexcept { return count_[node]; }
  std::uint32_t begin_edge(std::uint32_t node) const noexcept { return first_[node]; }
  std::uint32_t end_edge(std::uint32_t node) const noexcept { return first_[node + 1]; }
  /// The edge of a value's index (or `inactive`), or none.
  std::uint32_t edge(std::uint32_t node, std::uint32_t label) const noexcept;
  std::uint32_t label(std::uint32_t edge) const noexcept { return label_[edge]; }
  std::uint32_t target(std::uint32_t edge) const noexcept { return target_[edge]; }
  /// How many completions the node's earlier edges have together.
  uint128 before(std::uint32_t edge) const noexcept { return before_[edge]; }
  /// The edge within which the node's i-th completion lies. @pre i < count(node)
  std::uint32_t edge_of(std::uint32_t node, uint128 i) const noexcept;

  bool contains(std::span<const std::uint32_t> p) const noexcept;
  /// Draws uniformly into the group's places of `p`.
  void sample(random_engine& rng, std::span<std::uint32_t> p) const noexcept;
  /// For each layer the labels that occur in valid assignments, sorted.
  std::vector<std::vector<std::uint32_t>> used() const;

private:
  friend class diagram_builder;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> first_; ///< by node, and one more
  std::vector<std::uint32_t> label_, target_;
  std::vector<uint128> before_, count_;
  std::uint32_t root_ = 0;
};

} // namespace attune::search
