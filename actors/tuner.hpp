#pragma once

#include "actors/interfaces.hpp"
#include "measure/run_off.hpp"
#include "search/tuning.hpp"

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <deque>
#include <memory>
#include <vector>

namespace attune::actors {

/// All that a tuner is made with.
struct tuner_setup {
  session_info session;
  std::string session_id;                 ///< under which its steps are kept; empty: they are not
  std::unique_ptr<search::tuning> search; ///< with its past replayed
  std::uint32_t wish = 0;                 ///< the most trials that it can have in flight; 0: no bound of its own
  model_actor model;                      ///< who trains for it; null: its strategy trains in its own ask()
  /// How long measuring side by side may go on, from the tuner's beginning; none: until it is decided.
  std::optional<nanoseconds> finals_until;
  /// Where it shares a budget with others: who deals, which of them it is, their number at the scheduler.
  allocator_actor dealer;
  std::size_t member = 0;
  session_number party = 0;
};

struct tuner_state {
  explicit tuner_state(tuner_actor::pointer) {}
  tuner_setup setup;
  cache_actor cache;
  scheduler_actor scheduler;
  recorder_actor recorder;
  monitor_port watch;
  bool paused = false, begun = false, ended = false;
  bool recalled = false; ///< what was in flight has been asked back
  nanoseconds started{0};
  std::optional<error> trouble;
  std::vector<caf::typed_response_promise<report_ptr>> waiting_for_report;
  report_ptr report;
  std::deque<trial_ptr> offered; ///< misses that a measuring caller may ask for
  std::vector<caf::typed_response_promise<trial_ptr>> asking;
  std::vector<std::pair<trial_ptr, caf::typed_response_promise<caf::ok_atom>>> telling;
  std::vector<trial_ptr> lent; ///< given to a measuring caller, not told
  /// What trials in flight may be taken to come to, where the cache does not know them.
  std::vector<std::pair<trial_number, estimate>> guesses;
  std::deque<finished> kept; ///< results that wait for a training; no more than were in flight

  /// What was built for the best and for the default: they may be run again at the end.
  std::vector<std::pair<key128, measure::artifact_ptr>> built;
  /// The end of the search: the best are measured side by side.
  struct final_part {
    measure::run_off order;
    std::vector<search::best_so_far> field; ///< whom the indices of `order` mean
    std::optional<std::size_t> reference;
    trial_ptr under_way;
    outcome last; ///< of the last run: where it ran, and when
  };
  std::optional<final_part> finals;
  bool finals_over = false;
  std::uint64_t final_runs = 0, repeated = 0;
  std::size_t amending = 0;                             ///< amendments on their way through the recorder
  std::vector<std::pair<key128, amendment>> amendments; ///< of those that were measured side by side

  // Where it shares a budget:
  std::vector<budget_step> untold; ///< what its allocator has not heard
  std::uint32_t told_window = 0;
  bool told_stopping = false;
  std::optional<nanoseconds> whole_began; ///< monotonic: the whole's time is each one's
  static inline const char* name = "tuner";
};

/// The TUNER's behaviour. `setup` is moved from.
tuner_actor::behavior_type tuner(tuner_actor::stateful_pointer<tuner_state> self,
                                 const std::shared_ptr<tuner_setup>& setup, cache_actor cache,
                                 scheduler_actor scheduler, recorder_actor recorder, monitor_port watch);

} // namespace attune::actors
