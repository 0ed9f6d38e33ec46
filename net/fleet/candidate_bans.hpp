#pragma once

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/task.hpp"
#include "net/private_folder.hpp"
#include "proto/wire.pb.h"

#include <cstddef>
#include <string>
#include <vector>

namespace attune::net::fleet {

/// Candidates that are not run: those that somebody has banned, by the task's name and the configuration as it is
/// shown, and those that have lost two devices (quarantined), by their measurement's key: what is built from other
/// sources is another candidate. They lie in the hub's folder, in its file `banned`, until they are lifted.
/// Thread-safety: one owner. Bounds: `most` candidates; of the quarantined ones the oldest go first.
class candidate_bans {
public:
  static constexpr std::size_t most = 10'000;

  /// Errors: io (cannot be read or is damaged).
  static result<candidate_bans> open(private_folder folder);

  /// Bans it for whichever task where `task` is empty. Errors: invalid_spec (empty; too many), io.
  status ban(const std::string& task, const std::string& configuration, const std::string& who, nanoseconds now);
  /// It has lost two devices. Errors: io.
  status quarantine(const trial& what, const std::string& why, nanoseconds now);
  /// By the words with which it is listed; whichever task's where `task` is empty. Errors: not_found, io.
  status lift(const std::string& task, const std::string& configuration);

  /// Null where it may be run.
  const wire::v1::BannedCandidate* find(const trial& what) const;
  const std::vector<wire::v1::BannedCandidate>& list() const noexcept { return all_; }

private:
  explicit candidate_bans(private_folder folder) : folder_(std::move(folder)) {}
  status write() const;

  private_folder folder_;
  std::vector<wire::v1::BannedCandidate> all_; ///< the oldest first
};

/// A configuration as a person may write it: the order of its parameters is of no importance.
std::string sorted_text(const configuration& c);

} // namespace attune::net::fleet
