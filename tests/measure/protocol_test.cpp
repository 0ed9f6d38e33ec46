#include "core/random.hpp"
#include "measure/protocol.hpp"
#include "tests/per_element.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune;
using namespace attune::measure;

namespace {
using doubles = std::vector<double>;

/// How many runs of one sample each it takes.
int runs(protocol p, const doubles& samples) {
  int count = 0;
  while (!p.enough()) p.add({&samples[static_cast<std::size_t>(count++) % samples.size()], 1});
  return count;
}
} // namespace

BOOST_AUTO_TEST_CASE(without_an_interval_asked_for_all_repeats_are_done) {
  BOOST_TEST(runs({0, {1, 1, 0}}, {5}) == 1);
  BOOST_TEST(runs({0, {3, 7, 0}}, {5}) == 7);
  BOOST_TEST(runs({2, {3, 3, 0}}, {5}) == 5);
}

BOOST_AUTO_TEST_CASE(a_narrow_interval_ends_the_repeats_but_not_before_the_minimum) {
  BOOST_TEST(runs({0, {3, 15, 0.01}}, {5}) == 3);
  BOOST_TEST(runs({0, {1, 15, 0.01}}, {5}) == 2); // one sample says nothing of its spread
  BOOST_TEST(runs({0, {3, 15, 0.01}}, {5, 6, 7, 8}) == 15);
  BOOST_TEST(runs({0, {3, 500, 0.2}}, {5, 6, 7, 8}) < 500);
}

BOOST_AUTO_TEST_CASE(zeros_end_too) {
  BOOST_TEST(runs({0, {3, 15, 0.01}}, {0}) == 3);
  BOOST_TEST(runs({0, {3, 15, 0.01}}, {0, 0, 1, 2}) == 15);
}

BOOST_AUTO_TEST_CASE(single_samples_of_the_warm_up_are_thrown_away_once) {
  protocol p(1, {3, 3, 0});
  for (double x : {9.0, 1.0, 2.0, 3.0}) {
    BOOST_TEST(!p.enough());
    p.add({&x, 1});
  }
  BOOST_TEST(p.enough());
  BOOST_TEST(p.samples() == (doubles{1, 2, 3}), per_element);
}

BOOST_AUTO_TEST_CASE(a_run_of_many_samples_loses_its_own_cold_ones) {
  protocol p(1, {1, 4, 0});
  p.add(doubles{9, 1, 2});
  BOOST_TEST(!p.enough());
  p.add(doubles{8, 3, 4});
  BOOST_TEST(p.enough());
  BOOST_TEST(p.samples() == (doubles{1, 2, 3, 4}), per_element);
}

BOOST_AUTO_TEST_CASE(a_cold_start_is_kept_and_does_not_count) {
  protocol p(0, {1, 7, 0});
  for (double x : {3.0, 1.0, 1.01, 0.99, 1.0, 1.02, 0.98}) p.add({&x, 1});
  BOOST_TEST(p.enough());
  std::vector<std::string> notes;
  const auto m = p.result(notes);
  BOOST_TEST(m.value == 1.0);
  BOOST_TEST(m.samples.size() == 7U);
  BOOST_TEST(m.rejected == 1U);
  BOOST_REQUIRE(notes.size() == 1U);
  BOOST_TEST(notes[0] == "cold start: 1 of 7 samples left out");
}

BOOST_AUTO_TEST_CASE(a_cold_start_moves_no_even_median) {
  protocol p(0, {1, 4, 0});
  for (double x : {9.0, 1.0, 1.01, 1.02}) p.add({&x, 1});
  std::vector<std::string> notes;
  BOOST_TEST(p.result(notes).value == 1.01); // not the mean of 1.01 and 1.02
}

BOOST_AUTO_TEST_CASE(the_minimum_is_of_samples_that_are_not_cold) {
  const std::vector<double> samples{9, 1, 1, 1, 1, 1};
  BOOST_TEST(runs({0, {4, 15, 0.01}}, samples) == 5);
  BOOST_TEST(runs({1, {4, 15, 0.01}}, samples) == 5);
  BOOST_TEST(runs({0, {4, 4, 0.01}}, samples) == 4); // the limit is of all
}

BOOST_AUTO_TEST_CASE(each_run_of_many_samples_has_its_own_cold_start) {
  protocol p(0, {1, 8, 0});
  p.add(doubles{9, 1, 1, 1.01});
  p.add(doubles{8, 7, 1, 1, 1.01, 1});
  std::vector<std::string> notes;
  const auto m = p.result(notes);
  BOOST_TEST(m.samples.size() == 10U);
  BOOST_TEST(m.rejected == 3U);
  BOOST_TEST(m.value == 1.0);
}

BOOST_AUTO_TEST_CASE(what_is_surely_worse_than_the_rival_is_hopeless) {
  protocol p(0, {3, 15, 0.001});
  for (double x : {2.0, 2.02, 1.98}) {
    BOOST_TEST(!p.hopeless(1.0, goal::minimize).has_value()); // not before the minimum
    p.add({&x, 1});
  }
  const auto b = p.hopeless(1.0, goal::minimize);
  BOOST_REQUIRE(b.has_value());
  BOOST_TEST(b->value > 1.0);
  BOOST_TEST(b->value < 2.0);
  BOOST_TEST(b->against == 1.0);
  BOOST_TEST(b->samples == (doubles{2.0, 2.02, 1.98}), per_element);
  BOOST_TEST(!p.hopeless(1.9, goal::minimize).has_value()); // worse, but not surely
  BOOST_TEST(!p.hopeless({}, goal::minimize).has_value());
  BOOST_TEST(!p.hopeless(1.0, goal::maximize).has_value());
  const auto most = p.hopeless(3.0, goal::maximize);
  BOOST_REQUIRE(most.has_value());
  BOOST_TEST(most->value > 2.0);
  BOOST_TEST(most->value < 3.0);
}

