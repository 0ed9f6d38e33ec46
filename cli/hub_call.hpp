#pragma once

#include "cli/command_line.hpp"
#include "net/dial.hpp"
#include "net/token.hpp"
#include "proto/wire.pb.h"

namespace attune::cli {

/// How to dial the hub, and what to show it.
struct hub_way {
  net::dial_options dial;
  std::optional<net::token> shown;
};
/// Reads the files. Errors: invalid_spec, io.
result<hub_way> way_to(const hub_access& hub);

/// Asks a hub one thing and waits for its answer. Errors: network, and what the hub answers as a failure.
result<wire::v1::Envelope> ask_hub(const hub_way& hub, const wire::v1::Envelope& question);

/// The options that reach the hub again, for a command line that is shown: ` --hub HOST:PORT …`.
std::string typed_again(const hub_access& hub);

} // namespace attune::cli
