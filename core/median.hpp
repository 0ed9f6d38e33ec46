// The middle of some numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace attune {

/// The median; the mean of the two middle ones where the count is even. @pre not empty, no NaN.
inline double median(std::span<const double> of) {
  std::vector<double> x(of.begin(), of.end());
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::nth_element(x.begin(), middle, x.end());
  if (x.size() % 2 == 1) return *middle;
  // Halves before the sum: two large ones must not overflow.
  return *std::max_element(x.begin(), middle) / 2 + *middle / 2;
}

} // namespace attune
