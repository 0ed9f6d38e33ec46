#pragma once

#include "core/error.hpp"

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attune::measure {

/// How the kernel is asked for one of counter_names() (perf_event_open(2)), for a process that is about to be: counting
/// begins with its exec, descendants are counted with it, hardware events in user mode only, as the kernel allows it to
/// everyone. None: no such name.
std::optional<perf_event_attr> counter_attribute(std::string_view name) noexcept;

/// What decides whether counters can be had. Read below `root` ("": this machine).
struct counter_surroundings {
  std::optional<int> paranoid; ///< kernel.perf_event_paranoid
  bool unit = false;           ///< the processor shows a performance-monitoring unit
  bool virtual_machine = false;
};
counter_surroundings look_at_counters(const std::string& root = {});

/// One line for a person: why the counter cannot be had (`code`: errno of perf_event_open) and what to do.
std::string explain_counter(std::string_view name, int code, const counter_surroundings& where);

/// Opens the counter on the calling thread and closes it again. Errors: invalid_spec, with explain_counter(). @pre one
/// of counter_names()
status can_count(std::string_view name);

/// What a counter has counted when its processes have ended.
struct counted {
  std::uint64_t value = 0, enabled_ns = 0, running_ns = 0; ///< as the kernel gives it (its read format)
  /// The share of the time that it was counted; below 1 where the unit was shared among more events than it has room
  /// for. 0: never.
  double share() const noexcept;
  /// The value, scaled to all of the time. @pre share() > 0 or value is 0
  double scaled() const noexcept;
};
/// Reads an open counter. None where that fails.
std::optional<counted> read_counter(int fd) noexcept;

} // namespace attune::measure
