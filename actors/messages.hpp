// actors: the concurrency: every actor, every message, and the graph that wires them. Actors own state and move
// messages; they decide nothing that a unit test would want to see alone. This page, atoms.hpp and interfaces.hpp are
// the protocol.
//
//  spec / C++ API -> engine
//                      |
//                   tuner (one per task) --lookup--> cache --hit--> done, back to the tuner
//                      ^                               | miss (one flight per key)
//                      | done                          v
//                    cache <--fill-- recorder <-- scheduler --build--> builder
//                             (durable first)          ^------run--> runner (one per slot)
//                   tuner --train--> model: the strategies' trainings, on a thread of its own
//                   cache --recall--> archive: what the store has and memory has not, on a thread of its own
//                   allocator --allow--> tuners that share a budget; --open--> opener, on a thread of its own
//
// The messages are values shared by pointer (immutable behind it): they stay in the process. Between processes speaks
// the schema in proto/; CAF's own wire protocol is never opened.
#pragma once

#include "core/error.hpp"
#include "core/task.hpp"
#include "measure/executor.hpp"
#include "schedulers/share_terms.hpp"
#include "search/tuning.hpp"
#include "storage/cache.hpp"
#include "storage/store.hpp"
#include "storage/store_port.hpp"

#include <caf/actor_control_block.hpp>
#include <caf/allowed_unsafe_message_type.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attune::actors {

struct joint_report;
struct allocator_setup;

/// Names a session in this process; given by the engine, from 1.
using session_number = std::uint64_t;

/// Trials on their way to the cache or the scheduler, in the order of their proposal.
struct trial_batch {
  std::vector<trial_ptr> items;
};

/// A trial and how it ended.
struct finished {
  trial_ptr what;
  outcome_ptr result;
  bool from_cache = false;       ///< answered from memory, or by another's flight: not measured for this trial
  storage::record_id record = 0; ///< where the store has it; 0: nowhere (yet)
  measure::artifact_ptr built{}; ///< what was run, for whoever may run it again; null where it was not built now
  nanoseconds arrived{0};        ///< monotonic; when its tuner had it
};
struct finished_batch {
  std::vector<finished> items;
};

/// A trial that runs once more (trial::why says what for), with what was built for it; null: it is to be built again.
struct rerun {
  trial_ptr what;
  measure::artifact_ptr built;
};

/// What a builder and a runner are given, and what they answer.
struct build_order {
  trial_ptr what;
};
struct build_report {
  std::shared_ptr<const measure::build_result> result;
};
struct run_order {
  trial_ptr what;
  measure::artifact_ptr built; ///< null where the task has no build
};
struct run_report {
  std::shared_ptr<const measure::run_result> result;
  std::uint64_t order = 0; ///< INTERNAL: which of its runner's orders; 0: the first that it has in hand
};

/// A place that offers itself to the scheduler.
struct place_info {
  std::string name;     ///< "local/slot0", "local/builder1": shown, and written into records
  std::string device{}; ///< slots of one device have the same, and are lost together; empty: this machine
  /// Whether a slot serves a task; pure, and the same for tasks with equal targets. None: it serves every task.
  std::function<bool(const task&)> serves{};
  /// Of a slot that takes an order behind the one that it runs: ends this one early, whether it has begun or not (it is
  /// then answered as `cancelled`); of no effect where it has ended. Quick, from any thread. None: the slot takes one
  /// at a time, and is told by `cancel`.
  std::function<void(const trial_ptr&)> stop{};
  /// Asked when the slot goes: whether it went by an absence of whoever offers it, which is no fault of its own or of
  /// what it ran: the absence's number, 0 where it did not. Quick. None: it did not.
  std::function<std::uint64_t()> absence{};
};

/// One step of a session for its journal: how a trial ended, and how many had been proposed when the strategy was told.
struct told_trial {
  trial_ptr what;
  outcome_ptr result;
  trial_number asked_before = 0;
  bool from_cache = false;
  storage::record_id record = 0;
  std::optional<amendment> amends{}; ///< it takes the place of what was told before
  std::optional<estimate> guess{};   ///< it was not measured: `result` is null
};
/// Steps of one session, in the order in which its strategy was told.
struct step_batch {
  std::vector<told_trial> items;
};

