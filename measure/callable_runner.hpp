#pragma once

#include "measure/executor.hpp"

#include <memory>

namespace attune::measure {

/// Runs task.objective: one call gives one sample or more; warm-up and repeats as for commands, and the same rules for
/// what a good sample is. An exception is a run_error with its text.
///
/// run() calls the objective itself and `done` before it returns: its caller is a thread of its own. The limit holds
/// for each call; at the limit the token is asked to stop, and what the call then returns is a run_timeout. cancel()
/// asks the same way. One more thread watches the limit; it sleeps but for one look in each limit's length.
/// Thread-safety: as `runner`.
class callable_runner final : public runner {
public:
  explicit callable_runner(const time_source& clock = system_time());
  ~callable_runner() override;
  void run(trial_ptr what, artifact_ptr built, callback done) override;
  void cancel() override;

private:
  class watch;
  const time_source& clock_;
  std::unique_ptr<watch> watch_;
};

} // namespace attune::measure
