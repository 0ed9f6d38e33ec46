#pragma once

#include "core/clock.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace attune::testing {

/// Something that goes wrong in a fleet, at a virtual time.
struct fleet_fault {
  enum class kind : std::uint8_t {
    agent_killed,     ///< the `which`-th machine's agent ends with all that it runs; its next life comes after `lasts`
    agent_stalls,     ///< it is stopped for `lasts`: time goes on without it
    agent_leaves,     ///< it leaves in order, and comes again after `lasts`
    twin_comes,       ///< another machine dials in under its name, for `lasts`
    link_cut,         ///< the `which`-th wire that is open, of agents and clients
    link_half_closed, ///< one end of it hears that it is over
    link_freezes,     ///< nothing arrives on it any more, and nobody is told
    link_slows,       ///< for `lasts`
    link_not_read,    ///< one of its ends reads nothing for `lasts`
    frame_doubled,    ///< the next frame on it comes twice
    frame_truncated,  ///< the next frame on it comes cut short
    hub_killed,       ///< with all that it has not written; its next life comes after `lasts`
    hub_killed_at_write, ///< the same, right after its next write to the store
    hub_torn_at_write,   ///< the power goes in the middle of its next write to the store
    hub_power_cut,       ///< it is killed, and what the store had not synced may be lost, or be there in part
    hub_stalls,          ///< it is stopped for `lasts`
    store_fails,         ///< every write, for `lasts`
    client_goes,         ///< the `which`-th client hangs up, and comes back to its job after `lasts`
    client_asks_again,   ///< the same, but it submits what it has submitted before
    device_drained,      ///< the `which`-th, for `lasts`
    device_banned,       ///< the same
    stranger_comes,      ///< somebody dials in who does not keep to the protocol, in the `which`-th way
    careless_comes,      ///< somebody submits what is to be refused
    disk_spoils,         ///< the `which`-th machine is killed, and its disk spoils what it was sent; comes as above
    wall_steps,          ///< the wall clock, forth or back
  };
  static constexpr std::uint32_t kinds = 25;
  kind what = kind::agent_killed;
  nanoseconds at{0}, lasts{0};
  std::uint32_t which = 0;
};
const char* to_string(fleet_fault::kind k) noexcept;

/// A whole experiment with a hub: how many agents, slots, clients and jobs, how candidates behave, how slow the links
/// are, whose turn it is, and what goes wrong when. All of it follows from the seed; `faults` may be taken out.
struct fleet_plan {
  std::uint64_t seed = 1;
  std::uint32_t agents = 2, slots = 1, jobs = 1;
  std::uint32_t size = 12;  ///< configurations of each space
  std::uint32_t finals = 0; ///< run once more at a search's end
  bool shared = false;      ///< all jobs are of one task, with seeds of their own: they ask for the same
  bool brief = false;       ///< runs are short: slots are given the next one ahead
  bool same = false;        ///< all clients submit the very same job
  /// In what the jobs of one task differ, each a reason to measure anew.
  enum class part : std::uint8_t { nothing, command, contents, workload, timeout, repeats, metric, target };
  static constexpr std::uint32_t parts = 8;
  part differ = part::nothing;
  bool builds = false;                                ///< candidates are built on the machines that run them
  bool hub_builds = false;                            ///< candidates are built where the hub is
  std::uint32_t file_bytes = 0;                       ///< of a file that runs, or builds, need; 0: none
  bool reopened = false;                              ///< the store is read anew at the end
  nanoseconds slowest = std::chrono::milliseconds(2); ///< a frame's way, at most
  /// Shares of the candidates (where they are built, of the builds as well): that hang, hang and do not hear a stop,
  /// crash, meet a fault of the machine, kill their machine, are slow, say what is no number, say a great deal.
  double hangs = 0, deaf = 0, crashes = 0, fails = 0, kills = 0, slow = 0, lies = 0, floods = 0;
  std::vector<fleet_fault> faults;

  std::string text() const; ///< for a person, one line and a line for each fault
};
fleet_plan fleet_plan_of(std::uint64_t seed);

} // namespace attune::testing
