#pragma once

#include "actors/interfaces.hpp"
#include "schedulers/credits.hpp"
#include "schedulers/dispatcher.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

namespace attune::actors {

struct scheduler_options {
  schedulers::dispatcher_options dispatcher;
  /// Trials in flight over all sessions; 0: the greater of slots and builders, and one more that is being recorded.
  std::uint32_t in_flight = 0;
  /// Added to the limits of commands: the process supervisor's own deadline, which is exact, strikes first.
  nanoseconds margin = std::chrono::seconds(5);
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
    nanoseconds since{0}; ///< since when it has been waiting
    phase_times phases;
    resource_use used;
    std::vector<std::string> notes;
    std::optional<outcome> answer;  ///< the last run's end
    schedulers::place_id where = 0; ///< that has it in hand, or had it last; 0 while it waits to be tried again
    std::string place;              ///< its name
  };
  std::unordered_map<schedulers::job_id, work> in_hand;
  schedulers::job_id next_job = 1;

  struct place {
    std::string name;
    std::variant<builder_actor, runner_actor> who;
  };
  std::unordered_map<schedulers::place_id, place> places;
  schedulers::place_id next_place = 1;

  std::unordered_map<session_number, tuner_actor> clients;
  std::unordered_set<session_number> cancelled; ///< those of the clients that were called back
  std::vector<finished> ended;                  ///< of this message, to go to the recorder together
  std::vector<schedulers::action> actions;
  std::optional<nanoseconds> armed; ///< when the next tick comes
  std::uint64_t epoch = 0;
  static inline const char* name = "scheduler";
};

/// The SCHEDULER's behaviour.
scheduler_actor::behavior_type scheduler(scheduler_actor::stateful_pointer<scheduler_state> self,
                                         recorder_actor recorder, monitor_port watch, scheduler_options options);

/// How long a trial's build and its runs may take in all by its spec (0: no limit): the sums of the limits of its
/// processes.
nanoseconds build_limit_of(const task_spec& spec, nanoseconds margin);
nanoseconds run_limit_of(const task& t, nanoseconds margin);

} // namespace attune::actors
