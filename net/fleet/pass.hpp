#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace attune::net::fleet {

/// What a peer may do.
struct pass {
  bool work = false;   ///< offer devices
  bool tune = false;   ///< give tasks, follow them
  bool watch = false;  ///< see devices
  bool manage = false; ///< drain and ban, call back
  // Of the token, for the logs; where none was needed there is a role alone: `local` (whoever is trusted as the same
  // user on this machine) or `anybody`.
  std::string id, role, name;
  // A client's part of the slots beside others', and the most trials that it has in flight; 0: no limit.
  double weight = 1;
  std::uint32_t limit = 0;

  static pass everything(std::string role = {}) { return {true, true, true, true, {}, std::move(role), {}, 1, 0}; }
};

} // namespace attune::net::fleet