/// Which cache entries were used (in order), which have been dropped, and what was counted since the last time: the
/// cache's write-behind.
struct recency_batch {
  std::vector<storage::cache_use> used;
  std::vector<key128> evicted;
  storage::cache_figures counted;
  std::vector<storage::task_uses> by_task;
};

/// What the store's cache says to trials, in the order in which they were asked.
struct recalled_batch {
  std::vector<storage::recalled> items;
};

/// The way to the flights that the processes of one store have in common: storage::store_port's claim() and release().
/// Empty functions: this process is alone.
struct claim_desk {
  std::function<bool(const trial& what, bool anew)> claim;
  std::function<void(const key128&)> release;
};
/// What other processes' flights came to.
struct claim_batch {
  std::vector<storage::claim_answer> items;
};

/// Tasks of which something was forgotten in the store.
struct task_list {
  std::vector<digest> items;
};

/// Why a tuner lives and what it may use. Given to the tuner when it is spawned.
enum class measuring : std::uint8_t {
  by_runners, ///< its trials go to the scheduler
  by_caller,  ///< whoever sends `ask` measures, and sends `tell`
};

/// How a session is known to the cache.
struct session_info {
  session_number number = 0;
  measuring how = measuring::by_runners;
  bool fresh = false; ///< every lookup is a miss (--remeasure)
  /// The store may know something of its workload: what is not in memory is asked of the archive.
  bool stored = false;
  /// Its tuner may estimate (search/near_reuse.hpp): it gets the misses, and passes on what is to be measured.
  bool near = false;
};

/// Where a tuner stands.
struct tuner_status {
  search::tuning_counts counts;
  std::optional<search::best_so_far> best;
  std::size_t in_flight = 0;
  std::uint32_t window = 0;
  bool paused = false;
  bool finished = false;
};

/// How a task's search ended.
struct tuning_report {
  task_ptr of;
  std::string session; ///< the session's id in the store
  search::tuning_counts counts;
  search::tuning_times times;
  nanoseconds wall{0};
  std::optional<search::best_so_far> best;
  /// What was measured side by side before the winner was named; empty where nothing was.
  std::vector<search::settled> side_by_side;
  std::uint64_t final_runs = 0;                ///< by this process, for that
  std::uint64_t repeated = 0;                  ///< trials measured anew, because the machine was disturbed
  std::optional<search::best_so_far> standard; ///< the default configuration's result
  search::stop_reason reason = search::stop_reason::none;
  std::optional<failure> first_failure;
  std::optional<error> trouble; ///< with reason `error`: what it was (the store, the machine)
};
using report_ptr = std::shared_ptr<const tuning_report>;

/// How much better the best is than the default configuration: 2 is twice as fast. None where one of them is missing or
/// is not positive.
std::optional<double> speedup(const tuning_report& r);

/// One step of something, for whoever watches.
enum class event_kind : std::uint8_t {
  session_started,
  session_ended,
  proposed,
  cache_hit,
  joined_flight,
  queued,
  build_started,
  built,
  upload_started, ///< to an agent that does not have what was built
  uploaded,       ///< it has it
  run_started,
  ran,
  retried,
  quarantined,
  recorded,
  told,
  place_came,
  place_went,
  place_stuck,
  store_trouble,
  store_recovered,
  decided,   ///< a strategy or the noise controller says what it decided, and why
  finals,    ///< the best are measured side by side
  estimated, ///< a trial is not measured, its neighbours were: `text` says what is taken for its value
};
const char* to_string(event_kind k) noexcept;

