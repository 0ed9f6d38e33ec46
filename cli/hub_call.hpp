#pragma once

#include "net/address.hpp"
#include "proto/wire.pb.h"

namespace attune::cli {

/// Asks a hub one thing and waits for its answer. Errors: network, and what the hub answers as a failure.
result<wire::v1::Envelope> ask_hub(const net::address& hub, const wire::v1::Envelope& question);

} // namespace attune::cli
