// The actors, for programs and tests that talk to them: their interfaces (attune/actors/interfaces.hpp), their messages
// (messages.hpp), the atoms of these (atoms.hpp). It needs CAF 0.17; nothing else of Attune does.
//
// A program sends to the actors of its engine (handles_of): it may offer a runner of its own (`join` to the scheduler),
// watch every step (`subscribe` to the monitor), ask where a search stands (`status` to its tuner), or steer it
// (`pause`, `resume`, `cancel`). What is marked INTERNAL in interfaces.hpp is the actors' own.
//
// A test may spawn the actors by themselves, in an actor_system whose scheduler policy is `testing`, with runners that
// it answers for: examples/messages does. Messages carry pointers to immutable values and stay in the process.
#pragma once

#include "actors/cache.hpp"
#include "actors/error.hpp"
#include "actors/handles.hpp"
#include "actors/interfaces.hpp"
#include "actors/messages.hpp"
#include "actors/monitor.hpp"
#include "actors/recorder.hpp"
#include "actors/scheduler.hpp"
#include "actors/tuner.hpp"
#include "attune/engine.hpp"
#include "search/strategy.hpp"

namespace attune {

/// The actors of an engine; they end with it.
actors::graph_handles handles_of(const engine& of);
/// The tuner of a search. Null when it has ended.
actors::session_handle handle_of(const session& of);
/// Where they live.
caf::actor_system& system_of(const engine& of);

/// The task and the compiled space that a search is made of, to spawn a tuner with. Errors: invalid_spec.
struct search_parts {
  task_ptr of;
  search::space_ptr over;
};
result<search_parts> parts_of(const space& over, objective what, const search_options& how = {});

} // namespace attune
