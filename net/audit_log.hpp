#pragma once

#include "core/clock.hpp"
#include "net/private_folder.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attune::net {

/// Who did something: as far as it is known. Never a secret.
struct audit_who {
  std::string token; ///< its id
  std::string role, name;
  std::string peer; ///< the remote address
};

/// What else there is to say, in this order.
using audit_details = std::vector<std::pair<std::string, std::string>>;

struct audit_limits {
  std::size_t file_bytes = 8u << 20; ///< then a new file is begun
  std::size_t old_files = 4;         ///< kept of those before
};

/// Who did what at a hub: the file `audit.log` in its folder, one JSON object on each line, the newest last; older ones
/// are `audit.log.1` and so on. Several processes may write. Thread-safety: one owner.
class audit_log {
public:
  explicit audit_log(private_folder folder, const audit_limits& limits = {});

  /// Writes one line: `at` (wall clock), who, `did`, and what `more` says, in its order. Texts of any bytes are made
  /// JSON, the longest cut at 300 bytes. Errors: io; nothing of it is then written.
  status write(nanoseconds at, const audit_who& who, std::string_view did, const audit_details& more = {});

private:
  status open();
  status rotate();

  private_folder folder_;
  audit_limits limits_;
  measure::descriptor file_;
};

} // namespace attune::net
