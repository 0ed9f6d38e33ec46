#include "web/feed.hpp"

#include <boost/test/unit_test.hpp>

#include <thread>

using namespace attune;
using namespace attune::web;

BOOST_AUTO_TEST_SUITE(streams)

BOOST_AUTO_TEST_CASE(a_follower_gets_what_came_after_its_place_in_order) {
  feed f(10, 1000);
  f.add("a");
  f.add("b");
  f.add("c");
  const auto n = f.after(1, nanoseconds(0));
  BOOST_REQUIRE_EQUAL(n.texts.size(), 2u);
  BOOST_TEST(*n.texts[0] == "b");
  BOOST_TEST(*n.texts[1] == "c");
  BOOST_TEST(n.upto == 3u);
  BOOST_TEST(!n.lost);
  BOOST_TEST(f.after(3, nanoseconds(0)).texts.empty());
}

BOOST_AUTO_TEST_CASE(one_that_falls_behind_is_told_that_it_has_lost_its_place) {
  feed f(3, 1000);
  for (int i = 0; i < 5; ++i) f.add("x");
  BOOST_TEST(f.after(1, nanoseconds(0)).lost);
  BOOST_TEST(!f.after(2, nanoseconds(0)).lost);
  BOOST_TEST(f.after(2, nanoseconds(0)).texts.size() == 3u);
  // A place of an earlier life.
  BOOST_TEST(f.after(99, nanoseconds(0)).lost);
}

BOOST_AUTO_TEST_CASE(bytes_are_bounded_too_but_the_last_text_stays) {
  feed f(100, 10);
  f.add(std::string(8, 'a'));
  f.add(std::string(8, 'b'));
  BOOST_TEST(f.after(0, nanoseconds(0)).lost);
  f.add(std::string(50, 'c'));
  const auto n = f.after(2, nanoseconds(0));
  BOOST_REQUIRE_EQUAL(n.texts.size(), 1u);
  BOOST_TEST(n.texts[0]->size() == 50u);
}

BOOST_AUTO_TEST_CASE(whoever_waits_is_woken_by_a_text_and_by_the_end) {
  feed f(10, 1000);
  std::jthread writer([&] { f.add("a"); });
  BOOST_TEST(f.after(0, std::chrono::minutes(1)).texts.size() == 1u);
  std::jthread closer([&] { f.close(); });
  BOOST_TEST(f.after(1, std::chrono::minutes(1)).closed);
}

BOOST_AUTO_TEST_SUITE_END()
