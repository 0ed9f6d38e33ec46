#include "search/strategies/extra_tree.hpp"

#include <algorithm>
#include <numeric>

namespace attune::search {

bool extra_tree::goes_left(const node& n, std::uint16_t code) noexcept {
  return n.ordered ? code <= n.cut : in_half(n.cut, code);
}

void extra_tree::grow(const code_table& x, std::span<const rank_features::column> columns, std::span<const float> y,
                      std::span<const float> weight, std::span<const std::uint32_t> rows, const options& how,
                      random_engine& rng) {
  nodes_.clear();
  std::vector<std::uint32_t> order(rows.begin(), rows.end());
  std::vector<std::uint32_t> draw(columns.size());
  std::iota(draw.begin(), draw.end(), 0u);
  struct job {
    std::uint32_t node, begin, end;
  };
  std::vector<job> jobs{{0, 0, static_cast<std::uint32_t>(order.size())}};
  nodes_.emplace_back();
  const auto w = [&](std::uint32_t r) { return weight.empty() ? 1.0f : weight[r]; };
  const std::size_t tried = how.tried == 0 ? columns.size() : std::min(how.tried, columns.size());
  while (!jobs.empty()) {
    const job j = jobs.back();
    jobs.pop_back();
    double sum = 0, mass = 0, squares = 0;
    for (std::uint32_t k = j.begin; k < j.end; ++k) {
      const double wy = w(order[k]);
      sum += wy * y[order[k]];
      squares += wy * y[order[k]] * y[order[k]];
      mass += wy;
    }
    nodes_[j.node].value = static_cast<float>(mass > 0 ? sum / mass : 0);
    if (j.end - j.begin < how.leaf || squares - sum * sum / mass <= 1e-12 * squares) continue;
    node best;
    double best_gain = 0;
    std::size_t useful = 0;
    for (std::size_t k = 0; k < draw.size() && useful < tried; ++k) {
      std::swap(draw[k], draw[k + rng.below(draw.size() - k)]);
      const std::uint32_t c = draw[k];
      const auto& codes = x.column(c);
      std::uint16_t low = codes[order[j.begin]], high = low;
      for (std::uint32_t i = j.begin + 1; i < j.end; ++i) {
        low = std::min(low, codes[order[i]]);
        high = std::max(high, codes[order[i]]);
      }
      if (low == high) continue;
      ++useful;
      node cut;
      cut.column = static_cast<std::int32_t>(c);
      cut.ordered = columns[c].ordered;
      cut.cut =
          cut.ordered ? low + static_cast<std::uint32_t>(rng.below(high - low)) : static_cast<std::uint32_t>(rng());
      double left_sum = 0, left_mass = 0;
      for (std::uint32_t i = j.begin; i < j.end; ++i) {
        if (!goes_left(cut, codes[order[i]])) continue;
        left_sum += w(order[i]) * y[order[i]];
        left_mass += w(order[i]);
      }
      const double right_mass = mass - left_mass, right_sum = sum - left_sum;
      if (left_mass <= 0 || right_mass <= 1e-9 * mass) continue;
      // What is left of the variance is least where this is greatest.
      const double gain = left_sum * left_sum / left_mass + right_sum * right_sum / right_mass - sum * sum / mass;
      if (gain > best_gain) {
        best_gain = gain;
        best = cut;
      }
    }
    if (best.column < 0) continue;
    const auto& codes = x.column(static_cast<std::size_t>(best.column));
    const auto middle = std::partition(order.begin() + j.begin, order.begin() + j.end,
                                       [&](std::uint32_t r) { return goes_left(best, codes[r]); });
    const auto m = static_cast<std::uint32_t>(middle - order.begin());
    best.value = nodes_[j.node].value;
    best.left = static_cast<std::uint32_t>(nodes_.size());
    best.right = best.left + 1;
    nodes_[j.node] = best;
    nodes_.emplace_back();
    nodes_.emplace_back();
    jobs.push_back({best.left, j.begin, m});
    jobs.push_back({best.right, m, j.end});
  }
}

void extra_tree::predict(const code_table& x, std::span<float> out, std::vector<std::uint32_t>& scratch) const {
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
  while (!jobs.empty()) {
    const job j = jobs.back();
    jobs.pop_back();
    const node& at = nodes_[j.node];
    if (j.begin == j.end) continue;
    if (at.column < 0) {
      for (std::uint32_t k = j.begin; k < j.end; ++k) out[rows[k]] = at.value;
      continue;
    }
    const std::uint16_t* codes = x.column(static_cast<std::size_t>(at.column)).data();
    std::uint32_t l = j.begin, r = 0;
    if (at.ordered) {
      // Without a branch: both places are written, one of the two counters moves.
      for (std::uint32_t k = j.begin; k < j.end; ++k) {
        const std::uint32_t row = rows[k];
        const bool left = codes[row] <= at.cut;
        rows[l] = row;
        spare[r] = row;
        l += left ? 1 : 0;
        r += left ? 0 : 1;
      }
    } else {
      for (std::uint32_t k = j.begin; k < j.end; ++k) {
        const std::uint32_t row = rows[k];
        const bool left = in_half(at.cut, codes[row]);
        rows[l] = row;
        spare[r] = row;
        l += left ? 1 : 0;
        r += left ? 0 : 1;
      }
    }
    std::copy(spare, spare + r, rows + l);
    jobs.push_back({at.left, j.begin, l});
    jobs.push_back({at.right, l, j.end});
  }
}

float extra_tree::predict(std::span<const std::uint16_t> row) const {
  std::uint32_t at = 0;
  while (nodes_[at].column >= 0)
    at = goes_left(nodes_[at], row[static_cast<std::size_t>(nodes_[at].column)]) ? nodes_[at].left : nodes_[at].right;
  return nodes_[at].value;
}

} // namespace attune::search
