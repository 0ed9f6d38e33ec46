#pragma once

#include "actors/scheduler.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace attune::actors {

/// The part of the SCHEDULER that watches machines: by a reference of each, on what schedulers/machine_watch.hpp
/// decides. Called by its behaviour alone.
using scheduler_self = scheduler_actor::stateful_pointer<scheduler_state>;

/// The reference is nobody's trial.
constexpr session_number nobody = 0;

/// Every timed run knows the most that went on beside it.
void note_company(scheduler_state& s);
/// The reference has run: what its time means.
void took_reference(scheduler_self self, const scheduler_state::work& w, const outcome& o);
/// What was measured under the reference's watch: its conditions, and its value without the drift.
void mark(scheduler_self self, schedulers::job_id id, const scheduler_state::work& w, outcome& o);
/// The first trial that ended well on a machine is its reference, where its task wants one and what was built for it
/// can be kept.
void take_as_reference(scheduler_self self, const scheduler_state::work& w, const outcome& o);
/// Nothing is compared there any more, and nobody held back.
void drop_reference(scheduler_self self, std::uint32_t device);
/// Its session has gone, and with it what was built.
void forget_references(scheduler_self self, session_number number);
/// Holds the others back where a reference alone may run; the devices whose references are due.
std::vector<std::uint32_t> look_at_machines(scheduler_self self);
/// When that is to be done next, at the latest.
std::optional<nanoseconds> next_look_at_machines(const scheduler_state& s, nanoseconds now);

/// Tells the clients what they may have in flight, after a change of what is admitted (scheduler.cpp).
void share_credits(scheduler_self self);

} // namespace attune::actors
