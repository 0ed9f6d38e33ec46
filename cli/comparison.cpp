#include "cli/comparison.hpp"

#include "core/random.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace attune::cli {

namespace {

/// In how many of the ways to mix n and m values U is u, for u = 0 … n·m: Mann and Whitney's recurrence over whether
/// the largest value is of the first or of the second.
std::vector<double> ways_of_u(std::size_t n, std::size_t m) {
  std::vector<std::vector<double>> row(m + 1, {1.0});
  for (std::size_t i = 1; i <= n; ++i) {
    std::vector<std::vector<double>> next{{1.0}};
    for (std::size_t j = 1; j <= m; ++j) {
      std::vector<double> out(i * j + 1);
      for (std::size_t u = 0; u < row[j].size(); ++u) out[u + j] += row[j][u];
      for (std::size_t u = 0; u < next[j - 1].size(); ++u) out[u] += next[j - 1][u];
      next.push_back(std::move(out));
    }
    row = std::move(next);
  }
  return row[m];
}

} // namespace

double mean_of_runs(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

interval bootstrap_mean(std::span<const double> values) {
  const double mean = mean_of_runs(values);
  if (values.size() < 2) return {mean, mean, mean};
  constexpr std::size_t rounds = 10'000;
  random_engine rng(1);
  std::vector<double> means(rounds);
  for (auto& one : means) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[rng.below(values.size())];
    one = sum / static_cast<double>(values.size());
  }
  std::sort(means.begin(), means.end());
  return {mean, means[rounds * 25 / 1000], means[rounds * 975 / 1000 - 1]};
}

rank_test mann_whitney(std::span<const double> first, std::span<const double> second) {
  struct item {
    double value;
    bool first;
  };
  std::vector<item> all;
  for (const double v : first) all.push_back({v, true});
  for (const double v : second) all.push_back({v, false});
  std::sort(all.begin(), all.end(), [](const item& a, const item& b) { return a.value < b.value; });
  double ranks = 0, ties = 0;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i;
    while (end < all.size() && all[end].value == all[i].value) ++end;
    const auto t = static_cast<double>(end - i);
    const double rank = (static_cast<double>(i + end) + 1) / 2;
    for (; i < end; ++i) ranks += all[i].first ? rank : 0;
    ties += t * t * t - t;
  }
  const auto n = static_cast<double>(first.size()), m = static_cast<double>(second.size());
  const double u = ranks - n * (n + 1) / 2; // pairs in which the first is the higher
  rank_test out;
  out.first_lower = 1 - u / (n * m);
  if (ties == 0 && first.size() <= 25 && second.size() <= 25) {
    const auto ways = ways_of_u(first.size(), second.size());
    const auto tail = static_cast<std::size_t>(std::min(u, n * m - u));
    const double in_tail = std::accumulate(ways.begin(), ways.begin() + static_cast<std::ptrdiff_t>(tail) + 1, 0.0);
    out.p = std::min(1.0, 2 * in_tail / std::accumulate(ways.begin(), ways.end(), 0.0));
    return out;
  }
  const double total = n + m;
  const double deviation = std::sqrt(n * m / 12 * (total + 1 - ties / (total * (total - 1))));
  if (!(deviation > 0)) return out;
  out.p = std::erfc(std::max(0.0, std::abs(u - n * m / 2) - 0.5) / deviation / std::sqrt(2.0));
  return out;
}

} // namespace attune::cli
