#pragma once

#include "cli/json.hpp"
#include "net/fleet/fleet_messages.hpp"

namespace attune::cli {

/// A hub's devices and jobs as the dashboard shows them (docs/dashboard.md, /api/fleet).
json fleet_json(const wire::v1::Devices& of);

} // namespace attune::cli
