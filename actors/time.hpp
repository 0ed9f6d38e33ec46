#pragma once

#include "core/clock.hpp"

#include <caf/local_actor.hpp>

namespace attune::actors {

/// Monotonic time as an actor sees it: the clock of its system, which a test moves. Never the machine's by another way.
template <class Self>
nanoseconds now_of(Self* self) {
  return std::chrono::duration_cast<nanoseconds>(self->clock().now().time_since_epoch());
}

} // namespace attune::actors
