#pragma once

#include "core/budget.hpp"
#include "core/error.hpp"
#include "core/task.hpp"
#include "schedulers/share_terms.hpp"
#include "search/tuning.hpp"
#include "storage/store.hpp"
#include "storage/store_port.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace caf {
class actor_system;
}

namespace attune::measure {
class builder;
class runner;
} // namespace attune::measure

namespace attune::actors {

struct cache_statistics;
struct tuning_report;
struct tuner_status;
struct event;
struct event_batch;
struct graph_handles;
struct session_handle;
struct place_info;
struct joint_request;
class joint_session;

/// The trials of a search whose spec gives neither trials nor time: enough for a first look, never for ever.
inline constexpr std::uint64_t default_trials = 1000;

struct engine_options {
  /// The folder of the store; empty: nothing outlives the engine (the cache works, the disk is not touched).
  std::string store;
  /// How it is opened; empty: for this process alone (storage::open_exclusive). net::open_shared lets processes share
  /// it.
  std::function<result<std::unique_ptr<storage::store_port>>(const std::string& folder)> open_store;
  /// Processes that share the store time their commands in turn, slot by slot. Callables wait for nobody.
  bool take_turns = false;
  /// The host's actor system; null: the engine makes its own (one worker that sleeps when there is nothing to do). It
  /// must outlive the engine. A host's system should not spin while runs are timed: `scheduler.policy` = "sharing".
  caf::actor_system* host = nullptr;
  /// With a host whose system runs only when it is told to (a deterministic scheduler): lets its actors do what they
  /// have to do just now. Then no actor has a thread of its own, and the engine waits for nothing: what is not there
  /// after such a turn counts as not come in time. Empty: the system runs by itself.
  std::function<void()> turn;
  storage::cache_limits cache;
  /// Timed runs at once on this machine; `by_noise()`: as many as do not disturb each other. Several have cores of
  /// their own (measure/topology.hpp).
  how_many slots = 1;
  /// Builds at once; not said: one for each core, and none beside a timed run; `by_noise()`: beside timed runs as well,
  /// as far as that does no harm.
  how_many builders;
  std::uint32_t cores_each = 1; ///< of a slot, where there are several
  std::uint32_t in_flight = 0;  ///< trials in flight over all sessions; 0: by slots and builders
  /// True: callables are called on the engine's own worker, between two messages. For objectives of microseconds; one
  /// that takes its time would hold up everything else. False: each slot has a thread.
  bool inline_callables = false;
  /// With `apart`: sessions share the slots' time, not the number of trials.
  bool share_time = false;
  /// Makes the process the subreaper of its descendants (PR_SET_CHILD_SUBREAPER), so that those which a trial leaves
  /// behind are found. A host with children of its own may not want that.
  bool subreaper = true;
  /// No slot here: add_slot() brings them, each on a machine of its own, whose runs disturb neither each other nor the
  /// builds here. `slots` must be 1.
  bool apart = false;
  /// With `apart`: how long a trial waits while no slot serves it.
  nanoseconds no_slot_wait = std::chrono::seconds(30);
  /// What builds here, for each builder by its number; empty: processes of this machine.
  std::function<std::shared_ptr<measure::builder>(std::uint32_t)> make_builder;
  /// How long a full disk is waited for before the sessions end.
  nanoseconds store_patience = std::chrono::minutes(2);
};

/// What is to be tuned.
struct tuning_request {
  task_ptr of;
  search::space_ptr over;
  bool remeasure = false; ///< forget the session, measure everything anew
  bool by_caller = false; ///< the caller measures: session::ask and session::tell
  /// The most trials that it has in flight; 0: its share of engine_options::in_flight.
  std::uint32_t in_flight = 0;
  schedulers::share_terms share{}; ///< its part of the slots, beside the other sessions
};

/// A session under way. Copies are the same session. All functions are safe from any thread that is not an actor's.
class session {
public:
  /// The report; waits for the end. The same each time. Null where the engine was destroyed before there was one.
  std::shared_ptr<const tuning_report> wait();
  /// The report, if the end comes within `patience`.
  std::shared_ptr<const tuning_report> wait_for(nanoseconds patience);
  /// Calls `hear` with the report at the end, on the engine's thread, where it must be quick; with null where the
  /// engine was destroyed before. The engine's destructor waits for it.
  void when_done(std::function<void(std::shared_ptr<const tuning_report>)> hear);
  /// The report has been taken and nothing more is asked: what the session holds is let go. progress() then tells of
  /// its end alone.
  void close();
  /// Asks it to end as interrupted; returns at once.
  void cancel();
  void pause();
  void resume();
  /// Its part of the slots from now on.
  void share(const schedulers::share_terms& terms);
  tuner_status progress();
  /// For by_caller sessions: the next trial, null at the end of the search.
  trial_ptr ask();
  /// Its result: returns when the record is durable and the strategy knows. Errors: not_found for a trial that is not
  /// in flight.
  attune::status tell(const trial& which, outcome result);
  session_handle handle() const;

