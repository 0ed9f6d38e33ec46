#include "schedulers/dispatcher.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <utility>

namespace attune::schedulers {

namespace {

/// `now + d`, and the end of time where that would be beyond it.
nanoseconds after(nanoseconds now, nanoseconds d) {
  return d > nanoseconds::max() - now ? nanoseconds::max() : now + d;
}

/// A limit of nothing at once would leave every trial waiting without end.
schedulers::admission at_least_one(schedulers::admission a) {
  a.slots = std::max<std::uint32_t>(a.slots, 1);
  a.builders = std::max<std::uint32_t>(a.builders, 1);
  return a;
}

/// Marks the owner's number of a client that is its own.
constexpr std::uint64_t own_owner = std::uint64_t{1} << 62;

failure no_other_place(failure last) {
  last.message += "; there is no other place in service to try it on";
  return last;
}

} // namespace

dispatcher::dispatcher(dispatcher_options options) : options_(options) {
  options_.admission = at_least_one(options.admission);
}

void dispatcher::add_builder(place_id id, nanoseconds now, std::vector<action>& out) {
  add_place(id, false, {}, now, out);
}

void dispatcher::add_slot(place_id id, nanoseconds now, std::vector<action>& out, slot_traits what) {
  add_place(id, true, std::move(what), now, out);
}

void dispatcher::serve(place_id slot, std::uint32_t kind, nanoseconds now, std::vector<action>& out) {
  place* p = find_place(slot);
  if (p == nullptr || !p->slot || !p->what.kinds) return;
  p->what.kinds->push_back(kind);
  places_changed(now, out);
  dispatch(now, out);
}

bool dispatcher::suits(const place& p, const job_state& s) {
  if (!p.slot) return true;
  if (s.what.device != 0 && s.what.device != p.what.device) return false;
  return !p.what.kinds || std::find(p.what.kinds->begin(), p.what.kinds->end(), s.what.kind) != p.what.kinds->end();
}

void dispatcher::count_run(job_state& s, bool counts) {
  if (s.to_be_run == counts) return;
  s.to_be_run = counts;
  counts ? ++runs_served_ : --runs_served_;
  if (s.what.needs_build) counts ? ++load_.ready : --load_.ready;
}

void dispatcher::add_place(place_id id, bool slot, slot_traits what, nanoseconds now, std::vector<action>& out) {
  if (find_place(id) != nullptr) return;
  places_.push_back({id, place{}});
  places_.back().second.slot = slot;
  if (what.kinds) kinds_differ_ = true;
  places_.back().second.what = std::move(what);
  if (slot) ++slots_;
  if (places_.back().second.what.ahead) ++aheads_;
  places_changed(now, out);
  dispatch(now, out);
}

void dispatcher::remove_place(place_id id, nanoseconds now, std::vector<action>& out, std::uint64_t absence) {
  const place* p = find_place(id);
  if (p == nullptr) return;
  const bool was_slot = p->slot, was_stuck = p->stuck, ahead = p->what.ahead;
  const auto device = p->what.device;
  const auto held = p->job, next = p->next;
  if (held && !was_stuck) {
    if (was_slot)
      count_running(*p, false);
    else
      --load_.building;
  }
  std::erase_if(places_, [id](const auto& entry) { return entry.first == id; });
  if (was_slot) --slots_;
  if (ahead) --aheads_;
  if (held && !was_stuck) {
    job_state& s = jobs_.at(*held);
    failure lost{failure_kind::device_lost,
                 was_slot ? "the device went away during the run" : "the builder went away during the build",
                 {},
                 {}};
    settle(s, now);
    if (absence != 0 && !s.verdict && s.faults.excuse(absence, options_.retry)) {
      lost.message = "touch with the device was lost by no fault of its own";
      begin_again(s);
      s.last = lost;
      if (prospect_of(s) != prospect::none) out.push_back(retry_later{s.what.id, std::move(lost), id});
      enqueue(s, now, true, out);
    } else {
      fail(s, s.verdict.value_or(lost), id, device, now, out);
    }
  }
  if (next) take_back_next(*next, now, out);
  places_changed(now, out);
  dispatch(now, out);
}

void dispatcher::rest(place_id id, bool on, nanoseconds now, std::vector<action>& out) {
  place* p = find_place(id);
  if (p == nullptr || p->rests == on) return;
  p->rests = on;
  if (on) call_back(id, *p, now, out);
  places_changed(now, out);
  dispatch(now, out);
}

void dispatcher::call_back(place_id id, place& p, nanoseconds now, std::vector<action>& out) {
  if (!p.next || p.next_deadline != nanoseconds::max()) return;
  jobs_.at(*p.next).comes_back = true;
  p.next_deadline = after(now, options_.grace);
  out.push_back(stop_ahead{id, *p.next});
}

void dispatcher::forget_kind(std::uint32_t kind) {
  for (auto& [id, p] : places_)
    if (p.what.kinds) std::erase(*p.what.kinds, kind);
}

void dispatcher::was_away(nanoseconds now) {
  const auto put_off = [&](nanoseconds& due) {
    if (due <= now) due = after(now, options_.grace);
  };
  for (auto& [id, p] : places_) {
    if (p.job && !p.stuck) put_off(p.deadline);
    if (p.next) put_off(p.next_deadline);
  }
  for (auto& [id, s] : jobs_)
    if (s.waits() && s.unserved_since && now >= after(*s.unserved_since, options_.no_place_wait))
      s.unserved_since = now - options_.no_place_wait + std::min(options_.grace, options_.no_place_wait);
}

void dispatcher::set_admission(schedulers::admission a, nanoseconds now, std::vector<action>& out) {
  options_.admission = at_least_one(a);
  dispatch(now, out);
}

void dispatcher::hold_all_but(std::optional<std::uint64_t> client, nanoseconds now, std::vector<action>& out) {
  only_ = client;
  for (auto& [id, p] : places_)
    if (client && p.next && jobs_.at(*p.next).what.client != *client) call_back(id, p, now, out);
  dispatch(now, out);
}

void dispatcher::limit_device(std::uint32_t device, std::optional<std::uint32_t> at_once, nanoseconds now,
                              std::vector<action>& out) {
  auto& d = device_states_[device];
  d.at_once = at_once;
  if (at_once) {
    // Each that has nothing behind it is one fewer when it ends.
    auto least = std::max(1u, *at_once);
    for (const auto& [id, p] : places_)
      if (p.what.device == device && p.job && !p.stuck && !p.next) ++least;
    auto above = d.running > least ? d.running - least : 0;
    for (auto& [id, p] : places_) {
      if (above == 0) break;
      if (p.what.device != device || !p.next) continue;
      call_back(id, p, now, out);
      --above;
    }
  } else if (d.running == 0 && !d.only) {
    device_states_.erase(device);
  }
  dispatch(now, out);
}

void dispatcher::hold_device(std::uint32_t device, std::optional<std::uint64_t> client, nanoseconds now,
                             std::vector<action>& out) {
  auto& d = device_states_[device];
  d.only = client;
  if (!client && d.running == 0 && !d.at_once) device_states_.erase(device);
  for (auto& [id, p] : places_)
    if (client && p.what.device == device && p.next && jobs_.at(*p.next).what.client != *client)
      call_back(id, p, now, out);
  dispatch(now, out);
}

std::uint32_t dispatcher::running_on(std::uint32_t device) const {
  const auto at = device_states_.find(device);
  return at == device_states_.end() ? 0 : at->second.running;
}

void dispatcher::count_running(const place& p, bool begins) {
  begins ? ++load_.running : --load_.running;
  if (p.what.device == 0) return;
  const auto at = device_states_.try_emplace(p.what.device).first;
  auto& d = at->second;
  begins ? ++d.running : --d.running;
  if (d.running == 0 && !d.at_once && !d.only) device_states_.erase(at);
}

bool dispatcher::device_lets(const place& p, const job_state& s, bool ahead) const {
  if (p.what.device == 0) return true;
  const auto at = device_states_.find(p.what.device);
  if (at == device_states_.end()) return true;
  const auto& d = at->second;
  if (d.only && *d.only != s.what.client) return false;
  if (!d.at_once) return true;
  const auto most = std::max(1u, *d.at_once);
  return ahead ? d.running <= most : d.running < most;
}

void dispatcher::want_aside(std::uint64_t ticket, nanoseconds now, std::vector<action>& out) {
  asides_.push_back(ticket);
  dispatch(now, out);
}

void dispatcher::aside_done(std::uint64_t ticket, nanoseconds now, std::vector<action>& out) {
  std::erase(asides_, ticket);
  if (aside_ == ticket) {
    aside_.reset();
    --load_.building;
  }
  dispatch(now, out);
}

bool dispatcher::dispatch_aside(std::vector<action>& out) {
  if (asides_.empty() || aside_ || section_) return false;
  if (load_.running > 0 && load_.building >= options_.admission.beside) return false;
  aside_ = asides_.front();
  asides_.pop_front();
  ++load_.building;
  out.push_back(start_aside{*aside_});
  return true;
}

bool dispatcher::submit(const job& j, nanoseconds now, std::vector<action>& out) {
  if (jobs_.size() >= options_.queue_bound) return false;
  auto [at, added] = jobs_.try_emplace(j.id);
  if (!added) return false;
  job_state& s = at->second;
  s.what = j;
  s.at = j.needs_build ? stage::to_build : stage::to_run;
  enqueue(s, now, false, out);
  dispatch(now, out);
  return true;
}

/// Into the queue of its stage, or to its end where no place is left for it.
void dispatcher::enqueue(job_state& s, nanoseconds now, bool first, std::vector<action>& out) {
  const auto hope = prospect_of(s);
  if (hope == prospect::none) {
    finish(s, no_other_place(*s.last), false, out);
    return;
  }
  s.unserved_since = hope == prospect::unknown ? std::optional(now) : std::nullopt;
  auto& queue = s.at == stage::to_build ? to_build_ : to_run_;
  if (first)
    queue.push_front(s.what.client, s.what.id);
  else
    queue.push(s.what.client, s.what.id);
  count_run(s, s.at == stage::to_run && (hope == prospect::served || !kinds_differ_));
}

dispatcher::place* dispatcher::find_place(place_id id) {
  for (auto& [name, p] : places_)
    if (name == id) return &p;
  return nullptr;
}

std::pair<place_id, dispatcher::place>* dispatcher::free_place(bool slot, const job_state& s) {
  for (auto& entry : places_) {
    const place& p = entry.second;
    if (p.slot == slot && !p.job && p.in_service() && suits(p, s) && !s.faults.failed_at(entry.first, p.what.device) &&
        (!slot || device_lets(p, s, false)))
      return &entry;
  }
  return nullptr;
}

/// A slot that runs something short, and may be given what comes behind: of several the one that began first.
std::pair<place_id, dispatcher::place>* dispatcher::place_ahead(const job_state& s) {
  std::pair<place_id, place>* best = nullptr;
  for (auto& entry : places_) {
    const place& p = entry.second;
    if (!p.slot || !p.what.ahead || !p.job || p.next || p.stopping || !p.in_service() || p.typical.count() == 0 ||
        p.typical >= options_.ahead_below || !suits(p, s) || s.faults.failed_at(entry.first, p.what.device) ||
        !device_lets(p, s, true))
      continue;
    if (best == nullptr || p.began < best->second.began) best = &entry;
  }
  return best;
}

bool dispatcher::in_service(bool slot) const {
  return std::any_of(places_.begin(), places_.end(),
                     [slot](const auto& entry) { return entry.second.slot == slot && entry.second.in_service(); });
}

dispatcher::prospect dispatcher::prospect_of(const job_state& s) const {
  bool builder = false, slot = false, good_builder = false, good_slot = false;
  for (const auto& [id, p] : places_) {
    if (!p.in_service() || !suits(p, s)) continue;
    (p.slot ? slot : builder) = true;
    if (!s.faults.failed_at(id, p.what.device)) (p.slot ? good_slot : good_builder) = true;
  }
  // What will be refused by every slot is not worth its build.
  if (slot && !good_slot) return prospect::none;
  if (s.at == stage::to_run) return slot ? prospect::served : prospect::unknown;
  if (!builder || !slot) return prospect::unknown;
  return good_builder ? prospect::served : prospect::none;
}

void dispatcher::places_changed(nanoseconds now, std::vector<action>& out) {
  std::vector<job_id> hopeless;
  for (auto& [id, s] : jobs_) {
    if (!s.waits()) continue;
    switch (prospect_of(s)) {
    case prospect::served:
      s.unserved_since.reset();
      count_run(s, s.at == stage::to_run);
      break;
    case prospect::unknown:
      if (!s.unserved_since) s.unserved_since = now;
      count_run(s, !kinds_differ_ && s.at == stage::to_run);
      break;
    case prospect::none:
      hopeless.push_back(id);
      break;
    }
  }
  finish_waiting(
      std::move(hopeless), [](const job_state& s) { return no_other_place(*s.last); }, out);
}

std::uint32_t dispatcher::wave() const { return std::max<std::uint32_t>(4, 2 * options_.admission.builders); }

bool dispatcher::builds_turn() const {
  // Runs go first, but a stream of trials that need no build must not keep the builders waiting for ever. What is built
  // already is reason to wait: it would pile up. Who is served alone waits for nobody's turn.
  return !only_ && runs_since_build_ >= wave() && !to_build_.empty() && load_.ready < options_.admission.builders &&
         in_service(false);
}

bool dispatcher::runs_turn() const {
  // A wave ends when enough is ready, but builds that fail make nothing ready.
  return !only_ && builds_since_run_ >= wave() && runs_served_ > 0 && in_service(true);
}

void dispatcher::dispatch(nanoseconds now, std::vector<action>& out) {
  while (dispatch_aside(out) || dispatch_run(now, out) || dispatch_build(now, out)) {
  }
}

void dispatcher::start(job_state& s, place_id id, place& p, nanoseconds limit, nanoseconds now) {
  s.where = id;
  p.job = s.what.id;
  p.stopping = false;
  p.began = now;
  p.deadline = limit.count() > 0 ? after(now, limit) : nanoseconds::max();
  s.began = now;
}

void dispatcher::promote(place_id id, place& p, nanoseconds now, std::vector<action>& out) {
  job_state& s = jobs_.at(*p.next);
  s.ahead = false;
  const auto stop_at = std::exchange(p.next_deadline, nanoseconds::max());
  p.next.reset();
  start(s, id, p, s.what.run_limit, now);
  if (stop_at != nanoseconds::max()) {
    p.stopping = true;
    p.deadline = stop_at;
  }
  count_running(p, true);
  out.push_back(begin_run{s.what.id, id});
}

void dispatcher::take_back_next(job_id id, nanoseconds now, std::vector<action>& out) {
  job_state& s = jobs_.at(id);
  settle(s, now);
  s.ahead = s.comes_back = false;
  if (s.verdict) return finish(s, *s.verdict, false, out);
  s.at = stage::to_run;
  out.push_back(take_back{id});
  enqueue(s, now, true, out);
}

void dispatcher::settle(job_state& s, nanoseconds now) {
  const auto began = std::exchange(s.began, std::nullopt);
  const auto took = began ? now - *began : nanoseconds(0);
  auto& queue = s.at == stage::building ? to_build_ : to_run_;
  if (options_.by_time && began)
    queue.settle(s.what.client, s.charged, seconds(took));
  else if (!began)
    queue.refund(s.what.client, s.charged);
  const auto terms = terms_.find(s.what.client);
  if (terms == terms_.end()) return;
  auto& a = accounts_.at(terms->second.owner);
  if (a.busy > 0) --a.busy;
  if (s.at == stage::running) a.used += took;
}

bool dispatcher::at_limit(std::uint64_t client) const {
  const auto terms = terms_.find(client);
  if (terms == terms_.end()) return false;
  const auto& a = accounts_.at(terms->second.owner);
  return a.terms.limit != 0 && a.busy >= a.terms.limit;
}

void dispatcher::terms(std::uint64_t client, const share_terms& what, nanoseconds now, std::vector<action>& out) {
  auto own = what;
  if (own.owner == 0) own.owner = own_owner | client;
  const auto before = terms_.find(client);
  if (before == terms_.end() || before->second.owner != own.owner) {
    // What is at a place counts for whoever the client's owner is.
    std::uint32_t busy = 0;
    for (const auto& [id, s] : jobs_)
      if (s.what.client == client && !s.waits()) ++busy;
    if (before != terms_.end()) {
      auto& old = accounts_.at(before->second.owner);
      old.busy -= std::min(old.busy, busy);
      if (--old.clients == 0) accounts_.erase(before->second.owner);
    }
    auto& a = accounts_[own.owner];
    ++a.clients;
    a.busy += busy;
  }
  accounts_.at(own.owner).terms = own;
  terms_[client] = own;
  to_build_.terms(client, own);
  to_run_.terms(client, own);
  dispatch(now, out);
}

std::vector<share_view> dispatcher::shares() const {
  std::vector<share_view> out;
  for (const auto& [owner, a] : accounts_)
    out.push_back({owner, a.terms.weight, a.terms.limit, a.clients, a.busy, seconds(a.used)});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.owner < b.owner; });
  return out;
}

