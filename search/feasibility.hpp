#pragma once

#include "search/models/decision_tree.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace attune::search {

/// Learns where builds and runs fail: the probability that a configuration of these codes gives a result, from a
/// forest of extremely randomised trees over what did and what did not. It weighs, it never forbids: no probability is
/// below `least`, so what promises enough is tried wherever it lies, and a result there teaches it better. Threads: one
/// owner; probability() from any number while nobody trains. Cost: about 0.5 ms for 200 results.
class feasibility_model {
public:
  static constexpr float least = 0.02f;
  explicit feasibility_model(std::span<const rank_features::column> columns)
      : columns_(columns.begin(), columns.end()) {}

  /// Learns from these rows alone. Where all gave a result, or none did, nothing tells them apart: it knows nothing.
  /// @pre gave_result.size() == x.rows()
  void train(const code_table& x, std::span<const std::uint8_t> gave_result, std::uint64_t seed);
  /// False: every configuration is as likely as the others to give a result.
  bool knows() const noexcept { return !trees_.empty(); }
  /// In [least, 1]; 1 where it knows nothing. @pre out.size() >= x.rows()
  void probability(const code_table& x, std::span<float> out) const;

private:
  std::vector<rank_features::column> columns_;
  std::vector<decision_tree> trees_;
};

} // namespace attune::search
