#include "schedulers/elastic_pool.hpp"

#include <algorithm>

namespace attune::schedulers {

elastic_pool::decision elastic_pool::look(std::uint64_t waiting, const std::vector<placed_agent>& there,
                                          nanoseconds now) {
  using state = placed_agent::state;
  decision out;
  std::uint64_t busy = 0;
  std::map<std::string, nanoseconds> idle;
  for (const auto& a : there) {
    if (a.now == state::busy) ++busy;
    if (a.now == state::busy) continue;
    const auto known = idle_since_.find(a.id);
    // What waits may be its next: its idle time begins when nothing does.
    idle[a.id] = waiting > 0 || known == idle_since_.end() ? now : known->second;
  }
  idle_since_.swap(idle);
  const auto more = (waiting + options_.per_agent - 1) / options_.per_agent;
  const auto wanted = std::clamp<std::uint64_t>(busy + more, options_.least, std::max(options_.least, options_.most));
  if (there.size() < wanted) {
    out.submit = static_cast<std::uint32_t>(wanted - there.size());
    return out;
  }
  if (waiting > 0) return out;
  std::vector<const placed_agent*> spare;
  for (const auto& a : there)
    if (a.now != state::busy && now - idle_since_.at(a.id) >= options_.idle) spare.push_back(&a);
  std::stable_sort(spare.begin(), spare.end(), [&](const placed_agent* a, const placed_agent* b) {
    if ((a->now == state::coming) != (b->now == state::coming)) return a->now == state::coming;
    return idle_since_.at(a->id) < idle_since_.at(b->id);
  });
  const auto beyond = there.size() - std::min<std::size_t>(there.size(), options_.least);
  for (const auto* a : spare)
    if (out.give_back.size() < beyond) out.give_back.push_back(a->id);
  return out;
}

} // namespace attune::schedulers
