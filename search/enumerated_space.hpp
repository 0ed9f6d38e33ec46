#pragma once

#include "search/space.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace attune::search {

/// A space made from an explicit list of its valid configurations: what a recorded space is, and what tests use.
/// Everything is exact: count, index, sampling, neighbours. A neighbour costs one look-up in a hash table.
/// Memory: the points once, and 24 bytes a point. Threads: immutable.
class enumerated_space final : public space {
public:
  /// One parameter: its name and the values of its domain, in the order that its neighbourhood follows.
  struct axis {
    std::string name;
    std::vector<value> values;
    /// false: the values are categories. Numbers are ordinal in every other reader of spaces.
    bool ordinal = true;
  };

  /// Errors (invalid_spec): no axis, an empty or doubled name, no value, no point, a point of a wrong length or with an
  /// index out of its domain, a doubled point, a product beyond 2^127. The points may be in any order; the space sorts
  /// them.
  static result<std::shared_ptr<const enumerated_space>> make(std::vector<axis> axes, std::vector<point> points);

  std::span<const parameter_info> parameters() const override { return infos_; }
  value value_at(std::size_t parameter, std::uint32_t index) const override;
  uint128 cartesian() const override { return cartesian_; }
  std::optional<uint128> count() const override { return size(); }
  point at(uint128 i) const override;
  std::optional<uint128> index_of(std::span<const std::uint32_t> p) const override;
  bool contains(std::span<const std::uint32_t> p) const override { return find(p) != none; }
  point sample(random_engine& rng) const override;
  std::vector<point> neighbours(std::span<const std::uint32_t> p, neighbourhood kind) const override;
  std::optional<point> neighbour(std::span<const std::uint32_t> p, neighbourhood kind,
                                 random_engine& rng) const override;
  point repair(std::span<const std::uint32_t> p, random_engine& rng) const override;
  void for_each(const std::function<bool(std::span<const std::uint32_t>)>& visit) const override;
  double distance(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) const override;
  std::size_t features() const override { return features_; }
  void encode(std::span<const std::uint32_t> p, std::span<float> out) const override;
  std::span<const std::string> remarks() const override { return {}; }
  point standard() const override { return at(0); }

  /// How many configurations there are.
  std::size_t size() const noexcept { return parameters_ == 0 ? 0 : points_.size() / parameters_; }
  /// The i-th without a copy.
  std::span<const std::uint32_t> row(std::size_t i) const {
    return std::span(points_).subspan(i * parameters_, parameters_);
  }

private:
  static constexpr std::size_t none = ~std::size_t{0};
  struct code_hash {
    std::size_t operator()(uint128 c) const noexcept {
      return static_cast<std::size_t>((static_cast<std::uint64_t>(c) ^ static_cast<std::uint64_t>(c >> 64) * 31) *
                                      0x9e3779b97f4a7c15u);
    }
  };
  enumerated_space() = default;
  std::optional<uint128> code(std::span<const std::uint32_t> p) const;
  std::size_t find(std::span<const std::uint32_t> p) const;

  std::vector<axis> axes_;
  std::vector<parameter_info> infos_;
  std::vector<std::vector<float>> numbers_; ///< per axis: the feature of each value; empty: one-hot
  std::vector<uint128> strides_;
  std::size_t parameters_ = 0, features_ = 0;
  uint128 cartesian_ = 1;
  std::vector<std::uint32_t> points_; ///< row by row, sorted
  std::unordered_map<uint128, std::uint32_t, code_hash> index_;
};

} // namespace attune::search
