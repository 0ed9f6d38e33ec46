#include "measure/counters.hpp"

#include "core/file.hpp"
#include "core/spec.hpp"
#include "core/text.hpp"
#include "measure/descriptor.hpp"

#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace attune::measure {

namespace {

struct event {
  std::string_view name;
  std::uint32_t type;
  std::uint64_t config;
  /// Its events happen in the kernel: without it nothing would be counted.
  bool kernel = false;
};

constexpr std::array events{
    event{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    event{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    event{"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    event{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    event{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    event{"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    event{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    event{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    event{"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    event{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, true},
    event{"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, true},
};

const event* find(std::string_view name) noexcept {
  for (const event& e : events)
    if (e.name == name) return &e;
  return nullptr;
}

std::string words_of(const std::string& path) {
  auto text = file_contents(path, 65536);
  return text ? *std::move(text) : std::string();
}

} // namespace

std::optional<perf_event_attr> counter_attribute(std::string_view name) noexcept {
  const event* e = find(name);
  if (e == nullptr) return std::nullopt;
  perf_event_attr out{};
  out.size = sizeof out;
  out.type = e->type;
  out.config = e->config;
  out.disabled = 1;
  out.enable_on_exec = 1;
  out.inherit = 1;
  out.exclude_kernel = e->kernel ? 0 : 1;
  out.exclude_hv = 1;
  out.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return out;
}

counter_surroundings look_at_counters(const std::string& root) {
  counter_surroundings out;
  if (const auto n = parse_integer(trim(words_of(root + "/proc/sys/kernel/perf_event_paranoid"))))
    out.paranoid = static_cast<int>(*n);
  std::error_code ignored;
  const std::filesystem::path devices = root + "/sys/bus/event_source/devices";
  // Intel's and AMD's is `cpu` (`cpu_core` and `cpu_atom` where there are two kinds of cores), Arm's `armv8_pmuv3…`.
  for (const auto& entry : std::filesystem::directory_iterator(devices, ignored)) {
    const std::string name = entry.path().filename().string();
    out.unit = out.unit || name == "cpu" || name.starts_with("cpu_") || name.starts_with("armv");
  }
  out.virtual_machine = words_of(root + "/proc/cpuinfo").find(" hypervisor") != std::string::npos;
  return out;
}

std::string explain_counter(std::string_view name, int code, const counter_surroundings& where) {
  const std::string what = "the counter '" + std::string(name) + "' cannot be had: ";
  switch (code) {
  case ENOENT:
  case ENODEV:
  case EOPNOTSUPP:
    if (!where.unit)
      return what + "there is no performance-monitoring unit (PMU) in this " +
             (where.virtual_machine
                  ? "virtual machine; have its host pass one on (vPMU), measure on the hardware itself"
                  : "machine; measure on one that has it") +
             ", or use what needs none: cpu, memory, task-clock, page-faults, context-switches";
    return what + "this processor's performance-monitoring unit has no such event; leave it out";
  case EACCES:
  case EPERM: {
    const event* e = find(name);
    const int allowed = e != nullptr && e->kernel ? 1 : 2;
    std::string out = what + "the kernel does not allow it";
    if (where.paranoid && *where.paranoid > allowed)
      return out + " (kernel.perf_event_paranoid is " + std::to_string(*where.paranoid) +
             "); sysctl kernel.perf_event_paranoid=" + std::to_string(allowed) + " (as root), or run with CAP_PERFMON";
    return out + " (a container's or service's filter of system calls); let it use perf_event_open";
  }
  case ENOSYS:
    return what + "this kernel is built without performance events";
  default:
    return what + std::strerror(code); // NOLINT(concurrency-mt-unsafe): glibc's is safe for known numbers
  }
}

status can_count(std::string_view name) {
  auto wanted = counter_attribute(name);
  const descriptor opened(static_cast<int>(syscall(SYS_perf_event_open, &*wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  if (opened) return {};
  return error{errc::invalid_spec, explain_counter(name, errno, look_at_counters()), {}};
}

double counted::share() const noexcept {
  return enabled_ns == 0 ? 1 : static_cast<double>(running_ns) / static_cast<double>(enabled_ns);
}

double counted::scaled() const noexcept {
  const double s = share();
  return s > 0 && s < 1 ? static_cast<double>(value) / s : static_cast<double>(value);
}

std::optional<counted> read_counter(int fd) noexcept {
  std::uint64_t words[3] = {};
  if (read(fd, words, sizeof words) != static_cast<ssize_t>(sizeof words)) return std::nullopt;
  return counted{words[0], words[1], words[2]};
}

} // namespace attune::measure
