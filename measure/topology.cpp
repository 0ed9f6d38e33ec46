#include "measure/topology.hpp"

#include <algorithm>
#include <hwloc.h>
#include <memory>
#include <sched.h>
#include <thread>

namespace attune::measure {

namespace {

std::vector<int> allowed_now() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return out;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) out.push_back(i);
  return out;
}

void allow(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int i : cpus)
    if (i >= 0 && i < CPU_SETSIZE) CPU_SET(i, &set);
  // Where it is refused, the thread stays where it is: a place that is less quiet is no error.
  sched_setaffinity(0, sizeof set, &set);
}

} // namespace

topology this_machine() {
  topology out;
  const auto allowed = allowed_now();
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) == 0) {
    const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> guard(raw, &hwloc_topology_destroy);
    if (hwloc_topology_load(raw) == 0) {
      for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_CORE, core)) != nullptr;) {
        std::vector<int> cpus;
        for (int i = hwloc_bitmap_first(core->cpuset); i != -1; i = hwloc_bitmap_next(core->cpuset, i))
          if (std::find(allowed.begin(), allowed.end(), i) != allowed.end()) cpus.push_back(i);
        if (!cpus.empty()) out.cores.push_back(std::move(cpus));
      }
    }
  }
  if (out.cores.empty())
    for (const int i : allowed) out.cores.push_back({i});
  return out;
}

slot_plan plan_slots(const topology& machine, const how_many& slots, std::uint32_t cores_each) {
  slot_plan out;
  const std::size_t cores = machine.cores.size(), each = std::max<std::uint32_t>(cores_each, 1);
  const std::size_t wanted = slots.automatic ? std::max<std::size_t>(1, cores > 0 ? (cores - 1) / each : 1)
                                             : std::max<std::uint32_t>(slots.count.value_or(1), 1);
  out.slots.resize(wanted);
  if (!slots.automatic && wanted == 1) return out;
  if (wanted * each > cores || (slots.automatic && each >= cores)) {
    if (!slots.automatic)
      out.remark = std::to_string(wanted) + " slots of " + std::to_string(each) + (each == 1 ? " core" : " cores") +
                   " do not fit into " + std::to_string(cores) + ": they are not kept apart, and disturb each other";
    return out;
  }
  std::size_t next = cores;
  for (auto& slot : out.slots)
    for (std::size_t i = 0; i < each; ++i) {
      const auto& core = machine.cores[--next];
      slot.insert(slot.end(), core.begin(), core.end());
    }
  for (std::size_t i = 0; i < next; ++i)
    out.home.insert(out.home.end(), machine.cores[i].begin(), machine.cores[i].end());
  return out;
}

confined::confined(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  before_ = allowed_now();
  allow(cpus);
}

confined::~confined() {
  if (!before_.empty()) allow(before_);
}

} // namespace attune::measure
