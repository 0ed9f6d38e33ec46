#include "cli/machine.hpp"

#include "core/file.hpp"
#include "core/target.hpp"
#include "core/text.hpp"
#include "measure/counters.hpp"
#include "measure/energy.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sched.h>

namespace attune::cli {

namespace {

namespace fs = std::filesystem;

/// The trimmed text of a small file; none where it cannot be read.
std::optional<std::string> read_file(const std::string& path) {
  const auto text = file_contents(path, std::uint64_t{1} << 20);
  if (!text) return std::nullopt;
  return std::string(trim(*text));
}

/// `0-3,8` as numbers of processors.
std::vector<int> read_list(std::string_view list) {
  std::vector<int> out;
  for (const auto part : split(trim(list), ',')) {
    const auto ends = split(part, '-');
    const auto first = parse_integer(ends.front()), last = parse_integer(ends.back());
    if (!first || !last || *first < 0 || *last > CPU_SETSIZE) continue;
    for (auto cpu = *first; cpu <= *last; ++cpu) out.push_back(static_cast<int>(cpu));
  }
  return out;
}

std::optional<bool> read_switch(const std::string& path, std::string_view on = "1") {
  const auto text = read_file(path);
  if (!text) return std::nullopt;
  return *text == on;
}

std::vector<std::string> read_governors(const std::string& root) {
  std::vector<std::string> found;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(root + "/sys/devices/system/cpu", ec)) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with("cpu") || name.size() < 4 || name[3] < '0' || name[3] > '9') continue;
    if (const auto governor = read_file(entry.path().string() + "/cpufreq/scaling_governor"))
      if (std::find(found.begin(), found.end(), *governor) == found.end()) found.push_back(*governor);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::optional<bool> read_turbo(const std::string& root) {
  if (const auto off = read_switch(root + "/sys/devices/system/cpu/intel_pstate/no_turbo")) return !*off;
  return read_switch(root + "/sys/devices/system/cpu/cpufreq/boost");
}

/// By the CPU's own flag, with the vendor's name where the firmware or the kernel tells it.
std::optional<std::string> read_hypervisor(const std::string& root) {
  const auto info = read_file(root + "/proc/cpuinfo");
  if (!info) return std::nullopt;
  bool flagged = false;
  for (const auto line : split(*info, '\n'))
    if (line.starts_with("flags") || line.starts_with("Features"))
      for (const auto word : split(line, ' ')) flagged = flagged || trim(word) == "hypervisor";
  const auto product = read_file(root + "/sys/class/dmi/id/product_name").value_or("");
  const auto vendor = read_file(root + "/sys/class/dmi/id/sys_vendor").value_or("");
  for (const auto* known : {"KVM", "QEMU", "VMware", "VirtualBox", "Virtual Machine", "Xen", "Bochs", "Amazon EC2",
                            "Google Compute Engine", "Droplet"})
    if (product.find(known) != std::string::npos || vendor.find(known) != std::string::npos) return known;
  if (const auto type = read_file(root + "/sys/hypervisor/type")) return *type;
  const auto clocks =
      read_file(root + "/sys/devices/system/clocksource/clocksource0/available_clocksource").value_or("");
  if (clocks.find("kvm-clock") != std::string::npos) return "KVM";
  if (clocks.find("hyperv") != std::string::npos) return "Hyper-V";
  return flagged ? "unknown" : "";
}

std::optional<std::string> read_container(const std::string& root) {
  if (const auto kind = read_file(root + "/run/systemd/container")) return kind->empty() ? "unknown" : *kind;
  if (fs::exists(root + "/.dockerenv")) return "docker";
  if (fs::exists(root + "/run/.containerenv")) return "podman";
  return "";
}

/// The tightest cpu.max (cgroup v2) or cfs quota (v1) from this process's cgroup to the top, in processors.
std::optional<double> read_quota(const std::string& root) {
  std::optional<double> least;
  const auto take = [&](const std::optional<std::string>& quota, const std::optional<std::string>& period) {
    if (!quota || !period) return;
    const auto q = parse_double(*quota), p = parse_double(*period);
    if (q && p && *q > 0 && *p > 0) least = std::min(least.value_or(HUGE_VAL), *q / *p);
  };
  const auto own = read_file(root + "/proc/self/cgroup").value_or("");
  for (const auto line : split(own, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    const bool v2 = parts[1].empty();
    const auto controllers = split(parts[1], ',');
    if (!v2 && std::find(controllers.begin(), controllers.end(), "cpu") == controllers.end()) continue;
    std::string folder(line.substr(static_cast<std::size_t>(parts[2].data() - line.data())));
    for (;;) {
      if (v2) {
        if (const auto max = read_file(std::string(root).append("/sys/fs/cgroup").append(folder).append("/cpu.max"))) {
          const auto words = split(*max, ' ');
          if (words.size() == 2) take(std::string(words[0]), std::string(words[1]));
        }
      } else {
        const auto base = std::string(root).append("/sys/fs/cgroup/").append(parts[1]).append(folder);
        take(read_file(base + "/cpu.cfs_quota_us"), read_file(base + "/cpu.cfs_period_us"));
      }
      const auto slash = folder.find_last_of('/');
      if (slash == std::string::npos || folder == "/") break;
      folder.resize(slash == 0 ? 1 : slash);
    }
  }
  return least;
}

std::optional<bool> read_battery(const std::string& root) {
  std::error_code ec;
  std::optional<bool> plugged;
  bool has_battery = false;
  for (const auto& entry : fs::directory_iterator(root + "/sys/class/power_supply", ec)) {
    const auto type = read_file(entry.path().string() + "/type").value_or("");
    if (type == "Battery") has_battery = true;
    if (type == "Mains")
      if (const auto on = read_switch(entry.path().string() + "/online")) plugged = plugged.value_or(false) || *on;
  }
  if (!has_battery || !plugged) return std::nullopt;
  return !*plugged;
}

std::optional<double> read_available(const std::string& root) {
  const auto text = read_file(root + "/proc/meminfo");
  if (!text) return std::nullopt;
  for (const auto line : split(*text, '\n'))
    if (line.starts_with("MemAvailable:"))
      for (const auto word : split(line, ' '))
        if (const auto kib = parse_double(word)) return *kib * 1024;
  return std::nullopt;
}

std::optional<std::uint64_t> read_throttled(const std::string& root) {
  std::optional<std::uint64_t> sum;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(root + "/sys/devices/system/cpu", ec))
    if (const auto text = read_file(entry.path().string() + "/thermal_throttle/core_throttle_count"))
      if (const auto n = parse_integer(*text); n && *n >= 0) sum = sum.value_or(0) + static_cast<std::uint64_t>(*n);
  return sum;
}

/// The chosen word of `always [madvise] never`.
std::optional<std::string> read_chosen(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return std::nullopt;
  const auto open = text->find('['), close = text->find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  return text->substr(open + 1, close - open - 1);
}

std::string percent(double share) { return shortest(std::round(share * 1000) / 10) + " %"; }

} // namespace

