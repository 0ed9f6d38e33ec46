#include "net/fleet/lease_table.hpp"

#include <algorithm>

namespace attune::net::fleet {

std::optional<lease_id> lease_table::grant(agent_id agent, std::uint32_t slot, nanoseconds now) {
  auto& held = slots_[{agent, slot}];
  if (held.size() >= per_slot) return std::nullopt;
  held.push_back(next_);
  leases_.emplace(next_, lease{next_, agent, slot, now});
  ++counted_.granted;
  return next_++;
}

lease_table::answer lease_table::end(lease_id id, agent_id from) {
  if (id == 0 || id >= next_) return answer::unknown;
  const auto at = leases_.find(id);
  if (at == leases_.end() || at->second.agent != from) {
    ++counted_.late;
    return answer::late;
  }
  const auto slot = slots_.find({at->second.agent, at->second.slot});
  std::erase(slot->second, id);
  if (slot->second.empty()) slots_.erase(slot);
  leases_.erase(at);
  ++counted_.ended;
  return answer::good;
}

std::vector<lease_table::lease> lease_table::lose(agent_id agent) {
  auto out = of(agent);
  for (const auto& l : out) {
    slots_.erase({l.agent, l.slot});
    leases_.erase(l.id);
  }
  counted_.lost += out.size();
  std::sort(out.begin(), out.end(), [](const lease& a, const lease& b) { return a.id < b.id; });
  return out;
}

const lease_table::lease* lease_table::find(lease_id id) const {
  const auto at = leases_.find(id);
  return at == leases_.end() ? nullptr : &at->second;
}

std::vector<lease_id> lease_table::of(agent_id agent, std::uint32_t slot) const {
  const auto at = slots_.find({agent, slot});
  return at == slots_.end() ? std::vector<lease_id>() : at->second;
}

std::vector<lease_table::lease> lease_table::of(agent_id agent) const {
  std::vector<lease> out;
  for (auto at = slots_.lower_bound({agent, 0}); at != slots_.end() && at->first.first == agent; ++at)
    for (const auto id : at->second) out.push_back(leases_.at(id));
  return out;
}

} // namespace attune::net::fleet
