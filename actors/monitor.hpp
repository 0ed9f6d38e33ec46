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
  std::shared_ptr<std::atomic<bool>> watched;
  std::vector<watcher_actor> watchers;
  std::array<std::uint64_t, 32> counts{};
  std::deque<event> recent;
  static inline const char* name = "monitor";
};

/// The MONITOR's behaviour. `watched` is set when the first watcher or snapshot comes: from then on the others send
/// their events.
monitor_actor::behavior_type monitor(monitor_actor::stateful_pointer<monitor_state> self,
                                     std::shared_ptr<std::atomic<bool>> watched);

/// Sends one event where somebody watches. `make` is called only then.
template <class Self, class Make>
void emit(Self* self, const monitor_port& port, Make make) {
  if (port.open()) self->send(port.to, atom::note::value, event_batch{{make()}});
}

} // namespace attune::actors
