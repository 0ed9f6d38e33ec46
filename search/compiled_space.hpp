// The one implementation of space: groups side by side.
#pragma once

#include "search/constraint_graph.hpp"
#include "search/domain.hpp"
#include "search/group.hpp"
#include "search/space.hpp"

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace attune::search {

/// What was read of a spec, and what compiling made of it. Owned by the space for as long as it lives: diagrams stand
/// alone, searched groups and describe() evaluate the constraints.
struct space_parts {
  std::vector<parameter> declared;
  std::vector<constraint> constraints;
  std::vector<domain> domains;
  pool literals;
  std::deque<expression> expressions;
  std::unique_ptr<constraint_graph> graph;
  /// By parameter: the parameters that its condition reads.
  std::vector<std::vector<std::uint32_t>> condition_reads;
  /// The parts of each group (numbers in the graph), beside `groups`.
  std::vector<std::vector<std::uint32_t>> group_parts;
  std::vector<std::unique_ptr<const group>> groups;
  std::vector<std::string> remarks;
};

class compiled_space final : public space {
public:
  explicit compiled_space(std::unique_ptr<space_parts> parts);

  std::span<const parameter_info> parameters() const override { return infos_; }
  value value_at(std::size_t parameter, std::uint32_t index) const override;
  uint128 cartesian() const override { return cartesian_; }
  std::optional<uint128> count() const override { return count_; }
  point at(uint128 i) const override;
  std::optional<uint128> index_of(std::span<const std::uint32_t> p) const override;
  bool contains(std::span<const std::uint32_t> p) const override;
  point sample(random_engine& rng) const override;
  std::vector<point> neighbours(std::span<const std::uint32_t> p, neighbourhood kind) const override;
  std::optional<point> neighbour(std::span<const std::uint32_t> p, neighbourhood kind,
                                 random_engine& rng) const override;
  std::vector<point> neighbours_within(std::span<const std::uint32_t> p, std::size_t k,
                                       std::size_t most) const override;
  std::optional<point> neighbour_within(std::span<const std::uint32_t> p, std::size_t k,
                                        random_engine& rng) const override;
  point repair(std::span<const std::uint32_t> p, random_engine& rng) const override;
  void for_each(const std::function<bool(std::span<const std::uint32_t>)>& visit) const override;
  double distance(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) const override;
  std::size_t features() const override { return features_; }
  void encode(std::span<const std::uint32_t> p, std::span<float> out) const override;
  std::span<const std::string> remarks() const override { return parts_->remarks; }
  space_description describe() const override;
  point standard() const override { return standard_; }
  std::optional<std::uint32_t> index_of_value(std::size_t parameter, const value& v) const override {
    return parts_->domains[parameter].find(v);
  }

private:
  /// One parameter in the order of enumeration. A group's parameters take its places in the order of its diagram.
  struct place {
    std::uint32_t parameter = 0;
    std::uint32_t group = 0;
    std::uint32_t size = 0;           ///< of a free parameter
    const diagram* counted = nullptr; ///< null: free, or searched
    bool first = false;               ///< of its group
    bool alone = false;               ///< no other group is half decided here
    uint128 later = 1;                ///< completions of the groups that begin behind this place
  };

  class enumeration;
  bool in_range(std::span<const std::uint32_t> p) const;
  /// Sets parameter `which` to `to`; what depends on its condition follows. False, with `p` as it was, if invalid.
  bool move(std::span<std::uint32_t> p, std::uint32_t which, std::uint32_t to) const;
  /// The next value of a parameter upwards or downwards that is valid.
  bool step(std::span<std::uint32_t> p, std::uint32_t which, bool up) const;

  std::unique_ptr<const space_parts> parts_;
  std::vector<parameter_info> infos_;
  std::vector<std::uint32_t> group_of_;
  std::vector<place> places_;
  std::vector<std::vector<std::uint8_t>> dependents_; ///< by parameter: what follows its condition; empty: nothing
  std::vector<std::uint32_t> standard_index_;
  std::vector<std::uint32_t> movable_; ///< parameters with more than one value
  uint128 cartesian_ = 1;
  std::optional<uint128> count_ = 1;
  std::vector<std::size_t> feature_at_;
  std::size_t features_ = 0;
  point standard_;
};

/// Compiles. See space::compile. A group whose diagram is beyond `limits` in every order that is tried is searched.
result<std::unique_ptr<space_parts>> compile_parts(std::span<const parameter> parameters,
                                                   std::span<const constraint> constraints, const arguments& workload,
                                                   const arguments& target, const build_limits& limits = {});

/// An order of the parameters in which few of those decided still matter at any time: greedy, next the one that leaves
/// the fewest such (min-width heuristic). `members` sorted.
std::vector<std::uint32_t> narrow_order(const constraint_graph& graph, std::span<const std::uint32_t> parts,
                                        std::span<const std::uint32_t> members);

/// The smallest set of constraints (their numbers) that leaves nothing of a group: tried by size up to three, beyond
/// that minimal by leaving out. Conditions of parameters always hold.
std::vector<std::uint32_t> smallest_conflict(const space_parts& s, std::span<const std::uint32_t> parts);

/// The fraction of the combinations of its own parameters that a set of parts forbids; none where that costs more than
/// `limits`.
std::optional<double> cut_by(const constraint_graph& graph, std::span<const std::uint32_t> parts,
                             const build_limits& limits);

} // namespace attune::search
