#pragma once

#include "actors/interfaces.hpp"

namespace attune::actors {

/// The actors of an engine, for those who talk to them. They live as long as the engine.
struct graph_handles {
  cache_actor cache;
  scheduler_actor scheduler;
  recorder_actor recorder;
  monitor_actor monitor;
  model_actor model;
};

/// The actor of a session.
struct session_handle {
  tuner_actor tuner;
};

} // namespace attune::actors
