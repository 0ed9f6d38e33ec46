#pragma once

#include "actors/interfaces.hpp"
#include "schedulers/credits.hpp"
#include "schedulers/dispatcher.hpp"
#include "schedulers/machine_watch.hpp"
#include "search/limits.hpp"

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

namespace attune::actors {

struct scheduler_options {
  schedulers::dispatcher_options dispatcher;
  /// Trials in flight over all sessions; 0: admission::in_flight().
  std::uint32_t in_flight = 0;
  /// Added to the limits of commands: the process supervisor's own deadline, which is exact, strikes first.
  nanoseconds margin = std::chrono::seconds(5);
  /// The slots are on machines of their own: as many builds as `dispatcher.admission` says go on here whatever runs
  /// there, as many runs as there are slots. Each device is watched by a reference of its own, which is run there alone
  /// (but not what a slot builds by itself). A change of the slots changes the credits.
  bool apart = false;
  /// How the watch over the machine behaves where a task wants a reference (task_spec::wants_reference): the rungs of
  /// its ladder (empty: `dispatcher.admission` alone). The tolerance is the first such task's.
  schedulers::watch_options watch;
};

struct scheduler_state {
  explicit scheduler_state(scheduler_actor::pointer) : core({}) {}
  scheduler_options options;
  schedulers::dispatcher core;
  schedulers::credit_ledger credits;
  recorder_actor recorder;
  monitor_port watch;

  /// A trial in hand, with what the dispatcher need not know.
  struct work {
    trial_ptr what;
    measure::artifact_ptr built;
    phase_times phases;
    nanoseconds phase_times::*phase = &phase_times::queue; ///< its present one
    nanoseconds since{0};                                  ///< when that began
    resource_use used;
    std::vector<std::string> notes;
    std::optional<outcome> answer;  ///< the last run's end
    schedulers::place_id where = 0; ///< that has it in hand, or had it last; 0 while it waits to be tried again
    std::string place;              ///< its name
    std::uint32_t device = 0;       ///< of its last slot
    std::uint32_t runs_beside = 0, builds_beside = 0; ///< at once with its run, at most
    bool all_served = true;                           ///< nothing waited when its run began
  };
  std::unordered_map<schedulers::job_id, work> in_hand;
  schedulers::job_id next_job = 1;
  std::vector<schedulers::job_id> timed; ///< whose run is under way, and some whose run has just ended

  struct place {
    std::string name;
    std::variant<builder_actor, runner_actor> who;
    std::function<bool(const task&)> serves; ///< of a slot
    std::function<void(const trial_ptr&)> stop;
    std::function<std::uint64_t()> absence;
    std::uint32_t device = 0; ///< its number
  };
  std::unordered_map<schedulers::place_id, place> places;
  schedulers::place_id next_place = 1;
  /// Their numbers, from 1. Of those that are gone so many are kept as make `devices_kept` in all.
  std::unordered_map<std::string, std::uint32_t> devices;
  std::uint32_t next_device = 1;
  static constexpr std::size_t devices_kept = 4096;

  /// What slots are asked for: each target once, by a number, as long as a session that is attached asks for it.
  struct target_kind {
    task_ptr asked;
    std::unordered_set<session_number> by;
  };
  std::unordered_map<std::uint32_t, target_kind> kinds;
  std::uint32_t next_kind = 0;
  trial_ptr kind_of; ///< the last trial that was looked up, and its kind
  std::uint32_t kind = 0;

  /// The configuration that is run once on a machine now and then, and what it tells.
  struct reference {
    trial_ptr what;
    measure::artifact_ptr built;
    session_number from = 0; ///< it goes with its session
    bool under_way = false;
    std::uint32_t failed = 0; ///< in a row
  };
  struct watched {
    reference seen_by;
    schedulers::machine_watch machine;
    std::deque<std::pair<schedulers::job_id, trial_ptr>> lately; ///< ended under its watch, bounded
    bool holding = false;                                        ///< the others are held back there
  };
  std::unordered_map<std::uint32_t, watched> watches; ///< by the device's number; 0: this machine

  /// Who asked to work beside the trials: their tickets here, and what they wait for.
  struct aside {
    caf::actor_addr who;
    std::uint64_t ticket = 0;
    caf::typed_response_promise<caf::ok_atom> promise;
  };
  std::unordered_map<std::uint64_t, aside> asides;
  std::uint64_t next_aside = 1;

  std::unordered_map<session_number, tuner_actor> clients;
  /// Also of sessions that are to come; of those that never do, or are told late, only the newest are kept.
  std::unordered_map<session_number, schedulers::share_terms> terms;
  static constexpr std::size_t terms_kept = 4096;
  refusal refused;
  std::unordered_set<session_number> cancelled; ///< those of the clients that were called back
  std::vector<finished> ended;                  ///< of this message, to go to the recorder together
  std::vector<schedulers::action> actions;
  task_ptr limits_of; ///< the task that the limits were compiled for
  std::optional<search::run_limits> limits;
  std::optional<nanoseconds> armed; ///< when the next tick comes
  std::uint64_t epoch = 0;
  static inline const char* name = "scheduler";
};

/// The SCHEDULER's behaviour.
scheduler_actor::behavior_type scheduler(scheduler_actor::stateful_pointer<scheduler_state> self,
                                         recorder_actor recorder, monitor_port watch, const scheduler_options& options);

/// Whether a slot that is apart builds what it runs: the spec says so, or the build writes where it runs.
bool builds_at_slot(const task_spec& spec);

/// How long a trial's build and its runs may take in all by its spec (0: no limit): the sums of the limits of its
/// processes.
nanoseconds build_limit_of(const task_spec& spec, nanoseconds margin);
nanoseconds run_limit_of(const task& t, nanoseconds margin);

} // namespace attune::actors
