#pragma once

#include "testing/fleet/plan.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace attune::testing {

/// What a simulated fleet came to.
struct fleet_end {
  std::optional<std::string> broken; ///< the rule, with the last messages; none: everything held
  std::uint64_t trace = 0;           ///< a digest of every message, run and frame in its order
  std::uint64_t runs = 0, records = 0, frames = 0, messages = 0;
  std::uint64_t aheads = 0; ///< orders that a slot was given behind the one that it ran
  std::uint64_t builds = 0; ///< on machines
  std::uint64_t lives = 0;  ///< of the hub
  nanoseconds virtual_time{0};
};

/// Plays it: the real hub (engine, sessions, leases, remote slots, jobs) on a real store, the real agents with scripted
/// runners, the real client, over fake links, on virtual time and in one thread, with a ledger beside them. Works in a
/// folder of its own below /dev/shm, or the temporary folder, that it removes. Deterministic: the same plan gives the
/// same trace.
fleet_end play_fleet(const fleet_plan& p);

/// Takes out faults, and what candidates do, as long as it still fails. @pre play_fleet(p).broken
fleet_plan shrunk(fleet_plan p);

} // namespace attune::testing
