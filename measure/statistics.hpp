#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attune::measure {

/// A 95 % confidence interval of the median.
struct interval {
  double low = 0, high = 0;
  double half_width() const noexcept { return (high - low) / 2; }
};

/// From six samples on: order statistics x(k)…x(n+1-k) with the largest k for which the binomial distribution gives at
/// least 95 % (distribution-free; Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2; Le Boudec,
/// Performance Evaluation, section 2.2.2). From two to five samples no such interval exists: median ± t(0.975, n-1) ·
/// 1.2533 · s / sqrt(n), which holds for normal samples (1.2533 = sqrt(pi/2), the standard error of the median over
/// that of the mean). One sample: the sample itself. @pre not empty, all finite.
interval median_interval(std::span<const double> samples);

/// What the median is surely not below: median - t(0.999, n-1) · 1.2533 · s / sqrt(n), which holds for normal samples
/// (one in a thousand is lower by chance). @pre two samples or more, all finite.
double median_floor(std::span<const double> samples);

/// How many samples at the beginning are of a cold start: the most that all lie on one side of those after them, each
/// farther from their mean than t(0.999, n-1) · s · sqrt(1 + 1/n), n, mean and s those of the samples after (the
/// prediction interval of a normal distribution, which one sample in 500 leaves by chance; an outlier among the later
/// ones widens it, so that less is found). Where the later ones are all equal, every other value differs. At least
/// three samples and at least half of them are left: 0 below four samples. @pre all finite. O(n).
std::size_t cold_start(std::span<const double> samples);

/// The samples that the robust rule keeps, in order, and what it leaves out.
struct cleaned {
  std::vector<double> kept, rejected;
};

/// Two-sided: a sample is left out when its modified z-score 0.6745 · |x - median| / MAD is over 3.5 (Iglewicz and
/// Hoaglin, How to Detect and Handle Outliers, 1993). Where more than half of the samples are equal, so that the MAD is
/// 0, the mean absolute deviation takes its place: |x - median| / (1.2533 · MeanAD) over 3.5, as the same authors give
/// it. At least three samples and at least half of them are always kept (the nearest to the median); below four samples
/// nothing is rejected. @pre all finite.
cleaned reject_outliers(std::span<const double> samples);

/// The one statistic that ranks, trains, is stored, shown and exported: the median of what the robust rule keeps, with
/// the 95 % interval of that median.
struct summary {
  double value = 0;
  double spread = 0; ///< half the interval's width over |value|; 0 for one sample and where the value is 0
  std::uint32_t rejected = 0;
};
/// @pre not empty, all finite.
summary summarize(std::span<const double> samples);

} // namespace attune::measure
