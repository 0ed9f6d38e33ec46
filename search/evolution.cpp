#include "search/evolution.hpp"

#include <algorithm>

namespace attune::search {

namespace {

/// More conditional parameters than these are not added to a spec between two tunings.
constexpr std::size_t added_conditions_max = 8;

} // namespace

std::optional<configuration> completed(const space& s, std::span<const parameter> declared,
                                       const configuration& earlier, std::vector<std::string>& lacking) {
  lacking.clear();
  point p(declared.size(), inactive);
  std::vector<std::size_t> conditional;
  std::size_t found = 0;
  for (std::size_t i = 0; i < declared.size(); ++i) {
    const auto* v = earlier.find(declared[i].name);
    if (v && !v->is_absent()) {
      const auto index = s.index_of_value(i, *v);
      // A number that matches by value only (64 for 64.0) is another configuration.
      if (!index || s.value_at(i, *index) != *v) return std::nullopt;
      p[i] = *index;
      ++found;
      continue;
    }
    if (v) { // it was there, and absent
      ++found;
      continue;
    }
    lacking.push_back(declared[i].name);
    const auto index = declared[i].standard ? s.index_of_value(i, *declared[i].standard) : std::nullopt;
    if (!index) return std::nullopt;
    p[i] = *index;
    if (s.parameters()[i].conditional) conditional.push_back(i);
  }
  if (lacking.empty() || found != earlier.size() || conditional.size() > added_conditions_max) return std::nullopt;
  // Which of them are absent is the conditions' to say; at most one choice is valid.
  const auto defaults = p;
  for (std::uint32_t absent = 0; absent < 1u << conditional.size(); ++absent) {
    for (std::size_t k = 0; k < conditional.size(); ++k)
      p[conditional[k]] = absent >> k & 1 ? inactive : defaults[conditional[k]];
    if (s.contains(p)) return s.to_configuration(p);
  }
  return std::nullopt;
}

} // namespace attune::search
