#pragma once

#include "core/error.hpp"
#include "measure/callable_runner.hpp"
#include "measure/executor.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace attune::measure {
class machine_slot;
class supervisor;
} // namespace attune::measure

namespace attune::actors {

/// How long a run waits for its turn among processes before it goes ahead.
inline constexpr auto turn_patience = std::chrono::minutes(10);

/// The supervisor of an engine's processes, made with the first command: who tunes callables only never starts its
/// thread. Safe from any thread.
class lazy_supervisor {
public:
  /// `subreaper`: engine_options::subreaper.
  explicit lazy_supervisor(bool subreaper) : subreaper_(subreaper) {}
  /// Errors: those of measure::supervisor::create, and the next call tries again.
  result<std::shared_ptr<measure::supervisor>> get();

private:
  std::mutex lock_;
  bool subreaper_;
  std::shared_ptr<measure::supervisor> made_;
};

/// A slot of this machine on the cores `cpus` (empty: all): runs commands or callables, by the task; callables where
/// `where` says. With `turns`, commands wait for their turn among processes, and `waiting` is called where one has to.
std::shared_ptr<measure::runner> make_local_runner(std::shared_ptr<lazy_supervisor> processes,
                                                   measure::callable_runner::calling where,
                                                   const std::vector<int>& cpus,
                                                   std::shared_ptr<measure::machine_slot> turns,
                                                   std::function<void()> waiting);

/// What builds by commands on the cores `cpus` (empty: all).
std::shared_ptr<measure::builder> make_local_builder(std::shared_ptr<lazy_supervisor> processes,
                                                     const std::vector<int>& cpus);

} // namespace attune::actors
