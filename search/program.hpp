// The constraints of one group of parameters, compiled for being decided parameter by parameter.
#pragma once

#include "search/constraint_graph.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace attune::search {

/// Which parts are still open, one bit each.
using open_parts = std::vector<std::uint64_t>;

/// For each parameter in turn (a *layer*): which subexpressions its value makes known, which parts are decided by then,
/// and which values later layers still need. Two assignments that leave the same parts open with the same needed values
/// have the same continuations: that is what makes equal subtrees one.
///
/// Sums and products of integers that cannot overflow are regrouped so that what is known first is computed first.
/// Subexpressions of one parameter are tables. Immutable; `frame` holds what one evaluation needs.
class program {
public:
  /// @param order the parameters of the group, first decided first. The graph must outlive the program.
  program(const constraint_graph& graph, std::span<const std::uint32_t> parts, std::vector<std::uint32_t> order);

  /// One evaluation under way: values of subexpressions and what depends on them. One owner.
  struct frame {
    explicit frame(const program& p);
    std::vector<cell> values;
    std::vector<bounds> ranges;
    pool scratch;
    std::vector<std::uint32_t> tried, decided; ///< looks ahead, by part and layer, and how many of them decided
    std::vector<std::uint8_t> overflowed;      ///< by part: a value beyond 64 bits broke it
    std::vector<std::uint8_t> faulted;         ///< by part: another fault broke it
  };

  std::size_t layers() const noexcept { return order_.size(); }
  std::span<const std::uint32_t> order() const noexcept { return order_; }
  const variable& variable_at(std::size_t layer) const { return graph_.variables()[order_[layer]]; }
  std::size_t part_count() const noexcept { return parts_.size(); }
  /// The graph's number of a part.
  std::uint32_t part(std::size_t i) const noexcept { return parts_[i].number; }
  /// All parts that no constant has decided; `broken` if a constant breaks one.
  const open_parts& all_open() const noexcept { return all_open_; }
  bool broken() const noexcept { return broken_; }

  /// Gives the layer's parameter a choice; computes what becomes known. False if that breaks an open part. Parts that
  /// are decided here are closed in `open`.
  bool assign(frame& f, std::size_t layer, std::uint64_t choice, open_parts& open) const;
  /// Closes the parts that hold whatever the later parameters are; false if one is broken whatever they are. Bounded
  /// effort: where looking ahead has decided nothing so far, it ends. `always` makes it look nevertheless.
  bool look_ahead(frame& f, std::size_t layer, open_parts& open, bool always = false) const;

  /// The subexpressions that the layers behind `layer` need.
  std::span<const std::uint32_t> needed(std::size_t layer) const noexcept { return layers_[layer].needed; }
  /// Marks those of needed(layer) that the open parts need.
  void needed_by(std::size_t layer, const open_parts& open, std::vector<std::uint8_t>& out) const;

private:
  friend class program_builder;
  struct instruction {
    enum class kind : std::uint8_t { binary, apply, opaque, activity, table };
    kind what = kind::apply;
    operation op = operation::add;
    std::uint32_t into = 0, first_kid = 0, kids = 0, index = 0;
  };
  struct ahead {
    std::uint32_t part = 0, root = 0, number = 0;
    std::vector<std::uint32_t> known;      ///< values to take the range of
    std::vector<std::uint32_t> unknown;    ///< what nothing is known of but what was at the start
    std::vector<instruction> instructions; ///< over ranges
  };
  struct need {
    std::uint32_t part = 0;
    std::vector<std::uint32_t> slots; ///< positions in `needed`
  };
  struct step {
    std::uint32_t parameter_node = 0; ///< where the value itself goes; `none` if no one reads it
    std::vector<instruction> instructions;
    std::vector<std::uint32_t> decided; ///< parts
    std::vector<ahead> looks;
    std::vector<std::uint32_t> needed;
    std::vector<need> needs;
  };
  struct part_info {
    std::uint32_t number = 0, root = 0;
    std::int32_t level = -1, first = -1; ///< the layers at which it is decided and at which it begins
  };
  static constexpr std::uint32_t none = 0xffffffffu;

  cell run(frame& f, const instruction& i, std::uint64_t choice) const;
  bounds run_range(frame& f, const instruction& i) const;

  const constraint_graph& graph_;
  std::vector<std::uint32_t> order_;
  std::vector<part_info> parts_;
  std::vector<step> layers_;
  std::vector<std::uint32_t> kids_;
  std::vector<std::vector<cell>> tables_;
  std::vector<cell> constants_; ///< the values at the start
  std::vector<bounds> ranges_;  ///< what is known of each at the start
  open_parts all_open_;
  std::uint32_t looks_ = 0;
  bool broken_ = false;
};

} // namespace attune::search