bool dispatcher::dispatch_run(nanoseconds now, std::vector<action>& out) {
  if (to_run_.empty() || load_.building > options_.admission.beside) return false;
  if (!section_ && !asides_.empty() && !aside_ && options_.admission.beside == 0) return false;
  if (!section_ && builds_turn()) return false;
  const bool at_once = section_ || options_.admission.may_run(load_);
  const bool may_go_ahead = !section_ && !only_ && aheads_ > 0;
  if (!at_once && !may_go_ahead) return false;
  std::pair<place_id, place>* where = nullptr;
  bool ahead = false;
  const auto id = to_run_.pop_if([&](job_id candidate) {
    if (section_ && *section_ != candidate) return false;
    const job_state& s = jobs_.at(candidate);
    if ((only_ && s.what.client != *only_) || at_limit(s.what.client)) return false;
    where = at_once ? free_place(true, s) : nullptr;
    ahead = where == nullptr && may_go_ahead;
    if (ahead) where = place_ahead(s);
    return where != nullptr;
  });
  if (!id) return false;
  job_state& s = jobs_.at(*id);
  s.at = stage::running;
  charge(s, to_run_);
  if (ahead) {
    s.ahead = true;
    s.where = where->first;
    where->second.next = *id;
    where->second.next_deadline = nanoseconds::max();
  } else {
    start(s, where->first, where->second, s.what.run_limit, now);
    count_running(where->second, true);
  }
  count_run(s, false);
  ++runs_since_build_;
  builds_since_run_ = 0;
  out.push_back(start_run{*id, where->first, ahead});
  return true;
}

