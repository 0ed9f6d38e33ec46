#include "actors/monitor.hpp"

#include <algorithm>

namespace attune::actors {

static_assert(!std::is_aggregate_v<monitor_state>);

const char* to_string(event_kind k) noexcept {
  switch (k) {
  case event_kind::session_started:
    return "session_started";
  case event_kind::session_ended:
    return "session_ended";
  case event_kind::proposed:
    return "proposed";
  case event_kind::cache_hit:
    return "cache_hit";
  case event_kind::joined_flight:
    return "joined_flight";
  case event_kind::queued:
    return "queued";
  case event_kind::build_started:
    return "build_started";
  case event_kind::built:
    return "built";
  case event_kind::run_started:
    return "run_started";
  case event_kind::ran:
    return "ran";
  case event_kind::retried:
    return "retried";
  case event_kind::quarantined:
    return "quarantined";
  case event_kind::recorded:
    return "recorded";
  case event_kind::told:
    return "told";
  case event_kind::place_came:
    return "place_came";
  case event_kind::place_went:
    return "place_went";
  case event_kind::place_stuck:
    return "place_stuck";
  case event_kind::store_trouble:
    return "store_trouble";
  case event_kind::store_recovered:
    return "store_recovered";
  case event_kind::decided:
    return "decided";
  case event_kind::finals:
    return "finals";
  case event_kind::estimated:
    return "estimated";
  }
  return "unknown";
}

monitor_actor::behavior_type monitor(monitor_actor::stateful_pointer<monitor_state> self,
                                     std::shared_ptr<std::atomic<bool>> watched) {
  self->state.watched = std::move(watched);
  self->set_down_handler([self](const caf::down_msg& down) {
    std::erase_if(self->state.watchers, [&](const watcher_actor& w) { return w.address() == down.source; });
  });
  return {
      [self](atom::note, const event_batch& batch) {
        auto& s = self->state;
        for (const auto& e : batch.items) {
          ++s.counts[static_cast<std::size_t>(e.kind)];
          s.recent.push_back(e);
          if (s.recent.size() > recent_events) s.recent.pop_front();
        }
        for (const auto& w : s.watchers) self->send(w, atom::note::value, batch);
      },
      [self](atom::subscribe, const watcher_actor& w) {
        self->monitor(w);
        self->state.watchers.push_back(w);
        if (self->state.watched) self->state.watched->store(true, std::memory_order_relaxed);
        return caf::ok_atom::value;
      },
      [self](atom::snapshot) {
        if (self->state.watched) self->state.watched->store(true, std::memory_order_relaxed);
        monitor_snapshot out;
        for (std::size_t i = 0; i < self->state.counts.size(); ++i)
          if (self->state.counts[i] > 0) out.counts.emplace_back(static_cast<event_kind>(i), self->state.counts[i]);
        out.recent.assign(self->state.recent.begin(), self->state.recent.end());
        return out;
      },
  };
}

} // namespace attune::actors
