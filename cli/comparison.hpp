#pragma once

#include <span>

namespace attune::cli {

/// A mean with its interval.
struct interval {
  double mean = 0, low = 0, high = 0;
};

/// The mean, summed in order: the same to the last bit for whoever has the same values. @pre not empty
double mean_of_runs(std::span<const double> values);

/// The mean and its 95 % percentile-bootstrap interval of 10,000 resamples (Efron, 1979); the same each time. One
/// value: itself. @pre not empty, all finite
interval bootstrap_mean(std::span<const double> values);

/// What the U test of Mann and Whitney (1947) says of two samples.
struct rank_test {
  double p = 1;             ///< two-sided
  double first_lower = 0.5; ///< the chance that a value of the first is lower than one of the second, ties as half
};

/// Exact for up to 25 values a side without ties, else the normal approximation, corrected for ties and continuity.
/// @pre neither is empty, no NaN
rank_test mann_whitney(std::span<const double> first, std::span<const double> second);

} // namespace attune::cli
