// The dispatcher against a world that answers, fails, hangs and goes away at random, and a model that keeps its own
// books and checks every action by them.
#include "core/random.hpp"
#include "schedulers/dispatcher.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>

using namespace attune;
using namespace attune::schedulers;
using std::chrono::milliseconds;
using sec = std::chrono::seconds;

namespace {

/// A rule that was broken; ends the sequence (what follows would be noise).
void require(bool held, const char* rule) {
  if (!held) throw std::runtime_error(rule);
}

class model {
public:
  explicit model(std::uint64_t seed) : random_(seed), d_(options()) {
    options_ = options();
    for (std::uint64_t c = 1; c <= clients; ++c) {
      if (random_.chance(0.5)) continue;
      share_terms t;
      t.owner = 1 + c % 2;
      t.weight = t.owner == 1 ? 3 : 1;
      t.part = random_.chance(0.5) ? 1 : 4;
      t.limit = t.owner == 1 ? static_cast<std::uint32_t>(seed % 4) : 0;
      terms_[c] = t;
      d_.terms(c, t, now_, out_);
    }
    const auto builders = random_.below(4), slots = random_.below(4);
    for (std::uint64_t i = 0; i < builders; ++i) come(false);
    for (std::uint64_t i = 0; i < slots; ++i) come(true);
  }

  void step() {
    switch (random_.below(12)) {
    case 0:
    case 1:
    case 2:
      submit();
      break;
    case 3:
    case 4:
    case 5:
    case 6:
      answer();
      break;
    case 7:
      pass_time();
      break;
    case 8:
      reach_deadline();
      break;
    case 9:
      if (random_.chance(0.3)) come(random_.chance(0.5));
      break;
    case 10:
      if (random_.chance(0.2))
        go();
      else if (random_.chance(0.5))
        answer_ahead();
      else if (random_.chance(0.5))
        answer_owed();
      else if (random_.chance(0.3))
        stale_answer();
      break;
    default:
      if (random_.chance(0.1)) {
        cancel(1 + random_.below(clients));
      } else if (random_.chance(0.15)) {
        refuse();
      } else if (random_.chance(0.4)) {
        rest();
      } else if (random_.chance(0.2)) {
        hold(only_ ? std::nullopt : std::optional(1 + random_.below(clients)));
      } else if (random_.chance(0.1)) {
        be_away();
      } else if (random_.chance(0.3)) {
        admission_ = {1 + static_cast<std::uint32_t>(random_.below(3)),
                      1 + static_cast<std::uint32_t>(random_.below(3))};
        d_.set_admission(admission_, now_, out_);
        settle();
      }
    }
  }

  /// The world behaves from here on: everything must come to its end.
  void drain() {
    hold(std::nullopt);
    for (int i = 0; d_.in_hand() > 0; ++i) {
      require(i < 100000, "it never ends");
      bool any = false;
      for (const auto& [id, p] : places_)
        if (p.job && !p.stuck && random_.chance(0.7)) {
          answer_of(id, std::nullopt);
          any = true;
          break;
        }
      if (!any) reach_deadline();
      bool busy = false;
      for (const auto& [id, p] : places_) busy = busy || (p.job && !p.stuck);
      require(busy || d_.in_hand() == 0 || d_.next_deadline().has_value(),
              "trials are in hand and nothing will happen");
    }
    while (d_.next_deadline()) reach_deadline();
    require(d_.waiting() == 0 && d_.load().building == 0 && d_.load().running == 0 && d_.load().ready == 0 &&
                !d_.load().section_taken,
            "something is left in hand");
    require(jobs_.empty() && ended_ == submitted_, "a trial has not ended");
  }

  std::size_t submitted() const { return submitted_; }
  std::map<std::string, std::size_t> seen;

private:
  static constexpr std::uint64_t clients = 4;
  enum class stage { to_build, building, to_run, running };
  struct trial_books {
    job what;
    stage at = stage::to_build;
    bool is_built = false, cancelled = false, comes_back = false;
    std::set<place_id> failed, avoided;
    std::uint32_t attempts = 0, lost = 0;
    std::set<std::uint64_t> absences;
  };
  struct place_books {
    bool slot = false;
    std::optional<job_id> job;
    bool stopping = false, stuck = false;
    nanoseconds told{0};
    std::optional<job_id> next{}; ///< started ahead
    bool next_stopping = false, no_more = false;
    nanoseconds next_told{0};
    bool rests = false;
    std::optional<job_id> owes{}; ///< taken back without an answer
    bool in_service() const { return !stuck && !rests && !owes; }
  };

