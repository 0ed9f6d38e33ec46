#pragma once

#include "measure/command_builder.hpp"
#include "measure/executor.hpp"
#include "measure/job_processes.hpp"

#include <memory>
#include <vector>

namespace attune::measure {

class metric_reader;

/// Runs with the spec's run command: warm-up, repeats until the protocol has enough, the check, the metrics.
///
/// The rules: the limit holds for each process by itself and begins with it. The check is done once, after the first
/// run that ended well, before the rest of the repeats: exit status 0 is right, all else (its limit too) is
/// wrong_output. One repeat that fails, or whose objective is no good number, fails the configuration. A further metric
/// that is missing or no good number is left out, with a note; one of the processes gives one sample a run, and where
/// the warm-up was all that was run, the last of that is kept. A peak below what Attune itself has had cannot be told
/// from that: as the objective a bad_metric, else given as that, which it is at most, with a note. A file named as a
/// metric must have been written by the very run. {workdir} is the artifact's folder, or a fresh one for the trial
/// where there is no build.
///
/// A trial with a rival is stopped early (bound) only where repeats go on until an interval is narrow: where
/// protocol::hopeless() says so, or where a run beyond the stated warm-up reaches limit_beside() before its own limit.
///
/// Destroying the runner cancels what is in progress; `done` is called even then. Thread-safety: as `runner`.
class command_runner final : public runner {
public:
  explicit command_runner(std::shared_ptr<supervisor> processes, command_options options = {});
  ~command_runner() override;
  void run(trial_ptr what, artifact_ptr built, callback done) override;
  void cancel() override { in_hand_.cancel(); }

private:
  struct job;
  std::shared_ptr<supervisor> processes_;
  command_options options_;
  job_in_hand in_hand_;
  task_ptr readers_of_; ///< the task that the readers were made for: patterns are compiled once
  std::shared_ptr<const std::vector<metric_reader>> readers_;
};

} // namespace attune::measure
