#pragma once

#include "core/random.hpp"
#include "search/strategies/features.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace attune::search {

/// Rows of codes, kept by column.
class code_table {
public:
  explicit code_table(std::size_t columns) : columns_(columns) {}
  void add(std::span<const std::uint16_t> row) {
    for (std::size_t c = 0; c < columns_.size(); ++c) columns_[c].push_back(row[c]);
    ++rows_;
  }
  void clear() {
    for (auto& c : columns_) c.clear();
    rows_ = 0;
  }
  std::size_t rows() const noexcept { return rows_; }
  std::size_t columns() const noexcept { return columns_.size(); }
  const std::vector<std::uint16_t>& column(std::size_t c) const { return columns_[c]; }

private:
  std::vector<std::vector<std::uint16_t>> columns_;
  std::size_t rows_ = 0;
};

/// One extremely randomised regression tree (Geurts, Ernst and Wehenkel, 2006): at each node some columns are drawn, a
/// random cut for each, and the cut that explains most is taken. Categories are cut by a random set of values.
/// Threads: one owner.
class extra_tree {
public:
  struct options {
    std::size_t tried = 0; ///< columns drawn at a node; 0: all
    std::size_t leaf = 2;  ///< nodes of fewer rows are not cut
  };
  /// Grows the tree on `rows` of `x`; `weight` may be empty. @pre rows is not empty
  void grow(const code_table& x, std::span<const rank_features::column> columns, std::span<const float> y,
            std::span<const float> weight, std::span<const std::uint32_t> rows, const options& how, random_engine& rng);
  /// The prediction for every row of `x`. `scratch` is work space.
  void predict(const code_table& x, std::span<float> out, std::vector<std::uint32_t>& scratch) const;
  /// The prediction for one row of codes.
  float predict(std::span<const std::uint16_t> row) const;

  struct node {
    std::int32_t column = -1; ///< -1: a leaf
    std::uint32_t cut = 0;    ///< goes left: code <= cut; for categories: in_half(cut, code)
    bool ordered = true;
    std::uint32_t left = 0, right = 0; ///< greater than the node's own number
    float value = 0;
  };
  std::span<const node> nodes() const noexcept { return nodes_; }
  /// Whether a code is in the random half of all codes that `seed` names.
  static bool in_half(std::uint32_t seed, std::uint16_t code) noexcept {
    std::uint32_t h = seed ^ (code * 0x9e3779b1u);
    h = (h ^ (h >> 15)) * 0x85ebca6bu;
    h ^= h >> 13;
    return (h & 1) != 0;
  }

private:
  static bool goes_left(const node& n, std::uint16_t code) noexcept;
  std::vector<node> nodes_;
};

} // namespace attune::search
