#include "core/median.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <cmath>

using attune::median;

BOOST_AUTO_TEST_SUITE(the_median)

BOOST_AUTO_TEST_CASE(is_the_middle_or_the_mean_of_the_two_in_the_middle) {
  BOOST_TEST(median(std::array{3.0, 1.0, 2.0}) == 2.0);
  BOOST_TEST(median(std::array{4.0, 1.0, 3.0, 2.0}) == 2.5);
  BOOST_TEST(median(std::array{7.0}) == 7.0);
}

BOOST_AUTO_TEST_CASE(of_large_numbers_is_finite) { BOOST_TEST(std::isfinite(median(std::array{1.7e308, 1.7e308}))); }

BOOST_AUTO_TEST_CASE(leaves_what_it_is_given_as_it_is) {
  const std::array given{5.0, 1.0, 4.0};
  const auto before = given;
  BOOST_TEST(median(given) == 4.0);
  BOOST_TEST(given == before);
}

BOOST_AUTO_TEST_SUITE_END()
