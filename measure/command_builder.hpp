#pragma once

#include "measure/executor.hpp"
#include "measure/job_processes.hpp"
#include "measure/supervisor.hpp"
#include "measure/trial_process.hpp"

#include <functional>
#include <memory>
#include <span>

namespace attune::measure {

/// How a command_builder or command_runner works.
struct command_options {
  process_limits limits;
  const time_source* clock = &system_time(); ///< for the times that are told; the limits are the supervisor's
  /// A process of a trial has ended: what it said, and the trial's samples so far. Between two processes, on the
  /// supervisor's thread. May be empty.
  std::function<void(const process_result&, std::span<const double> samples)> ended;
};

/// Builds with the spec's build command: a fresh private folder for each trial, {artifact} in it, the sources laid out
/// where a command runs there. A build that ends well but leaves no {artifact} that it named is a build_error.
///
/// Making the folder and copying the sources is done by build() itself, before it returns. The limit is counted from
/// the start of the process. Destroying the builder cancels what is in progress; `done` is called even then.
/// Thread-safety: as `builder`.
class command_builder final : public builder {
public:
  explicit command_builder(std::shared_ptr<supervisor> processes, command_options options = {});
  ~command_builder() override;
  void build(trial_ptr what, callback done) override;
  void cancel() override { in_hand_.cancel(); }

private:
  struct job;
  std::shared_ptr<supervisor> processes_;
  command_options options_;
  job_in_hand in_hand_;
};

} // namespace attune::measure
