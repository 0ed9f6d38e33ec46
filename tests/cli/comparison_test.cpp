#include "cli/comparison.hpp"

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace attune::cli;
using list = std::vector<double>;

namespace {

double p_of(const list& a, const list& b) { return mann_whitney(a, b).p; }

} // namespace

BOOST_AUTO_TEST_SUITE(comparisons)

BOOST_AUTO_TEST_CASE(the_exact_test_agrees_with_tables_of_u) {
  // All of one below all of the other: 2 of C(8,4) ways, 2 of C(10,5).
  BOOST_TEST(p_of({1, 2, 3, 4}, {5, 6, 7, 8}) == 2.0 / 70, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(p_of({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}) == 2.0 / 252, boost::test_tools::tolerance(1e-12));
  // U = 1 of n = m = 4: the ways for u = 0 and 1 are 1 and 1.
  BOOST_TEST(p_of({1, 2, 3, 5}, {4, 6, 7, 8}) == 4.0 / 70, boost::test_tools::tolerance(1e-12));
  // U = 2 of n = m = 4: 1 + 1 + 2 ways.
  BOOST_TEST(p_of({1, 2, 4, 5}, {3, 6, 7, 8}) == 8.0 / 70, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(p_of({1}, {2}) == 1.0);
}

BOOST_AUTO_TEST_CASE(it_is_the_same_from_either_side) {
  const list a{1, 3, 5, 9, 12}, b{2, 4, 6, 8, 10, 11};
  BOOST_TEST(p_of(a, b) == p_of(b, a), boost::test_tools::tolerance(1e-12));
  BOOST_TEST(mann_whitney(a, b).first_lower + mann_whitney(b, a).first_lower == 1.0,
             boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(ties_are_half_and_equal_samples_are_not_apart) {
  const auto t = mann_whitney(list{1, 1, 1}, list{1, 1, 1});
  BOOST_TEST(t.p == 1.0);
  BOOST_TEST(t.first_lower == 0.5);
  BOOST_TEST(mann_whitney(list{1, 2}, list{2, 3}).first_lower == 0.875);
}

BOOST_AUTO_TEST_CASE(the_approximation_meets_the_exact_test_where_both_are_good) {
  list a, b;
  for (int i = 0; i < 25; ++i) {
    a.push_back(i * 2.0);
    b.push_back(i * 2.0 + 13);
  }
  const double exact = p_of(a, b);
  a.push_back(24.5); // one more, in the middle: beyond what is counted exactly
  BOOST_TEST(p_of(a, b) == exact, boost::test_tools::tolerance(0.15));
}

BOOST_AUTO_TEST_CASE(an_interval_holds_the_mean_and_narrows_with_more_values) {
  list few{1, 2, 3, 4, 5}, many;
  for (int i = 0; i < 20; ++i) many.insert(many.end(), few.begin(), few.end());
  const auto f = bootstrap_mean(few), m = bootstrap_mean(many);
  BOOST_TEST(f.mean == 3.0);
  BOOST_TEST(f.low < 3.0);
  BOOST_TEST(f.high > 3.0);
  BOOST_TEST(m.high - m.low < 0.3 * (f.high - f.low));
  // Half the normal interval: 1.96 · sqrt(2 / 100).
  BOOST_TEST(m.high - 3.0 == 0.277, boost::test_tools::tolerance(0.1));
  const auto one = bootstrap_mean(list{7});
  BOOST_TEST(one.low == 7.0);
  BOOST_TEST(one.high == 7.0);
}

BOOST_AUTO_TEST_SUITE_END()
