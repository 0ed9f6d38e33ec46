#include "cli/fleet_view.hpp"

#include "storage/convert.hpp"

namespace attune::cli {

json fleet_json(const wire::v1::Devices& of) {
  json devices = json::array(), jobs = json::array(), quarantined = json::array();
  for (const auto& d : of.devices()) {
    arguments labels;
    if (!storage::convert::from(d.labels(), labels)) labels.clear();
    json held = json::array();
    for (const auto& h : d.holders()) held.push_back(h);
    devices.push_back({{"name", d.name()},
                       {"state", d.state()},
                       {"labels", arguments_json(labels)},
                       {"address", d.address()},
                       {"slots", d.slots()},
                       {"busy", d.busy()},
                       {"holds", std::move(held)},
                       {"heard_s", d.has_heard_ns() ? number_json(static_cast<double>(d.heard_ns()) / 1e9) : json()},
                       {"noise", d.has_noise() ? number_json(d.noise()) : json()},
                       {"runs", d.runs()},
                       {"lost", d.lost()},
                       {"error", d.error()}});
  }
  for (const auto& j : of.jobs()) jobs.push_back(j);
  for (const auto& q : of.quarantined()) quarantined.push_back(q);
  return {{"devices", std::move(devices)}, {"jobs", std::move(jobs)}, {"quarantined", std::move(quarantined)}};
}

} // namespace attune::cli