BOOST_AUTO_TEST_CASE(nobody_is_hopeless_before_the_minimum_and_three_samples) {
  for (const auto& [min, least] : {std::pair(1u, 3), std::pair(3u, 3), std::pair(5u, 5)}) {
    protocol p(0, {min, 15, 0.001});
    int taken = 0;
    while (taken < 15 && !p.hopeless(1.0, goal::minimize)) {
      p.add(doubles{2}); // without any deviation the first would do
      ++taken;
    }
    BOOST_TEST(taken == least);
  }
}

BOOST_AUTO_TEST_CASE(a_stated_number_of_repeats_is_done_whatever_the_rival) {
  protocol p(0, {7, 7, 0});
  for (int i = 0; i < 6; ++i) p.add(doubles{9});
  BOOST_TEST(!p.hopeless(1.0, goal::minimize).has_value());
}

BOOST_AUTO_TEST_CASE(two_samples_are_enough_for_what_is_far_off) {
  const auto of = [](std::vector<double> samples) {
    protocol p(0, {5, 15, 0.02});
    for (const double v : samples) p.add(std::vector<double>{v});
    return p;
  };
  BOOST_TEST(!of({2.0}).hopeless(1.0, goal::minimize, 0.01).has_value());
  BOOST_TEST(!of({2.0, 2.1}).hopeless(1.0, goal::minimize).has_value()); // its noise is not known
  const auto b = of({2.1, 2.0}).hopeless(1.0, goal::minimize, 0.01);
  BOOST_REQUIRE(b.has_value());
  BOOST_TEST(b->value == 2.0 * 0.95);
  BOOST_TEST(b->samples.size() == 2u);
  BOOST_TEST(!of({5.0, 1.05}).hopeless(1.0, goal::minimize, 0.01).has_value()); // the first was cold
  BOOST_TEST(!of({1.06, 1.06}).hopeless(1.0, goal::minimize, 0.001).has_value());
  BOOST_TEST(!of({1.4, 1.4}).hopeless(1.0, goal::minimize, 0.05).has_value());
  BOOST_TEST(!of({2.0, 2.1}).hopeless(1.0, goal::maximize, 0.01).has_value());
  const auto rate = of({50, 48}).hopeless(100, goal::maximize, 0.01);
  BOOST_REQUIRE(rate.has_value());
  BOOST_TEST(rate->value == 50 * 1.05);
}

BOOST_AUTO_TEST_CASE(a_cold_start_makes_nobody_hopeless) {
  protocol p(0, {3, 15, 0.001});
  p.add(doubles{50});
  p.add(doubles{1.00});
  p.add(doubles{1.01});
  BOOST_TEST(!p.hopeless(1.02, goal::minimize).has_value());
  p.add(doubles{0.99});
  p.add(doubles{1.00});
  BOOST_TEST(!p.hopeless(1.02, goal::minimize).has_value());
}

BOOST_AUTO_TEST_CASE(samples_too_large_to_be_squared_make_nobody_hopeless) {
  protocol p(0, {3, 15, 0.001});
  p.add(doubles{1.7e308, -1.7e308, 1.7e308});
  BOOST_TEST(!p.hopeless(1.0, goal::minimize).has_value());
}

BOOST_AUTO_TEST_CASE(an_equal_of_the_rival_is_hardly_ever_stopped) {
  random_engine random(6);
  int stopped = 0;
  for (int round = 0; round < 5000; ++round) {
    protocol p(0, {3, 15, 0.0001});
    while (!p.enough()) {
      const double x = 100 + random.normal();
      p.add({&x, 1});
      if (!p.hopeless(100, goal::minimize)) continue;
      ++stopped;
      break;
    }
  }
  BOOST_TEST(stopped < 75, stopped << " of 5000"); // 1.5 %
}

BOOST_AUTO_TEST_CASE(a_run_timed_from_outside_may_take_five_times_the_best) {
  metric_spec wall;
  wall.source = metric_spec::from::wall;
  BOOST_CHECK(limit_beside(wall, 2.0) == std::chrono::seconds(10));
  BOOST_CHECK(limit_beside(wall, 0.001) == std::chrono::seconds(1));
  BOOST_CHECK(limit_beside(wall, 0.0) == std::chrono::seconds(1));
  BOOST_CHECK(limit_beside(wall, 1e300).has_value()); // and within its type
  BOOST_CHECK(!limit_beside(wall, std::nullopt));
  wall.direction = goal::maximize;
  BOOST_CHECK(!limit_beside(wall, 2.0));
  BOOST_CHECK(!limit_beside(metric_spec{}, 2.0));
}

BOOST_AUTO_TEST_CASE(one_run_may_give_more_than_the_maximum) {
  protocol p(0, {1, 1, 0});
  p.add(doubles{1, 2, 3});
  BOOST_TEST(p.enough());
  BOOST_TEST(p.samples().size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_long_warm_up_takes_several_runs_of_many_samples) {
  protocol p(3, {1, 1, 0});
  p.add(doubles{9, 9});
  BOOST_TEST(p.samples().empty());
  p.add(doubles{9, 1});
  BOOST_TEST(p.samples() == doubles{1}, per_element);
}
