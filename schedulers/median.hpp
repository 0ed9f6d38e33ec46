// The middle of some numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace attune::schedulers {

/// The median; of an even count the mean of the two in the middle. @pre not empty, no NaN.
inline double median(std::vector<double> x) {
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::nth_element(x.begin(), middle, x.end());
  if (x.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(x.begin(), middle)) / 2;
}

} // namespace attune::schedulers
