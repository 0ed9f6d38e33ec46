#include "search/models/decision_tree.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attune::search {

std::optional<decision_tree> decision_tree::make(std::vector<tree_node> nodes, std::size_t columns) {
  if (nodes.empty()) return std::nullopt;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& n = nodes[i];
    if (!std::isfinite(n.value) || n.how > tree_node::test::half) return std::nullopt;
    if (n.how == tree_node::test::leaf) continue;
    if (n.column >= columns || n.left <= i || n.right <= i || n.left >= nodes.size() || n.right >= nodes.size())
      return std::nullopt;
  }
  return decision_tree(std::move(nodes));
}

decision_tree decision_tree::from(const extra_tree& of) {
  std::vector<tree_node> nodes;
  for (const auto& n : of.nodes()) {
    tree_node out;
    out.value = n.value;
    if (n.column >= 0) {
      out.how = n.ordered ? tree_node::test::below : tree_node::test::half;
      out.column = static_cast<std::uint16_t>(n.column);
      out.cut = n.cut;
      out.left = n.left;
      out.right = n.right;
    }
    nodes.push_back(out);
  }
  return decision_tree(std::move(nodes));
}

void decision_tree::add_to(std::span<float> out, const code_table& x, std::vector<std::uint32_t>& scratch) const {
  const auto n = static_cast<std::uint32_t>(x.rows());
  // The rows are sorted down the tree all at once, between two buffers, so that each column is read in one go.
  scratch.resize(2 * std::size_t{n});
  std::uint32_t* rows = scratch.data();
  std::uint32_t* spare = rows + n;
  std::iota(rows, rows + n, 0u);
  struct job {
    std::uint32_t node, begin, end;
  };
  std::vector<job> jobs{{0, 0, n}};
  // Without a branch: both places are written, one of the two counters moves.
  const auto part = [&](const job& j, auto goes_left) {
    std::uint32_t l = j.begin, r = 0;
    for (std::uint32_t k = j.begin; k < j.end; ++k) {
      const std::uint32_t row = rows[k];
      const bool left = goes_left(row);
      rows[l] = row;
      spare[r] = row;
      l += left ? 1 : 0;
      r += left ? 0 : 1;
    }
    std::copy(spare, spare + r, rows + l);
    return l;
  };
  while (!jobs.empty()) {
    const job j = jobs.back();
    jobs.pop_back();
    if (j.begin == j.end) continue;
    const tree_node& at = nodes_[j.node];
    if (at.how == tree_node::test::leaf) {
      for (std::uint32_t k = j.begin; k < j.end; ++k) out[rows[k]] += at.value;
      continue;
    }
    const std::uint16_t* codes = x.column(at.column).data();
    const std::uint32_t cut = at.cut;
    std::uint32_t middle = 0;
    if (at.how == tree_node::test::below)
      middle = part(j, [=](std::uint32_t row) { return codes[row] <= cut; });
    else if (at.how == tree_node::test::other)
      middle = part(j, [=](std::uint32_t row) { return codes[row] != cut; });
    else
      middle = part(j, [=](std::uint32_t row) { return extra_tree::in_half(cut, codes[row]); });
    jobs.push_back({at.left, j.begin, middle});
    jobs.push_back({at.right, middle, j.end});
  }
}

} // namespace attune::search