/// @pre it has just been taken from the queue
void dispatcher::charge(job_state& s, const fair_queue<job_id>& from) {
  s.charged = from.expected(s.what.client);
  if (const auto terms = terms_.find(s.what.client); terms != terms_.end()) ++accounts_.at(terms->second.owner).busy;
}

bool dispatcher::dispatch_build(nanoseconds now, std::vector<action>& out) {
  if (to_build_.empty() || section_ || runs_turn() || !options_.admission.may_build(load_)) return false;
  std::pair<place_id, place>* where = nullptr;
  const auto id = to_build_.pop_if([&](job_id candidate) {
    const job_state& s = jobs_.at(candidate);
    // A section begins only on a machine where nothing is going on. (What is built and waits lies in its own folder.)
    if (s.what.exclusive && (load_.building > 0 || load_.running > 0)) return false;
    if ((only_ && s.what.client != *only_) || at_limit(s.what.client)) return false;
    where = free_place(false, s);
    return where != nullptr;
  });
  if (!id) return false;
  job_state& s = jobs_.at(*id);
  s.at = stage::building;
  charge(s, to_build_);
  start(s, where->first, where->second, s.what.build_limit, now);
  ++load_.building;
  ++builds_since_run_;
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
  if (p == nullptr) return;
  if (p->owes == job) {
    p->owes.reset();
    places_changed(now, out);
    return;
  }
  if (p->job != job && p->next != job) return;
  // What was taken back before it began, or has ended before the answer of the one before it has come.
  const bool ahead = p->job != job;
  if (ahead) {
    p->next.reset();
    p->next_deadline = nanoseconds::max();
  } else {
    const bool was_stuck = p->stuck;
    p->job.reset();
    p->stopping = p->stuck = false;
    if (was_stuck) { // late: the trial ended when the place was given up
      places_changed(now, out);
      return;
    }
    if (p->slot) {
      p->typical = p->typical.count() == 0 ? now - p->began : (7 * p->typical + (now - p->began)) / 8;
      count_running(*p, false);
    } else {
      --load_.building;
    }
  }
  job_state& s = jobs_.at(job);
  s.ahead = false;
  const bool is_back = std::exchange(s.comes_back, false) && !s.verdict && why && why->kind == failure_kind::cancelled;
  if (!is_back) settle(s, now);
  if (is_back) {
    take_back_next(job, now, out);
  } else if (s.verdict) {
    const failure decided = *s.verdict;
    fail(s, decided, id, p->what.device, now, out);
  } else if (why) {
    fail(s, *why, id, p->what.device, now, out);
  } else if (s.at == stage::building) {
    s.at = stage::to_run;
    // Only the holder of the section may run now, and only the fronts of the queue are looked at.
    enqueue(s, now, section_ == job, out);
  } else {
    finish(s, std::nullopt, false, out);
  }
  if (!ahead && p->next) promote(id, *p, now, out);
}

