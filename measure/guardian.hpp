#pragma once

#include "core/error.hpp"
#include "measure/launcher.hpp"

#include <string>

namespace attune::measure {

/// The process that cleans up after a tuner that was killed: a shell in a session of its own that waits on a pipe whose
/// other end the tuner holds. At the end of the pipe it kills the cgroup, then every process that carries the mark
/// (stopping them first, so that none forks meanwhile), removes the private folders, and ends. It sleeps until then.
class guardian {
public:
  /// `mark` is what the environments of all trials' processes begin one entry with; `cgroup` may be empty. Called on
  /// the supervising thread.
  static result<guardian> start(const std::string& mark, const std::string& cgroup, const std::string& folder);
  guardian(guardian&&) = default;
  guardian& operator=(guardian&&) = delete;
  /// Dismisses it (it touches nothing) and waits for its end.
  ~guardian();

  pid_t pid() const noexcept { return pid_; }

private:
  guardian(pid_t pid, descriptor pidfd, descriptor pipe)
      : pid_(pid), pidfd_(std::move(pidfd)), pipe_(std::move(pipe)) {}
  pid_t pid_;
  descriptor pidfd_, pipe_;
};

} // namespace attune::measure
