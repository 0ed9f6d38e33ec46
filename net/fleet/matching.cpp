#include "net/fleet/matching.hpp"

#include <map>

namespace attune::net::fleet {

namespace {

std::string class_of(const description& d) {
  const value* label = find(d.labels, "device");
  return label == nullptr ? "local" : label->text();
}

/// What the device says under a name: a label goes before a fact.
const value* entry(const description& d, std::string_view name) {
  const value* label = find(d.labels, name);
  return label != nullptr ? label : find(d.facts, name);
}

std::string in_words(const arguments& a) { return configuration(a).text(); }

} // namespace

std::set<std::string> known_names(const std::vector<const description*>& devices) {
  std::set<std::string> out;
  for (const auto* d : devices) {
    for (const auto& [name, v] : d->labels) out.insert(name);
    for (const auto& [name, v] : d->facts) out.insert(name);
  }
  return out;
}

bool matches(const arguments& asked, const description& device, const std::set<std::string>& known) {
  for (const auto& [name, wanted] : asked) {
    if (name == "device") {
      if (wanted.text() != class_of(device) && wanted.text() != device.name) return false;
      continue;
    }
    const value* there = entry(device, name);
    if (there == nullptr ? known.contains(name) : there->text() != wanted.text()) return false;
  }
  return true;
}

target target_on(const arguments& asked, const description& device) {
  target out{asked};
  if (find(out.facts, "device") == nullptr) out.facts.insert(out.facts.begin(), {"device", value(class_of(device))});
  for (const auto& fact : device.facts)
    if (find(out.facts, fact.first) == nullptr) out.facts.push_back(fact);
  return out;
}

bool serves(const task& t, const description& device, const std::set<std::string>& known) {
  return matches(t.spec.target, device, known) &&
         target_on(t.spec.target, device).canonical() == t.identity.target_form;
}

std::optional<target> choose(const arguments& asked, const std::vector<const description*>& devices) {
  const auto known = known_names(devices);
  struct group {
    target where;
    std::uint64_t slots = 0;
  };
  std::map<std::string, group> groups;
  for (const auto* d : devices) {
    if (!matches(asked, *d, known)) continue;
    auto where = target_on(asked, *d);
    auto& g = groups[where.canonical()];
    g.slots += d->slots;
    g.where = std::move(where);
  }
  const group* best = nullptr;
  for (const auto& [form, g] : groups)
    if (best == nullptr || g.slots > best->slots) best = &g;
  return best == nullptr ? std::nullopt : std::optional(best->where);
}

std::string nothing_serves(const arguments& asked, const std::vector<const description*>& devices) {
  std::string out = asked.empty() ? "no device is there" : "no device serves the target " + in_words(asked);
  if (devices.empty()) return out + "; no agent is connected";
  out += "; there are";
  std::size_t shown = 0;
  for (const auto* d : devices) {
    if (++shown > 20) return out + ", and " + std::to_string(devices.size() - 20) + " more";
    out += (shown == 1 ? " " : ", ") + d->name + " (device=" + class_of(*d);
    for (const auto& [name, v] : d->labels)
      if (name != "device") out += " " + in_words({{name, v}});
    out += ")";
  }
  return out;
}

} // namespace attune::net::fleet
