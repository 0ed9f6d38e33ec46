#include "core/spec.hpp"

namespace attune {

std::string source_place::text() const { return line == 0 ? file : file + ":" + std::to_string(line); }

const char* to_string(goal g) noexcept { return g == goal::minimize ? "minimize" : "maximize"; }

double metric_spec::scale() const {
  if (unit == "ms") return 1e-3;
  if (unit == "us") return 1e-6;
  if (unit == "ns") return 1e-9;
  return 1;
}

std::string metric_spec::stored_unit() const { return unit == "ms" || unit == "us" || unit == "ns" ? "s" : unit; }

} // namespace attune
