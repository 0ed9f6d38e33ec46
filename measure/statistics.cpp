#include "measure/statistics.hpp"

#include "core/median.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace attune::measure {

namespace {

constexpr double cutoff = 3.5;
constexpr double normal_mad = 0.6745;   // the MAD of a standard normal
constexpr double root_half_pi = 1.2533; // sqrt(pi / 2)
constexpr std::size_t always_kept = 3;

std::vector<double> sorted_copy(std::span<const double> samples) {
  std::vector<double> out(samples.begin(), samples.end());
  std::sort(out.begin(), out.end());
  return out;
}

/// The largest k with P(Binomial(n, 1/2) < k) <= 2.5 %: x(k) and x(n+1-k) enclose the median with at least 95 %.
/// 0 where there is none.
std::size_t interval_rank(std::size_t n) {
  // From here on the normal approximation is right to a rank, rounded to the safe side.
  if (n > 1000) {
    double rank = std::floor(static_cast<double>(n) / 2 - 0.98 * std::sqrt(static_cast<double>(n)));
    return static_cast<std::size_t>(rank);
  }
  double term = std::exp2(-static_cast<double>(n)), below = 0; // P(B = 0), P(B < 0)
  std::size_t k = 0;
  while (below + term <= 0.025) {
    below += term;
    term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    ++k;
  }
  return k;
}

/// Student's t at 0.999, a little too large beyond 20 degrees of freedom.
double student_999(std::size_t degrees) {
  constexpr std::array table{318.309, 22.327, 10.215, 7.173, 5.893, 5.208, 4.785, 4.501, 4.297, 4.144,
                             4.025,   3.930,  3.852,  3.787, 3.733, 3.686, 3.646, 3.610, 3.579, 3.552};
  return degrees <= table.size() ? table[degrees - 1] : table.back();
}

/// @pre two samples or more
double deviation(std::span<const double> samples) {
  double count = static_cast<double>(samples.size()), mean = 0, squares = 0;
  for (double x : samples) mean += x / count;
  for (double x : samples) squares += (x - mean) * (x - mean);
  return std::sqrt(squares / (count - 1));
}

} // namespace

interval median_interval(std::span<const double> samples) {
  auto sorted = sorted_copy(samples);
  std::size_t n = sorted.size();
  if (n == 1) return {sorted[0], sorted[0]};
  if (std::size_t k = interval_rank(n); k > 0) return {sorted[k - 1], sorted[n - k]};
  // Student's t at 0.975 for 1 to 4 degrees of freedom.
  constexpr std::array t{12.7062, 4.3027, 3.1824, 2.7764};
  double half = t[n - 2] * root_half_pi * deviation(sorted) / std::sqrt(static_cast<double>(n));
  double middle = median(sorted);
  return {middle - half, middle + half};
}

double median_floor(std::span<const double> samples) {
  const double error = root_half_pi * deviation(samples) / std::sqrt(static_cast<double>(samples.size()));
  return median(samples) - student_999(samples.size() - 1) * error;
}

std::size_t cold_start(std::span<const double> samples) {
  const std::size_t n = samples.size();
  if (n < always_kept + 1) return 0;
  const std::size_t most = std::min(n / 2, n - always_kept);
  // The lowest and the highest of the first k + 1.
  std::vector<double> low(most), high(most);
  for (std::size_t k = 0; k < most; ++k) {
    low[k] = k > 0 ? std::min(low[k - 1], samples[k]) : samples[k];
    high[k] = k > 0 ? std::max(high[k - 1], samples[k]) : samples[k];
  }
  // Mean and squares of what comes after, from the end (Welford).
  double mean = 0, squares = 0, count = 0;
  std::size_t found = 0;
  for (std::size_t k = n - 1; k > 0; --k) {
    const double off = samples[k] - mean;
    mean += off / ++count;
    squares += off * (samples[k] - mean);
    if (k > most || count < always_kept) continue;
    const double limit = student_999(n - k - 1) * std::sqrt(squares / (count - 1)) * std::sqrt(1 + 1 / count);
    if (low[k - 1] - mean > limit || mean - high[k - 1] > limit) {
      found = k;
      break;
    }
  }
  return found;
}

cleaned reject_outliers(std::span<const double> samples) {
  cleaned out;
  if (samples.size() < always_kept + 1) {
    out.kept.assign(samples.begin(), samples.end());
    return out;
  }
  double middle = median(samples);
  std::vector<double> deviations;
  deviations.reserve(samples.size());
  for (double x : samples) deviations.push_back(std::abs(x - middle));
  double mad = median(deviations);
  double limit = cutoff * mad / normal_mad;
  if (mad == 0) {
    double mean = 0;
    for (double d : deviations) mean += d / static_cast<double>(deviations.size());
    limit = cutoff * root_half_pi * mean;
  }
  // Never fewer than these, whatever the rule says.
  auto nearest = sorted_copy(deviations);
  std::size_t least = std::max(always_kept, (samples.size() + 1) / 2);
  limit = std::max(limit, nearest[least - 1]);
  for (std::size_t i = 0; i < samples.size(); ++i)
    (deviations[i] <= limit ? out.kept : out.rejected).push_back(samples[i]);
  return out;
}

summary summarize(std::span<const double> samples) {
  auto clean = reject_outliers(samples);
  summary out;
  out.value = median(clean.kept);
  out.rejected = static_cast<std::uint32_t>(clean.rejected.size());
  double half = median_interval(clean.kept).half_width();
  out.spread = out.value != 0 ? half / std::abs(out.value) : 0;
  return out;
}

} // namespace attune::measure
