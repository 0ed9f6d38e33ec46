#pragma once

#include "core/configuration.hpp"
#include "measure/reference_loop.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attune::cli {

/// What this machine says about itself that matters to measurements. None: the machine does not say.
struct machine_facts {
  arguments fingerprint; ///< machine_fingerprint(): cpu, isa, cores, compiler, kernel
  unsigned cores = 0;    ///< logical processors online
  unsigned allowed = 0;  ///< those that this process may use
  std::optional<bool> smt;
  std::vector<std::string> governors; ///< the different ones; empty: no frequency scaling to be seen
  std::optional<bool> turbo;
  std::optional<double> load;            ///< over the last minute
  std::optional<std::string> hypervisor; ///< its name, or "unknown"; empty text: the machine is real
  std::optional<std::string> container;  ///< its kind; empty text: none to be seen
  std::optional<double> quota;           ///< processors that the cgroup allows; none: no limit
  std::optional<std::string> clock_source;
  std::optional<double> steal;         ///< share of the time since boot that the host took away
  std::optional<bool> battery;         ///< running on it
  std::optional<std::string> isolated; ///< processors kept free of other work; empty text: none
  std::optional<int> perf_paranoid;    ///< /proc/sys/kernel/perf_event_paranoid
  /// Why a counter of the hardware, one of the kernel, and RAPL's energy cannot be had, found by opening them; empty
  /// text: it can. None below another root than "".
  std::optional<std::string> no_hardware_counters, no_kernel_counters, no_energy;
  std::optional<double> memory_available; ///< bytes
  std::optional<std::string> huge_pages;  ///< the mode of transparent huge pages
  std::optional<std::uint64_t> throttled; ///< times that a core was slowed by heat since boot
};

/// Reads the facts below `root` ("" for the machine itself; tests give a made-up tree) and asks the system for the
/// processors that may be used. Blocks for some milliseconds; the compiler is run once in a process's life.
machine_facts probe_machine(const std::string& root = {});

/// The processor that this process may use and that is the last of them, with its neighbours (SMT siblings and cores as
/// the tree below `root` shows them).
measure::noise_places places_to_measure(const std::string& root = {});

/// The time of all processors since boot, in ticks of the kernel, and what of it the host took away. None: not shown.
struct processor_time {
  double all = 0, stolen = 0;
};
std::optional<processor_time> read_processor_time(const std::string& root = {});

/// One thing that doctor looked at.
struct finding {
  enum class level : std::uint8_t {
    good,    ///< does not disturb
    note,    ///< worth knowing
    warning, ///< disturbs measurements
    absent,  ///< cannot be seen on this machine
  };
  std::string name; ///< "governor"
  level status = level::good;
  std::string value;   ///< "powersave"
  std::string meaning; ///< one sentence
  std::string remedy;  ///< what to do; empty where nothing is to be done
};
const char* to_string(finding::level l) noexcept;

/// What the facts mean for measurements, in a fixed order.
std::vector<finding> judge(const machine_facts& facts);

/// What the measured noise means, for the works and their neighbours, the clock, and the stolen share of the time that
/// the measuring took. `tolerance`: what a user accepts.
std::vector<finding> judge(const measure::machine_noise& noise, std::optional<double> stolen, double tolerance = 0.02);

} // namespace attune::cli
