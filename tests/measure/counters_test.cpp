#include "core/spec.hpp"
#include "measure/counters.hpp"
#include "measure/energy.hpp"
#include "tests/measure/support.hpp"

#include <cerrno>
#include <fcntl.h>
#include <set>

using namespace attune;
using namespace attune::measure;
using attune::measure::testing::folder;

namespace {

void put(const folder& tree, const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(tree.path() + "/" + path).parent_path());
  tree.write(path, text);
}

/// A machine with two packages, each with cores and memory; the first one's counter goes round at 10 J.
struct rapl {
  folder tree;
  rapl() {
    zone("intel-rapl:0", "package-0", 1'000'000);
    zone("intel-rapl:1", "package-1", 2'000'000);
    zone("intel-rapl:0:0", "core", 300'000);
    zone("intel-rapl:0:1", "dram", 40'000);
  }
  void zone(const std::string& folder_name, const std::string& name, std::uint64_t microjoules) const {
    const std::string in = "sys/class/powercap/" + folder_name + "/";
    put(tree, in + "name", name + "\n");
    put(tree, in + "energy_uj", std::to_string(microjoules) + "\n");
    put(tree, in + "max_energy_range_uj", "9999999\n");
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(counters)

BOOST_AUTO_TEST_CASE(every_counter_that_a_spec_may_name_is_one_event_of_the_kernels) {
  std::set<std::pair<std::uint32_t, std::uint64_t>> seen;
  for (const auto name : counter_names()) {
    const auto asked = counter_attribute(name);
    BOOST_REQUIRE_MESSAGE(asked, name);
    BOOST_TEST(seen.emplace(asked->type, asked->config).second, name);
    // From exec on, with all descendants, and nothing before.
    BOOST_TEST((asked->disabled && asked->enable_on_exec && asked->inherit), name);
    BOOST_TEST(asked->exclude_hv, name);
    const bool in_kernel = name == "context-switches" || name == "cpu-migrations";
    BOOST_TEST(bool(asked->exclude_kernel) == !in_kernel, name);
  }
  BOOST_TEST(!counter_attribute("instruction"));
}

BOOST_AUTO_TEST_CASE(a_refusal_names_the_counter_the_reason_and_the_remedy) {
  counter_surroundings here;
  here.virtual_machine = true;
  const auto vm = explain_counter("cycles", ENOENT, here);
  BOOST_TEST(vm.starts_with("the counter 'cycles' cannot be had: there is no performance-monitoring unit (PMU) in this "
                            "virtual machine; have its host pass one on"),
             vm);
  here.unit = true;
  BOOST_TEST(explain_counter("bus", EOPNOTSUPP, here).find("has no such event") != std::string::npos);
  here.paranoid = 3;
  const auto forbidden = explain_counter("cycles", EACCES, here);
  BOOST_TEST(forbidden.find("kernel.perf_event_paranoid is 3") != std::string::npos, forbidden);
  BOOST_TEST(forbidden.find("sysctl kernel.perf_event_paranoid=2") != std::string::npos, forbidden);
  here.paranoid = 2;
  // At 2 a process may count its own events in user mode: something else forbids it.
  BOOST_TEST(explain_counter("cycles", EPERM, here).find("filter of system calls") != std::string::npos);
  BOOST_TEST(explain_counter("context-switches", EACCES, here).find("paranoid=1") != std::string::npos);
  BOOST_TEST(explain_counter("cycles", ENOSYS, here).find("without performance events") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_decides_is_read_from_the_machine) {
  folder tree;
  put(tree, "proc/sys/kernel/perf_event_paranoid", "4\n");
  put(tree, "proc/cpuinfo", "flags\t\t: fpu hypervisor\n");
  put(tree, "sys/bus/event_source/devices/cpuidle/type", "9\n");
  auto seen = look_at_counters(tree.path());
  BOOST_TEST((seen.paranoid == 4 && seen.virtual_machine && !seen.unit));
  put(tree, "sys/bus/event_source/devices/cpu_core/type", "4\n");
  BOOST_TEST(look_at_counters(tree.path()).unit);
  BOOST_TEST(!look_at_counters(tree.path() + "/nowhere").paranoid);
}

BOOST_AUTO_TEST_CASE(a_shared_unit_is_scaled_to_the_whole_time) {
  BOOST_TEST((counted{100, 1000, 1000}.scaled()) == 100.0);
  BOOST_TEST((counted{100, 1000, 250}.scaled()) == 400.0);
  BOOST_TEST((counted{100, 1000, 250}.share()) == 0.25);
  // Never on the unit: there is nothing to scale.
  BOOST_TEST((counted{0, 1000, 0}.share()) == 0.0);
  BOOST_TEST((counted{0, 1000, 0}.scaled()) == 0.0);
  BOOST_TEST((counted{0, 0, 0}.share()) == 1.0);
}

BOOST_AUTO_TEST_CASE(what_is_no_counter_is_not_read) {
  const descriptor null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  BOOST_TEST(!read_counter(null.get()));
  BOOST_TEST(!read_counter(-1));
}

BOOST_AUTO_TEST_CASE(whether_a_counter_can_be_had_is_found_by_opening_it) {
  auto wanted = *counter_attribute("instructions");
  const descriptor opened(testing::open_counter(wanted));
  const auto can = can_count("instructions");
  BOOST_TEST(can.ok() == bool(opened));
  if (!can) BOOST_TEST(can.err().message.starts_with("the counter 'instructions' cannot be had: "));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(energy, rapl)

BOOST_AUTO_TEST_CASE(the_zones_of_a_domain_are_summed) {
  const auto package = energy_meter::open("package", tree.path());
  BOOST_REQUIRE_MESSAGE(package.ok(), (package.ok() ? "" : package.err().message));
  const auto before = package->read();
  BOOST_REQUIRE_EQUAL(before.size(), 2u);
  zone("intel-rapl:0", "package-0", 1'500'000);
  zone("intel-rapl:1", "package-1", 4'000'000);
  BOOST_TEST(package->between(before, package->read()) == 2.5);
  BOOST_TEST(energy_meter::open("cores", tree.path())->read() == energy_meter::reading{300'000},
             boost::test_tools::per_element());
  BOOST_TEST(energy_meter::open("ram", tree.path())->read() == energy_meter::reading{40'000},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_counter_may_go_round) {
  const auto package = energy_meter::open("package", tree.path());
  zone("intel-rapl:0", "package-0", 9'000'000);
  const auto before = package->read();
  zone("intel-rapl:0", "package-0", 500'000);
  BOOST_TEST(package->between(before, package->read()) == 1.5);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_had_is_refused_with_the_reason) {
  const auto none = energy_meter::open("package", tree.path() + "/nowhere");
  BOOST_REQUIRE(!none);
  BOOST_TEST(none.err().message.starts_with("the energy of 'package' cannot be had: this machine shows no RAPL"));
  const auto psys = energy_meter::open("psys", tree.path());
  BOOST_REQUIRE(!psys);
  BOOST_TEST(
      psys.err().message ==
      "the energy of 'psys' cannot be had: this machine's zones are package-0, core, dram, package-1; leave it out");
  std::filesystem::remove(tree.path() + "/sys/class/powercap/intel-rapl:1/energy_uj");
  const auto half = energy_meter::open("package", tree.path());
  BOOST_REQUIRE(!half);
  BOOST_TEST(half.err().message.find("chmod a+r") != std::string::npos, half.err().message);
}

BOOST_AUTO_TEST_SUITE_END()
