#include "actors/recorder.hpp"

#include "actors/error.hpp"
#include "actors/monitor.hpp"
#include "actors/time.hpp"

#include <caf/typed_response_promise.hpp>

#include <algorithm>
#include <utility>

namespace attune::actors {

static_assert(!std::is_aggregate_v<recorder_state>);

namespace {

using recorder_self = recorder_actor::stateful_pointer<recorder_state>;

void flush_soon(recorder_self self) {
  auto& s = self->state;
  if (s.flush_sent) return;
  s.flush_sent = true;
  // To itself, so that all that has arrived by now goes into the same write.
  self->send(self, atom::internal::value, atom::flush::value);
}

/// What is not to be written, or is written now, goes on to the cache.
void pass_on(recorder_self self, std::vector<finished> items) {
  auto& s = self->state;
  if (s.watch.open()) {
    std::vector<event> events;
    events.reserve(items.size());
    for (const auto& f : items)
      events.push_back({event_kind::recorded, f.what->session, f.what, f.result, {}, now_of(self)});
    tell_monitor(self, s.watch, s.watch.queue->put(std::move(events)));
  }
  if (!items.empty()) self->send(s.cache, atom::fill::value, finished_batch{std::move(items)});
}

/// Everything that had come is written.
void end_of_group(recorder_self self) {
  auto& s = self->state;
  for (const auto& [number, took] : s.leaving) {
    s.hurried.erase(number);
    const auto at = s.sessions.find(number);
    if (at == s.sessions.end()) continue;
    if (s.sink.spent && !at->second.id.empty()) s.sink.spent(at->second.id, took);
    s.sessions.erase(at);
  }
  s.leaving.clear();
  for (auto& promise : s.flushes) promise.deliver(caf::ok_atom::value);
  s.flushes.clear();
}

/// What of the sessions that were called back waits for a store that cannot be written was never measured, as far as
/// anyone is told.
void let_go(recorder_self self) {
  auto& s = self->state;
  const auto hurried = [&s](const trial_ptr& t) { return s.hurried.contains(t->session); };
  const auto lost = std::make_shared<outcome>();
  lost->data = failure{failure_kind::cancelled, "not stored", {}, {}};
  const auto kept =
      std::stable_partition(s.waiting.begin(), s.waiting.end(), [&](const finished& f) { return !hurried(f.what); });
  std::vector<finished> gone(kept, s.waiting.end());
  s.waiting.erase(kept, s.waiting.end());
  for (auto& f : gone) f.result = lost;
  std::erase_if(s.steps, [&](const told_trial& t) { return hurried(t.what); });
  pass_on(self, std::move(gone));
}

void trouble(recorder_self self, const error& why) {
  auto& s = self->state;
  const auto now = now_of(self);
  if (!s.failing_since) {
    s.failing_since = now;
    emit(self, s.watch, [&] { return event{event_kind::store_trouble, 0, nullptr, nullptr, why.text(), now}; });
  }
  const auto patience = why.code == errc::store_busy ? std::max(s.options.wait_for_holder, s.options.give_up_after)
                                                     : s.options.give_up_after;
  if (now - *s.failing_since >= patience) {
    for (const auto& [number, session] : s.sessions) self->send(session.owner, atom::cancel::value, why);
    // What could not be stored was never measured, as far as anyone is told; but nobody may wait for it for ever.
    const auto lost = std::make_shared<outcome>();
    lost->data = failure{failure_kind::internal, "not stored: " + why.text(), {}, {}};
    auto items = std::exchange(s.waiting, {});
    for (auto& f : items) f.result = lost;
    s.steps.clear();
    pass_on(self, std::move(items));
    end_of_group(self);
    return;
  }
  let_go(self);
  s.flush_sent = true;
  self->delayed_send(self, s.options.retry_every, atom::internal::value, atom::flush::value);
}

void write_group(recorder_self self) {
  auto& s = self->state;
  s.flush_sent = false;
  const std::size_t count = std::min(s.waiting.size(), s.options.group_bound);
  if (count == 0 && s.steps.empty()) {
    end_of_group(self);
    return;
  }
  std::vector<storage::record_item> records(count);
  for (std::size_t i = 0; i < count; ++i) {
    const finished& f = s.waiting[i];
    const auto session = s.sessions.find(f.what->session);
    records[i].what = f.what;
    records[i].result = f.result;
    if (session != s.sessions.end()) records[i].session = session->second.id;
    records[i].cacheable = conclusive(*f.result);
  }
  std::vector<storage::step_item> steps;
  steps.reserve(s.steps.size());
  for (const auto& t : s.steps) {
    const auto session = s.sessions.find(t.what->session);
    if (session == s.sessions.end()) continue;
    steps.push_back({session->second.id, t.what, t.result, t.asked_before, t.from_cache, t.record, t.amends, t.guess});
  }
  if (const auto done = s.sink.append(records, steps); !done) {
    trouble(self, done.err());
    return;
  }
  if (s.failing_since) {
    s.failing_since.reset();
    emit(self, s.watch, [&] {
      return event{event_kind::store_recovered, 0, nullptr, nullptr, "the store is written again", now_of(self)};
    });
  }
  s.steps.clear();
  for (std::size_t i = 0; i < count; ++i) s.waiting[i].record = records[i].record;
  std::vector<finished> written(std::make_move_iterator(s.waiting.begin()),
                                std::make_move_iterator(s.waiting.begin() + static_cast<std::ptrdiff_t>(count)));
  s.waiting.erase(s.waiting.begin(), s.waiting.begin() + static_cast<std::ptrdiff_t>(count));
  pass_on(self, std::move(written));
  if (!s.waiting.empty()) {
    flush_soon(self);
    return;
  }
  end_of_group(self);
}

} // namespace

recorder_actor::behavior_type recorder(recorder_self self, record_sink sink, cache_actor cache, monitor_port watch,
                                       recorder_options options) {
  auto& state = self->state;
  state.sink = std::move(sink);
  state.cache = std::move(cache);
  state.watch = std::move(watch);
  state.options = options;
  return {
      [self](atom::append, const finished_batch& batch) {
        std::vector<finished> unwritten;
        for (const auto& f : batch.items) {
          (was_cancelled(*f.result) ? unwritten : self->state.waiting).push_back(f);
        }
        pass_on(self, std::move(unwritten));
        if (!self->state.waiting.empty()) flush_soon(self);
      },
      [self](atom::journal, const step_batch& batch) {
        self->state.steps.insert(self->state.steps.end(), batch.items.begin(), batch.items.end());
        flush_soon(self);
      },
      [self](atom::recency, const recency_batch& batch) {
        if (self->state.sink.recency) self->state.sink.recency(batch);
      },
      [self](atom::attach, session_number number, const std::string& id, const tuner_actor& owner) {
        self->state.sessions[number] = {id, owner};
      },
      [self](atom::cancel, session_number number) {
        self->state.hurried.insert(number);
        if (self->state.failing_since) let_go(self);
      },
      [self](atom::detach, session_number number, nanoseconds took) {
        self->state.leaving.emplace_back(number, took);
        flush_soon(self);
      },
      [self](atom::flush) -> caf::result<caf::ok_atom> {
        auto promise = self->make_response_promise<caf::ok_atom>();
        self->state.flushes.push_back(promise);
        flush_soon(self);
        return promise;
      },
      [self](atom::invalidate, const std::string& task) -> caf::result<std::uint64_t> {
        if (!self->state.sink.invalidate) return std::uint64_t{0};
        const auto dropped = self->state.sink.invalidate(task);
        if (!dropped) return caf::make_error(ec::store);
        return *dropped;
      },
      [self](atom::internal, atom::flush) { write_group(self); },
  };
}

} // namespace attune::actors
