#pragma once

#include "measure/executor.hpp"

#include <memory>

namespace attune::measure {

/// Runs task.objective: one call gives one sample or more; warm-up and repeats as for commands, and the same rules for
/// what a good sample is. An exception is a run_error with its text.
///
/// A further metric of the source `cpu` is the CPU time of the thread that calls, one sample a call.
///
/// A trial with a rival is stopped early (bound) where protocol::hopeless() says so.
///
/// The limit holds for each call; at the limit the token is asked to stop, and what the call then returns is a
/// run_timeout. cancel() asks the same way. A call that does not look at its token is waited for, in the destructor
/// too. One thread watches the limit; it sleeps but for one look in each limit's length. Thread-safety: as `runner`.
class callable_runner final : public runner {
public:
  /// Where the objective and `done` are called.
  enum class calling {
    inside_run, ///< before run() returns, on its caller's thread: for objectives of microseconds
    own_thread  ///< on a thread of the runner's own, which comes with the first run
  };
  /// `cpus`: the processors that its own thread keeps to; empty: any.
  explicit callable_runner(calling where = calling::inside_run, const time_source& clock = system_time(),
                           std::vector<int> cpus = {});
  ~callable_runner() override;
  void run(trial_ptr what, artifact_ptr built, callback done) override;
  void cancel() override;

private:
  class watch;
  class caller;
  void call(const trial& what, const callback& done);

  calling where_;
  const time_source& clock_;
  std::vector<int> cpus_;
  std::unique_ptr<watch> watch_;
  std::unique_ptr<caller> caller_;
};

} // namespace attune::measure
