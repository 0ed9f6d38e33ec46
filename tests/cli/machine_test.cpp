#include "cli/machine.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace attune;
using namespace attune::cli;

namespace {

/// A made-up /proc and /sys.
struct tree {
  std::filesystem::path root;
  tree() {
    std::string name = (std::filesystem::temp_directory_path() / "attune-machine-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
    root = name;
  }
  ~tree() { std::filesystem::remove_all(root); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
};

const finding& find(const std::vector<finding>& all, const std::string& name) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const finding& f) { return f.name == name; });
  BOOST_REQUIRE_MESSAGE(at != all.end(), name);
  return *at;
}

} // namespace

BOOST_AUTO_TEST_SUITE(machine)

BOOST_AUTO_TEST_CASE(reads_a_noisy_laptop) {
  const tree t;
  const std::string cpu = "sys/devices/system/cpu/";
  t.write(cpu + "online", "0-7\n");
  t.write(cpu + "smt/active", "1\n");
  t.write(cpu + "isolated", "\n");
  for (int i = 0; i < 8; ++i)
    t.write(cpu + "cpu" + std::to_string(i) + "/cpufreq/scaling_governor", i < 4 ? "powersave\n" : "performance\n");
  t.write(cpu + "cpu0/thermal_throttle/core_throttle_count", "5\n");
  t.write(cpu + "intel_pstate/no_turbo", "0\n");
  t.write("proc/loadavg", "6.40 5.00 4.00 2/345 678\n");
  t.write("proc/cpuinfo", "flags\t\t: fpu sse2 avx2\n");
  t.write("proc/stat", "cpu  100 0 100 700 50 0 0 50 0 0\ncpu0 1 2 3\n");
  t.write("proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable:   204800 kB\n");
  t.write("proc/sys/kernel/perf_event_paranoid", "4\n");
  t.write("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  t.write("sys/devices/system/clocksource/clocksource0/available_clocksource", "hpet acpi_pm\n");
  t.write("sys/class/power_supply/BAT0/type", "Battery\n");
  t.write("sys/class/power_supply/AC/type", "Mains\n");
  t.write("sys/class/power_supply/AC/online", "0\n");
  t.write("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
  t.write("proc/self/cgroup", "0::/user/run\n");
  t.write("sys/fs/cgroup/user/cpu.max", "150000 100000\n");
  t.write("sys/fs/cgroup/user/run/cpu.max", "max 100000\n");

  const auto f = probe_machine(t.root.string());
  BOOST_TEST(f.cores == 8u);
  BOOST_TEST((f.governors == std::vector<std::string>{"performance", "powersave"}));
  BOOST_TEST((f.smt == true && f.turbo == true && f.battery == true));
  BOOST_TEST((f.load == 6.4 && f.steal == 0.05 && f.quota == 1.5 && f.throttled == 5u));
  BOOST_TEST((f.hypervisor == "" && f.container == "" && f.huge_pages == "always" && f.perf_paranoid == 4));

  const auto findings = judge(f);
  for (const auto* name :
       {"governor", "turbo", "load", "smt", "stolen time", "clock source", "cpu quota", "power", "heat", "memory"}) {
    const auto& found = find(findings, name);
    BOOST_TEST((found.status == finding::level::warning), name);
    BOOST_TEST(!found.remedy.empty(), name);
  }
  BOOST_TEST(find(findings, "governor").value == "performance, powersave");
  BOOST_TEST(find(findings, "load").value == "6.4 on 8 cores");
  BOOST_TEST((find(findings, "virtual machine").status == finding::level::good));
}

BOOST_AUTO_TEST_CASE(finds_a_quiet_machine_good) {
  machine_facts f;
  f.cores = f.allowed = 4;
  f.smt = false;
  f.governors = {"performance"};
  f.turbo = false;
  f.load = 0.1;
  f.hypervisor = "";
  f.container = "";
  f.clock_source = "tsc";
  f.steal = 0.0;
  f.battery = false;
  f.isolated = "2-3";
  f.no_hardware_counters = f.no_kernel_counters = f.no_energy = "";
  f.memory_available = 8e9;
  f.huge_pages = "madvise";
  f.throttled = 0;
  for (const auto& found : judge(f)) BOOST_TEST((found.status == finding::level::good), found.name);
}

BOOST_AUTO_TEST_CASE(says_of_what_it_cannot_see_that_it_is_absent) {
  const tree t;
  const auto findings = judge(probe_machine(t.root.string()));
  for (const auto* name : {"governor", "turbo", "load", "smt", "virtual machine", "stolen time", "clock source",
                           "isolated cores", "heat", "hardware counters", "kernel counters", "energy"})
    BOOST_TEST((find(findings, name).status == finding::level::absent), name);
}

BOOST_AUTO_TEST_CASE(says_why_a_counter_cannot_be_had_and_what_to_do) {
  machine_facts f;
  f.no_hardware_counters = "the counter 'instructions' cannot be had: there is none; find one, or do without";
  f.no_energy = "no RAPL";
  const auto findings = judge(f);
  const auto& found = find(findings, "hardware counters");
  BOOST_TEST((found.status == finding::level::note));
  BOOST_TEST(found.meaning == "the counter 'instructions' cannot be had: there is none");
  BOOST_TEST(found.remedy == "find one, or do without");
  BOOST_TEST(find(findings, "energy").meaning == "no RAPL");
  BOOST_TEST(find(findings, "energy").remedy == "");
  // This machine's own are opened, whatever the files say.
  const auto here = probe_machine();
  BOOST_TEST((here.no_hardware_counters && here.no_kernel_counters && here.no_energy));
}

BOOST_AUTO_TEST_CASE(measures_on_the_last_processor_beside_its_sibling_and_another_core) {
  const tree t;
  const auto all = places_to_measure(t.root.string());
  BOOST_TEST(all.cpu >= 0);
  BOOST_TEST(!all.sibling);
  if (!all.other) return; // one processor
  BOOST_TEST(*all.other != all.cpu);
  t.write("sys/devices/system/cpu/cpu" + std::to_string(all.cpu) + "/topology/thread_siblings_list",
          std::to_string(*all.other) + "," + std::to_string(all.cpu) + "\n");
  BOOST_TEST((places_to_measure(t.root.string()).sibling == all.other));
}

namespace {

measure::machine_noise quiet_noise() {
  measure::machine_noise n;
  n.cpu = 1;
  n.clock_step = 1e-9;
  n.clock_cost = 25e-9;
  n.works.resize(2);
  n.works[1].what = measure::reference_work::memory;
  for (auto& w : n.works) {
    w.quiet = {1000, 1e-3, 0.0001, 0.002, -0.001, 0.0005};
    w.other = 0.001;
  }
  return n;
}

} // namespace

BOOST_AUTO_TEST_CASE(tells_what_disturbances_cost) {
  auto n = quiet_noise();
  for (const auto& found : judge(n, 0.0)) {
    const auto wanted = found.name == "busy sibling" ? finding::level::absent : finding::level::good;
    BOOST_TEST((found.status == wanted), found.name);
    BOOST_TEST(found.remedy == "", found.name);
  }
  const auto quiet = judge(n, 0.0);
  BOOST_TEST(find(quiet, "compute loop").value == "+-0.01 %");
  BOOST_TEST(find(quiet, "compute loop").meaning ==
             "1000 passes of 1.00 ms: spread 0.2 %, drift -0.1 %, taken by others 0.05 %");
  BOOST_TEST(find(quiet, "busy neighbour").value == "compute +0.1 %, memory +0.1 %");
  n.works[0].quiet.spread = 0.03;
  n.works[1].quiet.drift = -0.05;
  n.works[1].other = 0.4;
  n.works[0].sibling = 0.7;
  n.clock_cost = 2e-6;
  const auto noisy = judge(n, 0.1);
  for (const auto* name :
       {"compute loop", "memory loop", "busy sibling", "busy neighbour", "stolen meanwhile", "timer"}) {
    const auto& found = find(noisy, name);
    BOOST_TEST((found.status == finding::level::warning), name);
    BOOST_TEST(!found.remedy.empty(), name);
  }
  BOOST_TEST(find(noisy, "busy neighbour").value == "compute +0.1 %, memory +40 %");
  BOOST_TEST(find(noisy, "memory loop").remedy.starts_with("the speed drifts"));
  n.works[1].quiet.taken = 0.2;
  const auto shared = judge(n, {});
  BOOST_TEST(find(shared, "memory loop").remedy.starts_with("others take the processor"));
  n.works[0].quiet.spread = 0.01;
  const auto half = judge(n, {});
  BOOST_TEST((find(half, "compute loop").status == finding::level::note));
}

BOOST_AUTO_TEST_CASE(knows_virtual_machines_by_name_or_flag) {
  const tree t;
  t.write("proc/cpuinfo", "flags : fpu hypervisor\n");
  BOOST_TEST((probe_machine(t.root.string()).hypervisor == "unknown"));
  t.write("sys/devices/system/clocksource/clocksource0/available_clocksource", "kvm-clock tsc\n");
  BOOST_TEST((probe_machine(t.root.string()).hypervisor == "KVM"));
  t.write("sys/class/dmi/id/sys_vendor", "VMware, Inc.\n");
  BOOST_TEST((probe_machine(t.root.string()).hypervisor == "VMware"));
  t.write(".dockerenv", "");
  BOOST_TEST((probe_machine(t.root.string()).container == "docker"));
}

BOOST_AUTO_TEST_SUITE_END()
