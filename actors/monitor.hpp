#pragma once

#include "actors/interfaces.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <array>
#include <deque>
#include <vector>

namespace attune::actors {

/// The recent events that a snapshot shows.
inline constexpr std::size_t recent_events = 1024;

struct monitor_state {
  explicit monitor_state(monitor_actor::pointer) {}
  std::shared_ptr<event_queue> queue;
  std::vector<watcher_actor> watchers;
  std::array<std::uint64_t, 32> counts{};
  std::deque<event_batch> recent; ///< as they came, so that nothing is copied; recent_events and some more
  std::size_t kept = 0;           ///< events in these
  static inline const char* name = "monitor";
};

/// The MONITOR's behaviour. `queue` is opened when the first watcher or snapshot comes: from then on the others put
/// their events into it.
monitor_actor::behavior_type monitor(monitor_actor::stateful_pointer<monitor_state> self,
                                     std::shared_ptr<event_queue> queue);

/// A monitor and the way to it. `pace`: as event_queue's.
monitor_port spawn_monitor(caf::actor_system& system, nanoseconds pace = nanoseconds(0));

/// Tells the monitor of what was put into its queue, where that is to be told.
template <class Self>
void tell_monitor(Self* self, const monitor_port& port, event_queue::notice how) {
  using when = event_queue::notice::when;
  if (how.tell == when::now) self->send(port.to, atom::flush::value);
  if (how.tell == when::later) self->delayed_send(port.to, how.wait, atom::flush::value);
}

/// Passes one event on where somebody watches. `make` is called only then.
template <class Self, class Make>
void emit(Self* self, const monitor_port& port, Make make) {
  if (port.open()) tell_monitor(self, port, port.queue->put(make()));
}

} // namespace attune::actors