/// What a tuner that shares a budget may use from now on.
struct budget_allowance {
  std::uint64_t trials = 0; ///< that its session may have had in all
  nanoseconds began{0};     ///< when the whole began, monotonic
};
/// A tuner that shares a budget gets no more.
struct budget_end {
  search::stop_reason why = search::stop_reason::trials;
  std::optional<nanoseconds> finals_until; ///< monotonic; none: as long as they take
};
/// One trial that came to its end, for whoever deals.
struct budget_step {
  std::optional<double> value; ///< none: nothing valid
  storage::record_id record = 0;
  nanoseconds at{0};   ///< wall clock, when it had been measured
  nanoseconds busy{0}; ///< that it kept a device; 0: answered from memory
};
/// What a tuner tells of itself to whoever deals.
struct budget_news {
  std::size_t member = 0;
  std::vector<budget_step> told; ///< since the last time
  std::uint32_t window = 0;
  bool stopping = false; ///< it proposes no more
  report_ptr report;     ///< at its end
};
/// A tuner that was opened, or why it could not be.
struct opened_task {
  caf::strong_actor_ptr tuner;
  std::optional<error> trouble;
};
using joint_report_ptr = std::shared_ptr<const joint_report>;
using allocator_setup_ptr = std::shared_ptr<allocator_setup>;

/// What a strategy wants trained beside the search.
using training_ptr = std::shared_ptr<search::training>;

struct event {
  event_kind kind = event_kind::told;
  session_number session = 0;
  trial_ptr what;                             ///< where it is about a trial
  outcome_ptr result;                         ///< where one is known
  std::string text;                           ///< the place's name, the reason
  nanoseconds at{0};                          ///< monotonic, the actor system's clock
  report_ptr report{};                        ///< with session_ended: what it came to
  std::optional<search::foreseen> expected{}; ///< with proposed: what the strategy's model takes for its value
};
/// Events that nobody changes any more, in their order: however many have them, they are there once.
class event_list {
public:
  using const_iterator = std::vector<event>::const_iterator;
  event_list() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): it is what the vector was, for good
  event_list(std::vector<event> all) : all_(std::make_shared<const std::vector<event>>(std::move(all))) {}
  event_list(std::initializer_list<event> all) : event_list(std::vector<event>(all)) {}

  const_iterator begin() const noexcept { return all_ ? all_->begin() : const_iterator(); }
  const_iterator end() const noexcept { return all_ ? all_->end() : const_iterator(); }
  std::size_t size() const noexcept { return all_ ? all_->size() : 0; }
  bool empty() const noexcept { return size() == 0; }
  /// @pre i < size()
  const event& operator[](std::size_t i) const { return (*all_)[i]; }

private:
  std::shared_ptr<const std::vector<event>> all_;
};
struct event_batch {
  event_list items;
};

/// What the monitor has seen since somebody first watched.
struct monitor_snapshot {
  std::vector<std::pair<event_kind, std::uint64_t>> counts;
  std::vector<event> recent; ///< the last ones, bounded, oldest first
};

struct cache_statistics {
  std::uint64_t entries = 0, bytes = 0, hits = 0, misses = 0, evicted = 0, joined = 0, flights = 0;
  std::array<std::uint64_t, storage::miss_cause_count> causes{}; ///< of the misses
};

/// The shares of all owners.
struct share_list {
  std::vector<schedulers::share_view> items;
};

/// Which trials are not to be run, and why: asked when a trial comes, and of all that are in hand when this is said.
/// Called on the scheduler's thread; it must be quick.
struct refusal {
  std::function<std::optional<failure>(const trial&)> of;
};

struct scheduler_status {
  std::size_t in_hand = 0, waiting = 0, building = 0, running = 0, slots = 0, clients = 0;
  std::uint32_t credits = 0;
};

} // namespace attune::actors

// They carry shared pointers: local to the process by design (see above).
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::trial_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::outcome_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::error)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::training_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::trial_batch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::finished_batch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::rerun)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::build_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::build_report)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::run_order)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::run_report)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::place_info)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::step_batch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::recency_batch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::claim_desk)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::claim_batch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::recalled_batch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::task_list)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::session_info)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::tuner_status)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::report_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::budget_allowance)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::budget_end)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::budget_news)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::opened_task)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::joint_report_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::allocator_setup_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::event)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::event_batch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::monitor_snapshot)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::cache_statistics)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::scheduler_status)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::share_list)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::actors::refusal)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(attune::schedulers::share_terms)
