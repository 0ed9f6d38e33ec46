#include "core/spec.hpp"

#include <algorithm>
#include <array>
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

std::span<const std::string_view> counter_names() noexcept {
  static constexpr std::array<std::string_view, 11> names{
      "cycles",     "instructions", "cache-references", "cache-misses",     "branches",      "branch-misses",
      "task-clock", "page-faults",  "major-faults",     "context-switches", "cpu-migrations"};
  return names;
}

std::span<const std::string_view> energy_domains() noexcept {
  static constexpr std::array<std::string_view, 5> names{"package", "cores", "ram", "gpu", "psys"};
  return names;
}

std::span<const std::pair<std::string_view, double>> memory_units() noexcept {
  static constexpr std::array<std::pair<std::string_view, double>, 7> units{
      {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}}};
  return units;
}

} // namespace attune
