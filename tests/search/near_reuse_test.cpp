#include "search/near_reuse.hpp"
#include "tests/search/spaces.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>

using namespace attune;
using namespace attune::search;

namespace {

key128 key_of(const point& p) {
  key128 k;
  k.bytes[0] = static_cast<std::uint8_t>(p[0]);
  k.bytes[1] = static_cast<std::uint8_t>(p.size() > 1 ? p[1] : 0);
  return k;
}

/// A rule with what it was told, over a grid.
struct asked {
  explicit asked(std::vector<std::uint32_t> sizes = {9, 9}, double tolerance = 0.02, goal direction = goal::minimize,
                 bool ordinal = true, const std::function<bool(const point&)>& valid = {})
      : rule(grid_space(sizes, valid, ordinal), direction, tolerance) {}
  asked& with(const point& p, double v) {
    rule.measured(p, key_of(p), v);
    return *this;
  }
  std::optional<estimate> at(const point& p, std::optional<double> best = 1.0) const {
    return rule.estimate_of(p, best);
  }
  near_reuse rule;
};

} // namespace

BOOST_AUTO_TEST_SUITE(near)

BOOST_AUTO_TEST_CASE(what_lies_between_two_that_agree_is_their_mean) {
  asked a;
  a.with({3, 4}, 2.00).with({5, 4}, 2.02);
  const auto guess = a.at({4, 4});
  BOOST_REQUIRE(guess);
  BOOST_TEST(guess->value == 2.01, boost::test_tools::tolerance(1e-12));
  BOOST_CHECK(guess->below == key_of({3, 4}));
  BOOST_CHECK(guess->above == key_of({5, 4}));
}

BOOST_AUTO_TEST_CASE(two_that_do_not_agree_say_nothing) {
  asked a;
  a.with({3, 4}, 2.00).with({5, 4}, 2.05);
  BOOST_CHECK(!a.at({4, 4}));
}

BOOST_AUTO_TEST_CASE(both_sides_are_needed_and_one_step_each) {
  asked one;
  one.with({3, 4}, 2.0).with({2, 4}, 2.0);
  BOOST_CHECK(!one.at({4, 4}));
  asked far;
  far.with({2, 4}, 2.0).with({6, 4}, 2.0);
  BOOST_CHECK(!far.at({4, 4}));
  asked edge;
  edge.with({1, 4}, 2.0).with({0, 3}, 2.0);
  BOOST_CHECK(!edge.at({0, 4}));
}

BOOST_AUTO_TEST_CASE(neighbours_in_two_parameters_are_none) {
  asked a;
  a.with({3, 3}, 2.0).with({5, 5}, 2.0).with({3, 4}, 2.0).with({4, 5}, 2.0);
  BOOST_CHECK(!a.at({4, 4}));
}

BOOST_AUTO_TEST_CASE(what_could_be_the_best_is_measured) {
  asked a;
  a.with({3, 4}, 2.00).with({5, 4}, 2.02);
  BOOST_CHECK(!a.at({4, 4}, 2.00));
  BOOST_CHECK(!a.at({4, 4}, 1.97)); // within the tolerance of it
  BOOST_CHECK(a.at({4, 4}, 1.90));
  BOOST_CHECK(!a.at({4, 4}, std::nullopt));
  asked most({9, 9}, 0.02, goal::maximize);
  most.with({3, 4}, 2.00).with({5, 4}, 2.02);
  BOOST_CHECK(!most.at({4, 4}, 2.02));
  BOOST_CHECK(!most.at({4, 4}, 2.05));
  BOOST_CHECK(most.at({4, 4}, 2.5));
}

BOOST_AUTO_TEST_CASE(categories_have_no_between) {
  asked a({9, 9}, 0.02, goal::minimize, false);
  a.with({3, 4}, 2.0).with({5, 4}, 2.0);
  BOOST_CHECK(!a.at({4, 4}));
}

BOOST_AUTO_TEST_CASE(a_step_goes_to_the_next_value_that_is_valid) {
  // p0 = 3 and 5 (the values 4 and 6) are never valid.
  asked a({9}, 0.02, goal::minimize, true, [](const point& p) { return p[0] != 3 && p[0] != 5; });
  a.with({2}, 2.0).with({6}, 2.01);
  BOOST_CHECK(a.at({4}));
}

BOOST_AUTO_TEST_CASE(a_failure_and_a_new_value_take_the_place_of_the_old) {
  asked a;
  a.with({3, 4}, 2.0).with({5, 4}, 2.0);
  a.rule.unmeasured(point{5, 4});
  BOOST_CHECK(!a.at({4, 4}));
  a.with({5, 4}, 9.0);
  BOOST_CHECK(!a.at({4, 4}));
  a.with({5, 4}, 2.0);
  BOOST_CHECK(a.at({4, 4}));
  a.with({5, 4}, std::numeric_limits<double>::quiet_NaN());
  BOOST_CHECK(!a.at({4, 4}));
}

BOOST_AUTO_TEST_CASE(of_several_parameters_that_which_agrees_most_is_taken) {
  asked a;
  a.with({3, 4}, 2.00).with({5, 4}, 2.02).with({4, 3}, 3.000).with({4, 5}, 3.001);
  const auto guess = a.at({4, 4});
  BOOST_REQUIRE(guess);
  BOOST_CHECK(guess->below == key_of({4, 3}));
}

BOOST_AUTO_TEST_CASE(zero_and_values_of_two_signs_agree_with_nothing_but_themselves) {
  asked a;
  a.with({3, 4}, -2.0).with({5, 4}, 2.0);
  BOOST_CHECK(!a.at({4, 4}, -9.0));
  asked zero;
  zero.with({3, 4}, 0.0).with({5, 4}, 1e-9);
  BOOST_CHECK(!zero.at({4, 4}, -9.0));
}

BOOST_AUTO_TEST_SUITE_END()
