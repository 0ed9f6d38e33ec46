#include "search/strategies/result_odds.hpp"

#include <vector>

namespace attune::search {

void result_odds::learn(std::span<const told_trial> from, std::uint64_t seed) {
  code_table x(features_.size());
  std::vector<std::uint16_t> row(features_.size());
  std::vector<std::uint8_t> gave_result;
  for (const auto& t : from) {
    features_.encode(t.at, row);
    x.add(row);
    gave_result.push_back(t.what != observation::status::failed ? 1 : 0);
  }
  model_.train(x, gave_result, seed);
}

void result_odds::weigh(std::span<const point> at, std::span<double> worth) const {
  if (!model_.knows()) return;
  code_table x(features_.size());
  std::vector<std::uint16_t> row(features_.size());
  for (const auto& p : at) {
    features_.encode(p, row);
    x.add(row);
  }
  std::vector<float> probability(at.size());
  model_.probability(x, probability);
  for (std::size_t i = 0; i < at.size(); ++i) worth[i] *= static_cast<double>(probability[i]);
}

} // namespace attune::search
