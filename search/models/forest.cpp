#include "search/models/forest.hpp"

#include <algorithm>

namespace attune::search {

std::vector<cost_model::member> forest_model::grow(const training_rows& rows, std::span<const std::uint32_t> used,
                                                   std::span<const float> y, std::size_t trees,
                                                   std::uint64_t seed) const {
  random_engine rng(seed);
  const extra_tree::options how{std::max<std::size_t>(6, columns().size() / 3), 3};
  std::vector<member> out;
  extra_tree tree;
  for (std::size_t t = 0; t < trees; ++t) {
    tree.grow(rows.x, columns(), y, rows.weight, used, how, rng);
    out.push_back({decision_tree::from(tree)});
  }
  return out;
}

status forest_model::train(const training_rows& rows, std::uint64_t seed) {
  const auto used = usable(rows);
  if (!used) return used.err();
  constexpr std::size_t trees = 32, first_trees = 12;
  auto y = rows.y;
  const auto censored = [&](std::uint32_t r) { return rows.what[r] == observation::status::censored; };
  if (std::any_of(used->begin(), used->end(), censored)) {
    const auto first = grow(rows, *used, y, first_trees, seed ^ 0x9e3779b97f4a7c15u);
    std::vector<float> expected(rows.size());
    std::vector<std::uint32_t> scratch;
    for (const auto& m : first) m.front().add_to(expected, rows.x, scratch);
    for (const auto r : *used)
      if (censored(r)) y[r] = std::max(y[r], expected[r] / static_cast<float>(first_trees));
  }
  become(grow(rows, *used, y, trees, seed));
  return {};
}

} // namespace attune::search
