#include "actors/monitor.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

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
  case event_kind::upload_started:
    return "upload_started";
  case event_kind::uploaded:
    return "uploaded";
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

namespace {

/// A batch far longer than what a snapshot shows is not kept whole.
constexpr std::size_t whole_most = 4 * recent_events;

void keep(monitor_state& s, const event_batch& batch) {
  const auto& all = batch.items;
  if (all.size() > whole_most)
    s.recent.push_back({std::vector<event>(all.end() - recent_events, all.end())});
  else
    s.recent.push_back(batch);
  s.kept += s.recent.back().items.size();
  while (s.kept - s.recent.front().items.size() >= recent_events) {
    s.kept -= s.recent.front().items.size();
    s.recent.pop_front();
  }
}

void pass_events(monitor_actor::stateful_pointer<monitor_state> self, const event_batch& batch) {
  auto& s = self->state;
  for (const auto& e : batch.items) ++s.counts[static_cast<std::size_t>(e.kind)];
  keep(s, batch);
  for (const auto& w : s.watchers) self->send(w, atom::note::value, batch);
}

std::vector<event> recent_of(const monitor_state& s) {
  std::vector<event> out;
  std::size_t skip = s.kept > recent_events ? s.kept - recent_events : 0;
  for (const auto& batch : s.recent) {
    const auto from = std::min(skip, batch.items.size());
    out.insert(out.end(), batch.items.begin() + static_cast<std::ptrdiff_t>(from), batch.items.end());
    skip -= from;
  }
  return out;
}

} // namespace

monitor_actor::behavior_type monitor(monitor_actor::stateful_pointer<monitor_state> self,
                                     std::shared_ptr<event_queue> queue) {
  self->state.queue = std::move(queue);
  self->set_down_handler([self](const caf::down_msg& down) {
    std::erase_if(self->state.watchers, [&](const watcher_actor& w) { return w.address() == down.source; });
  });
  return {
      [self](atom::note, const event_batch& batch) { pass_events(self, batch); },
      [self](atom::flush) {
        if (!self->state.queue) return;
        std::vector<event> all;
        if (const auto lost = self->state.queue->take(all); lost > 0)
          all.push_back({event_kind::decided, 0, nullptr, nullptr,
                         std::to_string(lost) + " events came faster than they could be passed on",
                         all.empty() ? nanoseconds(0) : all.back().at});
        if (!all.empty()) pass_events(self, {std::move(all)});
      },
      [self](atom::subscribe, const watcher_actor& w) {
        self->monitor(w);
        self->state.watchers.push_back(w);
        if (self->state.queue) self->state.queue->open_up();
        return caf::ok_atom::value;
      },
      [self](atom::snapshot) {
        if (self->state.queue) self->state.queue->open_up();
        monitor_snapshot out;
        for (std::size_t i = 0; i < self->state.counts.size(); ++i)
          if (self->state.counts[i] > 0) out.counts.emplace_back(static_cast<event_kind>(i), self->state.counts[i]);
        out.recent = recent_of(self->state);
        return out;
      },
  };
}

monitor_port spawn_monitor(caf::actor_system& system, nanoseconds pace) {
  monitor_port out;
  out.queue = std::make_shared<event_queue>(pace);
  out.to = system.spawn(monitor, out.queue);
  return out;
}

} // namespace attune::actors
