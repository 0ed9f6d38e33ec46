#pragma once

#include "actors/engine.hpp"
#include "actors/interfaces.hpp"
#include "actors/tuner.hpp"

#include <caf/actor.hpp>

#include <atomic>
#include <mutex>

namespace attune::actors {

/// What the copies of a session share.
struct session::impl {
  caf::actor_system* system = nullptr;
  std::function<void()> turn; ///< engine_options::turn
  tuner_actor tuner;
  session_number number = 0;
  scheduler_actor scheduler;
  std::mutex lock;
  report_ptr report;
  bool gone = false;   ///< the tuner ended without a report: the engine was destroyed
  bool closed = false; ///< let go by its owner
  std::atomic<bool> called_back{false};
  std::vector<caf::actor> hearers;
};

} // namespace attune::actors
