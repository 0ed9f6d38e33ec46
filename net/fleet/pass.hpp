#pragma once

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

  static pass everything() { return {true, true, true, true, {}, {}, {}}; }
};

} // namespace attune::net::fleet
