#pragma once

#include "core/clock.hpp"
#include "net/fleet/registry.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace attune::net::fleet {

/// Numbers the leases of a hub's life from 1; none is given twice.
using lease_id = std::uint64_t;

/// The right of one trial to one slot of one agent: from its order to its answer, or to the loss of the agent. So an
/// answer is used at most once: one that comes when its lease has ended, whoever sends it, is late and told apart from
/// one that was never given. A slot has two at the most, the second to be used when the run under the first has ended
/// (the agent keeps to that), so no run overlaps another on a slot.
///
/// An agent that has lost its connection ends what it runs before it comes again: the slots of a new connection are
/// free. Pure; time is passed in. Thread-safety: one owner.
class lease_table {
public:
  struct lease {
    lease_id id = 0;
    agent_id agent = 0;
    std::uint32_t slot = 0;
    nanoseconds since{0};
  };

  static constexpr std::size_t per_slot = 2;

  /// None where the slot has as many as it may.
  std::optional<lease_id> grant(agent_id agent, std::uint32_t slot, nanoseconds now);

  enum class answer : std::uint8_t {
    good,    ///< the lease ends with it
    late,    ///< its lease was lost, or is another agent's now, or was answered already: not to be used
    unknown, ///< no such lease was ever given: the sender does not keep to the protocol
  };
  answer end(lease_id id, agent_id from);

  /// The agent is gone: all it held is lost. In the order in which they were given.
  std::vector<lease> lose(agent_id agent);

  const lease* find(lease_id id) const;
  /// Of one slot, in the order in which they were given.
  std::vector<lease_id> of(agent_id agent, std::uint32_t slot) const;
  /// Of one agent, by slot.
  std::vector<lease> of(agent_id agent) const;
  std::size_t size() const noexcept { return leases_.size(); }

  struct figures {
    std::uint64_t granted = 0, ended = 0, lost = 0, late = 0;
  };
  const figures& counted() const noexcept { return counted_; }

private:
  std::unordered_map<lease_id, lease> leases_;
  std::map<std::pair<agent_id, std::uint32_t>, std::vector<lease_id>> slots_;
  lease_id next_ = 1;
  figures counted_;
};

} // namespace attune::net::fleet