  static dispatcher_options options() {
    dispatcher_options o;
    o.retry = {.attempts = 3, .devices_lost = 2};
    o.admission = {2, 2};
    o.grace = sec(2);
    o.no_place_wait = sec(8);
    o.queue_bound = 24;
    o.ahead_below = sec(2);
    o.by_time = true;
    return o;
  }

  void submit() {
    job j;
    j.id = next_job_++;
    j.client = 1 + random_.below(clients);
    j.needs_build = random_.chance(0.6);
    j.exclusive = random_.chance(0.3); // also without a build, where it means nothing
    j.build_limit = random_.chance(0.8) ? nanoseconds(sec(1 + random_.below(9))) : nanoseconds(0);
    j.run_limit = random_.chance(0.8) ? nanoseconds(sec(1 + random_.below(5))) : nanoseconds(0);
    const bool room = jobs_.size() < options_.queue_bound;
    if (room) {
      jobs_[j.id] = {j, j.needs_build ? stage::to_build : stage::to_run, false, false, false, {}, {}, 0, 0, {}};
      ++submitted_;
    }
    require(d_.submit(j, now_, out_) == room, "the bound is not kept");
    require(room || out_.empty(), "a refused trial led to something");
    settle();
  }

  void answer() {
    std::vector<place_id> busy;
    for (const auto& [id, p] : places_)
      if (p.job) busy.push_back(id);
    if (busy.empty()) return;
    std::optional<failure_kind> why;
    const auto dice = random_.below(10);
    if (dice == 0) why = failure_kind::internal;
    if (dice == 1) why = failure_kind::device_lost;
    if (dice == 2) why = failure_kind::run_error;
    answer_of(busy[random_.below(busy.size())], why);
  }

  void answer_of(place_id id, std::optional<failure_kind> why) {
    place_books& p = places_.at(id);
    const job_id j = *p.job;
    const bool late = p.stuck, slot = p.slot, asked_back = !late && is_asked_back(j);
    const bool decided = p.stopping && !asked_back;
    if (asked_back && random_.chance(0.5)) why = failure_kind::cancelled;
    p.job.reset();
    p.stopping = p.stuck = false;
    stale_.push_back({id, j, slot});
    ++seen[late ? "late answer" : "answer"];
    if (!late) {
      trial_books& t = jobs_.at(j);
      if (why && !decided && (*why == failure_kind::internal || *why == failure_kind::device_lost)) fault(t, id, *why);
      t.comes_back = false;
      answered_ = j;
      good_ = !why && !decided;
      if (asked_back && why == failure_kind::cancelled) comes_back(j);
      if (good_ && !slot) {
        t.is_built = true;
        t.at = stage::to_run;
        answered_.reset();
      }
    }
    std::optional<failure> f;
    if (why) f = failure{*why, "it", {}, {}};
    if (slot)
      d_.ran(id, j, f, now_, out_);
    else
      d_.built(id, j, f, now_, out_);
    settle();
  }

  /// What was started ahead ends before the answer of the one before it is here, or is given back.
  void answer_ahead() {
    for (auto& [id, p] : places_) {
      if (!p.next) continue;
      const job_id j = *p.next;
      const bool asked_back = is_asked_back(j), is_back = asked_back && random_.chance(0.7);
      const bool decided = p.next_stopping && !asked_back;
      jobs_.at(j).comes_back = false;
      p.next.reset();
      p.next_stopping = false;
      stale_.push_back({id, j, true});
      ++seen["answer ahead"];
      answered_ = j;
      good_ = !decided;
      std::optional<failure> f;
      if (decided || is_back) f = failure{failure_kind::cancelled, "it", {}, {}};
      if (is_back) comes_back(j);
      d_.ran(id, j, f, now_, out_);
      settle();
      return;
    }
  }

