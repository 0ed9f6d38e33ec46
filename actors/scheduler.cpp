#include "actors/scheduler.hpp"

#include "actors/monitor.hpp"
#include "actors/scheduler_watch.hpp"
#include "actors/time.hpp"
#include "measure/substitution.hpp"

#include <algorithm>

namespace attune::actors {

static_assert(!std::is_aggregate_v<scheduler_state>);

namespace {

using schedulers::job_id;
using schedulers::place_id;

void perform(scheduler_self self);
void submit(scheduler_self self, const trial_ptr& t, const measure::artifact_ptr& built, std::uint32_t device = 0);
void remove_place(scheduler_self self, place_id id);

void emit_trial(scheduler_self self, event_kind kind, const scheduler_state::work& w, std::string_view text = {}) {
  emit(self, self->state.watch,
       [&] { return event{kind, w.what->session, w.what, nullptr, std::string(text), now_of(self)}; });
}

/// The trial that `where` has in hand under `id`; null where it has moved on (a late answer tells nothing of it).
scheduler_state::work* in_hand_at(scheduler_self self, place_id where, job_id id) {
  const auto at = self->state.in_hand.find(id);
  return at != self->state.in_hand.end() && at->second.where == where ? &at->second : nullptr;
}

void account(scheduler_state::work& w, const resource_use& used, const std::vector<std::string>& notes) {
  w.used.cpu += used.cpu;
  w.used.peak_bytes = std::max(w.used.peak_bytes, used.peak_bytes);
  w.notes.insert(w.notes.end(), notes.begin(), notes.end());
}

/// Ends the trial's present phase at `now`; the next begins.
void pass_to(scheduler_state::work& w, nanoseconds phase_times::*next, nanoseconds now) {
  w.phases.*w.phase += now - std::exchange(w.since, now);
  w.phase = next;
}

/// Why a measurement is no result of its task: a limit that is not kept.
std::optional<failure> broken_limit(scheduler_state& s, const task_ptr& of, const measure::run_result& r) {
  const auto* m = std::get_if<measurement>(&r.data);
  if (m == nullptr || of->spec.run.limits.empty()) return std::nullopt;
  if (s.limits_of != of) {
    auto made = search::run_limits::compile(of->spec);
    if (!made) return failure{failure_kind::internal, made.err().text(), {}, {}};
    s.limits_of = of;
    s.limits = std::move(*made);
  }
  return s.limits->judge(*m);
}

void on_built(scheduler_self self, place_id builder, job_id id, const measure::build_result& r) {
  auto& s = self->state;
  std::optional<failure> why;
  if (auto* w = in_hand_at(self, builder, id)) {
    account(*w, r.used, r.notes);
    pass_to(*w, &phase_times::queue, now_of(self));
    if (const auto* artifact = std::get_if<measure::artifact_ptr>(&r.data)) w->built = *artifact;
    emit_trial(self, event_kind::built, *w);
  }
  if (const auto* f = std::get_if<failure>(&r.data)) why = *f;
  s.core.built(builder, id, std::move(why), now_of(self), s.actions);
  perform(self);
}

void on_ran(scheduler_self self, place_id slot, job_id id, const measure::run_result& r) {
  auto& s = self->state;
  std::optional<failure> why;
  const auto* no_run = std::get_if<failure>(&r.data);
  // What was started ahead and comes back has not run.
  const auto has_begun = [&](const scheduler_state::work& w) {
    return w.phase != &phase_times::queue || no_run == nullptr || no_run->kind != failure_kind::cancelled;
  };
  if (auto* w = in_hand_at(self, slot, id); w != nullptr && has_begun(*w)) {
    account(*w, r.used, r.notes);
    // Started ahead, and over before it was known to have begun.
    if (w->phase == &phase_times::queue) pass_to(*w, &phase_times::run, std::max(w->since, now_of(self) - r.elapsed));
    // Since its runs are over, the runner has been cleaning up behind them.
    pass_to(*w, &phase_times::clean, std::min(now_of(self), w->since + r.elapsed));
    why = broken_limit(s, w->what->of, r);
    w->answer.emplace();
    if (const auto* m = std::get_if<measurement>(&r.data)) w->answer->data = *m;
    if (const auto* b = std::get_if<bound>(&r.data)) w->answer->data = *b;
    emit_trial(self, event_kind::ran, *w);
  }
  if (no_run != nullptr) why = *no_run;
  s.core.ran(slot, id, std::move(why), now_of(self), s.actions);
  perform(self);
}

/// Takes the trial's waiting time; returns it for whoever starts it.
scheduler_state::work& take_up(scheduler_self self, job_id id, place_id where, nanoseconds phase_times::*phase) {
  auto& s = self->state;
  auto& w = s.in_hand.at(id);
  pass_to(w, phase, now_of(self));
  w.where = where;
  w.place = s.places.at(where).name;
  w.device = s.places.at(where).device;
  return w;
}

void act(scheduler_self self, const schedulers::start_build& a) {
  auto& w = take_up(self, a.job, a.builder, &phase_times::build);
  note_company(self->state);
  emit_trial(self, event_kind::build_started, w, w.place);
  const auto& who = std::get<builder_actor>(self->state.places.at(a.builder).who);
  // No timeout of CAF's: the dispatcher's deadlines bound this wait, and a second clock would be a second owner.
  // An error says that the place has ended, or that it is not what it says: it is lost, whatever its last message says.
  self->request(who, caf::infinite, atom::build::value, build_order{w.what})
      .then([self, a](const build_report& r) { on_built(self, a.builder, a.job, *r.result); },
            [self, a](const caf::error&) { remove_place(self, a.builder); });
}

/// The slot has begun it.
void note_begun(scheduler_self self, scheduler_state::work& w, job_id job) {
  w.runs_beside = w.builds_beside = 0;
  w.all_served = self->state.core.waiting() == 0;
  self->state.timed.push_back(job);
  note_company(self->state);
  emit_trial(self, event_kind::run_started, w, w.place);
}

void act(scheduler_self self, const schedulers::start_run& a) {
  auto& w = take_up(self, a.job, a.slot, a.ahead ? &phase_times::queue : &phase_times::run);
  if (!a.ahead) note_begun(self, w, a.job);
  const auto& who = std::get<runner_actor>(self->state.places.at(a.slot).who);
  self->request(who, caf::infinite, atom::run::value, run_order{w.what, w.built})
      .then([self, a](const run_report& r) { on_ran(self, a.slot, a.job, *r.result); },
            [self, a](const caf::error&) { remove_place(self, a.slot); });
}

void act(scheduler_self self, const schedulers::begin_run& a) {
  auto& w = self->state.in_hand.at(a.job);
  pass_to(w, &phase_times::run, now_of(self));
  note_begun(self, w, a.job);
}

/// Where a slot may hold two, it is said which.
bool stop_at(scheduler_self self, place_id id, job_id job) {
  const auto& s = self->state;
  const auto at = s.places.find(id);
  const auto what = s.in_hand.find(job);
  if (at == s.places.end() || !at->second.stop) return false;
  if (what != s.in_hand.end()) at->second.stop(what->second.what);
  return true;
}

void act(scheduler_self self, const schedulers::stop_ahead& a) { stop_at(self, a.place, a.job); }

void act(scheduler_self self, const schedulers::take_back& a) {
  auto& w = self->state.in_hand.at(a.job);
  pass_to(w, &phase_times::queue, now_of(self));
  w.where = 0;
}

void act(scheduler_self self, const schedulers::stop_place& a) {
  const auto at = self->state.places.find(a.place);
  if (at == self->state.places.end() || stop_at(self, a.place, a.job)) return;
  std::visit([self](const auto& who) { self->send(who, atom::cancel::value); }, at->second.who);
}

/// A tick that is later than this shows that nobody was there to hear what came meanwhile.
constexpr auto away_after = std::chrono::seconds(5);

/// A trial of a session that has gone has ended, which was still on its way then: nothing of it is kept.
void forget_if_gone(scheduler_state& s, session_number number) {
  if (s.clients.contains(number) ||
      std::any_of(s.in_hand.begin(), s.in_hand.end(), [&](const auto& w) { return w.second.what->session == number; }))
    return;
  s.core.forget(number);
}

void end(scheduler_self self, job_id id, outcome o) {
  auto& s = self->state;
  auto node = s.in_hand.extract(id);
  auto& w = node.mapped();
  pass_to(w, &phase_times::clean, now_of(self));
  const auto& spec = w.what->of->spec;
  if (spec.finals() == 0 && !spec.wants_reference()) w.built.reset(); // its folder goes with it
  o.phases = w.phases;
  o.used = w.used;
  o.notes = std::move(w.notes);
  o.runner = std::move(w.place);
  o.at = system_time().wall();
  if (w.what->why == purpose::reference) {
    took_reference(self, w, o);
    return;
  }
  forget_if_gone(s, w.what->session);
  if (o.failed() == nullptr) {
    mark(self, id, w, o);
    take_as_reference(self, w, o);
  }
  finished f{std::move(w.what), std::make_shared<const outcome>(std::move(o)), false, 0, std::move(w.built)};
  if (f.what->why != purpose::finalist) {
    s.ended.push_back(std::move(f));
    return;
  }
  // One run says little by itself: its tuner makes a measurement of them.
  if (const auto client = s.clients.find(f.what->session); client != s.clients.end())
    self->send(client->second, atom::done::value, finished_batch{{std::move(f)}});
}

void act(scheduler_self self, const schedulers::finish_answered& a) {
  auto& w = self->state.in_hand.at(a.job);
  end(self, a.job, std::move(*w.answer));
}

void act(scheduler_self self, const schedulers::finish_failed& a) {
  auto& w = self->state.in_hand.at(a.job);
  if (a.quarantined) {
    w.notes.emplace_back("quarantined: it has lost two devices and is not tried again");
    emit_trial(self, event_kind::quarantined, w, a.why.message);
  }
  outcome o;
  o.data = a.why;
  end(self, a.job, std::move(o));
}

void act(scheduler_self self, const schedulers::retry_later& a) {
  auto& w = self->state.in_hand.at(a.job);
  pass_to(w, &phase_times::queue, now_of(self));
  w.where = 0;
  w.notes.push_back("tried again after " + std::string(to_string(a.why.kind)) + " at " + w.place + ": " +
                    a.why.message);
  emit_trial(self, event_kind::retried, w, a.why.message);
}

void act(scheduler_self self, const schedulers::start_aside& a) {
  if (const auto at = self->state.asides.find(a.ticket); at != self->state.asides.end())
    at->second.promise.deliver(caf::ok_atom::value);
}

/// It has done its work, or it has ended.
template <class Is>
void aside_done(scheduler_self self, Is is) {
  auto& s = self->state;
  for (auto at = s.asides.begin(); at != s.asides.end();) {
    if (!is(at->second)) {
      ++at;
      continue;
    }
    s.core.aside_done(at->first, now_of(self), s.actions);
    at = s.asides.erase(at);
  }
  perform(self);
}

void act(scheduler_self self, const schedulers::place_stuck& a) {
  auto& s = self->state;
  const auto at = s.places.find(a.place);
  emit(self, s.watch, [&] {
    return event{
        event_kind::place_stuck, 0, nullptr, nullptr, at == s.places.end() ? "" : at->second.name, now_of(self)};
  });
}

/// One timer at a time: a timer cannot be taken back, so a later one is set only when the earlier has come.
void arm(scheduler_self self) {
  auto& s = self->state;
  auto next = s.core.next_deadline();
  if (const auto look = next_look_at_machines(s, now_of(self)); look && (!next || *look < *next)) next = look;
  if (!next || (s.armed && *s.armed <= *next)) return;
  s.armed = next;
  const auto now = now_of(self);
  self->delayed_send(self, *next > now ? *next - now : nanoseconds(0), atom::internal::value, atom::tick::value,
                     ++s.epoch);
}

void run_references(scheduler_self self) {
  for (const auto device : look_at_machines(self)) {
    auto& seen_by = self->state.watches.at(device).seen_by;
    seen_by.under_way = true;
    submit(self, seen_by.what, seen_by.built, device);
  }
}

/// Does what the dispatcher wants, hands over what has ended, sets the timer.
void perform(scheduler_self self) {
  auto& s = self->state;
  // Doing one thing may add others (a place that is gone answers at once).
  for (bool looked = false;; looked = true) {
    for (std::size_t i = 0; i < s.actions.size(); ++i) {
      const auto next = s.actions[i];
      std::visit([self](const auto& a) { act(self, a); }, next);
    }
    s.actions.clear();
    if (looked) break;
    run_references(self);
  }
  if (!s.ended.empty()) self->send(s.recorder, atom::append::value, finished_batch{std::exchange(s.ended, {})});
  arm(self);
}

void tell_windows(scheduler_self self, const std::vector<schedulers::credit_ledger::window>& windows) {
  for (const auto& w : windows)
    if (const auto at = self->state.clients.find(w.client); at != self->state.clients.end())
      self->send(at->second, atom::credits::value, w.credits);
}

/// Where the slots are apart, each brings its own run, and its credits.
void slots_changed(scheduler_self self) {
  auto& s = self->state;
  if (!s.options.apart) return;
  auto now = s.core.limits();
  now.slots = static_cast<std::uint32_t>(std::max<std::size_t>(1, s.core.slots()));
  now.beside = now.builders;
  s.core.set_admission(now, now_of(self), s.actions);
  share_credits(self);
}

/// The number of its task's target. A new one is shown to the slots.
std::uint32_t kind_of(scheduler_self self, const trial_ptr& t) {
  auto& s = self->state;
  if (s.kind_of && s.kind_of->of == t->of && s.kind_of->session == t->session) return s.kind;
  const auto& of = *t->of;
  const auto same = std::find_if(s.kinds.begin(), s.kinds.end(), [&](const auto& k) {
    return k.second.asked->identity.target_key == of.identity.target_key;
  });
  const bool fresh = same == s.kinds.end();
  s.kind_of = t;
  s.kind = fresh ? s.next_kind++ : same->first;
  auto& kind = fresh ? s.kinds[s.kind] : same->second;
  if (s.clients.contains(t->session)) kind.by.insert(t->session);
  if (!fresh) return s.kind;
  kind.asked = t->of;
  for (const auto& [id, p] : s.places)
    if (p.serves && p.serves(of)) s.core.serve(id, s.kind, now_of(self), s.actions);
  return s.kind;
}

/// A session has gone, and what only it asked of slots.
void forget_kinds(scheduler_self self, session_number number) {
  auto& s = self->state;
  s.kind_of = nullptr;
  for (auto at = s.kinds.begin(); at != s.kinds.end();) {
    at->second.by.erase(number);
    if (!at->second.by.empty()) {
      ++at;
      continue;
    }
    s.core.forget_kind(at->first);
    at = s.kinds.erase(at);
  }
}

schedulers::slot_traits traits_of(scheduler_state& s, const place_info& info) {
  schedulers::slot_traits out;
  out.ahead = s.options.apart && info.stop != nullptr;
  if (!info.device.empty()) {
    const auto [at, fresh] = s.devices.try_emplace(info.device, s.next_device);
    if (fresh) ++s.next_device;
    out.device = at->second;
  }
  if (!info.serves) return out;
  out.kinds.emplace();
  for (const auto& [number, kind] : s.kinds)
    if (info.serves(*kind.asked)) out.kinds->push_back(number);
  return out;
}

void remove_place(scheduler_self self, place_id id) {
  auto& s = self->state;
  const auto at = s.places.find(id);
  if (at == s.places.end()) return;
  const auto device = at->second.device;
  s.core.remove_place(id, now_of(self), s.actions, at->second.absence ? at->second.absence() : 0);
  emit(self, s.watch,
       [&] { return event{event_kind::place_went, 0, nullptr, nullptr, at->second.name, now_of(self)}; });
  s.places.erase(at);
  // A machine that comes again may be another.
  if (device != 0 &&
      std::none_of(s.places.begin(), s.places.end(), [device](const auto& p) { return p.second.device == device; })) {
    drop_reference(self, device);
    if (s.devices.size() > scheduler_state::devices_kept)
      std::erase_if(s.devices, [device](const auto& d) { return d.second == device; });
  }
  slots_changed(self);
  perform(self);
}

void rest_place(scheduler_self self, const runner_actor& who, bool on) {
  auto& s = self->state;
  for (const auto& [id, p] : s.places)
    if (const auto* r = std::get_if<runner_actor>(&p.who); r != nullptr && *r == who)
      s.core.rest(id, on, now_of(self), s.actions);
  perform(self);
}

template <class Handle>
place_id add_place(scheduler_self self, const place_info& info, const Handle& who) {
  auto& s = self->state;
  const place_id id = s.next_place++;
  s.places.emplace(id, scheduler_state::place{info.name, who, info.serves, info.stop, info.absence});
  self->monitor(who);
  emit(self, s.watch, [&] { return event{event_kind::place_came, 0, nullptr, nullptr, info.name, now_of(self)}; });
  return id;
}

void submit(scheduler_self self, const trial_ptr& t, const measure::artifact_ptr& built, std::uint32_t device) {
  auto& s = self->state;
  const auto now = now_of(self);
  const job_id id = s.next_job++;
  auto& w = s.in_hand[id];
  w.what = t;
  w.built = built;
  w.device = device;
  w.since = t->why == purpose::reference ? now : t->proposed;
  emit_trial(self, event_kind::queued, w);
  if (s.cancelled.contains(t->session) && t->why == purpose::search) {
    // It was on its way when everything of its session was stopped.
    outcome o;
    o.data = failure{failure_kind::cancelled, "cancelled", {}, {}};
    end(self, id, std::move(o));
    return;
  }
  if (s.refused.of && t->why != purpose::reference)
    if (auto why = s.refused.of(*t)) {
      outcome o;
      o.data = std::move(*why);
      end(self, id, std::move(o));
      return;
    }
  const auto& spec = t->of->spec;
  // A slot that is apart does all of what must be done in its own place, in one go.
  const bool builds_there = s.options.apart && builds_at_slot(spec);
  auto run_limit = run_limit_of(*t->of, s.options.margin);
  if (builds_there && run_limit.count() > 0) run_limit += build_limit_of(spec, s.options.margin);
  const schedulers::job j{id,
                          t->why == purpose::reference ? nobody : t->session,
                          spec.build.has_value() && !built && !builds_there,
                          measure::builds_in_place(spec) && !builds_there,
                          build_limit_of(spec, s.options.margin),
                          run_limit,
                          kind_of(self, t),
                          device};
  if (s.core.submit(j, now, s.actions)) return;
  outcome o;
  o.data = failure{failure_kind::internal, "the scheduler's queue is full", {}, {}};
  end(self, id, std::move(o));
}

} // namespace

void share_credits(scheduler_self self) {
  auto& s = self->state;
  tell_windows(self, s.credits.set_total(s.options.in_flight > 0 ? s.options.in_flight : s.core.limits().in_flight()));
}

bool builds_at_slot(const task_spec& spec) {
  return spec.build && (spec.build->on == building_place::runner || measure::builds_in_place(spec));
}

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

scheduler_actor::behavior_type scheduler(scheduler_self self, recorder_actor recorder, monitor_port watch,
                                         const scheduler_options& options) {
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
    aside_done(self, [&down](const scheduler_state::aside& a) { return a.who == down.source; });
  });
  return {
      [self](atom::attach, session_number number, const tuner_actor& who, std::uint32_t wish) {
        auto& s = self->state;
        s.clients[number] = who;
        tell_windows(self, s.credits.attach(number, wish, 0, s.terms[number]));
      },
      [self](atom::attach, session_number number, const tuner_actor& who, std::uint32_t wish, session_number party) {
        auto& s = self->state;
        s.clients[number] = who;
        tell_windows(self, s.credits.attach(number, wish, party, s.terms[number]));
      },
      [self](atom::detach, session_number number) {
        auto& s = self->state;
        s.clients.erase(number);
        s.terms.erase(number);
        std::erase_if(s.terms, [&](const auto& t) {
          const bool late = t.first + scheduler_state::terms_kept < number && !s.clients.contains(t.first);
          if (late) s.core.forget(t.first);
          return late;
        });
        s.cancelled.erase(number);
        s.core.cancel(number, now_of(self), s.actions); // nobody waits for what may be on its way still
        s.core.forget(number);
        forget_references(self, number);
        forget_kinds(self, number);
        tell_windows(self, s.credits.detach(number));
        perform(self);
      },
      [self](atom::share, session_number number, const schedulers::share_terms& terms) {
        auto& s = self->state;
        s.terms[number] = terms;
        s.core.terms(number, terms, now_of(self), s.actions);
        if (s.clients.contains(number)) tell_windows(self, s.credits.change(number, terms));
        perform(self);
      },
      [self](atom::share) { return share_list{self->state.core.shares()}; },
      [self](atom::refuse, const refusal& which) {
        auto& s = self->state;
        s.refused = which;
        for (const auto& [id, w] : s.in_hand) {
          if (!which.of || w.what->why == purpose::reference) continue;
          if (const auto why = which.of(*w.what)) s.core.refuse({id}, *why, now_of(self), s.actions);
        }
        perform(self);
      },
      [self](atom::measure, const trial_batch& batch) {
        for (const auto& t : batch.items) submit(self, t, nullptr);
        perform(self);
      },
      [self](atom::again, const rerun& order) {
        submit(self, order.what, order.built);
        perform(self);
      },
      [self](atom::cancel, session_number number) {
        if (self->state.clients.contains(number)) self->state.cancelled.insert(number);
        self->state.core.cancel(number, now_of(self), self->state.actions);
        perform(self);
      },
      [self](atom::aside, std::uint64_t ticket) -> caf::result<caf::ok_atom> {
        auto& s = self->state;
        // Before the promise, which takes the sender.
        const auto who = caf::actor_cast<caf::actor_addr>(self->current_sender());
        auto promise = self->make_response_promise<caf::ok_atom>();
        const auto number = s.next_aside++;
        if (who) self->monitor(who);
        s.asides.emplace(number, scheduler_state::aside{who, ticket, promise});
        s.core.want_aside(number, now_of(self), s.actions);
        perform(self);
        return promise;
      },
      [self](atom::aside, atom::done, std::uint64_t ticket) {
        const auto who = caf::actor_cast<caf::actor_addr>(self->current_sender());
        if (who) self->demonitor(who);
        aside_done(self, [&](const scheduler_state::aside& a) { return a.who == who && a.ticket == ticket; });
      },
      [self](atom::join, const place_info& info, const builder_actor& who) {
        const auto id = add_place(self, info, who);
        self->state.core.add_builder(id, now_of(self), self->state.actions);
        perform(self);
        return id;
      },
      [self](atom::join, const place_info& info, const runner_actor& who) {
        const auto id = add_place(self, info, who);
        auto& s = self->state;
        auto traits = traits_of(s, info);
        s.places.at(id).device = traits.device;
        s.core.add_slot(id, now_of(self), s.actions, std::move(traits));
        slots_changed(self);
        perform(self);
        return id;
      },
      [self](atom::leave, std::uint32_t id) { remove_place(self, id); },
      [self](atom::pause, const runner_actor& who) { rest_place(self, who, true); },
      [self](atom::resume, const runner_actor& who) { rest_place(self, who, false); },
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
        const auto due = std::exchange(s.armed, std::nullopt);
        // A timer that comes so late was not waited for: this process was stopped, or the machine was.
        if (due && now_of(self) - *due > away_after) s.core.was_away(now_of(self));
        s.core.tick(now_of(self), s.actions);
        perform(self);
      },
  };
}

} // namespace attune::actors
