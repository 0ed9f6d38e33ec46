#pragma once

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/measurement.hpp"
#include "measure/capture.hpp"
#include "measure/confinement.hpp"
#include "measure/counters.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attune::measure {

class scratch;

/// How a supervisor behaves.
struct supervisor_options {
  /// The tuner takes in what its children leave behind (PR_SET_CHILD_SUBREAPER), so that nothing can hide from it, and
  /// holds every child of this process in another session to be one of these. False for a host that has children of its
  /// own; then a descendant that has left its session, changed its environment and lost its parent may escape where
  /// there is no cgroup v2.
  bool adopt_orphans = true;
  /// One small process (a shell that waits on a pipe) ends all that is left and removes the private folders when the
  /// tuner is killed.
  bool guardian = true;
  /// Holds each process in a cgroup v2 of its own where this can be had; else, and where false, the process tree is
  /// searched (process_tree.hpp).
  bool cgroups = true;
  /// Between SIGTERM and SIGKILL.
  nanoseconds grace = std::chrono::milliseconds(200);
  /// How long SIGKILL is given to take effect before a process is given up, with a note.
  nanoseconds kill_limit = std::chrono::seconds(5);
  /// What is taken from all that is started.
  confinement confine;
  /// How long a want of processes, descriptors or memory is waited out: from the first start that fails for it until
  /// one works again. What is to be started meanwhile is tried again and again; later it fails at once.
  nanoseconds launch_patience = std::chrono::seconds(3);
  /// Where the private folders are made; empty: $TMPDIR, else /tmp.
  std::string temporary;
};

/// One process to be started.
struct process_request {
  std::vector<std::string> argv;         ///< not empty
  std::vector<std::string> environment;  ///< `NAME=value`, added to the tuner's own and stronger than that
  std::string directory;                 ///< empty: the tuner's
  nanoseconds timeout{0};                ///< from the start of the process, never of a queue; 0: none
  std::size_t out_cap = 1 << 20;         ///< bytes of standard output that are kept; the rest is read and dropped
  std::size_t err_cap = 64 << 10;        ///< the same of standard error
  std::vector<int> cpus;                 ///< the processors that it may use; empty: the tuner's own
  std::vector<perf_event_attr> counters; ///< what is counted of it and of all its descendants (counters.hpp)
  bool peak = false;                     ///< its peak memory is wanted: as exactly as it can be told
};

/// How one process ended.
struct process_result {
  enum class ending {
    exited,      ///< by itself, `exit`
    signalled,   ///< by `signal`, which was not Attune's
    timed_out,   ///< at its limit
    cancelled,   ///< by cancel(), or with the supervisor
    not_started, ///< `message` says why, `infrastructure` whose fault it is
  };
  ending how = ending::not_started;
  std::optional<int> exit, signal;
  std::string message;
  bool infrastructure = false;
  nanoseconds wall{0}; ///< monotonic, from just before it was made until its end was seen; 0 where not started
  resource_use used;   ///< of it and of the descendants that it waited for; peak_bytes 0 where it cannot be told (the
                       ///< kernel counts the tuner's own memory into it, as the child is born in it)
  /// What its own peak must pass to be known: the tuner's, in which it is born (with some room for the kernel's
  /// counting).
  std::uint64_t peak_floor = 0;
  std::vector<std::optional<counted>> counters; ///< as they were asked for; none: it could not be read
  captured out, err;
  bool left_running = false; ///< it ended by itself and left descendants, which were killed
  std::vector<std::string>
      notes; ///< what a person should know: capped output, what was left running, what would not die
};

/// Starts and watches any number of processes at once on one long-lived thread of its own; every one in its own
/// session, with a limit on a monotonic clock. At its limit or on cancel: SIGTERM to every descendant, a grace, SIGKILL
/// to every descendant; the callback comes when none is left, or with a note on what would not go within the kill
/// limit. A process that ends by itself is done at once: what it left running is killed, and pipes that this keeps open
/// are not waited for.
///
/// Thread-safety: every function from any thread. Callbacks come one at a time on a second thread of the supervisor's,
/// so that they never delay the watching; they may start and cancel processes and may drop the last owner.
/// Bounds: one descriptor for the pidfd and two pipes a process, the caps for its output.
class supervisor {
public:
  using callback = std::function<void(process_result)>;
  using process_id = std::uint64_t;

  /// Errors: as scratch::open(); io, where no thread or descriptor can be had. Removes what dead tuners have left
  /// behind (folders, processes, cgroups).
  static result<std::shared_ptr<supervisor>> create(supervisor_options options = {});

  /// Kills what runs; each callback has been called (with `cancelled`) when this returns, and no process, folder or
  /// cgroup is left.
  ~supervisor();
  supervisor(const supervisor&) = delete;
  supervisor& operator=(const supervisor&) = delete;

  /// Returns at once; `done` is called exactly once.
  process_id start(process_request request, callback done);
  /// Ends a process early; `done` gets `cancelled`. Nothing happens where it is done already.
  void cancel(process_id id);

  /// Where private folders are made.
  measure::scratch& scratch() noexcept;

  /// The processes that are not done. For tests and for a doctor.
  std::size_t running() const;
  /// "cgroup" or "process tree": what holds the descendants.
  const char* containment() const noexcept;
  /// Whether what is started has no network, where that was asked for: the kernel may not permit it.
  bool network_taken() const noexcept;
  /// The guardian's pid; 0 where there is none.
  int guardian() const noexcept;

private:
  class impl;
  explicit supervisor(std::shared_ptr<impl> body);
  std::shared_ptr<impl> body_;
};

} // namespace attune::measure