  struct impl;
  explicit session(std::shared_ptr<impl> i) : impl_(std::move(i)) {}

private:
  std::shared_ptr<impl> impl_;
};

/// The whole graph of actors on one store: what a program embeds, and what `attune tune` is made of.
/// It starts no signal handler, writes nothing to the standard streams and never exits; errors are values.
/// Threads: create and destroy it on one thread; tune() from any thread that is not an actor's.
class engine {
public:
  /// Errors: store_unusable, store_busy (naming the holder), store_newer, store_corrupt, and those of open_store.
  static result<std::unique_ptr<engine>> start(engine_options options);
  /// Cancels what is under way, waits until its processes are gone and its results are durable.
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// Begins or goes on with a session. Errors: invalid_spec (unknown strategy, no budget where one is needed, spec does
  /// not validate), store errors.
  result<session> tune(const tuning_request& request);

  /// Begins or goes on with tasks that share a budget (actors/joint.hpp). Each has a session of its own, other than the
  /// one that tune() gives it. Errors: those of tune(), a task that is given twice, a policy that cannot be.
  result<joint_session> tune_together(const joint_request& request);

  /// `watch` is called with everything that happens, in order, on the engine's thread: it must be quick.
  void subscribe(std::function<void(const event_batch&)> watch);

  /// Something that happened at a slot elsewhere goes to whoever watches. Any thread.
  void note(event e);

  /// A slot elsewhere comes, with the way to run there. Returns its number, never 0.
  std::uint64_t add_slot(const place_info& what, std::shared_ptr<measure::runner> how);
  /// It goes, with what it has in hand: that is tried elsewhere. Of no effect for an unknown number.
  void remove_slot(std::uint64_t number);
  /// It gets nothing new while it rests; what it has in hand goes on.
  void rest_slot(std::uint64_t number, bool on);

  /// From now on the trials for which it gives a failure are not run, and those in hand are stopped. `which` is called
  /// on the engine's thread, must be quick, and is called until the next one is given.
  void refuse(std::function<std::optional<failure>(const trial&)> which);
  /// What the owners of the sessions have of the slots.
  std::vector<schedulers::share_view> shares();
  /// The trials in hand that wait for a place.
  std::size_t waiting();

  /// One line for a person on how the slots came out, where there is something to say; else empty.
  const std::string& remark() const noexcept;
  /// What the cache was asked so far, by all sessions of this engine.
  cache_statistics cache_counts();
  /// The store that is open; null without one.
  storage::store_port* store() noexcept;
  caf::actor_system& system() noexcept;
  graph_handles handles() const;

private:
  struct impl;
  explicit engine(std::unique_ptr<impl> i);
  std::unique_ptr<impl> impl_;
};

/// What several tasks with one budget are.
struct joint_request {
  std::vector<tuning_request> tasks; ///< their weights are their specs'; by_caller is not for these
  budget_spec budget;
  schedulers::share_terms share{}; ///< of all of them together
};

/// The session's name in the store: a digest of task, space (parameters, constraints), strategy and seed, and of
/// whether it may estimate. One that shares a budget has another.
std::string session_id(const task& of, bool shared = false);

} // namespace attune::actors
