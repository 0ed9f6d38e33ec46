#pragma once

#include "actors/interfaces.hpp"

#include <memory>

namespace attune::actors {

/// Makes the behaviour of a BUILDER around a way to build. The actor owns `how`.
/// Event-based: it blocks as little as `how` does (which answers from the process supervisor's thread).
builder_actor::behavior_type builder(builder_actor::pointer self, std::shared_ptr<measure::builder> how);

/// The behaviour of a RUNNER around a way to run. Spawn it detached where `how` runs callables that take their time:
/// they are called inside the handler.
runner_actor::behavior_type runner(runner_actor::pointer self, std::shared_ptr<measure::runner> how);

} // namespace attune::actors
