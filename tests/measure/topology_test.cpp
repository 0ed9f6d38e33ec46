#include "measure/topology.hpp"
#include "tests/per_element.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>
#include <thread>

using namespace attune;
using namespace attune::measure;

namespace {

/// Four cores of two siblings each, numbered as kernels do.
const topology machine{{{0, 4}, {1, 5}, {2, 6}, {3, 7}}};

} // namespace

BOOST_AUTO_TEST_SUITE(topology_rules)

BOOST_AUTO_TEST_CASE(this_machine_has_a_core) {
  const auto here = this_machine();
  BOOST_REQUIRE(!here.cores.empty());
  std::set<int> all;
  for (const auto& core : here.cores)
    for (const int cpu : core) BOOST_TEST(all.insert(cpu).second);
}

BOOST_AUTO_TEST_CASE(one_slot_has_the_whole_machine) {
  for (const auto& slots : {how_many(), how_many(1)}) {
    const auto p = plan_slots(machine, slots, 1);
    BOOST_REQUIRE(p.slots.size() == 1u);
    BOOST_TEST(p.slots[0].empty());
    BOOST_TEST(p.home.empty());
  }
}

BOOST_AUTO_TEST_CASE(several_have_whole_cores_of_their_own) {
  const auto p = plan_slots(machine, 2, 1);
  BOOST_REQUIRE(p.slots.size() == 2u);
  BOOST_TEST(p.slots[0] == (std::vector<int>{3, 7}), per_element);
  BOOST_TEST(p.slots[1] == (std::vector<int>{2, 6}), per_element);
  BOOST_TEST(p.home == (std::vector<int>{0, 4, 1, 5}), per_element);
  const auto wide = plan_slots(machine, 2, 2);
  BOOST_TEST(wide.slots[0] == (std::vector<int>{3, 7, 2, 6}), per_element);
  BOOST_TEST(wide.home.empty());
}

BOOST_AUTO_TEST_CASE(auto_leaves_a_core_for_home) {
  const auto p = plan_slots(machine, how_many::by_noise(), 1);
  BOOST_TEST(p.slots.size() == 3u);
  BOOST_TEST(p.home == (std::vector<int>{0, 4}), per_element);
  BOOST_TEST(plan_slots(machine, how_many::by_noise(), 2).slots.size() == 1u);
  const auto small = plan_slots({{{0}, {1}}}, how_many::by_noise(), 1);
  BOOST_REQUIRE(small.slots.size() == 1u);
  BOOST_TEST(small.slots[0] == (std::vector<int>{1}), per_element);
  BOOST_TEST(small.home == (std::vector<int>{0}), per_element);
  const auto single = plan_slots({{{0}}}, how_many::by_noise(), 1);
  BOOST_REQUIRE(single.slots.size() == 1u);
  BOOST_TEST(single.slots[0].empty());
}

BOOST_AUTO_TEST_CASE(more_slots_than_cores_are_not_kept_apart_and_it_is_said) {
  const auto p = plan_slots(machine, 3, 2);
  BOOST_REQUIRE(p.slots.size() == 3u);
  for (const auto& s : p.slots) BOOST_TEST(s.empty());
  BOOST_TEST(p.remark.find("do not fit") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_thread_is_confined_while_it_says_so) {
  const auto here = this_machine();
  const int one = here.cores.back().front();
  const auto width = [] {
    std::set<int> all;
    for (const auto& core : this_machine().cores) all.insert(core.begin(), core.end());
    return all;
  };
  const auto before = width();
  {
    const confined guard({one});
    BOOST_TEST((width() == std::set<int>{one}));
    std::set<int> inherited;
    std::thread([&] { inherited = width(); }).join();
    BOOST_TEST((inherited == std::set<int>{one}));
  }
  BOOST_TEST((width() == before));
}

BOOST_AUTO_TEST_SUITE_END()