std::optional<processor_time> read_processor_time(const std::string& root) {
  const auto text = read_file(root + "/proc/stat");
  if (!text || !text->starts_with("cpu ")) return std::nullopt;
  std::vector<double> fields;
  for (const auto word : split(std::string_view(*text).substr(0, text->find('\n')), ' '))
    if (const auto n = parse_double(word)) fields.push_back(*n);
  if (fields.size() < 8) return std::nullopt;
  processor_time out;
  for (std::size_t i = 0; i < 8; ++i) out.all += fields[i];
  out.stolen = fields[7];
  return out;
}

measure::noise_places places_to_measure(const std::string& root) {
  measure::noise_places out;
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (::sched_getaffinity(0, sizeof mine, &mine) != 0) return out;
  std::vector<int> allowed;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &mine)) allowed.push_back(cpu);
  if (allowed.empty()) return out;
  // The first ones serve the interrupts of most machines.
  out.cpu = allowed.back();
  const auto siblings = read_list(
      read_file(root + "/sys/devices/system/cpu/cpu" + std::to_string(out.cpu) + "/topology/thread_siblings_list")
          .value_or(""));
  for (const int cpu : allowed) {
    if (cpu == out.cpu) continue;
    const bool same_core = std::find(siblings.begin(), siblings.end(), cpu) != siblings.end();
    (same_core ? out.sibling : out.other) = cpu;
  }
  return out;
}

