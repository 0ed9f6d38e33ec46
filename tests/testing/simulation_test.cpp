#include "testing/simulation.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune::testing;

BOOST_AUTO_TEST_SUITE(the_simulation)

BOOST_AUTO_TEST_CASE(a_plan_follows_from_its_seed) {
  BOOST_TEST(plan_of(5).text() == plan_of(5).text());
  BOOST_TEST(plan_of(5).text() != plan_of(6).text());
  std::size_t faults = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) faults += plan_of(seed).faults.size();
  BOOST_TEST(faults > 50u);
}

BOOST_AUTO_TEST_CASE(a_plan_that_cannot_end_is_found_and_shrunk_to_what_matters) {
  // Every candidate hangs, on the only runner, until it is ended from outside: that takes more than two hours.
  auto p = plan_of(3);
  p.runners = p.searches = 1;
  p.size = 2000;
  p.hangs = 1;
  p.crashes = p.fails = p.kills = p.slow = 0;
  p.builds = p.shared = false;
  p.faults = {{fault::kind::store_fails, std::chrono::seconds(1), std::chrono::seconds(1), 0}};
  const auto why = play(p);
  BOOST_REQUIRE(why.has_value());
  BOOST_TEST(why->find("broken: every loop ends") == 0u);
  const auto small = shrunk(p);
  BOOST_TEST(small.faults.empty());
  BOOST_TEST(small.hangs == 1.0);
}

BOOST_AUTO_TEST_SUITE_END()
