#pragma once

#include "search/cost_model.hpp"

namespace attune::search {

/// Extremely randomised trees over the codes themselves: needs no library, learns from few results. A censored result
/// is first taken as its bound, then as what a first forest expects where that is more (Schmee and Hahn, 1979); so it
/// is never learned as faster than it is known to be. Cost: about 1 ms for 200 results.
class forest_model final : public cost_model {
public:
  explicit forest_model(std::span<const rank_features::column> columns) : cost_model(columns) {}
  std::string_view name() const override { return "forest"; }
  bool predicts_costs() const override { return true; }
  status train(const training_rows& rows, std::uint64_t seed) override;

private:
  std::vector<member> grow(const training_rows& rows, std::span<const std::uint32_t> used, std::span<const float> y,
                           std::size_t trees, std::uint64_t seed) const;
};

} // namespace attune::search