machine_facts probe_machine(const std::string& root) {
  machine_facts f;
  f.fingerprint = machine_fingerprint();
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (::sched_getaffinity(0, sizeof mine, &mine) == 0) f.allowed = static_cast<unsigned>(CPU_COUNT(&mine));
  f.cores = static_cast<unsigned>(read_list(read_file(root + "/sys/devices/system/cpu/online").value_or("")).size());
  if (f.cores == 0) f.cores = f.allowed;
  f.smt = read_switch(root + "/sys/devices/system/cpu/smt/active");
  f.governors = read_governors(root);
  f.turbo = read_turbo(root);
  if (const auto text = read_file(root + "/proc/loadavg")) f.load = parse_double(split(*text, ' ').front());
  f.hypervisor = read_hypervisor(root);
  f.container = read_container(root);
  f.quota = read_quota(root);
  f.clock_source = read_file(root + "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (const auto time = read_processor_time(root); time && time->all > 0) f.steal = time->stolen / time->all;
  f.battery = read_battery(root);
  f.isolated = read_file(root + "/sys/devices/system/cpu/isolated");
  if (const auto text = read_file(root + "/proc/sys/kernel/perf_event_paranoid"))
    if (const auto n = parse_integer(*text)) f.perf_paranoid = static_cast<int>(*n);
  if (root.empty()) {
    const auto why = [](const status& s) { return s ? std::string() : s.err().message; };
    f.no_hardware_counters = why(measure::can_count("instructions"));
    f.no_kernel_counters = why(measure::can_count("context-switches"));
    const auto meter = measure::energy_meter::open("package");
    f.no_energy = meter ? std::string() : meter.err().message;
  }
  f.memory_available = read_available(root);
  f.huge_pages = read_chosen(root + "/sys/kernel/mm/transparent_hugepage/enabled");
  f.throttled = read_throttled(root);
  return f;
}

const char* to_string(finding::level l) noexcept {
  switch (l) {
  case finding::level::good:
    return "good";
  case finding::level::note:
    return "note";
  case finding::level::warning:
    return "warning";
  case finding::level::absent:
    return "absent";
  }
  return "absent";
}

std::vector<finding> judge(const machine_facts& f) {
  using level = finding::level;
  std::vector<finding> out;
  const auto add = [&](std::string name, level status, std::string value, std::string meaning,
                       std::string remedy = {}) {
    out.push_back({std::move(name), status, std::move(value), std::move(meaning), std::move(remedy)});
  };

  if (f.governors.empty()) {
    add("governor", level::absent, "", "this machine shows no frequency scaling; the clock may change unseen",
        f.hypervisor.value_or("").empty() ? "" : "set it on the host of this virtual machine");
  } else if (f.governors == std::vector<std::string>{"performance"}) {
    add("governor", level::good, "performance", "the cores keep to their highest frequency");
  } else {
    std::string names;
    for (const auto& g : f.governors) names += (names.empty() ? "" : ", ") + g;
    add("governor", level::warning, names, "cores change their frequency with the load; short runs are timed slow",
        "cpupower frequency-set -g performance (as root)");
  }

  if (!f.turbo)
    add("turbo", level::absent, "", "this machine does not show whether its cores may go above their base frequency");
  else if (*f.turbo)
    add("turbo", level::warning, "on", "how fast a core runs depends on heat and on the other cores",
        "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > /sys/devices/system/cpu/cpufreq/boost "
        "(as root)");
  else
    add("turbo", level::good, "off", "the cores keep to their base frequency");

  if (!f.load) {
    add("load", level::absent, "", "this machine does not show its load");
  } else {
    const double share = f.cores > 0 ? *f.load / f.cores : *f.load;
    const auto text = shortest(*f.load) + " on " + std::to_string(f.cores) + (f.cores == 1 ? " core" : " cores");
    if (share > 0.5)
      add("load", level::warning, text, "other work takes cores, caches and memory from what is timed",
          "end other work, or measure on another machine");
    else if (share > 0.1)
      add("load", level::note, text, "some other work is going on");
    else
      add("load", level::good, text, "the machine is quiet");
  }

  if (!f.smt)
    add("smt", level::absent, "", "this machine does not show whether two threads share a core");
  else if (*f.smt)
    add("smt", level::warning, "on", "two threads share each core: what runs on one slows the other",
        "echo off > /sys/devices/system/cpu/smt/control (as root), or keep the siblings of the measured cores idle");
  else
    add("smt", level::good, "off", "each thread has a core of its own");

  if (!f.hypervisor)
    add("virtual machine", level::absent, "", "this machine does not show whether it is a virtual one");
  else if (f.hypervisor->empty())
    add("virtual machine", level::good, "no", "nothing between this system and the hardware is to be seen");
  else
    add("virtual machine", level::note, *f.hypervisor,
        "other guests of the same host can slow this one; hardware counters and frequencies may be hidden",
        "compare only what was measured here, and let tune repeat runs (run.repeats)");

  if (!f.steal)
    add("stolen time", level::absent, "", "this machine does not show the time that its host takes away");
  else
    add("stolen time", *f.steal > 0.01 ? level::warning : level::good, percent(*f.steal),
        *f.steal > 0.01 ? "the host gave this share of the time since boot to others"
                        : "the host leaves the cores here",
        *f.steal > 0.01 ? "ask for dedicated cores, or measure on another machine" : "");

  if (!f.clock_source)
    add("clock source", level::absent, "", "this machine does not show what its clock is read from");
  else if (*f.clock_source == "tsc" || *f.clock_source == "arch_sys_counter" || *f.clock_source == "kvm-clock" ||
           *f.clock_source == "hyperv_clocksource_tsc_page")
    add("clock source", level::good, *f.clock_source, "reading the clock costs nanoseconds");
  else
    add("clock source", level::warning, *f.clock_source, "reading the clock costs a microsecond or more",
        "boot with clocksource=tsc where the hardware is sound, and let runs take a millisecond at least");

  if (f.quota && *f.quota < f.cores)
    add("cpu quota", level::warning, shortest(std::round(*f.quota * 100) / 100) + " processors",
        "the control group stops this process for the rest of each period once the quota is used",
        "raise cpu.max of the group or of the container");
  else
    add("cpu quota", level::good, "none", "no control group limits the processors");

  if (f.allowed > 0 && f.allowed < f.cores)
    add("processors", level::note, std::to_string(f.allowed) + " of " + std::to_string(f.cores),
        "this process may use some of the processors only (taskset, cpuset)");
  else
    add("processors", level::good, std::to_string(f.cores), "all may be used");

  if (!f.isolated)
    add("isolated cores", level::absent, "", "this machine does not show which cores are kept free of other work");
  else if (f.isolated->empty())
    add("isolated cores", level::note, "none", "the kernel may put other work on any core",
        "boot with isolcpus= for the cores that measure, where the last percent counts");
  else
    add("isolated cores", level::good, *f.isolated, "these are kept free of other work");

  if (f.battery && *f.battery)
    add("power", level::warning, "battery", "the machine saves power", "plug it in");
  else if (f.battery)
    add("power", level::good, "mains", "the machine need not save power");

  if (f.throttled && *f.throttled > 0)
    add("heat", level::warning, std::to_string(*f.throttled) + " times", "cores were slowed by heat since boot",
        "better cooling, or a lower fixed frequency");
  else if (f.throttled)
    add("heat", level::good, "0 times", "no core was slowed by heat since boot");
  else
    add("heat", level::absent, "", "this machine does not show whether cores are slowed by heat");

  if (f.container && !f.container->empty())
    add("container", level::note, *f.container, "limits and neighbours are set from outside");

  const auto add_counters = [&](const std::string& name, const std::optional<std::string>& refusal,
                                const std::string& use) {
    if (!refusal) {
      add(name, level::absent, "", "not looked at");
    } else if (refusal->empty()) {
      add(name, level::good, "can be had", use);
    } else {
      // The reason, and behind the first semicolon what to do.
      const auto cut = std::min(refusal->find("; "), refusal->size());
      add(name, level::note, "none", refusal->substr(0, cut), cut < refusal->size() ? refusal->substr(cut + 2) : "");
    }
  };
  add_counters("hardware counters", f.no_hardware_counters, "cycles, instructions and cache misses of each run");
  add_counters("kernel counters", f.no_kernel_counters, "page faults and context switches of each run");
  add_counters("energy", f.no_energy, "the joules that the packages use during each run");

  if (f.memory_available && *f.memory_available < 512.0 * 1024 * 1024)
    add("memory", level::warning, shortest(std::round(*f.memory_available / (1024 * 1024))) + " MiB free",
        "builds and runs may be ended by the kernel", "free some memory");
  else if (f.memory_available)
    add("memory", level::good,
        shortest(std::round(*f.memory_available / (1024.0 * 1024 * 1024) * 10) / 10) + " GiB free", "enough");

  if (f.huge_pages && *f.huge_pages == "always")
    add("huge pages", level::note, "always", "large pages come and go by chance, and with them some per cent of speed",
        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root)");
  return out;
}

std::vector<finding> judge(const measure::machine_noise& noise, std::optional<double> stolen, double tolerance) {
  using level = finding::level;
  std::vector<finding> out;
  const auto fine = [](double share) { return shortest(std::round(share * 10000) / 100) + " %"; };
  const auto rise = [&](double share) { return (share < 0 ? "" : "+") + fine(share); };
  std::string siblings, others;
  double worst_sibling = 0, worst_other = 0;
  for (const auto& w : noise.works) {
    const std::string what = to_string(w.what);
    const auto& q = w.quiet;
    const double worst = std::max({q.spread, std::abs(q.drift), q.taken});
    const auto status = worst > tolerance ? level::warning : worst > tolerance / 4 ? level::note : level::good;
    std::string remedy;
    if (status == level::warning)
      remedy = q.taken > tolerance ? "others take the processor: end them, or measure on another machine"
               : std::abs(q.drift) > tolerance
                   ? "the speed drifts: let it warm up, fix the frequency, and measure again"
                   : "single runs differ: let them take longer, and repeat until the interval is narrow (run.repeats)";
    out.push_back({what + " loop", status, "+-" + fine(q.half_width),
                   std::to_string(q.passes) + " passes of " + human_duration(from_seconds(q.median)) + ": spread " +
                       fine(q.spread) + ", drift " + rise(q.drift) + ", taken by others " + fine(q.taken),
                   remedy});
    const auto join = [&](std::string& to, double& most, const std::optional<double>& cost) {
      if (!cost) return;
      to += (to.empty() ? "" : ", ") + what + " " + rise(*cost);
      most = std::max(most, *cost);
    };
    join(siblings, worst_sibling, w.sibling);
    join(others, worst_other, w.other);
  }
  const auto add_neighbour = [&](const std::string& name, const std::string& costs, double worst,
                                 const std::string& meaning, const std::string& remedy) {
    if (costs.empty())
      out.push_back({name, level::absent, "", "there is none that this process may use", ""});
    else
      out.push_back(
          {name, worst > tolerance ? level::warning : level::good, costs, meaning, worst > tolerance ? remedy : ""});
  };
  add_neighbour("busy sibling", siblings, worst_sibling, "longer with the other thread of the core busy",
                "keep the siblings of measured cores idle");
  add_neighbour("busy neighbour", others, worst_other, "longer with another core busy",
                "measure one at a time (slots: 1), and let nothing else run beside");
  if (stolen)
    out.push_back({"stolen meanwhile", *stolen > tolerance / 2 ? level::warning : level::good, fine(*stolen),
                   "of the processors' time, by the host, while this was measured",
                   *stolen > tolerance / 2 ? "the host is shared: measure when it is quiet, or on another one" : ""});
  const bool coarse = std::max(noise.clock_step, noise.clock_cost) > 1e-6;
  out.push_back({"timer", coarse ? level::warning : level::good,
                 "step " + human_duration(from_seconds(noise.clock_step)),
                 "reading it takes " + human_duration(from_seconds(noise.clock_cost)),
                 coarse ? "let what is timed take a millisecond at least" : ""});
  return out;
}

} // namespace attune::cli
