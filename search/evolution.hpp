#pragma once

#include "search/space.hpp"

#include <optional>
#include <string>
#include <vector>

namespace attune::search {

/// What a configuration of an earlier state of the spec means today: the valid configuration that has its values, and
/// for each parameter that it lacks the declared default (which says: what was measured without the parameter was
/// measured with this), or nothing where its condition makes it absent. None where the configuration lacks nothing,
/// lacks a parameter without a default, has a parameter or a value that is no more, or is invalid today.
/// @param declared the parameters that `s` was compiled from
/// @param lacking out: the names of what it lacks
std::optional<configuration> completed(const space& s, std::span<const parameter> declared,
                                       const configuration& earlier, std::vector<std::string>& lacking);

} // namespace attune::search
