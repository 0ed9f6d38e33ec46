#include "schedulers/dispatcher.hpp"

#include <algorithm>

namespace attune::schedulers {

void dispatcher::add_builder(place_id id, nanoseconds now, std::vector<action>& out) {
  places_.push_back({id, place{}});
  dispatch(now, out);
}

void dispatcher::add_slot(place_id id, nanoseconds now, std::vector<action>& out) {
  places_.push_back({id, place{}});
  places_.back().second.slot = true;
  ++slots_;
  dispatch(now, out);
}

void dispatcher::remove_place(place_id id, nanoseconds now, std::vector<action>& out) {
  place* p = find_place(id);
  if (p == nullptr) return;
  const bool was_slot = p->slot, was_stuck = p->stuck;
  const auto held = p->job;
  std::erase_if(places_, [id](const auto& entry) { return entry.first == id; });
  if (was_slot) --slots_;
  if (held && !was_stuck) {
    --(was_slot ? load_.running : load_.building);
    if (const auto at = jobs_.find(*held); at != jobs_.end()) {
      job_state& s = at->second;
      const failure lost{failure_kind::device_lost,
                         was_slot ? "the device went away during the run" : "the builder went away during the build",
                         {},
                         {}};
      fail(s, s.verdict.value_or(lost), id, now, out);
    }
  }
  // A trial that failed everywhere else was waiting for this place alone.
  std::vector<job_id> hopeless;
  for (auto& [job, s] : jobs_)
    if ((s.at == stage::to_build || s.at == stage::to_run) && !s.faults.failed_places().empty() &&
        !could_be_served(s, true) && could_be_served(s, false))
      hopeless.push_back(job);
  for (const auto job : hopeless)
    finish(jobs_.at(job), failure{failure_kind::device_lost, "no other device is left to try it on", {}, {}}, false,
           out);
  dispatch(now, out);
}

void dispatcher::set_admission(quiet_admission a, nanoseconds now, std::vector<action>& out) {
  options_.admission = a;
  dispatch(now, out);
}

bool dispatcher::submit(const job& j, nanoseconds now, std::vector<action>& out) {
  if (jobs_.size() >= options_.queue_bound) return false;
  auto [at, added] = jobs_.try_emplace(j.id);
  if (!added) return false;
  at->second.what = j;
  at->second.at = j.needs_build ? stage::to_build : stage::to_run;
  enqueue(at->second, now, false);
  dispatch(now, out);
  return true;
}

void dispatcher::enqueue(job_state& s, nanoseconds now, bool first) {
  s.waiting_since = now;
  auto& queue = s.at == stage::to_build ? to_build_ : to_run_;
  if (first)
    queue.push_front(s.what.client, s.what.id);
  else
    queue.push(s.what.client, s.what.id);
  load_.ready = static_cast<std::uint32_t>(to_run_.size());
}

dispatcher::place* dispatcher::find_place(place_id id) {
  for (auto& [name, p] : places_)
    if (name == id) return &p;
  return nullptr;
}

std::pair<place_id, dispatcher::place>* dispatcher::free_place(bool slot, const job_state& s) {
  for (auto& entry : places_) {
    const place& p = entry.second;
    if (p.slot == slot && !p.job && !p.stuck && !s.faults.failed_at(entry.first)) return &entry;
  }
  return nullptr;
}

bool dispatcher::could_be_served(const job_state& s, bool spare_failed) const {
  const bool slot = s.at == stage::to_run || s.at == stage::running;
  return std::any_of(places_.begin(), places_.end(), [&](const auto& entry) {
    return entry.second.slot == slot && !entry.second.stuck && !(spare_failed && s.faults.failed_at(entry.first));
  });
}

bool dispatcher::builds_turn() const {
  // Runs go first, but a stream of trials that need no build must not keep the builders waiting for ever.
  return !to_build_.empty() && runs_since_build_ >= std::max<std::uint32_t>(4, 2 * options_.admission.builders);
}

void dispatcher::dispatch(nanoseconds now, std::vector<action>& out) {
  while (dispatch_run(now, out) || dispatch_build(now, out)) {
  }
}

bool dispatcher::dispatch_run(nanoseconds now, std::vector<action>& out) {
  if (to_run_.empty() || load_.building > 0) return false;
  if (!section_ && (builds_turn() || !options_.admission.may_run(load_))) return false;
  std::pair<place_id, place>* where = nullptr;
  const auto id = to_run_.pop_if([&](job_id candidate) {
    if (section_ && *section_ != candidate) return false;
    where = free_place(true, jobs_.at(candidate));
    return where != nullptr;
  });
  if (!id) return false;
  job_state& s = jobs_.at(*id);
  s.at = stage::running;
  s.where = where->first;
  where->second.job = *id;
  where->second.stopping = false;
  where->second.deadline = s.what.run_limit.count() > 0 ? now + s.what.run_limit : nanoseconds::max();
  ++load_.running;
  ++runs_since_build_;
  load_.ready = static_cast<std::uint32_t>(to_run_.size());
  out.push_back(start_run{*id, where->first});
  return true;
}

bool dispatcher::dispatch_build(nanoseconds now, std::vector<action>& out) {
  if (to_build_.empty() || section_) return false;
  auto load = load_;
  if (builds_turn()) load.ready = 0;
  if (!options_.admission.may_build(load)) return false;
  std::pair<place_id, place>* where = nullptr;
  const auto id = to_build_.pop_if([&](job_id candidate) {
    const job_state& s = jobs_.at(candidate);
    // A section begins only on a machine where nothing is going on and nothing that is built waits.
    if (s.what.exclusive && (load_.building > 0 || load_.running > 0)) return false;
    where = free_place(false, s);
    return where != nullptr;
  });
  if (!id) return false;
  job_state& s = jobs_.at(*id);
  s.at = stage::building;
  s.where = where->first;
  where->second.job = *id;
  where->second.stopping = false;
  where->second.deadline = s.what.build_limit.count() > 0 ? now + s.what.build_limit : nanoseconds::max();
  ++load_.building;
  runs_since_build_ = 0;
  if (s.what.exclusive) {
    section_ = *id;
    load_.section_taken = true;
  }
  out.push_back(start_build{*id, where->first});
  return true;
}

void dispatcher::built(place_id builder, job_id id, std::optional<failure> why, nanoseconds now,
                       std::vector<action>& out) {
  answered(builder, id, std::move(why), now, out);
  dispatch(now, out);
}

void dispatcher::ran(place_id slot, job_id id, std::optional<failure> why, nanoseconds now, std::vector<action>& out) {
  answered(slot, id, std::move(why), now, out);
  dispatch(now, out);
}

void dispatcher::answered(place_id id, job_id job, std::optional<failure> why, nanoseconds now,
                          std::vector<action>& out) {
  place* p = find_place(id);
  if (p == nullptr || p->job != job) return;
  const bool was_stuck = p->stuck;
  p->job.reset();
  p->stopping = p->stuck = false;
  if (!was_stuck) --(p->slot ? load_.running : load_.building);
  const auto at = jobs_.find(job);
  // Late: the trial ended when the place was given up (its job number may not be found, or the trial may be elsewhere
  // by now).
  if (was_stuck || at == jobs_.end()) return;
  job_state& s = at->second;
  if (s.verdict) {
    const failure decided = *s.verdict;
    fail(s, decided, id, now, out);
  } else if (why) {
    fail(s, *why, id, now, out);
  } else if (s.at == stage::building) {
    s.at = stage::to_run;
    enqueue(s, now, false);
  } else {
    finish(s, std::nullopt, false, out);
  }
}

void dispatcher::fail(job_state& s, const failure& why, place_id at, nanoseconds now, std::vector<action>& out) {
  const auto verdict = s.faults.failed(why.kind, at, options_.retry);
  if (verdict != retry_state::verdict::again) {
    finish(s, why, verdict == retry_state::verdict::quarantined, out);
    return;
  }
  // What was built in place is gone when another trial may have entered: such a trial starts again at its build.
  const bool build_again =
      s.at == stage::building || (s.at == stage::running && s.what.exclusive && s.what.needs_build);
  s.at = build_again ? stage::to_build : stage::to_run;
  s.verdict.reset();
  if (section_ == s.what.id) {
    section_.reset();
    load_.section_taken = false;
  }
  if (!could_be_served(s, true) && could_be_served(s, false)) {
    finish(s, why, false, out); // never again on the place that just failed, and there is no other
    return;
  }
  out.push_back(retry_later{s.what.id, why, at});
  enqueue(s, now, true);
}

void dispatcher::finish(job_state& s, std::optional<failure> why, bool quarantined, std::vector<action>& out) {
  const job_id id = s.what.id;
  if (s.at == stage::to_build || s.at == stage::to_run) {
    auto& queue = s.at == stage::to_build ? to_build_ : to_run_;
    queue.remove_if([id](const job_id& other) { return other == id; }, [](job_id) {});
    load_.ready = static_cast<std::uint32_t>(to_run_.size());
  }
  if (section_ == id) {
    section_.reset();
    load_.section_taken = false;
  }
  if (why)
    out.push_back(finish_failed{id, std::move(*why), quarantined});
  else
    out.push_back(finish_answered{id});
  jobs_.erase(id);
}

void dispatcher::forget(std::uint64_t client) {
  to_build_.forget(client);
  to_run_.forget(client);
}

void dispatcher::stop(place_id id, place& p, nanoseconds now, std::vector<action>& out) {
  if (p.stopping) return;
  p.stopping = true;
  p.deadline = now + options_.grace;
  out.push_back(stop_place{id, *p.job});
}

void dispatcher::cancel(std::uint64_t client, nanoseconds now, std::vector<action>& out) {
  const failure why{failure_kind::cancelled, "cancelled", {}, {}};
  std::vector<job_id> doomed;
  for (const auto& [id, s] : jobs_)
    if (s.what.client == client) doomed.push_back(id);
  std::sort(doomed.begin(), doomed.end());
  for (const auto id : doomed) {
    job_state& s = jobs_.at(id);
    if (s.at == stage::to_build || s.at == stage::to_run) {
      finish(s, why, false, out);
      continue;
    }
    s.verdict = why;
    if (place* p = find_place(s.where); p != nullptr && p->job == id) stop(s.where, *p, now, out);
  }
  dispatch(now, out);
}

void dispatcher::tick(nanoseconds now, std::vector<action>& out) {
  for (auto& [id, p] : places_) {
    if (!p.job || p.stuck || now < p.deadline) continue;
    const auto at = jobs_.find(*p.job);
    if (at == jobs_.end()) continue;
    job_state& s = at->second;
    if (!p.stopping) {
      if (!s.verdict)
        s.verdict = failure{p.slot ? failure_kind::run_timeout : failure_kind::build_timeout,
                            p.slot ? "the run did not end within its limit" : "the build did not end within its limit",
                            {},
                            {}};
      stop(id, p, now, out);
      continue;
    }
    // Told to stop, and no answer within the grace: the trial's verdict stands, the place is out of service until it
    // answers.
    p.stuck = true;
    --(p.slot ? load_.running : load_.building);
    out.push_back(place_stuck{id, *p.job});
    failure why = s.verdict.value_or(failure{failure_kind::internal, "no answer", {}, {}});
    why.message += "; it did not stop when told to, and its place is out of service until it does";
    finish(s, std::move(why), false, out);
  }
  std::vector<job_id> waiting;
  for (const auto& [id, s] : jobs_)
    if ((s.at == stage::to_build || s.at == stage::to_run) && !could_be_served(s, false) &&
        now >= s.waiting_since + options_.no_place_wait)
      waiting.push_back(id);
  std::sort(waiting.begin(), waiting.end());
  for (const auto id : waiting) {
    job_state& s = jobs_.at(id);
    const bool build = s.at == stage::to_build;
    finish(
        s,
        failure{failure_kind::device_lost,
                std::string(build ? "no builder" : "no device") + " came within " +
                    std::to_string(std::chrono::duration_cast<std::chrono::seconds>(options_.no_place_wait).count()) +
                    " s",
                {},
                {}},
        false, out);
  }
  dispatch(now, out);
}

std::optional<nanoseconds> dispatcher::next_deadline() const {
  std::optional<nanoseconds> next;
  const auto earlier = [&next](nanoseconds t) {
    if (t != nanoseconds::max() && (!next || t < *next)) next = t;
  };
  bool builder = false, slot = false;
  for (const auto& [id, p] : places_) {
    if (p.job && !p.stuck) earlier(p.deadline);
    if (!p.stuck) (p.slot ? slot : builder) = true;
  }
  if ((builder || to_build_.empty()) && (slot || to_run_.empty())) return next;
  for (const auto& [id, s] : jobs_)
    if ((s.at == stage::to_build && !builder) || (s.at == stage::to_run && !slot))
      earlier(s.waiting_since + options_.no_place_wait);
  return next;
}

} // namespace attune::schedulers
