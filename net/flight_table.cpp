#include "net/flight_table.hpp"

#include <algorithm>
#include <iterator>

namespace attune::net {

bool flight_table::claim(const key128& key, holder who, nanoseconds until, std::uint64_t since) {
  auto [at, fresh] = flights_.try_emplace(key, flight{who, {}});
  if (fresh || at->second.who == who) return true;
  at->second.waiting.push_back({key, who, until, since});
  ++waiting_;
  return false;
}

void flight_table::hold(const key128& key, holder who) { flights_.try_emplace(key, flight{who, {}}); }

std::vector<flight_table::waiter> flight_table::release(const key128& key, holder who) {
  const auto at = flights_.find(key);
  if (at == flights_.end()) return {};
  auto& f = at->second;
  if (f.who != who) {
    waiting_ -= std::erase_if(f.waiting, [&](const waiter& w) { return w.who == who; });
    return {};
  }
  std::vector<waiter> out(f.waiting.begin(), f.waiting.end());
  waiting_ -= out.size();
  flights_.erase(at);
  return out;
}

std::vector<flight_table::waiter> flight_table::leave(holder who) {
  std::vector<waiter> out;
  for (auto at = flights_.begin(); at != flights_.end();) {
    auto& f = at->second;
    waiting_ -= std::erase_if(f.waiting, [&](const waiter& w) { return w.who == who; });
    if (f.who != who) {
      ++at;
      continue;
    }
    out.insert(out.end(), f.waiting.begin(), f.waiting.end());
    waiting_ -= f.waiting.size();
    at = flights_.erase(at);
  }
  return out;
}

std::vector<flight_table::waiter> flight_table::expire(nanoseconds now) {
  std::vector<waiter> out;
  if (waiting_ == 0) return out;
  for (auto& [key, f] : flights_) {
    const auto due = std::find_if(f.waiting.begin(), f.waiting.end(), [&](const waiter& w) { return w.until <= now; });
    if (due == f.waiting.end()) continue;
    // One at a time: the others that are due get their turn from it, or at the next call.
    f.who = due->who;
    out.push_back(*due);
    f.waiting.erase(due);
    --waiting_;
  }
  return out;
}

std::optional<nanoseconds> flight_table::next_expiry() const {
  std::optional<nanoseconds> out;
  if (waiting_ == 0) return out;
  for (const auto& [key, f] : flights_)
    for (const auto& w : f.waiting)
      if (!out || w.until < *out) out = w.until;
  return out;
}

} // namespace attune::net
