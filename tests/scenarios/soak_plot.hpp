// What a soak sampled, as a table and as a drawing.
#pragma once

#include <string>
#include <vector>

namespace attune::testing {

/// One figure over time.
struct soak_series {
  std::string name, unit;
  std::vector<double> values; ///< one for each sample
};

/// A Markdown table: of each series the median in each third of the time, and the most. `seconds` is when each sample
/// was taken.
std::string soak_table(const std::vector<double>& seconds, const std::vector<soak_series>& all);

/// An SVG with one panel for each series, one above the other, over minutes.
std::string soak_drawing(const std::vector<double>& seconds, const std::vector<soak_series>& all);

/// The median of those in [first, last) of `parts` equal parts of the samples; 0 where there is none.
double median_of_part(const soak_series& s, std::size_t first, std::size_t last, std::size_t parts);

} // namespace attune::testing
