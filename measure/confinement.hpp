#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <utility>
#include <vector>

namespace attune::measure {

/// What is taken from the processes that a supervisor starts, where they run what strangers have written. All of it is
/// done by system calls between a process's birth and its exec: no time of its own is added to what is timed.
struct confinement {
  struct identity {
    uid_t user = 0;
    gid_t group = 0;
  };
  bool no_new_privileges = false; ///< no set-user-ID program, and no file's capabilities, give them any
  std::optional<identity> who;    ///< run as this user, in this group alone; needs root
  /// RLIMIT_… and the most, soft and hard; never above what the supervisor itself may.
  std::vector<std::pair<int, rlim_t>> limits;
  bool own_temporary = false; ///< $TMPDIR (and $HOME, of another user) is a folder of each process's own, gone with it
  bool no_network = false;    ///< all of them in a network namespace in which nothing is; needs CAP_SYS_ADMIN

  bool any() const noexcept { return no_new_privileges || who || !limits.empty(); }
};

} // namespace attune::measure
