#include "search/feasibility.hpp"

#include <algorithm>
#include <numeric>

namespace attune::search {

void feasibility_model::train(const code_table& x, std::span<const std::uint8_t> gave_result, std::uint64_t seed) {
  trees_.clear();
  std::vector<float> y;
  for (const auto gave : gave_result) y.push_back(gave != 0 ? 1.0f : 0.0f);
  if (y.empty() || std::all_of(y.begin(), y.end(), [&](float v) { return v == y[0]; })) return;
  std::vector<std::uint32_t> rows(y.size());
  std::iota(rows.begin(), rows.end(), 0u);
  random_engine rng(seed);
  constexpr std::size_t trees = 16;
  const extra_tree::options how{std::max<std::size_t>(6, columns_.size() / 3), 4};
  extra_tree tree;
  for (std::size_t t = 0; t < trees; ++t) {
    tree.grow(x, columns_, y, {}, rows, how, rng);
    trees_.push_back(decision_tree::from(tree));
  }
}

void feasibility_model::probability(const code_table& x, std::span<float> out) const {
  const std::size_t n = x.rows();
  if (!knows()) {
    std::fill_n(out.begin(), n, 1.0f);
    return;
  }
  std::fill_n(out.begin(), n, 0.0f);
  std::vector<std::uint32_t> scratch;
  for (const auto& t : trees_) t.add_to(out, x, scratch);
  for (std::size_t i = 0; i < n; ++i)
    out[i] = least + (1 - least) * std::clamp(out[i] / static_cast<float>(trees_.size()), 0.0f, 1.0f);
}

} // namespace attune::search
