#include "net/fleet/registry.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune;
using namespace attune::net::fleet;
using sec = std::chrono::seconds;

namespace {

description board(const std::string& name, std::uint8_t life = 1) {
  description d;
  d.name = name;
  d.boot.bytes[0] = life;
  return d;
}

} // namespace

BOOST_AUTO_TEST_SUITE(registry_suite)

BOOST_AUTO_TEST_CASE(an_agent_that_comes_again_takes_the_place_of_its_old_self) {
  registry r(sec(5));
  BOOST_TEST(r.come(1, board("a"), sec(0)).let_in);
  r.go(1, "hung up", sec(1));
  BOOST_TEST((r.list(sec(2)).at(0).state == device_state::lost));
  const auto again = r.come(2, board("a", 2), sec(3));
  BOOST_TEST(again.let_in);
  BOOST_TEST(!again.instead);
  BOOST_TEST(r.list(sec(3)).size() == 1);
  BOOST_TEST((r.list(sec(3)).at(0).state == device_state::ready));
}

BOOST_AUTO_TEST_CASE(the_same_process_on_a_new_connection_replaces_the_old_one_at_once) {
  registry r(sec(5));
  r.come(1, board("a"), sec(0));
  const auto again = r.come(2, board("a"), sec(1));
  BOOST_TEST(again.let_in);
  BOOST_REQUIRE(again.instead);
  BOOST_TEST(*again.instead == 1u);
  BOOST_TEST(r.find(1) == nullptr);
  BOOST_TEST(r.find(2) != nullptr);
  BOOST_TEST(r.agents() == 1u);
  r.go(1, "hung up", sec(1)); // the end of the old one says nothing about the new one
  BOOST_TEST((r.list(sec(1)).at(0).state == device_state::ready));
}

BOOST_AUTO_TEST_CASE(of_two_that_are_alive_the_second_waits_until_the_first_is_silent) {
  registry r(sec(5));
  r.come(1, board("a", 1), sec(0));
  r.heard(1, sec(4));
  const auto second = r.come(2, board("a", 2), sec(8));
  BOOST_TEST(!second.let_in);
  BOOST_TEST(second.refused.find("alive under the name 'a'") != std::string::npos);
  BOOST_TEST(r.find(1) != nullptr);
  const auto later = r.come(3, board("a", 2), sec(9));
  BOOST_TEST(later.let_in);
  BOOST_REQUIRE(later.instead);
  BOOST_TEST(*later.instead == 1u);
}

BOOST_AUTO_TEST_CASE(silence_for_a_lease_is_told_and_a_late_word_of_before_does_not_turn_time_back) {
  registry r(sec(5));
  r.come(1, board("a"), sec(10));
  r.come(2, board("b"), sec(12));
  BOOST_TEST(r.silent(sec(14)).empty());
  r.heard(1, sec(13));
  r.heard(1, sec(11));
  BOOST_TEST(r.silent(sec(17)) == std::vector<agent_id>{2}, boost::test_tools::per_element());
  BOOST_TEST(r.silent(sec(18)).size() == 2u);
}

BOOST_AUTO_TEST_CASE(drained_and_banned_devices_get_no_work_and_stay_so_over_a_reboot) {
  registry r(sec(5));
  BOOST_TEST(!r.drain("a", true));
  r.come(1, board("a"), sec(0));
  BOOST_TEST(r.drain("a", true));
  BOOST_TEST(!r.ready(1));
  BOOST_TEST(r.ready().empty());
  r.go(1, "gone", sec(1));
  r.come(2, board("a", 2), sec(2));
  BOOST_TEST((r.list(sec(2)).at(0).state == device_state::draining));
  r.drain("a", false);
  BOOST_TEST(r.ready(2));
  r.ban("a", true);
  BOOST_TEST(!r.ready(2));
  r.go(2, "banned", sec(3));
  BOOST_TEST(!r.come(3, board("a", 3), sec(4)).let_in);
  r.ban("a", false);
  BOOST_TEST(r.come(4, board("a", 3), sec(5)).let_in);
}

BOOST_AUTO_TEST_CASE(scatter_is_of_single_samples_and_not_of_their_median) {
  BOOST_TEST(!scatter_of({1, 2}).has_value());
  BOOST_TEST(!scatter_of({0, 0, 0}).has_value());
  BOOST_TEST(*scatter_of({10, 10, 10, 10}) == 0.0);
  BOOST_TEST(std::abs(*scatter_of({9, 10, 11}) - 0.14826) < 1e-12);
  BOOST_TEST(std::abs(*scatter_of({8, 9, 10, 11, 12, 1000}) - 1.4826 * 1.5 / 10.5) < 1e-12);
  // It does not become smaller because there are more of them.
  std::vector<double> many;
  for (int i = 0; i < 100; ++i)
    for (const double v : {9.0, 10.0, 11.0}) many.push_back(v);
  BOOST_TEST(std::abs(*scatter_of(many) - 0.14826) < 1e-12);
}

BOOST_AUTO_TEST_CASE(noise_is_the_median_of_what_was_measured_lately) {
  registry r(sec(5));
  r.come(1, board("a"), sec(0));
  BOOST_TEST(!r.list(sec(0)).at(0).noise);
  for (const double s : {0.01, 0.5, 0.02}) r.ran(1, s);
  r.ran(1, std::nullopt, "no disk");
  const auto v = r.list(sec(1)).at(0);
  BOOST_TEST(*v.noise == 0.02);
  BOOST_TEST(v.runs == 4u);
  BOOST_TEST(v.error == "no disk");
  for (int i = 0; i < 40; ++i) r.ran(1, 0.1);
  BOOST_TEST(*r.list(sec(1)).at(0).noise == 0.1);
}

BOOST_AUTO_TEST_CASE(names_that_come_and_go_do_not_pile_up) {
  registry r(sec(5));
  for (std::size_t i = 0; i < registry::most_names + 10; ++i) {
    const auto id = static_cast<agent_id>(i + 1);
    r.come(id, board("n" + std::to_string(i)), sec(i));
    if (i > 0) r.go(id, "gone", sec(i));
  }
  BOOST_TEST(r.list(sec(0)).size() == registry::most_names);
  BOOST_TEST(r.agent_of("n0").has_value()); // alive: never forgotten
  BOOST_TEST(!r.agent_of("n1").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
