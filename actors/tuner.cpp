#include "actors/tuner.hpp"

#include "actors/error.hpp"
#include "actors/monitor.hpp"
#include "actors/time.hpp"
#include "measure/statistics.hpp"
#include "measure/substitution.hpp"

#include <algorithm>

namespace attune::actors {

static_assert(!std::is_aggregate_v<tuner_state>);

namespace {

using tuner_self = tuner_actor::stateful_pointer<tuner_state>;

/// A training takes milliseconds, and waits for a timed run at most; of a model that does not answer for so long
/// nothing is expected any more.
constexpr auto training_limit = std::chrono::minutes(60);

bool by_caller(const tuner_state& s) { return s.setup.session.how == measuring::by_caller; }

void make_report(tuner_self self) {
  auto& s = self->state;
  const auto& search = *s.setup.search;
  auto out = std::make_shared<tuning_report>();
  out->of = search.of();
  out->session = s.setup.session_id;
  out->counts = search.counts();
  out->times = search.times();
  out->wall = s.begun ? now_of(self) - s.started : nanoseconds(0);
  out->best = search.best();
  out->side_by_side = search.side_by_side();
  out->standard = search.standard();
  out->final_runs = s.final_runs;
  out->repeated = s.repeated;
  out->reason = search.reason();
  out->first_failure = search.first_failure();
  out->trouble = s.trouble;
  s.report = std::move(out);
}

/// Keeps what was built for those that may run again: the best so far, as many as there are finalists, and the default.
void keep_built(tuner_state& s, const key128& key, const measure::artifact_ptr& built) {
  const auto& search = *s.setup.search;
  const std::size_t most = search.of()->spec.finals();
  if (most == 0 || measure::builds_in_place(search.of()->spec)) return;
  if (built) s.built.emplace_back(key, built);
  const auto& best = search.contenders();
  std::erase_if(s.built, [&](const auto& kept) {
    if (search.standard() && search.standard()->key == kept.first) return false;
    const auto end = best.begin() + static_cast<std::ptrdiff_t>(std::min(most, best.size()));
    return std::find_if(best.begin(), end, [&](const auto& b) { return b.key == kept.first; }) == end;
  });
}

/// Asks for the next run of the finals; settles them where there is none.
void next_final(tuner_self self);

/// True where the best are measured side by side now.
bool in_finals(tuner_self self) {
  auto& s = self->state;
  if (s.finals || s.finals_over) return s.finals.has_value();
  s.finals_over = true;
  const auto& search = *s.setup.search;
  const auto& spec = search.of()->spec;
  const bool ordinary =
      search.reason() == search::stop_reason::trials || search.reason() == search::stop_reason::exhausted ||
      search.reason() == search::stop_reason::converged || search.reason() == search::stop_reason::time;
  if (!ordinary || by_caller(s) || spec.finals() == 0 || !search.side_by_side().empty()) return false;
  auto field = search.contenders();
  std::optional<std::size_t> reference;
  if (search.standard()) {
    const auto at =
        std::find_if(field.begin(), field.end(), [&](const auto& f) { return f.key == search.standard()->key; });
    reference = static_cast<std::size_t>(at - field.begin());
    if (at == field.end()) field.push_back(*search.standard());
  }
  std::vector<measure::run_off::entrant> entrants;
  entrants.reserve(field.size());
  for (const auto& f : field) {
    const auto& m = *f.result->measured();
    auto samples = m.samples.empty() ? std::vector<double>{m.value} : m.samples;
    if (!m.samples.empty())
      for (auto& v : samples) v = corrected(v, f.result->around, search.of()->metric().direction);
    entrants.push_back({std::move(samples), m.value});
  }
  measure::finalists_options how;
  how.most = spec.finals();
  s.finals.emplace(
      tuner_state::final_part{measure::run_off(std::move(entrants), search.of()->metric().direction, reference, how),
                              std::move(field),
                              reference,
                              nullptr,
                              {}});
  if (!s.finals->order.next()) {
    s.finals.reset();
    return false;
  }
  emit(self, s.watch, [&] {
    return event{
        event_kind::finals, s.setup.session.number, nullptr, nullptr, "the best are measured again, side by side",
        now_of(self)};
  });
  next_final(self);
  return s.finals.has_value();
}

/// Tells the allocator what is new, where there is one.
void tell_dealer(tuner_self self) {
  auto& s = self->state;
  if (!s.setup.dealer) return;
  const auto& search = *s.setup.search;
  const bool stopping = search.stopping() && search.in_flight() == 0 && s.kept.empty();
  if (s.untold.empty() && s.told_window == search.window() && s.told_stopping == stopping && !s.ended) return;
  s.told_window = search.window();
  s.told_stopping = stopping;
  self->send(s.setup.dealer, atom::note::value,
             budget_news{s.setup.member, std::exchange(s.untold, {}), search.window(), stopping, s.report});
}

/// The model outlives this: what it keeps for whoever watches it would stay, and hold the memory of this actor.
void leave_model(tuner_self self) {
  auto& model = self->state.setup.model;
  if (model) self->demonitor(model.address());
  model = nullptr;
}

/// At the end: takes leave of the others, answers everyone.
void end_if_finished(tuner_self self) {
  auto& s = self->state;
  if (s.ended || !s.setup.search->finished() || !s.kept.empty() || s.amending > 0 || in_finals(self) ||
      s.amending > 0) {
    if (!s.ended) tell_dealer(self);
    return;
  }
  s.built.clear();
  s.ended = true;
  leave_model(self);
  const auto number = s.setup.session.number;
  make_report(self);
  self->send(s.scheduler, atom::detach::value, number);
  self->send(s.cache, atom::detach::value, number);
  self->send(s.recorder, atom::detach::value, number, s.whole_began ? now_of(self) - *s.whole_began : s.report->wall);
  emit(self, s.watch, [&] {
    return event{event_kind::session_ended,           number,       nullptr, nullptr,
                 search::to_string(s.report->reason), now_of(self), s.report};
  });
  for (auto& promise : s.asking) promise.deliver(caf::make_error(ec::ended));
  for (auto& [what, promise] : s.telling) promise.deliver(caf::make_error(ec::ended));
  s.asking.clear();
  s.telling.clear();
  for (auto& promise : s.waiting_for_report) promise.deliver(s.report);
  s.waiting_for_report.clear();
  tell_dealer(self);
}

/// Everyone's result of the finals goes through the recorder, so that it is durable before it is told.
void settle(tuner_self self) {
  auto& s = self->state;
  const auto part = std::move(*s.finals);
  s.finals.reset();
  const auto standings = part.order.standings();
  finished_batch out;
  for (const auto& one : standings) {
    if (one.failed) continue; // what it did once and not again is no measurement, and no reason to forget the first
    const auto& which = part.field[one.who];
    const auto clean = measure::summarize(one.values);
    auto now = std::make_shared<outcome>(part.last);
    measurement m = *which.result->measured();
    m.value = corrected(one.value, part.last.around, s.setup.search->of()->metric().direction);
    m.spread = clean.spread;
    m.samples = one.values;
    m.rejected = clean.rejected;
    now->data = std::move(m);
    now->phases = {};
    now->used = {};
    now->notes = {"measured side by side with " + std::to_string(standings.size() - 1) + " others, " +
                  std::to_string(one.values.size()) + " times"};
    if (one.beside_winner) now->notes.emplace_back("its value is the winner's times their ratio in the same rounds");
    amendment how;
    how.why = amendment::cause::side_by_side;
    how.winner = one.winner;
    how.tied = one.tied;
    how.reference = part.reference == one.who;
    how.separated = part.order.state() == measure::finalists::verdict::separated;
    how.rounds = static_cast<std::uint32_t>(one.values.size());
    s.amendments.emplace_back(which.key, how);
    out.items.push_back({s.setup.search->again(which, purpose::finalist, now_of(self)), std::move(now), false});
  }
  s.amending += out.items.size();
  if (!out.items.empty()) {
    self->send(s.recorder, atom::append::value, std::move(out));
    return;
  }
  // There was no time for a whole round: the best stands as it was measured, and that is what this session came to.
  const auto best = s.setup.search->best();
  if (!best) return;
  amendment how;
  how.why = amendment::cause::side_by_side;
  how.winner = true;
  const auto what = s.setup.search->again(*best, purpose::finalist, now_of(self));
  const auto step = s.setup.search->amend(best->number, best->config, best->key, best->result, how);
  if (!s.setup.session_id.empty())
    self->send(s.recorder, atom::journal::value,
               step_batch{{told_trial{what, best->result, step.asked_before, true, 0, how}}});
}

void next_final(tuner_self self) {
  auto& s = self->state;
  auto& part = *s.finals;
  if (const auto who = part.order.next()) {
    const auto& which = part.field[*who];
    part.under_way = s.setup.search->again(which, purpose::finalist, now_of(self));
    const auto kept = std::find_if(s.built.begin(), s.built.end(), [&](const auto& b) { return b.first == which.key; });
    self->send(s.scheduler, atom::again::value, rerun{part.under_way, kept == s.built.end() ? nullptr : kept->second});
    return;
  }
  settle(self);
}

/// A finalist has run.
void took_final(tuner_self self, const finished& f) {
  auto& s = self->state;
  if (!s.finals || s.finals->under_way != f.what) return;
  ++s.final_runs;
  auto& part = *s.finals;
  part.under_way = nullptr;
  if (was_cancelled(*f.result)) {
    // Interrupted: what was known before stands.
    s.finals.reset();
    return;
  }
  part.last = *f.result;
  if (f.built && !measure::builds_in_place(f.what->of->spec) &&
      std::none_of(s.built.begin(), s.built.end(), [&](const auto& b) { return b.first == f.what->key; }))
    s.built.emplace_back(f.what->key, f.built);
  if (const auto* m = f.result->measured())
    part.order.add(m->value);
  else
    part.order.fail();
  if (s.setup.finals_until && now_of(self) - s.started >= *s.setup.finals_until) part.order.end();
  next_final(self);
}

/// What takes the place of an earlier result is durable now.
std::optional<told_trial> take_amendment(tuner_self self, const finished& f) {
  auto& s = self->state;
  if (s.amending > 0) --s.amending;
  amendment how;
  const auto at =
      std::find_if(s.amendments.begin(), s.amendments.end(), [&](const auto& a) { return a.first == f.what->key; });
  if (f.what->why == purpose::finalist && at != s.amendments.end()) {
    how = at->second;
    s.amendments.erase(at);
  } else if (const auto* why = f.result->failed(); why != nullptr && is_infrastructure(why->kind)) {
    return std::nullopt; // it says nothing of the configuration: what was known stands
  } else {
    ++s.repeated;
  }
  const auto step = s.setup.search->amend(f.what->number, f.what->config, f.what->key, f.result, how);
  return told_trial{f.what, f.result, step.asked_before, false, f.record, how};
}

void tell_decisions(tuner_self self) {
  auto& s = self->state;
  for (auto& text : s.setup.search->take_notes())
    emit(self, s.watch, [&] {
      return event{event_kind::decided, s.setup.session.number, nullptr, nullptr, std::move(text), now_of(self)};
    });
}

/// Proposes as far as the credits go.
void propose(tuner_self self, trial_batch& batch) {
  auto& s = self->state;
  if (s.paused || !s.begun) return;
  while (auto next = s.setup.search->propose(now_of(self))) {
    emit(self, s.watch, [&] {
      return event{event_kind::proposed,
                   next->session,
                   next,
                   nullptr,
                   {},
                   next->proposed,
                   nullptr,
                   s.setup.search->foreseen_of(next->number)};
    });
    if (s.setup.session.near)
      if (auto guess = s.setup.search->estimate_of(next->number)) s.guesses.emplace_back(next->number, *guess);
    batch.items.push_back(std::move(next));
  }
  tell_decisions(self);
}

void send_lookups(tuner_self self, trial_batch batch) {
  if (!batch.items.empty()) self->send(self->state.cache, atom::lookup::value, std::move(batch));
}

void pump(tuner_self self) {
  const auto before = now_of(self);
  trial_batch batch;
  propose(self, batch);
  self->state.setup.search->add_search_time(now_of(self) - before);
  send_lookups(self, std::move(batch));
  end_if_finished(self);
}

void told(tuner_self self, trial_batch next);
void trained(tuner_self self);

/// Lets the model's actor train what the strategy wants, where there is something. When that has ended, or does not
/// answer, the strategy trains by itself.
void hand_out_training(tuner_self self) {
  auto& s = self->state;
  if (!s.setup.model || s.setup.search->stopping()) return;
  auto job = s.setup.search->begin_training();
  if (!job) return;
  self->request(s.setup.model, training_limit, atom::train::value, std::move(job))
      .then([self](caf::ok_atom) { trained(self); },
            [self](const caf::error&) {
              leave_model(self);
              trained(self);
            });
}

/// How a trial of a measuring caller ends when the search is called back: as one that was never proposed.
outcome_ptr never_proposed() {
  static const auto gone = std::make_shared<const outcome>(
      outcome{failure{failure_kind::cancelled, "cancelled", {}, {}}, {}, {}, {}, {}, {}});
  return gone;
}

/// Ends the search: what is in the scheduler's hands is stopped, what a caller has in hand counts as never proposed.
void stop(tuner_self self, search::stop_reason why) {
  auto& s = self->state;
  s.setup.search->stop(why);
  // The end of the time calls back what is in flight, and the finals may follow: these can be called back as well.
  const bool called_back = std::exchange(s.recalled, true);
  if (s.ended || (called_back && !(s.finals && why == search::stop_reason::interrupted))) return;
  self->send(s.cache, atom::cancel::value, s.setup.session.number);
  self->send(s.recorder, atom::cancel::value, s.setup.session.number);
  if (!by_caller(s)) {
    self->send(s.scheduler, atom::cancel::value, s.setup.session.number);
  } else {
    finished_batch dropped;
    for (const auto& list : {std::vector<trial_ptr>(s.offered.begin(), s.offered.end()), s.lent})
      for (const auto& t : list) dropped.items.push_back({t, never_proposed(), false});
    s.offered.clear();
    s.lent.clear();
    if (!dropped.items.empty()) self->send(s.recorder, atom::append::value, std::move(dropped));
  }
  // What a training held back is told now: nothing more is proposed.
  if (!s.kept.empty()) told(self, {});
  end_if_finished(self);
}

/// What was to be taken for this trial's value, if the cache did not know it; it is not asked twice.
std::optional<estimate> take_guess(tuner_state& s, trial_number number) {
  const auto at = std::find_if(s.guesses.begin(), s.guesses.end(), [&](const auto& g) { return g.first == number; });
  if (at == s.guesses.end()) return std::nullopt;
  const auto out = at->second;
  s.guesses.erase(at);
  return out;
}

/// The trial's flight has ended without a measurement, because of an estimate.
std::optional<told_trial> tell_estimate(tuner_self self, const trial_ptr& what, const estimate& guess,
                                        nanoseconds now) {
  auto& s = self->state;
  const auto step = s.setup.search->tell_estimate(*what, guess, now);
  if (!step) return std::nullopt;
  emit(self, s.watch, [&] {
    const auto unit = s.setup.search->of()->metric().stored_unit();
    return event{event_kind::estimated,
                 what->session,
                 what,
                 nullptr,
                 "an estimate, between two that were measured: " + shortest(guess.value) + " " + unit,
                 now};
  });
  return told_trial{what, nullptr, step->asked_before, false, 0, std::nullopt, guess};
}

/// Tells the strategy the results at hand, as far as no training holds it.
void told(tuner_self self, trial_batch next) {
  auto& s = self->state;
  auto& search = *s.setup.search;
  step_batch steps;
  while (!s.kept.empty() && !search.held()) {
    const finished f = std::move(s.kept.front());
    s.kept.pop_front();
    if (f.what->why != purpose::search) {
      if (auto step = take_amendment(self, f); step && !s.setup.session_id.empty())
        steps.items.push_back(std::move(*step));
      continue;
    }
    const auto before = now_of(self);
    if (const auto guess = take_guess(s, f.what->number); guess && was_cancelled(*f.result) && !search.stopping()) {
      if (auto step = tell_estimate(self, f.what, *guess, before); step && !s.setup.session_id.empty())
        steps.items.push_back(std::move(*step));
      propose(self, next);
      search.add_search_time(now_of(self) - before);
      continue;
    }
    const auto step =
        search.tell(*f.what, f.result, f.from_cache, before, by_caller(s) ? std::nullopt : std::optional(f.arrived));
    if (step && !s.setup.session_id.empty())
      steps.items.push_back({f.what, f.result, step->asked_before, f.from_cache, f.record, std::nullopt});
    if (step && s.setup.dealer) {
      const auto* m = f.result->measured();
      s.untold.push_back({m != nullptr ? std::optional(m->value) : std::nullopt, f.record, f.result->at,
                          f.from_cache ? nanoseconds(0) : f.result->phases.run});
    }
    keep_built(s, f.what->key, f.built);
    emit(self, s.watch, [&] {
      return event{event_kind::told, f.what->session, f.what, f.result, f.from_cache ? "cache" : "measured",
                   now_of(self)};
    });
    for (auto it = s.telling.begin(); it != s.telling.end(); ++it) {
      if (it->first->number != f.what->number) continue;
      it->second.deliver(caf::ok_atom::value);
      s.telling.erase(it);
      break;
    }
    hand_out_training(self);
    // One after the other, so that what is asked depends on the order of the results and on nothing else.
    propose(self, next);
    search.add_search_time(now_of(self) - before);
  }
  if (!steps.items.empty()) self->send(s.recorder, atom::journal::value, std::move(steps));
  if (search.out_of_time()) stop(self, search::stop_reason::time);
  send_lookups(self, std::move(next));
  end_if_finished(self);
}

/// The training in the model's hands is over: on with the proposals that it held, then with the results that came.
void trained(tuner_self self) {
  self->state.setup.search->end_training();
  trial_batch next;
  propose(self, next);
  told(self, std::move(next));
}

void begin(tuner_self self) {
  auto& s = self->state;
  if (s.begun) return;
  s.begun = true;
  s.started = now_of(self);
  const auto number = s.setup.session.number;
  emit(self, s.watch, [&] {
    return event{event_kind::session_started, number, nullptr, nullptr, s.setup.search->of()->load.name, s.started};
  });
  s.setup.search->begin(s.started);
  self->send(s.recorder, atom::attach::value, number, s.setup.session_id, tuner_actor{self});
  self->send(s.cache, atom::attach::value, s.setup.session, tuner_actor{self});
  if (s.setup.dealer) {
    s.setup.search->allow(s.setup.search->counts().proposed);
    self->send(s.scheduler, atom::attach::value, number, tuner_actor{self}, s.setup.wish, s.setup.party);
  } else {
    self->send(s.scheduler, atom::attach::value, number, tuner_actor{self}, s.setup.wish);
  }
  if (const auto at = s.setup.search->deadline())
    self->delayed_send(self, *at - s.started, atom::internal::value, atom::tick::value);
  end_if_finished(self);
}

/// Gives callers that ask what the cache does not know.
void serve_asks(tuner_self self) {
  auto& s = self->state;
  while (!s.asking.empty() && !s.offered.empty()) {
    s.asking.front().deliver(s.offered.front());
    s.lent.push_back(s.offered.front());
    s.asking.erase(s.asking.begin());
    s.offered.pop_front();
  }
}

/// What the cache does not know: to be estimated, or else measured.
void missed(tuner_self self, const trial_batch& batch) {
  auto& s = self->state;
  static const auto unmeasured = std::make_shared<const outcome>(
      outcome{failure{failure_kind::cancelled, "estimated", {}, {}}, {}, {}, {}, {}, {}});
  finished_batch estimated, dropped;
  trial_batch measured;
  for (const auto& t : batch.items) {
    const bool guessed =
        std::any_of(s.guesses.begin(), s.guesses.end(), [&](const auto& g) { return g.first == t->number; });
    if (guessed)
      estimated.items.push_back({t, unmeasured, false});
    else if (by_caller(s) && s.recalled)
      dropped.items.push_back({t, never_proposed(), false}); // it was being looked up when the search was called back
    else if (by_caller(s))
      s.offered.push_back(t);
    else
      measured.items.push_back(t);
  }
  // Its flight ends at the cache, where somebody else's trial may wait for it, and takes over.
  if (!estimated.items.empty()) self->send(s.cache, atom::fill::value, std::move(estimated));
  if (!measured.items.empty()) self->send(s.scheduler, atom::measure::value, std::move(measured));
  if (!dropped.items.empty()) self->send(s.recorder, atom::append::value, std::move(dropped));
  serve_asks(self);
}

} // namespace

std::optional<double> speedup(const tuning_report& r) {
  if (!r.best || !r.standard) return std::nullopt;
  const double before = r.standard->result->measured()->value, after = r.best->result->measured()->value;
  if (!(before > 0) || !(after > 0)) return std::nullopt;
  return r.of->metric().direction == goal::minimize ? before / after : after / before;
}

tuner_actor::behavior_type tuner(tuner_self self, const std::shared_ptr<tuner_setup>& setup, cache_actor cache,
                                 scheduler_actor scheduler, recorder_actor recorder, monitor_port watch) {
  auto& state = self->state;
  state.setup = std::move(*setup);
  state.cache = std::move(cache);
  state.scheduler = std::move(scheduler);
  state.recorder = std::move(recorder);
  state.watch = std::move(watch);
  state.setup.search->set_window(0);
  if (state.setup.model) {
    self->monitor(state.setup.model);
    self->set_down_handler([self](const caf::down_msg&) {
      self->state.setup.model = nullptr;
      trained(self);
    });
  }
  return {
      [self](atom::begin) { begin(self); },
      [self](atom::pause) {
        self->state.paused = true;
        return caf::ok_atom::value;
      },
      [self](atom::resume) {
        self->state.paused = false;
        pump(self);
        return caf::ok_atom::value;
      },
      [self](atom::cancel) {
        stop(self, search::stop_reason::interrupted);
        return caf::ok_atom::value;
      },
      [self](atom::status) {
        const auto& s = self->state;
        return tuner_status{s.setup.search->counts(),
                            s.setup.search->best(),
                            s.setup.search->in_flight(),
                            s.setup.search->window(),
                            s.paused,
                            s.ended};
      },
      [self](atom::report) -> caf::result<report_ptr> {
        auto promise = self->make_response_promise<report_ptr>();
        if (self->state.report)
          promise.deliver(self->state.report);
        else
          self->state.waiting_for_report.push_back(promise);
        return promise;
      },
      [self](atom::ask) -> caf::result<trial_ptr> {
        if (!by_caller(self->state)) return caf::make_error(ec::not_by_caller);
        if (self->state.ended) return caf::make_error(ec::ended);
        auto promise = self->make_response_promise<trial_ptr>();
        self->state.asking.push_back(promise);
        serve_asks(self);
        return promise;
      },
      [self](atom::tell, trial_number number, const outcome_ptr& result) -> caf::result<caf::ok_atom> {
        auto& s = self->state;
        const auto at = std::find_if(s.lent.begin(), s.lent.end(), [&](const auto& t) { return t->number == number; });
        if (at == s.lent.end()) return caf::make_error(ec::unknown_trial);
        auto promise = self->make_response_promise<caf::ok_atom>();
        s.telling.emplace_back(*at, promise);
        self->send(s.recorder, atom::append::value, finished_batch{{{*at, result, false}}});
        s.lent.erase(at);
        return promise;
      },
      [self](atom::credits, std::uint32_t credits) {
        self->state.setup.search->set_window(credits);
        pump(self);
      },
      [self](atom::done, const finished_batch& batch) {
        const auto now = now_of(self);
        for (const auto& f : batch.items) {
          if (self->state.finals && self->state.finals->under_way == f.what)
            took_final(self, f);
          else
            self->state.kept.emplace_back(f).arrived = now;
        }
        told(self, {});
      },
      [self](atom::miss, const trial_batch& batch) { missed(self, batch); },
      [self](atom::doubt, const trial_batch& batch) {
        auto& s = self->state;
        // Side by side it does not matter.
        if (s.ended || s.recalled || s.finals || by_caller(s)) return;
        const auto& best = s.setup.search->contenders();
        for (const auto& t : batch.items) {
          // Of many, those that may be the best.
          if (batch.items.size() > 32 &&
              std::none_of(best.begin(), best.end(), [&](const auto& b) { return b.key == t->key; }))
            continue;
          auto again = std::make_shared<trial>(*t);
          again->why = purpose::repeat;
          again->proposed = now_of(self);
          again->rival.reset();
          const auto kept =
              std::find_if(s.built.begin(), s.built.end(), [&](const auto& b) { return b.first == t->key; });
          ++s.amending;
          self->send(s.scheduler, atom::again::value,
                     rerun{std::move(again), kept == s.built.end() ? nullptr : kept->second});
        }
      },
      [self](atom::cancel, const error& why) {
        self->state.trouble = why;
        stop(self, search::stop_reason::error);
      },
      [self](atom::allow, const budget_allowance& now) {
        self->state.setup.search->allow(now.trials);
        self->state.whole_began = now.began;
        pump(self);
      },
      [self](atom::finish, const budget_end& how) {
        auto& s = self->state;
        if (how.why == search::stop_reason::interrupted) {
          stop(self, how.why);
          return;
        }
        if (s.setup.search->stopping()) return;
        if (how.finals_until) s.setup.finals_until = *how.finals_until - s.started;
        if (how.why == search::stop_reason::time) {
          stop(self, how.why);
          return;
        }
        s.setup.search->stop(how.why);
        end_if_finished(self);
      },
      [self](atom::internal, atom::tick) {
        self->state.setup.search->tick(now_of(self));
        if (self->state.setup.search->out_of_time()) stop(self, search::stop_reason::time);
      },
  };
}

} // namespace attune::actors
