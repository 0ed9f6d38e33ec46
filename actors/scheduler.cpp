#include "actors/scheduler.hpp"

#include "actors/monitor.hpp"
#include "actors/time.hpp"
#include "measure/substitution.hpp"

#include <algorithm>

namespace attune::actors {

static_assert(!std::is_aggregate_v<scheduler_state>);

namespace {

using self_pointer = scheduler_actor::stateful_pointer<scheduler_state>;
using schedulers::job_id;
using schedulers::place_id;

void perform(self_pointer self);
void remove_place(self_pointer self, place_id id);

void emit_trial(self_pointer self, event_kind kind, const scheduler_state::work& w, std::string text = {}) {
  emit(self, self->state.watch,
       [&] { return event{kind, w.what->session, w.what, nullptr, std::move(text), now_of(self)}; });
}

/// The trial that `where` has in hand under `id`; null where it has moved on (a late answer tells nothing of it).
scheduler_state::work* in_hand_at(self_pointer self, place_id where, job_id id) {
  const auto at = self->state.in_hand.find(id);
  return at != self->state.in_hand.end() && at->second.where == where ? &at->second : nullptr;
}

void account(scheduler_state::work& w, const resource_use& used, const std::vector<std::string>& notes) {
  w.used.cpu += used.cpu;
  w.used.peak_bytes = std::max(w.used.peak_bytes, used.peak_bytes);
  w.notes.insert(w.notes.end(), notes.begin(), notes.end());
}

void on_built(self_pointer self, place_id builder, job_id id, const measure::build_result& r) {
  auto& s = self->state;
  std::optional<failure> why;
  if (auto* w = in_hand_at(self, builder, id)) {
    account(*w, r.used, r.notes);
    w->phases.build += r.elapsed;
    w->since = now_of(self);
    if (const auto* artifact = std::get_if<measure::artifact_ptr>(&r.data)) w->built = *artifact;
    emit_trial(self, event_kind::built, *w);
  }
  if (const auto* f = std::get_if<failure>(&r.data)) why = *f;
  s.core.built(builder, id, std::move(why), now_of(self), s.actions);
  perform(self);
}

void on_ran(self_pointer self, place_id slot, job_id id, const measure::run_result& r) {
  auto& s = self->state;
  std::optional<failure> why;
  if (auto* w = in_hand_at(self, slot, id)) {
    account(*w, r.used, r.notes);
    w->phases.run += r.elapsed;
    w->answer.emplace();
    if (const auto* m = std::get_if<measurement>(&r.data)) w->answer->data = *m;
    if (const auto* b = std::get_if<bound>(&r.data)) w->answer->data = *b;
    emit_trial(self, event_kind::ran, *w);
  }
  if (const auto* f = std::get_if<failure>(&r.data)) why = *f;
  s.core.ran(slot, id, std::move(why), now_of(self), s.actions);
  perform(self);
}

/// Takes the trial's waiting time; returns it for whoever starts it.
scheduler_state::work& take_up(self_pointer self, job_id id, place_id where) {
  auto& s = self->state;
  auto& w = s.in_hand.at(id);
  const auto now = now_of(self);
  w.phases.queue += now - w.since;
  w.since = now;
  w.where = where;
  w.place = s.places.at(where).name;
  return w;
}

void act(self_pointer self, const schedulers::start_build& a) {
  auto& w = take_up(self, a.job, a.builder);
  emit_trial(self, event_kind::build_started, w, w.place);
  const auto& who = std::get<builder_actor>(self->state.places.at(a.builder).who);
  // No timeout of CAF's: the dispatcher's deadlines bound this wait, and a second clock would be a second owner.
  // An error says that the place has ended, or that it is not what it says: it is lost, whatever its last message says.
  self->request(who, caf::infinite, atom::build::value, build_order{w.what})
      .then([self, a](const build_report& r) { on_built(self, a.builder, a.job, *r.result); },
            [self, a](const caf::error&) { remove_place(self, a.builder); });
}

void act(self_pointer self, const schedulers::start_run& a) {
  auto& w = take_up(self, a.job, a.slot);
  emit_trial(self, event_kind::run_started, w, w.place);
  const auto& who = std::get<runner_actor>(self->state.places.at(a.slot).who);
  self->request(who, caf::infinite, atom::run::value, run_order{w.what, w.built})
      .then([self, a](const run_report& r) { on_ran(self, a.slot, a.job, *r.result); },
            [self, a](const caf::error&) { remove_place(self, a.slot); });
}

void act(self_pointer self, const schedulers::stop_place& a) {
  const auto at = self->state.places.find(a.place);
  if (at == self->state.places.end()) return;
  std::visit([self](const auto& who) { self->send(who, atom::cancel::value); }, at->second.who);
}

void end(self_pointer self, job_id id, outcome o) {
  auto& s = self->state;
  auto node = s.in_hand.extract(id);
  auto& w = node.mapped();
  o.phases = w.phases;
  o.used = w.used;
  o.notes = std::move(w.notes);
  o.runner = std::move(w.place);
  o.at = system_time().wall();
  s.ended.push_back({std::move(w.what), std::make_shared<const outcome>(std::move(o)), false});
}

void act(self_pointer self, const schedulers::finish_answered& a) {
  auto& w = self->state.in_hand.at(a.job);
  end(self, a.job, std::move(*w.answer));
}

void act(self_pointer self, const schedulers::finish_failed& a) {
  auto& w = self->state.in_hand.at(a.job);
  if (a.quarantined) {
    w.notes.emplace_back("quarantined: it has lost two devices and is not tried again");
    emit_trial(self, event_kind::quarantined, w, a.why.message);
  }
  outcome o;
  o.data = a.why;
  end(self, a.job, std::move(o));
}

void act(self_pointer self, const schedulers::retry_later& a) {
  auto& w = self->state.in_hand.at(a.job);
  w.since = now_of(self);
  w.where = 0;
  w.notes.push_back("tried again after " + std::string(to_string(a.why.kind)) + " at " + w.place + ": " +
                    a.why.message);
  emit_trial(self, event_kind::retried, w, a.why.message);
}

void act(self_pointer self, const schedulers::place_stuck& a) {
  auto& s = self->state;
  const auto at = s.places.find(a.place);
  emit(self, s.watch, [&] {
    return event{
        event_kind::place_stuck, 0, nullptr, nullptr, at == s.places.end() ? "" : at->second.name, now_of(self)};
  });
}

/// One timer at a time: a timer cannot be taken back, so a later one is set only when the earlier has come.
void arm(self_pointer self) {
  auto& s = self->state;
  const auto next = s.core.next_deadline();
  if (!next || (s.armed && *s.armed <= *next)) return;
  s.armed = next;
  const auto now = now_of(self);
  self->delayed_send(self, *next > now ? *next - now : nanoseconds(0), atom::internal::value, atom::tick::value,
                     ++s.epoch);
}

/// Does what the dispatcher wants, hands over what has ended, sets the timer.
void perform(self_pointer self) {
  auto& s = self->state;
  // Doing one thing may add others (a place that is gone answers at once).
  for (std::size_t i = 0; i < s.actions.size(); ++i) {
    const auto next = s.actions[i];
    std::visit([self](const auto& a) { act(self, a); }, next);
  }
  s.actions.clear();
  if (!s.ended.empty()) self->send(s.recorder, atom::append::value, finished_batch{std::exchange(s.ended, {})});
  arm(self);
}

void tell_windows(self_pointer self, const std::vector<schedulers::credit_ledger::window>& windows) {
  for (const auto& w : windows)
    if (const auto at = self->state.clients.find(w.client); at != self->state.clients.end())
      self->send(at->second, atom::credits::value, w.credits);
}

void share_credits(self_pointer self) {
  auto& s = self->state;
  const auto& a = s.options.dispatcher.admission;
  const std::uint32_t automatic = std::max(a.slots, a.builders) + 1;
  tell_windows(self, s.credits.set_total(s.options.in_flight > 0 ? s.options.in_flight : automatic));
}

void remove_place(self_pointer self, place_id id) {
  auto& s = self->state;
  const auto at = s.places.find(id);
  if (at == s.places.end()) return;
  s.core.remove_place(id, now_of(self), s.actions);
  emit(self, s.watch,
       [&] { return event{event_kind::place_went, 0, nullptr, nullptr, at->second.name, now_of(self)}; });
  s.places.erase(at);
  perform(self);
}

template <class Handle>
place_id add_place(self_pointer self, const place_info& info, const Handle& who) {
  auto& s = self->state;
  const place_id id = s.next_place++;
  s.places.emplace(id, scheduler_state::place{info.name, who});
  self->monitor(who);
  emit(self, s.watch, [&] { return event{event_kind::place_came, 0, nullptr, nullptr, info.name, now_of(self)}; });
  return id;
}

} // namespace

nanoseconds build_limit_of(const task_spec& spec, nanoseconds margin) {
  return spec.build && spec.build->timeout.count() > 0 ? spec.build->timeout + margin : nanoseconds(0);
}

nanoseconds run_limit_of(const task& t, nanoseconds margin) {
  const auto& run = t.spec.run;
  if (run.timeout.count() <= 0) return nanoseconds(0);
  const auto times = static_cast<std::int64_t>(run.warmup) + std::max(run.repeats.max, run.repeats.min);
  nanoseconds limit = run.timeout * times;
  if (!run.check.run.empty()) limit += run.check.timeout;
  return t.objective ? limit : limit + margin;
}

scheduler_actor::behavior_type scheduler(self_pointer self, recorder_actor recorder, monitor_port watch,
                                         scheduler_options options) {
  auto& state = self->state;
  state.options = options;
  state.core = schedulers::dispatcher(options.dispatcher);
  state.recorder = std::move(recorder);
  state.watch = std::move(watch);
  share_credits(self);
  self->set_down_handler([self](const caf::down_msg& down) {
    for (const auto& [id, p] : self->state.places) {
      const auto address = std::visit([](const auto& who) { return who.address(); }, p.who);
      if (address != down.source) continue;
      remove_place(self, id);
      return;
    }
  });
  return {
      [self](atom::attach, session_number number, const tuner_actor& who, std::uint32_t wish) {
        self->state.clients[number] = who;
        tell_windows(self, self->state.credits.attach(number, wish));
      },
      [self](atom::detach, session_number number) {
        auto& s = self->state;
        s.clients.erase(number);
        s.cancelled.erase(number);
        s.core.forget(number);
        tell_windows(self, s.credits.detach(number));
      },
      [self](atom::measure, const trial_batch& batch) {
        auto& s = self->state;
        const auto now = now_of(self);
        for (const auto& t : batch.items) {
          const job_id id = s.next_job++;
          auto& w = s.in_hand[id];
          w.what = t;
          w.since = now;
          emit_trial(self, event_kind::queued, w);
          if (s.cancelled.contains(t->session)) {
            // It was on its way when everything of its session was stopped.
            outcome o;
            o.data = failure{failure_kind::cancelled, "cancelled", {}, {}};
            end(self, id, std::move(o));
            continue;
          }
          const auto& spec = t->of->spec;
          const schedulers::job j{id,
                                  t->session,
                                  spec.build.has_value(),
                                  measure::builds_in_place(spec),
                                  build_limit_of(spec, s.options.margin),
                                  run_limit_of(*t->of, s.options.margin)};
          if (s.core.submit(j, now, s.actions)) continue;
          outcome o;
          o.data = failure{failure_kind::internal, "the scheduler's queue is full", {}, {}};
          end(self, id, std::move(o));
        }
        perform(self);
      },
      [self](atom::cancel, session_number number) {
        if (self->state.clients.contains(number)) self->state.cancelled.insert(number);
        self->state.core.cancel(number, now_of(self), self->state.actions);
        perform(self);
      },
      [self](atom::join, const place_info& info, const builder_actor& who) {
        const auto id = add_place(self, info, who);
        self->state.core.add_builder(id, now_of(self), self->state.actions);
        perform(self);
        return id;
      },
      [self](atom::join, const place_info& info, const runner_actor& who) {
        const auto id = add_place(self, info, who);
        self->state.core.add_slot(id, now_of(self), self->state.actions);
        perform(self);
        return id;
      },
      [self](atom::leave, std::uint32_t id) { remove_place(self, id); },
      [self](atom::status) {
        const auto& s = self->state;
        std::uint32_t credits = 0;
        for (const auto& [number, who] : s.clients) credits += s.credits.of(number);
        return scheduler_status{
            s.core.in_hand(), s.core.waiting(), s.core.load().building, s.core.load().running, s.core.slots(),
            s.clients.size(), credits};
      },
      [self](atom::internal, atom::tick, std::uint64_t epoch) {
        auto& s = self->state;
        if (epoch != s.epoch) return; // an earlier timer, overtaken by a nearer deadline
        s.armed.reset();
        s.core.tick(now_of(self), s.actions);
        perform(self);
      },
  };
}

} // namespace attune::actors
