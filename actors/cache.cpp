#include "actors/cache.hpp"

#include "actors/monitor.hpp"
#include "actors/time.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <span>

namespace attune::actors {

static_assert(!std::is_aggregate_v<cache_state>);

namespace {

using cache_self = cache_actor::stateful_pointer<cache_state>;

/// A look at the disk takes a fraction of a millisecond; what it has not told in so long is measured.
constexpr auto archive_limit = std::chrono::minutes(1);

/// Answers on their way to each tuner, gathered over one message.
using answers = std::map<session_number, finished_batch>;

void send_answers(cache_self self, answers&& out) {
  for (auto& [number, batch] : out)
    if (const auto at = self->state.clients.find(number); at != self->state.clients.end())
      self->send(at->second.who, atom::done::value, std::move(batch));
}

void emit_trial(cache_self self, event_kind kind, const trial_ptr& t, const outcome_ptr& o) {
  emit(self, self->state.watch, [&] { return event{kind, t->session, t, o, {}, now_of(self)}; });
}

void write_behind(cache_self self, std::size_t at_least) {
  auto& s = self->state;
  auto& r = s.recency;
  const auto now = s.known->statistics();
  const std::uint64_t lookups = now.hits + now.misses - s.told.hits - s.told.misses;
  if (s.known->used() + r.evicted.size() + lookups < at_least) return;
  r.used = s.known->take_used();
  r.by_task = s.known->take_task_uses();
  r.counted = now;
  r.counted.hits -= s.told.hits;
  r.counted.misses -= s.told.misses;
  r.counted.evicted -= s.told.evicted;
  r.counted.saved -= s.told.saved;
  r.counted.spent -= s.told.spent;
  for (std::size_t i = 0; i < r.counted.causes.size(); ++i) r.counted.causes[i] -= s.told.causes[i];
  s.told = now;
  // What has come back since it went is in the store again, and stays.
  std::erase_if(r.evicted, [&s](const key128& key) { return s.known->holds(key); });
  self->send(self->state.recorder, atom::recency::value, std::exchange(r, {}));
}

/// Misses go to whoever measures for their session, or decides whether they are measured.
void send_misses(cache_self self, std::vector<trial_ptr> misses) {
  auto& s = self->state;
  trial_batch for_scheduler;
  std::map<session_number, trial_batch> for_callers;
  for (auto& t : misses) {
    const auto at = s.clients.find(t->session);
    if (at != s.clients.end() && (at->second.info.how == measuring::by_caller || at->second.info.near))
      for_callers[t->session].items.push_back(std::move(t));
    else
      for_scheduler.items.push_back(std::move(t));
  }
  if (!for_scheduler.items.empty()) self->send(s.scheduler, atom::measure::value, std::move(for_scheduler));
  for (auto& [number, batch] : for_callers) self->send(s.clients.at(number).who, atom::miss::value, std::move(batch));
}

/// The flight of `t` begins, which has just been entered: at once, or when its claim is answered.
void take_off(cache_self self, const trial_ptr& t, bool anew, std::vector<trial_ptr>& misses) {
  auto& s = self->state;
  if (!s.desk.claim || s.desk.claim(*t, anew)) {
    misses.push_back(t);
    return;
  }
  s.flights.at(t->key).granted = false;
  emit_trial(self, event_kind::joined_flight, t, nullptr);
}

void release(cache_self self, const key128& key) {
  if (self->state.desk.release) self->state.desk.release(key);
}

/// What the archive said, by key.
using recollection = std::unordered_map<key128, storage::recalled>;

void look_up(cache_self self, std::span<const trial_ptr> batch, recollection said) {
  auto& s = self->state;
  answers hits;
  std::vector<trial_ptr> misses;
  for (const auto& t : batch) {
    const auto client = s.clients.find(t->session);
    const bool fresh = client != s.clients.end() && client->second.info.fresh;
    if (const auto flight = s.flights.find(t->key);
        flight != s.flights.end() && flight->second.owner->canonical == t->canonical) {
      flight->second.waiting.push_back(t);
      ++s.joined;
      emit_trial(self, event_kind::joined_flight, t, nullptr);
      continue;
    }
    auto cause = storage::miss_cause::unseen;
    if (const auto at = said.find(t->key); at != said.end()) {
      cause = at->second.cause;
      // What was filled in since it was asked for is newer.
      if (at->second.entry && !s.known->holds(t->key)) s.known->restore(*t, *std::exchange(at->second.entry, {}));
    }
    if (const auto* known = fresh ? nullptr : s.known->lookup(*t, cause); known != nullptr) {
      emit_trial(self, event_kind::cache_hit, t, known->result);
      hits[t->session].items.push_back({t, known->result, true, known->record});
      continue;
    }
    // Of two configurations with one key the first is in the table.
    if (s.flights.try_emplace(t->key, cache_state::flight{t, {}, true}).second)
      take_off(self, t, fresh, misses);
    else
      misses.push_back(t);
  }
  send_answers(self, std::move(hits));
  send_misses(self, std::move(misses));
  write_behind(self, recency_group);
}

/// Those of a session's trials that only the archive may know of.
trial_batch unknown_here(const cache_state& s, const session_info& of, std::span<const trial_ptr> all) {
  trial_batch out;
  if (!s.archive || of.fresh) return out;
  for (const auto& t : all)
    if (!s.known->holds(t->key) && (of.stored || s.known->below(t->of->identity.task_key)) &&
        !s.flights.contains(t->key))
      out.items.push_back(t);
  return out;
}

void look_up_held(cache_self self, session_number number);

/// The archive has answered for what a session has asked so far, or never will: what it does not say is a miss.
void recalled(cache_self self, session_number number, const trial_batch& asked, const recalled_batch& answer) {
  const auto at = self->state.clients.find(number);
  if (at == self->state.clients.end()) return;
  recollection said;
  for (std::size_t i = 0; i < std::min(asked.items.size(), answer.items.size()); ++i)
    said.emplace(asked.items[i]->key, answer.items[i]);
  auto& held = at->second.held;
  const auto end = held.begin() + static_cast<std::ptrdiff_t>(std::exchange(at->second.asking, 0));
  const std::vector<trial_ptr> batch(std::make_move_iterator(held.begin()), std::make_move_iterator(end));
  held.erase(held.begin(), end);
  look_up(self, batch, std::move(said));
  look_up_held(self, number);
}

/// Looks up what a session has asked for meanwhile, all of it at once: where the archive has to be asked, once for all.
void look_up_held(cache_self self, session_number number) {
  auto& s = self->state;
  const auto at = s.clients.find(number);
  if (at == s.clients.end() || at->second.held.empty()) return;
  auto& client = at->second;
  auto asked = unknown_here(s, client.info, client.held);
  if (asked.items.empty()) {
    look_up(self, std::exchange(client.held, {}), {});
    return;
  }
  client.asking = client.held.size();
  self->request(s.archive, archive_limit, atom::recall::value, asked)
      .then(
          [self, number, asked, forgotten = s.forgotten](const recalled_batch& answer) {
            // What was read before something was invalidated may be just that.
            recalled(self, number, asked, forgotten == self->state.forgotten ? answer : recalled_batch{});
          },
          [self, number, asked](const caf::error&) { recalled(self, number, asked, {}); });
}

void lookup(cache_self self, const trial_batch& batch) {
  auto& s = self->state;
  const auto client = batch.items.empty() ? s.clients.end() : s.clients.find(batch.items.front()->session);
  const bool first = client == s.clients.end() || client->second.held.empty();
  if (first && (client == s.clients.end() || unknown_here(s, client->second.info, batch.items).items.empty())) {
    look_up(self, batch.items, {});
    return;
  }
  auto& c = client->second;
  c.held.insert(c.held.end(), batch.items.begin(), batch.items.end());
  // Otherwise the archive is being asked for what came before.
  if (c.asking == 0) look_up_held(self, client->first);
}

void fill(cache_self self, const finished_batch& batch) {
  auto& s = self->state;
  answers out;
  std::vector<trial_ptr> taken_over;
  for (const auto& f : batch.items) {
    if (conclusive(*f.result))
      for (const auto& key : s.known->insert(*f.what, f.result, f.record, !f.from_cache))
        s.recency.evicted.push_back(key);
    out[f.what->session].items.push_back(f);
    const auto at = s.flights.find(f.what->key);
    if (at == s.flights.end() || at->second.owner != f.what) continue;
    auto waiting = std::move(at->second.waiting);
    s.flights.erase(at);
    // Those that this is no answer for (the one that flew was called back, or was stopped where they would not be): the
    // first of them flies for the rest.
    const auto unserved = std::stable_partition(waiting.begin(), waiting.end(), [&](const trial_ptr& t) {
      return !was_cancelled(*f.result) && attune::answers(*f.result, *t);
    });
    for (auto t = waiting.begin(); t != unserved; ++t)
      out[(*t)->session].items.push_back({*t, f.result, true, f.record});
    if (unserved == waiting.end()) {
      release(self, f.what->key);
      continue;
    }
    // The claim stays.
    s.flights.try_emplace((*unserved)->key, cache_state::flight{*unserved, {unserved + 1, waiting.end()}, true});
    taken_over.push_back(*unserved);
  }
  send_answers(self, std::move(out));
  send_misses(self, std::move(taken_over));
  write_behind(self, recency_group);
}

/// What other processes measured, or left to this one.
void claimed(cache_self self, const claim_batch& batch) {
  auto& s = self->state;
  answers out;
  std::vector<trial_ptr> misses;
  for (const auto& a : batch.items) {
    const auto at = s.flights.find(a.key);
    if (at == s.flights.end() || at->second.granted) {
      // Nobody wants it any more.
      if (at == s.flights.end() && !a.known) release(self, a.key);
      continue;
    }
    if (!a.known) {
      at->second.granted = true;
      misses.push_back(at->second.owner);
      continue;
    }
    if (conclusive(*a.known))
      for (const auto& key : s.known->insert(*at->second.owner, a.known, a.record)) s.recency.evicted.push_back(key);
    std::vector<trial_ptr> all{at->second.owner};
    all.insert(all.end(), at->second.waiting.begin(), at->second.waiting.end());
    s.flights.erase(at);
    const auto unserved = std::stable_partition(all.begin(), all.end(),
                                                [&](const trial_ptr& t) { return attune::answers(*a.known, *t); });
    for (auto t = all.begin(); t != unserved; ++t) out[(*t)->session].items.push_back({*t, a.known, true, a.record});
    if (unserved == all.end()) continue;
    s.flights.try_emplace(a.key, cache_state::flight{*unserved, {unserved + 1, all.end()}, true});
    take_off(self, *unserved, true, misses);
  }
  send_answers(self, std::move(out));
  send_misses(self, std::move(misses));
  write_behind(self, recency_group);
}

/// Ends what the session waits for: what flies for it ends at the scheduler.
void cancel_waits(cache_self self, session_number number) {
  auto& s = self->state;
  static const auto gone = std::make_shared<const outcome>(
      outcome{failure{failure_kind::cancelled, "cancelled", {}, {}}, {}, {}, {}, {}, {}});
  answers out;
  const auto mine = [number](const trial_ptr& t) { return t->session == number; };
  for (auto at = s.flights.begin(); at != s.flights.end();) {
    auto& f = at->second;
    const auto others = std::stable_partition(f.waiting.begin(), f.waiting.end(), std::not_fn(mine));
    for (auto t = others; t != f.waiting.end(); ++t) out[number].items.push_back({*t, gone, false});
    f.waiting.erase(others, f.waiting.end());
    if (f.granted || !mine(f.owner)) {
      ++at;
      continue;
    }
    out[number].items.push_back({f.owner, gone, false});
    if (f.waiting.empty()) {
      release(self, at->first);
      at = s.flights.erase(at);
      continue;
    }
    f.owner = f.waiting.front();
    f.waiting.erase(f.waiting.begin());
    ++at;
  }
  send_answers(self, std::move(out));
}

/// A session that goes while it waits for another's flight needs no answer.
void detach(cache_self self, session_number number) {
  auto& s = self->state;
  for (auto& [key, flight] : s.flights)
    std::erase_if(flight.waiting, [number](const trial_ptr& t) { return t->session == number; });
  s.clients.erase(number);
}

} // namespace

cache_actor::behavior_type cache(cache_self self, const std::shared_ptr<std::unique_ptr<storage::lru_cache>>& known,
                                 monitor_port watch) {
  self->state.known = std::move(*known);
  self->state.watch = std::move(watch);
  return {
      [self](atom::attach, const session_info& info, const tuner_actor& who) {
        self->state.clients[info.number] = {info, who, {}, 0};
      },
      [self](atom::detach, session_number number) { detach(self, number); },
      [self](atom::lookup, const trial_batch& batch) { lookup(self, batch); },
      [self](atom::fill, const finished_batch& batch) { fill(self, batch); },
      [self](atom::cancel, session_number number) { cancel_waits(self, number); },
      [self](atom::claim, const claim_batch& batch) { claimed(self, batch); },
      [self](atom::invalidate, const std::string& task) -> caf::result<std::uint64_t> {
        auto& s = self->state;
        write_behind(self, 1); // a use that is told later would bring an entry back
        ++s.forgotten;
        const auto here = s.known->invalidate(task);
        if (!s.archive) return here;
        return self->delegate(s.recorder, atom::invalidate::value, task);
      },
      [self](atom::invalidate, const task_list& tasks) {
        auto& s = self->state;
        ++s.forgotten;
        for (const auto& t : tasks.items) s.known->invalidate(t.view());
      },
      [self](atom::statistic) {
        const auto& s = self->state;
        const auto c = s.known->statistics();
        return cache_statistics{c.entries, c.bytes, c.hits, c.misses, c.evicted, s.joined, s.flights.size(), c.causes};
      },
      [self](atom::wire, const scheduler_actor& scheduler, const recorder_actor& recorder,
             const archive_actor& archive) {
        self->state.scheduler = scheduler;
        self->state.recorder = recorder;
        self->state.archive = archive;
      },
      [self](atom::wire, const claim_desk& desk) { self->state.desk = desk; },
      [self](atom::flush) { write_behind(self, 1); },
  };
}

} // namespace attune::actors
