#pragma once

#include "core/spec.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace attune::measure {

/// The cores of this machine that this process may use: of each the logical processors (SMT siblings), as the kernel
/// numbers them.
struct topology {
  std::vector<std::vector<int>> cores;
};

/// This machine, by hwloc, without what the process may not use. Where hwloc knows nothing, each logical processor is a
/// core. Takes some milliseconds.
topology this_machine();

/// Where timed runs, and everything else, have their place.
struct slot_plan {
  std::vector<std::vector<int>> slots; ///< the processors of each; empty: all of the machine
  std::vector<int> home;               ///< for builds and for Attune's own threads; empty: all of the machine
  std::string remark;                  ///< one line for a person, where it is not as they may expect; else empty
};

/// Cuts a machine into slots of `cores_each` whole cores, no core shared, the last cores first; what is left is home.
/// One slot has the whole machine. `auto`: as many as leave one core for home, one at least. More slots than there are
/// cores are not kept apart. @pre cores_each >= 1
slot_plan plan_slots(const topology& machine, const how_many& slots, std::uint32_t cores_each);

/// The calling thread, and the threads that it starts, keep to these processors while this lives; all where empty.
class confined {
public:
  explicit confined(const std::vector<int>& cpus);
  ~confined();
  confined(const confined&) = delete;
  confined& operator=(const confined&) = delete;

private:
  std::vector<int> before_;
};

} // namespace attune::measure
