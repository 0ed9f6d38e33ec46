#include "net/fleet/registry.hpp"

#include <algorithm>
#include <cmath>

namespace attune::net::fleet {

namespace {

constexpr std::size_t scatters_kept = 32;

/// @pre values is not empty; it is reordered
double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

} // namespace

std::optional<double> scatter_of(std::vector<double> samples) {
  if (samples.size() < 3) return std::nullopt;
  const double middle = median_of(samples);
  if (middle == 0) return std::nullopt;
  for (auto& s : samples) s = std::abs(s - middle);
  return 1.4826 * median_of(samples) / std::abs(middle);
}

const char* to_string(device_state s) noexcept {
  switch (s) {
  case device_state::ready:
    return "ready";
  case device_state::draining:
    return "draining";
  case device_state::lost:
    return "lost";
  case device_state::banned:
    return "banned";
  }
  return "";
}

registry::arrival registry::come(agent_id id, description what, nanoseconds now) {
  if (what.name.empty()) return {false, {}, "an agent needs a name"};
  if (what.slots == 0) return {false, {}, "an agent needs a slot"};
  if (banned_.contains(what.name)) return {false, {}, "the device '" + what.name + "' is banned"};
  auto& d = devices_[what.name];
  arrival out{true, {}, {}};
  if (d.agent) {
    // The same process has noticed the end of its old connection before the hub has.
    const bool same_life = d.what.boot == what.boot;
    if (!same_life && now - *d.heard < lease_)
      return {false, {}, "another agent is alive under the name '" + what.name + "'; give this one another --name"};
    out.instead = d.agent;
    names_.erase(*d.agent);
  }
  names_.emplace(id, what.name);
  d.what = std::move(what);
  d.agent = id;
  d.heard = now;
  forget();
  return out;
}

registry::device* registry::device_of(agent_id id) {
  const auto at = names_.find(id);
  return at == names_.end() ? nullptr : &devices_.at(at->second);
}

void registry::heard(agent_id id, nanoseconds now) {
  if (auto* d = device_of(id)) d->heard = std::max(*d->heard, now);
}

void registry::listen_anew(nanoseconds now) {
  for (auto& [name, d] : devices_)
    if (d.agent) d.heard = now;
}

void registry::go(agent_id id, std::string why, nanoseconds) {
  auto* d = device_of(id);
  if (d == nullptr) return;
  d->agent.reset();
  d->error = std::move(why);
  names_.erase(id);
  forget();
}

void registry::forget() {
  while (devices_.size() > most_names) {
    auto oldest = devices_.end();
    for (auto at = devices_.begin(); at != devices_.end(); ++at)
      if (!at->second.agent && (oldest == devices_.end() || at->second.heard < oldest->second.heard)) oldest = at;
    if (oldest == devices_.end()) return;
    devices_.erase(oldest);
  }
}

std::vector<agent_id> registry::silent(nanoseconds now) const {
  std::vector<agent_id> out;
  for (const auto& [name, d] : devices_)
    if (d.agent && now - *d.heard >= lease_) out.push_back(*d.agent);
  return out;
}

bool registry::drain(const std::string& name, bool on) {
  if (!devices_.contains(name)) return false;
  if (on)
    drained_.insert(name);
  else
    drained_.erase(name);
  return true;
}

void registry::ban(const std::string& name, bool on) {
  if (on)
    banned_.insert(name);
  else
    banned_.erase(name);
}

bool registry::ready(agent_id id) const {
  const auto at = names_.find(id);
  return at != names_.end() && !drained_.contains(at->second) && !banned_.contains(at->second);
}

std::optional<agent_id> registry::agent_of(const std::string& name) const {
  const auto at = devices_.find(name);
  return at == devices_.end() ? std::nullopt : at->second.agent;
}

const description* registry::find(agent_id id) const {
  const auto at = names_.find(id);
  return at == names_.end() ? nullptr : &devices_.at(at->second).what;
}

void registry::ran(agent_id id, std::optional<double> scatter, std::string error) {
  auto* d = device_of(id);
  if (d == nullptr) return;
  ++d->runs;
  if (!error.empty()) d->error = std::move(error);
  if (!scatter) return;
  d->scatters.push_back(*scatter);
  if (d->scatters.size() > scatters_kept) d->scatters.pop_front();
}

void registry::lost(agent_id id, std::size_t leases) {
  if (auto* d = device_of(id)) d->lost_leases += leases;
}

std::vector<const description*> registry::ready() const {
  std::vector<const description*> out;
  for (const auto& [name, d] : devices_)
    if (d.agent && ready(*d.agent)) out.push_back(&d.what);
  return out;
}

std::vector<device_view> registry::list(nanoseconds now) const {
  std::vector<device_view> out;
  for (const auto& [name, d] : devices_) {
    device_view v;
    v.what = d.what;
    v.state = banned_.contains(name)    ? device_state::banned
              : !d.agent                ? device_state::lost
              : drained_.contains(name) ? device_state::draining
                                        : device_state::ready;
    if (d.heard) v.heard = now - *d.heard;
    v.error = d.error;
    v.runs = d.runs;
    v.lost_leases = d.lost_leases;
    if (!d.scatters.empty()) {
      std::vector<double> all(d.scatters.begin(), d.scatters.end());
      v.noise = median_of(all);
    }
    out.push_back(std::move(v));
  }
  return out;
}

} // namespace attune::net::fleet
