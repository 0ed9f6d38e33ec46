#include "net/fleet/lease_table.hpp"

#include <algorithm>

namespace attune::net::fleet {

std::optional<lease_id> lease_table::grant(agent_id agent, std::uint32_t slot, nanoseconds now) {
  if (!slots_.try_emplace({agent, slot}, next_).second) return std::nullopt;
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
  slots_.erase({at->second.agent, at->second.slot});
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

std::optional<lease_id> lease_table::holder(agent_id agent, std::uint32_t slot) const {
  const auto at = slots_.find({agent, slot});
  return at == slots_.end() ? std::nullopt : std::optional(at->second);
}

std::vector<lease_table::lease> lease_table::of(agent_id agent) const {
  std::vector<lease> out;
  for (auto at = slots_.lower_bound({agent, 0}); at != slots_.end() && at->first.first == agent; ++at)
    out.push_back(leases_.at(at->second));
  return out;
}

} // namespace attune::net::fleet
