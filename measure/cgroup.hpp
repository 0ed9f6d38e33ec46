#pragma once

#include "measure/descriptor.hpp"

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attune::measure {

/// One cgroup v2 folder that holds one process and all that it starts, until it is empty again.
class cgroup {
public:
  explicit cgroup(std::string path);
  /// Kills what is left in it and removes the folder.
  ~cgroup();
  cgroup(const cgroup&) = delete;
  cgroup& operator=(const cgroup&) = delete;

  bool ok() const noexcept { return folder_ && events_ && kill_; }
  /// The folder's descriptor, for launch().
  int descriptor_of() const noexcept { return folder_.get(); }
  /// True while a process that has not ended is in it.
  bool populated() const;
  /// The processes in it, zombies not among them.
  std::vector<pid_t> members() const;
  /// SIGKILL to all of them at once; what they fork meanwhile dies too.
  void kill();
  bool was_killed() const noexcept { return was_killed_; }

private:
  std::string path_;
  descriptor folder_, events_, kill_;
  bool was_killed_ = false;
};

/// Makes cgroups under one folder of this process's own cgroup and keeps the empty ones for the next process, because
/// making one costs more than using it. Thread-safety: one owner.
class cgroup_pool {
public:
  /// None where there is no cgroup v2 that this process may divide, or one without cgroup.kill (kernels before 5.14).
  static std::unique_ptr<cgroup_pool> open(const std::string& name);
  /// Removes them all; what is still in them is killed.
  ~cgroup_pool();

  /// An empty cgroup; null where none can be made.
  std::unique_ptr<cgroup> take();
  /// Gives back one that is empty. One that was killed is removed and not used again: from 6.14 on, the kernel compares
  /// the number of kills of a new process's cgroup with that of its parent's, and kills the newborn where they differ.
  void give(std::unique_ptr<cgroup> empty);
  /// The folder above them: killing it kills all.
  const std::string& path() const noexcept { return path_; }

private:
  explicit cgroup_pool(std::string path) : path_(std::move(path)) {}
  std::string path_;
  std::vector<std::unique_ptr<cgroup>> free_;
  unsigned made_ = 0;
};

/// The folder of this process's own cgroup in the cgroup v2 tree; none where there is no such tree.
std::optional<std::string> own_cgroup();

/// Kills and removes what dead tuners left below this process's cgroup: folders named `attune-` and the stamp of a
/// process that is gone.
void sweep_cgroups();

} // namespace attune::measure