void dispatcher::fail(job_state& s, const failure& why, place_id at, std::uint32_t device, nanoseconds now,
                      std::vector<action>& out) {
  const auto verdict =
      s.refused ? retry_state::verdict::final_failure : s.faults.failed(why.kind, at, options_.retry, device);
  if (verdict != retry_state::verdict::again) {
    finish(s, why, verdict == retry_state::verdict::quarantined, out);
    return;
  }
  begin_again(s);
  s.last = why;
  if (prospect_of(s) != prospect::none) out.push_back(retry_later{s.what.id, why, at});
  enqueue(s, now, true, out);
}

void dispatcher::begin_again(job_state& s) {
  // What was built in place is gone when another trial may have entered: such a trial starts again at its build.
  const bool build_again =
      s.at == stage::building || (s.at == stage::running && s.what.exclusive && s.what.needs_build);
  s.at = build_again ? stage::to_build : stage::to_run;
  if (section_ != s.what.id) return;
  section_.reset();
  load_.section_taken = false;
}

void dispatcher::finish(job_state& s, std::optional<failure> why, bool quarantined, std::vector<action>& out) {
  const job_id id = s.what.id;
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

template <class Why>
void dispatcher::finish_waiting(std::vector<job_id> ids, Why why, std::vector<action>& out) {
  if (ids.empty()) return;
  std::sort(ids.begin(), ids.end());
  const auto doomed = [&ids](job_id id) { return std::binary_search(ids.begin(), ids.end(), id); };
  to_build_.remove_if(doomed, [](job_id) {});
  to_run_.remove_if(doomed, [](job_id) {});
  for (const auto id : ids) {
    job_state& s = jobs_.at(id);
    count_run(s, false);
    finish(s, why(s), false, out);
  }
}

void dispatcher::forget(std::uint64_t client) {
  to_build_.forget(client);
  to_run_.forget(client);
  const auto terms = terms_.find(client);
  if (terms == terms_.end()) return;
  if (const auto at = accounts_.find(terms->second.owner); --at->second.clients == 0) accounts_.erase(at);
  terms_.erase(terms);
}

void dispatcher::stop(place_id id, place& p, nanoseconds now, std::vector<action>& out) {
  if (p.stopping) return;
  p.stopping = true;
  p.deadline = after(now, options_.grace);
  out.push_back(stop_place{id, *p.job});
}

void dispatcher::cancel(std::uint64_t client, nanoseconds now, std::vector<action>& out) {
  end_early([client](const job_state& s) { return s.what.client == client; },
            failure{failure_kind::cancelled, "cancelled", {}, {}}, false, now, out);
}

void dispatcher::refuse(const std::vector<job_id>& which, const failure& why, nanoseconds now,
                        std::vector<action>& out) {
  end_early([&](const job_state& s) { return std::find(which.begin(), which.end(), s.what.id) != which.end(); }, why,
            true, now, out);
}

void dispatcher::end_early(const std::function<bool(const job_state&)>& which, const failure& why, bool refused,
                           nanoseconds now, std::vector<action>& out) {
  std::vector<job_id> waiting, busy;
  for (const auto& [id, s] : jobs_)
    if (which(s)) (s.waits() ? waiting : busy).push_back(id);
  std::sort(busy.begin(), busy.end());
  finish_waiting(
      std::move(waiting), [&why](const job_state&) { return failure(why); }, out);
  for (const auto id : busy) {
    job_state& s = jobs_.at(id);
    if (!s.verdict) { // a limit that was reached before this was reached
      s.verdict = why;
      s.refused = refused;
    }
    place* p = find_place(s.where);
    if (p == nullptr) continue;
    if (p->job == id) stop(s.where, *p, now, out);
    if (p->next == id && p->next_deadline == nanoseconds::max()) {
      p->next_deadline = after(now, options_.grace);
      out.push_back(stop_ahead{s.where, id});
    }
  }
  dispatch(now, out);
}

void dispatcher::tick(nanoseconds now, std::vector<action>& out) {
  bool gave_up = false;
  std::vector<job_id> back;
  for (auto& [id, p] : places_) {
    if (p.next && now >= p.next_deadline && p.next_deadline != nanoseconds::max()) {
      // It does not give it back: it is given nothing ahead any more.
      job_state& s = jobs_.at(*p.next);
      p.next_deadline = nanoseconds::max();
      p.what.ahead = false;
      --aheads_;
      if (s.verdict) {
        settle(s, now);
        finish(s, *s.verdict, false, out);
      } else {
        s.faults.avoid(id);
        s.last = failure{failure_kind::internal, "its slot did not give it back", {}, {}};
        back.push_back(*p.next);
      }
      p.owes = std::exchange(p.next, std::nullopt);
      gave_up = true;
    }
    if (!p.job || p.stuck || now < p.deadline || p.deadline == nanoseconds::max()) continue;
    job_state& s = jobs_.at(*p.job);
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
    p.stuck = gave_up = true;
    if (p.slot)
      count_running(p, false);
    else
      --load_.building;
    out.push_back(place_stuck{id, *p.job});
    settle(s, now);
    failure why = s.verdict.value_or(failure{failure_kind::internal, "no answer", {}, {}});
    why.message += "; it did not stop when told to, and its place is out of service until it does";
    finish(s, std::move(why), false, out);
    if (!p.next) continue;
    job_state& behind = jobs_.at(*p.next);
    behind.faults.avoid(id);
    behind.last = failure{failure_kind::internal, "its slot does not answer", {}, {}};
    if (p.next_deadline == nanoseconds::max()) out.push_back(stop_ahead{id, *p.next});
    back.push_back(*p.next);
    p.owes = std::exchange(p.next, std::nullopt);
    p.next_deadline = nanoseconds::max();
  }
  for (const auto id : back) take_back_next(id, now, out);
  if (gave_up) places_changed(now, out);
  std::vector<job_id> unserved;
  for (const auto& [id, s] : jobs_)
    if (s.waits() && s.unserved_since && now >= after(*s.unserved_since, options_.no_place_wait))
      unserved.push_back(id);
  finish_waiting(
      std::move(unserved),
      [this](const job_state& s) {
        failure why{failure_kind::device_lost,
                    std::string(in_service(true) && !kinds_differ_ ? "no builder" : "no device") + " came within " +
                        human_duration(options_.no_place_wait),
                    {},
                    {}};
        if (s.last) why.message += ", after: " + s.last->message;
        return why;
      },
      out);
  dispatch(now, out);
}

std::optional<nanoseconds> dispatcher::next_deadline() const {
  std::optional<nanoseconds> next;
  const auto earlier = [&next](nanoseconds t) {
    if (t != nanoseconds::max() && (!next || t < *next)) next = t;
  };
  for (const auto& [id, p] : places_) {
    if (p.job && !p.stuck) earlier(p.deadline);
    if (p.next) earlier(p.next_deadline);
  }
  // Only then does anybody wait for a place to come.
  if (!kinds_differ_ && in_service(true) && (to_build_.empty() || in_service(false))) return next;
  for (const auto& [id, s] : jobs_)
    if (s.waits() && s.unserved_since) earlier(after(*s.unserved_since, options_.no_place_wait));
  return next;
}

} // namespace attune::schedulers
