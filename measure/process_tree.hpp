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

/// What /proc says of `pid`; none where there is no such process. Where it cannot be looked at for want of descriptors
/// or memory it is none as well, and `*blind` becomes true.
std::optional<process_entry> read_process(pid_t pid, bool* blind = nullptr);

/// Every process that this one can see. One directory listing and one file a process. `*blind` becomes true where some
/// may be missing, for want of descriptors or memory.
std::vector<process_entry> list_processes(bool* blind = nullptr);

/// The name of the environment entry that marks every process of a trial.
inline constexpr std::string_view mark_name = "ATTUNE_TRIAL";

/// The value of that entry in the environment that `pid` was started with; empty where there is none or where it may
/// not be read (another user's process, a zombie). Not to be asked of many: it waits for the memory map of that
/// process, which one that forks or maps holds.
std::string mark_of(pid_t pid);

/// Sends `signal` to the very process that `entry` describes: its start is compared once the process is held by a
/// pidfd, so that a pid used again by a stranger is never hit. False where it is gone.
bool signal_process(const process_entry& entry, int signal);

/// The program's name as the kernel keeps it (15 bytes); empty where it is gone.
std::string name_of(pid_t pid);

/// The pid that the kernel gave last in this pid namespace; none where it cannot be read.
std::optional<pid_t> last_pid();

/// The processes in `all` that a trial is known to have: its root, what is in the session or the process group that the
/// root leads, those listed in `also`, and all that descend from one of these. Zombies are among them, `strange` (other
/// children of the tuner that are known) never; nothing older than `since` (ticks since boot) is.
std::vector<process_entry> descendants(const std::vector<process_entry>& all, pid_t root, std::uint64_t since,
                                       std::span<const pid_t> also, std::span<const pid_t> strange);

/// The processes in `all` that may be orphans of a trial: not older than `since`, in another session than
/// `own_session`, not among `known`, and children of one of the processes that the kernel gives orphans to. What they
/// descend from is not to be seen any more; the mark tells.
std::vector<process_entry> orphans(const std::vector<process_entry>& all, std::span<const pid_t> reapers,
                                   std::uint64_t since, pid_t own_session, std::span<const pid_t> known);

/// The ancestors of `pid` in `all`: one of them is given the orphans below it where nearer ones do not ask for them.
std::vector<pid_t> ancestors(const std::vector<process_entry>& all, pid_t pid);

} // namespace attune::measure
