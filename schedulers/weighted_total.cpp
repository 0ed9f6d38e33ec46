#include "schedulers/weighted_total.hpp"

#include <optional>

namespace attune::schedulers {

std::vector<total_point> total_over_time(std::span<const double> weights, std::span<const total_step> steps) {
  std::vector<std::optional<double>> best(weights.size());
  for (const auto& s : steps)
    if (!best[s.task]) best[s.task] = s.cost;
  // Summed anew for each point: nothing drifts.
  const auto sum = [&] {
    double out = 0;
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (best[i]) out += weights[i] * *best[i];
    return out;
  };
  std::vector<total_point> out;
  for (const auto& s : steps) {
    if (!out.empty() && !(s.cost < *best[s.task])) continue;
    if (s.cost < *best[s.task]) best[s.task] = s.cost;
    out.push_back({s.at, s.trials, sum()});
  }
  return out;
}

} // namespace attune::schedulers
