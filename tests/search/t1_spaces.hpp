// The shared T1 files as declared parameters and constraints: as much of the format as the spaces' tests need. The real
// reader is storage's, which search does not know.
#pragma once

#include "core/spec.hpp"

#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace attune::search {

struct declared_space {
  std::vector<parameter> parameters;
  std::vector<constraint> constraints;
};

inline declared_space read_t1(const std::string& path) {
  std::ifstream in(path);
  const auto file = nlohmann::ordered_json::parse(in);
  declared_space out;
  const auto& space = file.at("ConfigurationSpace");
  for (const auto& p : space.at("TuningParameters")) {
    parameter one;
    one.name = p.at("Name").get<std::string>();
    one.domain = value_expression{p.at("Values").get<std::string>()};
    if (p.contains("Default") && p["Default"].is_number_integer())
      one.standard = value(p["Default"].get<std::int64_t>());
    out.parameters.push_back(std::move(one));
  }
  if (space.contains("Conditions"))
    for (const auto& c : space["Conditions"]) {
      constraint one;
      one.expression = c.at("Expression").get<std::string>();
      out.constraints.push_back(std::move(one));
    }
  return out;
}

} // namespace attune::search
