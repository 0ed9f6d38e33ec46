#pragma once

#include "core/task.hpp"
#include "measure/executor.hpp"
#include "net/fleet/registry.hpp"
#include "net/handshake.hpp"
#include "net/manifest.hpp"
#include "net/store_messages.hpp"
#include "net/token.hpp"
#include "proto/wire.pb.h"

#include <string>
#include <vector>

namespace attune::net::fleet {

/// What hub, agents and clients can do: the greeting of all of them.
abilities fleet_abilities();

using net::from;
using net::to;

// Between values and messages. Inwards everything is checked: errors are network's.

void to(const description& from, wire::v1::AgentHello& out);
status from(const wire::v1::AgentHello& in, description& out);

void to(const measure::run_result& from, wire::v1::Answer& out);
status from(const wire::v1::Answer& in, measure::run_result& out);

/// A token, as it is presented.
wire::v1::Envelope showing(const token& t);

} // namespace attune::net::fleet
