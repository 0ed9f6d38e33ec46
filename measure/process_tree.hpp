#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune::measure {

/// One line of /proc/PID/stat.
struct process_entry {
  pid_t pid = 0, parent = 0, group = 0, session = 0;
  char state = '?';        ///< as the kernel writes it: R S D T Z …
  std::uint64_t start = 0; ///< ticks since boot; with the pid it names a process for ever
  bool dead() const noexcept { return state == 'Z' || state == 'X'; }
};

/// What /proc says of `pid`; none where there is no such process.
std::optional<process_entry> read_process(pid_t pid);

/// Every process that this one can see. One directory listing and one file a process.
std::vector<process_entry> list_processes();

/// The name of the environment entry that marks every process of a trial.
inline constexpr std::string_view mark_name = "ATTUNE_TRIAL";

/// The value of that entry in the environment that `pid` was started with; empty where there is none or where it may
/// not be read (another user's process, a zombie).
std::string mark_of(pid_t pid);

/// Sends `signal` to the very process that `entry` describes: its start is compared once the process is held by a
/// pidfd, so that a pid used again by a stranger is never hit. False where it is gone.
bool signal_process(const process_entry& entry, int signal);

/// The program's name as the kernel keeps it (15 bytes); empty where it is gone.
std::string name_of(pid_t pid);

/// The pid that the kernel gave last in this pid namespace; none where it cannot be read.
std::optional<pid_t> last_pid();

/// Whom to look for. A process descends from `root` when it is `root`, is in the session or the process group that
/// `root` leads, carries the mark in its environment, or has a descendant as its parent.
struct tree_query {
  pid_t root = 0;
  std::uint64_t root_start = 0;   ///< ticks since boot; nothing older can descend from it
  std::string_view mark;          ///< the mark's value; empty: marks are not looked at
  std::span<const pid_t> strange; ///< children of the tuner that are known and not of this tree
};

/// The descendants of `query.root` in `all`, zombies among them, the root too where it is still there.
std::vector<process_entry> descendants(const std::vector<process_entry>& all, const tree_query& query);

/// Orphans that the kernel gave to `tuner` as their subreaper: its children in another session than `own_session` that
/// are not among `known`. Only right where the tuner starts no process in a session of its own but through the
/// supervisor.
std::vector<process_entry> strays(const std::vector<process_entry>& all, pid_t tuner, pid_t own_session,
                                  std::span<const pid_t> known);

} // namespace attune::measure
