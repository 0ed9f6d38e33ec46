#pragma once

#include "search/strategies/extra_tree.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace attune::search {

/// One node of a tree over rows of codes.
struct tree_node {
  enum class test : std::uint8_t {
    leaf,
    below, ///< left: code <= cut
    other, ///< left: code != cut
    half,  ///< left: the code is in the random half of all codes that `cut` names (extra_tree::in_half)
  };
  test how = test::leaf;
  std::uint16_t column = 0;
  std::uint32_t cut = 0;
  std::uint32_t left = 0, right = 0; ///< greater than the node's own number
  float value = 0;                   ///< a leaf's answer
  friend bool operator==(const tree_node&, const tree_node&) = default;
};

/// A trained tree, wherever it was trained. Immutable: safe to share between threads.
class decision_tree {
public:
  /// Checked, so that nodes from anywhere can be taken: none where there is no node, a column or a child that does not
  /// exist, a child that does not come after its parent, a value that is not finite.
  static std::optional<decision_tree> make(std::vector<tree_node> nodes, std::size_t columns);
  /// @pre `of` was grown
  static decision_tree from(const extra_tree& of);

  /// Adds the answer for every row of `x` to `out`. `scratch` is work space. @pre out.size() >= x.rows()
  void add_to(std::span<float> out, const code_table& x, std::vector<std::uint32_t>& scratch) const;
  std::span<const tree_node> nodes() const noexcept { return nodes_; }

private:
  explicit decision_tree(std::vector<tree_node> nodes) : nodes_(std::move(nodes)) {}
  std::vector<tree_node> nodes_;
};

} // namespace attune::search
