#pragma once

#include "actors/interfaces.hpp"
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
  std::deque<finished> kept;   ///< results that wait for a training; no more than were in flight
  static inline const char* name = "tuner";
};

/// The TUNER's behaviour. `setup` is moved from.
tuner_actor::behavior_type tuner(tuner_actor::stateful_pointer<tuner_state> self,
                                 const std::shared_ptr<tuner_setup>& setup, cache_actor cache,
                                 scheduler_actor scheduler, recorder_actor recorder, monitor_port watch);

} // namespace attune::actors
