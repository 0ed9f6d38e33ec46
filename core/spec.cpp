#include "core/spec.hpp"

#include <algorithm>
#include <cmath>

namespace attune {

std::string to_string(const how_many& h) {
  return h.automatic ? "auto" : h.count ? std::to_string(*h.count) : std::string();
}

std::string source_place::text() const { return line == 0 ? file : file + ":" + std::to_string(line); }

const char* to_string(goal g) noexcept { return g == goal::minimize ? "minimize" : "maximize"; }

std::uint64_t trials_of_fraction(double fraction, double count) noexcept {
  const double exact = fraction * count;
  const double whole = std::round(exact);
  const double trials = std::fabs(exact - whole) <= whole * 1e-12 ? whole : std::ceil(exact);
  return static_cast<std::uint64_t>(std::clamp(trials, 1.0, 1e18));
}

double metric_spec::divisor() const {
  if (unit == "ms") return 1e3;
  if (unit == "us") return 1e6;
  if (unit == "ns") return 1e9;
  return 1;
}

std::string metric_spec::stored_unit() const { return unit == "ms" || unit == "us" || unit == "ns" ? "s" : unit; }

} // namespace attune
