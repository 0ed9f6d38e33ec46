#include "schedulers/admission.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune::schedulers;

BOOST_AUTO_TEST_SUITE(admission_rules)

BOOST_AUTO_TEST_CASE(an_idle_machine_takes_either) {
  const admission a{1, 1};
  BOOST_TEST(a.may_build({}));
  BOOST_TEST(a.may_run({}));
}

BOOST_AUTO_TEST_CASE(neither_stands_beside_the_other) {
  const admission a{4, 4};
  BOOST_TEST(!a.may_build({.running = 1}));
  BOOST_TEST(!a.may_run({.building = 1}));
}

BOOST_AUTO_TEST_CASE(each_keeps_its_own_company_up_to_its_limit) {
  const admission a{2, 3};
  BOOST_TEST(a.may_run({.running = 1}));
  BOOST_TEST(!a.may_run({.running = 2}));
  BOOST_TEST(a.may_build({.building = 2}));
  BOOST_TEST(!a.may_build({.building = 3}));
}

BOOST_AUTO_TEST_CASE(a_wave_of_builds_ends_when_enough_is_ready) {
  const admission a{1, 2};
  BOOST_TEST(a.may_build({.ready = 1}));
  BOOST_TEST(!a.may_build({.ready = 2}));
  BOOST_TEST(a.may_run({.ready = 2}));
}

BOOST_AUTO_TEST_CASE(nothing_enters_a_section) {
  const admission a{4, 4};
  BOOST_TEST(!a.may_build({.section_taken = true}));
  BOOST_TEST(!a.may_run({.section_taken = true}));
}

BOOST_AUTO_TEST_CASE(builds_go_on_beside_timed_runs_as_far_as_that_does_no_harm) {
  const admission a{2, 3, 1};
  BOOST_TEST(a.may_build({.running = 1}));
  BOOST_TEST(!a.may_build({.building = 1, .running = 1}));
  BOOST_TEST(a.may_run({.building = 1}));
  BOOST_TEST(!a.may_run({.building = 2}));
  BOOST_TEST(a.may_build({.building = 2})); // nothing is timed
  BOOST_TEST(!a.may_build({.building = 1, .ready = 1}));
  BOOST_TEST(a.may_build({.ready = 11}));
  BOOST_TEST(!a.may_build({.ready = 12}));
  BOOST_TEST(a.in_flight() > (admission{2, 3}).in_flight());
}

BOOST_AUTO_TEST_SUITE_END()