  /// What was taken back without an answer is answered after all, in some way.
  void answer_owed() {
    for (auto& [id, p] : places_) {
      if (!p.owes) continue;
      const job_id j = *std::exchange(p.owes, std::nullopt);
      stale_.push_back({id, j, true});
      ++seen["owed answer"];
      std::optional<failure> f;
      if (random_.chance(0.5)) f = failure{failure_kind::cancelled, "it", {}, {}};
      d_.ran(id, j, f, now_, out_);
      settle();
      return;
    }
  }

  /// One client alone is served, or all again.
  void hold(std::optional<std::uint64_t> whose) {
    only_ = whose;
    ++seen["hold"];
    for (const auto& [id, p] : places_)
      if (whose && p.next && !p.next_stopping && jobs_.at(*p.next).what.client != *whose)
        jobs_.at(*p.next).comes_back = true;
    d_.hold_all_but(whose, now_, out_);
    settle();
    for (const auto& [id, p] : places_)
      require(!whose || !p.next || p.next_stopping || jobs_.at(*p.next).what.client == *whose,
              "what is held back waits at a place");
  }

  /// Whoever asks the dispatcher was not there for a while.
  void be_away() {
    now_ += sec(random_.below(12));
    for (auto& [id, p] : places_)
      if (p.next && p.next_stopping && now_ - p.next_told >= options_.grace) p.next_told = now_;
    d_.was_away(now_);
    require(out_.empty(), "an absence led to something");
    const auto due = d_.next_deadline();
    require(!due || *due > now_, "something became due in an absence");
    ++seen["absence"];
  }

  bool is_asked_back(job_id j) const { return jobs_.at(j).comes_back && !jobs_.at(j).cancelled; }
  void comes_back(job_id j) {
    answered_.reset();
    back_.insert(j);
    ++seen["comes back"];
  }

