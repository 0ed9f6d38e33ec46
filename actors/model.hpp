#pragma once

#include "actors/interfaces.hpp"

#include <caf/typed_event_based_actor.hpp>

namespace attune::actors {

struct model_state {
  explicit model_state(model_actor::pointer) {}
  bool stepped_back = false; ///< its thread has given way to the others
  std::uint64_t trainings = 0;
  static inline const char* name = "model";
};

/// The MODEL's behaviour. Spawn it detached: a training takes some milliseconds inside the handler. `step_back`: its
/// thread asks the system to be run only where nothing else wants the processor (the lowest niceness, batch
/// scheduling); for a thread of its own only. `scheduler`: is asked before each training, so that none stands beside a
/// timed run where that may do harm; null: it trains at once.
model_actor::behavior_type model(model_actor::stateful_pointer<model_state> self, bool step_back,
                                 const scheduler_actor& scheduler);

} // namespace attune::actors
