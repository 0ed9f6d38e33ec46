#pragma once

#include "measure/confinement.hpp"
#include "measure/descriptor.hpp"

#include <linux/perf_event.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace attune::measure {

/// What one process is started with. Everything is prepared by the caller, so that the child itself does nothing but
/// async-signal-safe system calls between its birth and exec.
struct launch_request {
  std::vector<std::string> argv; ///< not empty; argv[0] without a slash is looked up in the PATH of `environment`
  std::vector<std::string> environment;  ///< the whole of it, `NAME=value`
  std::string directory;                 ///< where it runs; empty: where the tuner runs
  int in = -1, out = -1, err = -1;       ///< all >= 3; become 0, 1 and 2
  int cgroup = -1;                       ///< descriptor of a cgroup v2 folder to be born in; -1: the tuner's own
  std::vector<int> cpus;                 ///< the processors that it may use; empty: the tuner's own
  bool outlives = false;                 ///< it does not die with the tuner: the guardian alone
  const confinement* confine = nullptr;  ///< its identity, limits and privileges; null: the tuner's
  std::vector<perf_event_attr> counters; ///< opened by the child on itself before exec; empty: nothing is done for them
};

/// What came of it.
struct launch_result {
  enum class step { done, clone, counter, confine, directory, exec };
  step failed = step::done; ///< where it failed; `done`: it runs
  int code = 0;             ///< errno of that step
  pid_t pid = -1;
  descriptor pidfd;                 ///< becomes readable when the process has ended
  std::vector<descriptor> counters; ///< as they were asked for; readable after its end

  bool ok() const noexcept { return failed == step::done; }
};

/// Starts a process in a session and process group of its own: clone(CLONE_VM|CLONE_VFORK|CLONE_PIDFD) and exec, so
/// that the cost does not grow with the tuner's memory. The child dies with the *thread* that calls this
/// (PR_SET_PDEATHSIG, SIGKILL; not where `outlives` is set), gets default signal handlers and an empty mask, no
/// descriptor but 0, 1 and 2, no core file, and is the first that the kernel takes when memory is out. Where counters
/// are asked for, the child is born with the tuner's descriptor table, opens them in it on itself, so that they see its
/// exec, and takes a table of its own. Blocks until exec has succeeded or failed. Thread-safety: any thread, but see
/// the sentence on the parent-death signal.
launch_result launch(const launch_request& request);

/// True where a process can be born inside a cgroup (clone3 with CLONE_INTO_CGROUP; x86-64 here).
bool can_launch_into_cgroup() noexcept;

/// One line for a person: why `request` could not be started.
std::string explain(const launch_result& result, const launch_request& request);

/// True where a failure to start is the machine's fault (no memory, no process, no descriptor), not the command's.
bool is_infrastructure(const launch_result& result) noexcept;

} // namespace attune::measure