  /// A place rests, or does so no more.
  void rest() {
    if (places_.empty()) return;
    auto at = places_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random_.below(places_.size())));
    // Mostly one that has something to give back, or has rested for long enough.
    const bool wakes = random_.chance(0.5);
    for (auto other = places_.begin(); other != places_.end(); ++other)
      if (wakes ? other->second.rests : other->second.next && !other->second.next_stopping) at = other;
    auto& [id, p] = *at;
    p.rests = !p.rests;
    ++seen["rest"];
    if (p.rests && p.next && !p.next_stopping) jobs_.at(*p.next).comes_back = true;
    d_.rest(id, p.rests, now_, out_);
    settle();
    require(!p.rests || !p.next || p.next_stopping, "a place that rests was not told to give back what it has ahead");
  }

  /// What a place was told to give back and has kept for the grace is started elsewhere.
  void give_up_ahead() {
    for (auto& [id, p] : places_) {
      if (!p.next || !p.next_stopping || !is_asked_back(*p.next) || now_ - p.next_told < options_.grace) continue;
      jobs_.at(*p.next).avoided.insert(id);
      back_.insert(*p.next);
      p.owes = std::exchange(p.next, std::nullopt);
      p.next_stopping = false;
      p.no_more = true;
      ++seen["kept ahead"];
    }
  }

  /// An answer that has been given already, or comes from a place that is gone.
  void stale_answer() {
    if (stale_.empty()) return;
    const auto& [place, j, slot] = stale_[random_.below(stale_.size())];
    // A place that has the same trial again (a section that was built again) would be meant by it.
    if (const auto at = places_.find(place);
        at != places_.end() && (at->second.job == j || at->second.next == j || at->second.owes == j))
      return;
    if (slot)
      d_.ran(place, j, std::nullopt, now_, out_);
    else
      d_.built(place, j, std::nullopt, now_, out_);
    require(out_.empty(), "an answer that nobody waits for led to something");
    settle();
  }

  void come(bool slot) {
    if (places_.size() >= 8) return;
    const auto id = next_place_++;
    places_[id] = {slot, std::nullopt, false, false, {}};
    if (slot)
      d_.add_slot(id, now_, out_, {0, std::nullopt, random_.chance(0.7)});
    else
      d_.add_builder(id, now_, out_);
    settle();
  }

  void go() {
    if (places_.empty()) return;
    auto at = places_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(random_.below(places_.size())));
    const auto id = at->first;
    const auto p = at->second;
    places_.erase(at);
    ++seen["loss"];
    if (p.job) stale_.push_back({id, *p.job, p.slot});
    // Of several places one absence loses what was at them.
    if (random_.chance(0.5)) ++absences_;
    const std::uint64_t absence = random_.chance(0.3) ? absences_ : 0;
    if (p.job && !p.stuck) {
      auto& t = jobs_.at(*p.job);
      const bool undecided = !p.stopping || is_asked_back(*p.job);
      if (undecided && absence != 0) t.absences.insert(absence);
      if (undecided && (absence == 0 || t.absences.size() > options_.retry.absences))
        fault(t, id, failure_kind::device_lost);
      else if (undecided)
        excused_ = *p.job;
      answered_ = *p.job;
      good_ = false;
    }
    if (p.owes) stale_.push_back({id, *p.owes, true});
    if (p.next) {
      stale_.push_back({id, *p.next, true});
      back_.insert(*p.next);
    }
    d_.remove_place(id, now_, out_, absence);
    settle();
    excused_.reset();
  }

  void fault(trial_books& t, place_id at, failure_kind why) {
    t.failed.insert(at);
    if (why == failure_kind::device_lost) ++t.lost;
  }

  void cancel(std::uint64_t client) {
    std::set<job_id> waiting;
    for (auto& [id, t] : jobs_) {
      if (t.what.client != client) continue;
      t.cancelled = true;
      if (t.at == stage::to_build || t.at == stage::to_run) waiting.insert(id);
    }
    ++seen["cancel"];
    d_.cancel(client, now_, out_);
    settle();
    for (const auto id : waiting) require(!jobs_.count(id), "a cancelled trial still waits");
    for (const auto& [id, p] : places_)
      if (p.job && !p.stuck && jobs_.at(*p.job).what.client == client)
        require(p.stopping, "a cancelled trial's place was not told");
    for (const auto& [id, p] : places_)
      if (p.next && jobs_.at(*p.next).what.client == client)
        require(p.next_stopping, "the place of a cancelled trial that was started ahead was not told");
  }

  void refuse() {
    std::vector<job_id> which;
    std::set<job_id> waiting;
    for (auto& [id, t] : jobs_) {
      if (!random_.chance(0.2)) continue;
      which.push_back(id);
      t.cancelled = true;
      if (t.at == stage::to_build || t.at == stage::to_run) waiting.insert(id);
    }
    which.push_back(next_job_); // not in hand
    ++seen["refuse"];
    // Of a kind that is tried again where it is no refusal.
    d_.refuse(which, failure{failure_kind::device_lost, "refused", {}, {}}, now_, out_);
    settle();
    for (const auto id : waiting) require(!jobs_.count(id), "a refused trial still waits");
    const auto refused = [&](job_id id) { return std::find(which.begin(), which.end(), id) != which.end(); };
    for (const auto& [id, p] : places_) {
      require(!p.job || p.stuck || !refused(*p.job) || p.stopping, "a refused trial's place was not told");
      require(!p.next || !refused(*p.next) || p.next_stopping,
              "the place of a refused trial that was started ahead was not told");
    }
  }

  void pass_time() {
    now_ += milliseconds(random_.below(3000));
    const auto due = d_.next_deadline();
    give_up_ahead();
    d_.tick(now_, out_);
    require((due && *due <= now_) == !out_.empty(), "tick and next_deadline do not agree");
    settle();
  }

  void reach_deadline() {
    const auto due = d_.next_deadline();
    if (!due) return;
    now_ = std::max(now_, *due);
    give_up_ahead();
    d_.tick(now_, out_);
    require(!out_.empty(), "a deadline came and nothing was done");
    settle();
    const auto then = d_.next_deadline();
    require(!then || *then > now_, "a deadline stayed");
  }

  // ---- what the dispatcher wants, by the books --------------------------------------------------------------------

  std::uint32_t working(bool slot) const {
    std::uint32_t n = 0;
    for (const auto& [id, p] : places_) n += p.slot == slot && p.job && !p.stuck;
    return n;
  }

  std::uint32_t busy_of(std::uint64_t owner) const {
    std::uint32_t n = 0;
    const auto counts = [&](job_id j) {
      const auto t = terms_.find(jobs_.at(j).what.client);
      return t != terms_.end() && t->second.owner == owner;
    };
    for (const auto& [id, p] : places_) {
      if (p.job && !p.stuck) n += counts(*p.job);
      if (p.next) n += counts(*p.next);
    }
    return n;
  }

  void within_limit(job_id j) const {
    const auto t = terms_.find(jobs_.at(j).what.client);
    if (t == terms_.end() || t->second.limit == 0) return;
    require(busy_of(t->second.owner) < t->second.limit, "more at once than its owner may");
  }

  void ahead(place_id id, job_id j) {
    require(jobs_.count(j) == 1, "a trial that is not in hand was started ahead");
    place_books& p = places_.at(id);
    require(p.slot && p.job && !p.next && !p.stopping && p.in_service() && !p.no_more,
            "ahead at a place that is not for it");
    require(!only_, "ahead while one client alone is served");
    within_limit(j);
    trial_books& t = jobs_.at(j);
    require(t.failed.count(id) == 0 && t.avoided.count(id) == 0, "ahead on the place that failed");
    require(!section_ && !t.cancelled, "ahead out of turn");
    if (working(true) < admission_.slots)
      for (const auto& [other, o] : places_)
        require(!o.slot || o.job || !o.in_service() || t.failed.count(other) || t.avoided.count(other),
                "ahead while a slot is free");
    p.next = j;
    p.next_stopping = false;
    t.at = stage::running;
    ++seen["ahead"];
  }

  void take(place_id id, job_id j, bool slot) {
    require(jobs_.count(j) == 1, "a trial that is not in hand was started");
    within_limit(j);
    const auto at = places_.find(id);
    require(at != places_.end() && at->second.slot == slot, "a place that is not there");
    require(!at->second.job, "a place with two trials");
    require(!at->second.rests, "a place that rests was given something");
    require(!at->second.owes, "a place that owes an answer was given something");
    require(!only_ || jobs_.at(j).what.client == *only_, "a trial of somebody else was started");
    trial_books& t = jobs_.at(j);
    require(t.failed.count(id) == 0 && t.avoided.count(id) == 0, "again on the place that failed");
    require(!section_ || *section_ == j, "a section was entered");
    require(!t.cancelled, "a cancelled trial was started");
    require(t.failed.size() < options_.retry.attempts && t.lost < options_.retry.devices_lost, "too many attempts");
    at->second.job = j;
    at->second.stopping = false;
  }

  void act(const start_aside&) {} // nobody asks here
  void act(const start_build& a) {
    require(working(true) == 0, "a build beside a run");
    const auto others = working(false);
    require(others < admission_.builders, "more builds than admitted");
    take(a.builder, a.job, false);
    trial_books& t = jobs_.at(a.job);
    require(t.at == stage::to_build, "a build out of turn");
    t.at = stage::building;
    if (t.what.exclusive) {
      require(others == 0, "a section beside a build");
      section_ = a.job;
    }
    ++seen["build"];
  }
  void act(const start_run& a) {
    require(working(false) == 0, "a run beside a build");
    if (a.ahead) {
      require(jobs_.at(a.job).at == stage::to_run, "ahead out of turn");
      ahead(a.slot, a.job);
      return;
    }
    require(working(true) < admission_.slots, "more runs than admitted");
    take(a.slot, a.job, true);
    trial_books& t = jobs_.at(a.job);
    require(t.at == stage::to_run && t.is_built == t.what.needs_build, "a run out of turn");
    require(!(t.what.exclusive && t.what.needs_build) || section_ == a.job, "a section without its holder");
    t.at = stage::running;
    ++seen["run"];
  }
  void act(const begin_run& a) {
    place_books& p = places_.at(a.slot);
    require(!p.job && p.next == a.job, "something else began than what was started ahead");
    p.job = std::exchange(p.next, std::nullopt);
    p.stopping = std::exchange(p.next_stopping, false);
    p.told = p.next_told;
    ++seen["begin"];
  }
  void act(const stop_ahead& a) {
    place_books& p = places_.at(a.place);
    require(p.next == a.job && !p.next_stopping, "told to give back what it does not have, or twice");
    if (p.stuck) {
      leave_stuck(a.place, p);
      return;
    }
    p.next_stopping = true;
    p.next_told = now_;
    ++seen["stop ahead"];
  }
  void leave_stuck(place_id id, place_books& p) {
    jobs_.at(*p.next).avoided.insert(id);
    back_.insert(*p.next);
    p.owes = std::exchange(p.next, std::nullopt);
    p.next_stopping = false;
    ++seen["ahead of a stuck place"];
  }
  void act(const take_back& a) {
    require(back_.erase(a.job) == 1, "taken back without a reason");
    jobs_.at(a.job).at = stage::to_run;
    jobs_.at(a.job).comes_back = false;
    ++seen["taken back"];
  }
  void act(const stop_place& a) {
    place_books& p = places_.at(a.place);
    require(p.job == a.job && !p.stuck && !p.stopping, "told to stop what it does not do, or twice");
    p.stopping = true;
    p.told = now_;
    ++seen["stop"];
  }
  void act(const place_stuck& a) {
    place_books& p = places_.at(a.place);
    require(p.job == a.job && p.stopping && !p.stuck, "given up without being told");
    require(now_ - p.told >= options_.grace, "given up within the grace");
    p.stuck = true;
    gone_ = a.job;
    if (p.next && p.next_stopping && is_asked_back(*p.next)) leave_stuck(a.place, p);
    ++seen["stuck"];
  }
  void act(const retry_later& a) {
    require(answered_ == a.job && !good_, "tried again without a fault");
    answered_.reset();
    trial_books& t = jobs_.at(a.job);
    if (excused_ == a.job) {
      ++seen["excused"];
    } else {
      require(t.failed.count(a.failed_at) == 1 && !t.cancelled, "tried again for a failure of its own");
      require(++t.attempts < options_.retry.attempts, "too many retries");
    }
    const bool again = t.at == stage::building || (t.what.exclusive && t.what.needs_build);
    if (again) t.is_built = false;
    t.at = again ? stage::to_build : stage::to_run;
    if (section_ == a.job) section_.reset();
    ++seen["retry"];
  }
  void end(job_id j) {
    require(jobs_.count(j) == 1, "ended twice, or never in hand");
    for (auto& [id, p] : places_) {
      require(p.job != j || p.stuck, "ended while a place works on it");
      if (p.next != j) continue;
      require(p.next_stopping && (p.stuck || now_ - p.next_told >= options_.grace), "ended while it waits at a place");
      p.no_more = p.no_more || !p.stuck;
      p.owes = std::exchange(p.next, std::nullopt);
      p.next_stopping = false;
    }
    back_.erase(j);
    jobs_.erase(j);
    ++ended_;
    if (answered_ == j) answered_.reset();
    if (gone_ == j) gone_.reset();
    if (section_ == j) section_.reset();
  }
  void act(const finish_answered& a) {
    require(answered_ == a.job && good_, "a result out of nothing");
    end(a.job);
    ++seen["done"];
  }
  void act(const finish_failed& a) {
    const trial_books& t = jobs_.at(a.job);
    require(!(answered_ == a.job && good_), "a good answer became a failure");
    require(a.quarantined == (t.lost >= options_.retry.devices_lost), "quarantine by another count");
    end(a.job);
    ++seen[a.quarantined ? "quarantine" : to_string(a.why.kind)];
  }

  void settle() {
    for (const auto& a : out_) {
      require(!gone_ || std::holds_alternative<finish_failed>(a), "a trial whose place was given up goes on");
      std::visit([this](const auto& one) { act(one); }, a);
    }
    out_.clear();
    require(!answered_ && !gone_ && back_.empty(), "an answer without a consequence");
    std::size_t waiting = 0, ready = 0;
    for (const auto& [id, t] : jobs_) {
      waiting += t.at == stage::to_build || t.at == stage::to_run;
      ready += t.at == stage::to_run && t.is_built;
    }
    require(d_.in_hand() == jobs_.size(), "in_hand is wrong");
    require(d_.waiting() == waiting, "waiting is wrong");
    require(d_.load().building == working(false) && d_.load().running == working(true), "load is wrong");
    require(d_.load().ready == ready, "ready is wrong");
    require(d_.load().section_taken == section_.has_value(), "section_taken is wrong");
    require(working(false) == 0 || working(true) == 0, "a build and a run at once");
    if (working(false) + working(true) == 0) nothing_is_left_lying();
  }

  /// On a machine where nothing goes on, whatever waits waits for a place that is not there.
  void nothing_is_left_lying() {
    bool any_slot = false;
    for (const auto& [place, p] : places_) any_slot = any_slot || (p.slot && p.in_service());
    for (const auto& [id, t] : jobs_) {
      // What others have ready holds up builds, also of who is served alone.
      if (only_ && (t.what.client != *only_ || t.at == stage::to_build)) continue;
      // Behind a section, or behind enough that is ready already while there is no slot.
      if ((section_ && *section_ != id) || (t.at == stage::to_build && !any_slot)) continue;
      const bool slot = t.at == stage::to_run;
      for (const auto& [place, p] : places_)
        require(p.slot != slot || !p.in_service(), "a trial waits and a place in service has nothing to do");
    }
    require(only_ || jobs_.empty() || d_.next_deadline().has_value(), "trials wait without a limit");
  }

  random_engine random_;
  dispatcher d_;
  dispatcher_options options_;
  admission admission_{2, 2};
  nanoseconds now_ = sec(100);
  std::vector<action> out_;
  std::map<job_id, trial_books> jobs_;
  std::map<place_id, place_books> places_;
  std::vector<std::tuple<place_id, job_id, bool>> stale_;
  std::map<std::uint64_t, share_terms> terms_;
  std::optional<job_id> section_, answered_, gone_, excused_;
  std::optional<std::uint64_t> only_; ///< whose trials alone are started
  std::set<job_id> back_;             ///< to be taken back
  bool good_ = false;
  std::uint64_t absences_ = 1;
  job_id next_job_ = 1;
  place_id next_place_ = 1;
  std::size_t submitted_ = 0, ended_ = 0;
};

