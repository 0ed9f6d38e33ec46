#include "testing/fleet/simulation.hpp"

#include <boost/test/unit_test.hpp>

#include <set>
#include <string>

using namespace attune::testing;

namespace {

using kind = fleet_fault::kind;
constexpr auto some = std::chrono::seconds(1);

/// Plays it: every rule must hold.
fleet_end holds(const fleet_plan& p) {
  auto end = play_fleet(p);
  BOOST_TEST(end.broken.value_or("") == "", p.text());
  return end;
}

fleet_plan plan_with(std::uint64_t seed, std::uint32_t jobs, std::uint32_t size) {
  fleet_plan p;
  p.seed = seed;
  p.jobs = jobs;
  p.size = size;
  return p;
}

} // namespace

BOOST_AUTO_TEST_SUITE(the_simulated_fleet)

BOOST_AUTO_TEST_CASE(the_same_plan_gives_the_same_trace) {
  bool differ = false;
  std::uint64_t last = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto plan = fleet_plan_of(seed);
    const auto one = play_fleet(plan), two = play_fleet(plan);
    BOOST_TEST(one.broken.value_or("").substr(0, 300) == "");
    BOOST_TEST(one.trace == two.trace, plan.text());
    BOOST_TEST(one.messages == two.messages);
    BOOST_TEST(one.frames == two.frames);
    BOOST_TEST(one.virtual_time.count() == two.virtual_time.count());
    differ = differ || (last != 0 && one.trace != last);
    last = one.trace;
  }
  BOOST_TEST(differ);
}

BOOST_AUTO_TEST_CASE(without_faults_every_configuration_is_run_once) {
  auto p = plan_with(11, 2, 9);
  p.agents = 3;
  p.slots = 2;
  const auto end = holds(p);
  BOOST_TEST(end.runs == 18u);
  BOOST_TEST(end.records == 18u);
  BOOST_TEST(end.aheads == 0u);
  p.brief = true; // the next one waits at the slot, and is run there once as well
  const auto ahead = holds(p);
  BOOST_TEST(ahead.runs == 18u);
  BOOST_TEST(ahead.records == 18u);
  BOOST_TEST(ahead.aheads > 3u);
  p.brief = false;
  p.shared = true;
  BOOST_TEST(play_fleet(p).runs == 9u);
  p.shared = false;
  p.same = true;
  BOOST_TEST(play_fleet(p).runs == 9u);
  p.hub_builds = true; // what was built at the hub comes to whoever runs it
  const auto built = holds(p);
  BOOST_TEST(built.runs == 9u);
  BOOST_TEST(built.builds == 9u);
}

BOOST_AUTO_TEST_CASE(builds_at_the_hub_end_and_are_made_anew_where_the_hub_dies_with_them) {
  auto p = plan_with(1, 1, 24);
  p.hub_builds = true;
  p.hangs = p.deaf = p.crashes = p.fails = 0.1;
  std::uint64_t lives = 0, again = 0;
  for (p.seed = 1; p.seed <= 4; ++p.seed) {
    p.file_bytes = p.seed % 2 == 0 ? 300 : 0;
    p.faults = {{kind::hub_killed, 3 * some, some, 0}};
    const auto end = holds(p);
    lives += end.lives;
    again += end.builds > 24 ? 1 : 0;
  }
  // Killed, and taken down by what it built.
  BOOST_TEST(lives > 8u);
  BOOST_TEST(again > 0u);
}

BOOST_AUTO_TEST_CASE(jobs_of_one_task_share_what_is_measured_and_those_that_differ_in_any_part_do_not) {
  auto p = plan_with(12, 2, 5);
  p.shared = true;
  p.file_bytes = 100;
  for (const int where : {0, 1, 2}) // nothing is built; where it runs; at the hub
    for (std::uint32_t part = 0; part < fleet_plan::parts; ++part) {
      const bool builds = where > 0;
      p.builds = where == 1;
      p.hub_builds = where == 2;
      p.differ = static_cast<fleet_plan::part>(part);
      const auto end = holds(p);
      BOOST_TEST(end.runs == (part == 0 ? 5u : 10u), p.text());
      BOOST_TEST(end.builds == (builds ? end.runs : 0u), p.text());
    }
}

BOOST_AUTO_TEST_CASE(the_hubs_store_is_opened_again_as_its_disk_was_left) {
  auto p = plan_with(1, 2, 20);
  p.reopened = true;
  for (const auto what : {kind::hub_killed, kind::hub_killed_at_write, kind::hub_torn_at_write, kind::hub_power_cut})
    for (p.seed = 1; p.seed <= 6; ++p.seed) {
      p.faults = {{what, 2 * some, some, 0}, {what, 6 * some, some, 0}};
      const auto end = holds(p);
      BOOST_TEST(end.lives == 3u, p.text());
      BOOST_TEST(end.records >= 40u);
    }
}

BOOST_AUTO_TEST_CASE(large_files_come_over_bad_links_to_disks_that_spoil_them) {
  auto p = plan_with(14, 1, 12);
  p.builds = true;
  p.file_bytes = 700'000;
  p.slowest = std::chrono::milliseconds(400);
  p.faults = {{kind::link_cut, some, some, 0},
              {kind::disk_spoils, 4 * some, some, 0},
              {kind::link_freezes, 6 * some, some, 1},
              {kind::disk_spoils, 8 * some, some, 1}};
  const auto end = holds(p);
  BOOST_TEST(end.builds >= 12u);
}

BOOST_AUTO_TEST_CASE(strangers_of_every_kind_are_gone_in_time_and_cost_nobody_else_anything) {
  auto p = plan_with(1, 1, 9);
  for (p.seed = 1; p.seed <= 3; ++p.seed) {
    p.faults.clear();
    for (std::uint32_t which = 0; which < 8; ++which)
      p.faults.push_back({kind::stranger_comes, which * some / 4, {}, which});
    const auto end = holds(p);
    BOOST_TEST(end.runs == 9u);
    // Until the last of them must be gone.
    BOOST_TEST(end.virtual_time.count() >= (14 * some).count());
  }
}

BOOST_AUTO_TEST_CASE(plans_have_every_kind_of_fault_and_follow_from_their_seeds) {
  std::set<fleet_fault::kind> kinds;
  for (std::uint64_t seed = 1; seed <= 200; ++seed)
    for (const auto& f : fleet_plan_of(seed).faults) kinds.insert(f.what);
  BOOST_TEST(kinds.size() == fleet_fault::kinds);
  BOOST_TEST(fleet_plan_of(5).text() == fleet_plan_of(5).text());
  BOOST_TEST(fleet_plan_of(5).text() != fleet_plan_of(6).text());
  for (const auto k : kinds) BOOST_TEST(std::string(to_string(k)) != "?");
}

BOOST_AUTO_TEST_CASE(what_cannot_end_is_found_and_shrunk_to_what_matters) {
  // No machine at all: the job's patience ends it, and typing it again does not help.
  auto p = plan_with(5, 1, 4);
  p.agents = 1;
  p.faults = {{kind::agent_killed, std::chrono::milliseconds(1), std::chrono::hours(50), 0},
              {kind::store_fails, std::chrono::seconds(1), std::chrono::seconds(1), 0}};
  const auto end = play_fleet(p);
  BOOST_REQUIRE(end.broken.has_value());
  BOOST_TEST(end.broken->find("broken: a job that is right is done") == 0u);
  const auto small = shrunk(p);
  BOOST_REQUIRE(small.faults.size() == 1u);
  BOOST_TEST((small.faults[0].what == kind::agent_killed));
}

BOOST_AUTO_TEST_SUITE_END()
