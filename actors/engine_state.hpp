#pragma once

#include "actors/engine.hpp"
#include "actors/interfaces.hpp"
#include "actors/joint.hpp"
#include "actors/local_workers.hpp"
#include "actors/monitor.hpp"
#include "actors/session_state.hpp"
#include "measure/topology.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <atomic>
#include <mutex>
#include <unordered_map>

namespace attune::actors {

/// What an engine is made of.
struct engine::impl {
  engine_options options;
  measure::slot_plan places;
  std::unique_ptr<storage::store_port> store;
  std::unique_ptr<caf::actor_system_config> config;
  std::unique_ptr<caf::actor_system> own;
  caf::actor_system* system = nullptr;
  std::shared_ptr<lazy_supervisor> processes;
  monitor_port watch;
  cache_actor cache;
  scheduler_actor scheduler;
  recorder_actor recorder;
  archive_actor archive; ///< null without a store
  model_actor model;
  std::vector<builder_actor> builders;
  std::vector<runner_actor> runners;
  std::vector<watcher_actor> watchers;
  std::mutex lock;
  std::vector<std::shared_ptr<session::impl>> sessions;
  std::vector<std::shared_ptr<joint_session::impl>> joints;
  std::atomic<session_number> next{1};
  std::unordered_map<std::uint64_t, runner_actor> apart; ///< by number; guarded by `lock`
  std::uint64_t next_slot = 1;

  /// What one of several tasks with one budget has beside its request.
  struct shared_part {
    allocator_actor dealer;
    std::size_t member = 0;
    session_number party = 0;
    std::optional<std::uint64_t> trials_each; ///< about, for the strategies' schedules
    storage::record_id up_to = 0;             ///< experience that it may have
    nanoseconds spent{0};                     ///< by the whole before it began
    std::vector<budget_step>* past = nullptr; ///< out: its steps in earlier processes
  };

  void spawn_all();
  /// Makes the session's tuner, which has not begun. From any thread that is not an actor's own worker.
  result<std::shared_ptr<session::impl>> open(const tuning_request& request, const shared_part* part);
  /// Tells the cache what was measured before parameters with a default were added to the spec.
  attune::status fill_from_earlier(const task_ptr& of, const search::space& over);
  void stop_all();
};

} // namespace attune::actors