std::uint64_t first_seed() {
  const char* given = std::getenv("ATTUNE_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
}

} // namespace

BOOST_AUTO_TEST_SUITE(dispatcher_model)

BOOST_AUTO_TEST_CASE(no_sequence_of_events_breaks_a_rule) {
  const auto first = first_seed();
  constexpr std::uint64_t sequences = 4000;
  BOOST_TEST_MESSAGE("seeds " << first << " to " << first + sequences - 1 << " (ATTUNE_SEED sets the first)");
  std::map<std::string, std::size_t> seen;
  for (std::uint64_t seed = first; seed < first + sequences; ++seed) {
    model m(seed);
    int step = 0;
    try {
      for (; step < 200; ++step) m.step();
      m.drain();
    } catch (const std::exception& e) {
      BOOST_FAIL("seed " << seed << ", step " << step << ": " << e.what());
    }
    for (const auto& [what, n] : m.seen) seen[what] += n;
  }
  for (const auto& [what, n] : seen) BOOST_TEST_MESSAGE(what << ": " << n);
  // A world in which nothing happens would prove nothing.
  for (const auto* what :
       {"build",       "run",          "done",          "retry",       "quarantine", "stop",       "stuck",
        "late answer", "loss",         "cancel",        "run_timeout", "ahead",      "begin",      "stop ahead",
        "taken back",  "answer ahead", "build_timeout", "device_lost", "cancelled",  "internal",   "refuse",
        "rest",        "comes back",   "hold",          "absence",     "excused",    "owed answer"})
    BOOST_TEST(seen[what] > 100u, what);
}

BOOST_AUTO_TEST_SUITE_END()
