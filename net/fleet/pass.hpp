#pragma once

#include <cstdint>
#include <string>

namespace attune::net::fleet {

/// What a peer may do.
struct pass {
  bool work = false;   ///< offer devices
  bool tune = false;   ///< give tasks, follow them
  bool watch = false;  ///< see devices
  bool manage = false; ///< drain and ban, call back
  // Of the token, for the logs; empty where none was needed.
  std::string id, role, name;
  // A client's part of the slots beside others', and the most trials that it has in flight; 0: no limit.
  double weight = 1;
  std::uint32_t limit = 0;

  static pass everything() { return {true, true, true, true, {}, {}, {}, 1, 0}; }
};

} // namespace attune::net::fleet
