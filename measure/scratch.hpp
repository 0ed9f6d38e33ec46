#pragma once

#include "core/error.hpp"
#include "measure/descriptor.hpp"

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace attune::measure {

/// Names this process among all that ever ran on this machine: pid namespace, pid, and start in ticks since boot.
struct process_stamp {
  std::uint64_t name_space = 0;
  int pid = 0;
  std::uint64_t start = 0;
  /// `4026531836-1234-567890`.
  std::string text() const;
  /// The inverse, for a text that begins so; false where it does not.
  bool read(std::string_view text);
  /// True where no such process is there any more. One of another pid namespace cannot be judged and is not gone.
  bool gone() const;
};
/// This process's own.
const process_stamp& own_stamp();

/// The private folders of this process: one root under the temporary folder, mode 0700, named after the process, held
/// by a lock that the kernel drops with the process. The root is removed with this object.
/// Thread-safety: any thread.
class scratch {
public:
  /// Makes the root below `temporary` (empty: $TMPDIR, else /tmp) and removes the roots of the same user's dead
  /// processes. Errors: invalid_spec, where there is no such folder or it cannot be written; io.
  static result<std::unique_ptr<scratch>> open(const std::string& temporary);
  ~scratch();
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  /// A fresh, empty folder; the caller removes it with remove_tree(). Where the root itself has been deleted meanwhile
  /// (by what cleans temporary folders), it is made anew. Errors: io, with the reason.
  result<std::string> make_folder();
  const std::string& root() const noexcept { return root_; }

  /// From now on this user may pass through the root, in which he sees nothing, and hand_over() gives him folders.
  /// Errors: io.
  status admit(uid_t user, gid_t group);
  /// A folder and all that is in it become that user's, the folder itself last, so that he meets nothing half given. To
  /// be called when what is put there is there, and before he runs anything in it. Nothing where none was admitted.
  /// Errors: io.
  status hand_over(const std::string& folder);

private:
  scratch(std::string root, descriptor lock) : root_(std::move(root)), lock_(std::move(lock)) {}
  std::string root_;
  std::mutex remaking_;
  descriptor lock_; ///< once there are folders, guarded by remaking_
  std::optional<std::pair<uid_t, gid_t>> user_;
  std::atomic<std::uint64_t> made_{0};
};

/// Removes a folder and all below it, also what it must first make writable. Never follows a link. What cannot be
/// removed stays.
void remove_tree(const std::string& folder) noexcept;

} // namespace attune::measure
