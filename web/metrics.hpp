#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace attune::web {

class model;

/// Figures of the server itself that stand beside the model's.
struct server_figures {
  std::size_t watchers = 0;
  std::uint64_t dropped = 0;
};

/// The model in Prometheus' text format (version 0.0.4): counters end in _total, times are in seconds. What each one
/// means: docs/metrics.md.
std::string metrics_text(const model& of, const server_figures& server);

} // namespace attune::web
