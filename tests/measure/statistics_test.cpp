#include "core/random.hpp"
#include "measure/statistics.hpp"
#include "tests/per_element.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>

using namespace attune;
using namespace attune::measure;

namespace {
using doubles = std::vector<double>;
} // namespace

BOOST_AUTO_TEST_CASE(one_far_sample_among_equal_ones_is_rejected) { // A16
  auto s = summarize(doubles{10, 10, 10, 10, 10, 10, 50});
  BOOST_TEST(s.value == 10.0);
  BOOST_TEST(s.rejected == 1U);
  BOOST_TEST(s.spread == 0.0);
}

BOOST_AUTO_TEST_CASE(a_low_sample_is_rejected_as_a_high_one_is) { // A16
  auto clean = reject_outliers(doubles{100, 101, 99, 100, 100, 20});
  BOOST_TEST(clean.rejected == doubles{20}, per_element);
  BOOST_TEST(summarize(doubles{100, 101, 99, 100, 100, 20}).value == 100.0);
}

BOOST_AUTO_TEST_CASE(equal_samples_are_all_kept) {
  auto clean = reject_outliers(doubles(20, 5.0));
  BOOST_TEST(clean.kept.size() == 20U);
  BOOST_TEST(clean.rejected.empty());
}

BOOST_AUTO_TEST_CASE(a_quantised_timer_loses_nothing) {
  BOOST_TEST(reject_outliers(doubles{10, 10, 10, 10, 11, 11}).rejected.empty());
}

BOOST_AUTO_TEST_CASE(three_samples_and_the_half_of_them_are_always_kept) {
  BOOST_TEST(reject_outliers(doubles{1, 1, 100}).rejected.empty());
  BOOST_TEST(reject_outliers(doubles{1, 1.01, 0.99, 100}).kept.size() == 3U);
  BOOST_TEST(reject_outliers(doubles{1, 1, 1, 1, 100}).kept.size() == 4U);
  random_engine random(7);
  for (int round = 0; round < 2000; ++round) {
    doubles samples;
    for (std::uint64_t n = 1 + random.below(12); n > 0; --n)
      samples.push_back(std::exp(20 * random.uniform()) * static_cast<double>(random.below(3)));
    auto clean = reject_outliers(samples);
    BOOST_REQUIRE(clean.kept.size() + clean.rejected.size() == samples.size());
    BOOST_REQUIRE(clean.kept.size() >= std::min<std::size_t>(3, samples.size()));
    BOOST_REQUIRE(clean.kept.size() * 2 >= samples.size());
    auto s = summarize(samples);
    BOOST_REQUIRE(std::isfinite(s.value));
    BOOST_REQUIRE(std::isfinite(s.spread));
  }
}

BOOST_AUTO_TEST_CASE(a_cold_start_is_what_differs_at_the_beginning) {
  BOOST_TEST(cold_start(doubles{5, 1, 1.01, 0.99, 1}) == 1U);
  BOOST_TEST(cold_start(doubles{10, 6, 3, 2, 1, 1.01, 0.99, 1}) == 4U);
  BOOST_TEST(cold_start(doubles{0.2, 1, 1.01, 0.99, 1}) == 1U);     // a fast first one too
  BOOST_TEST(cold_start(doubles{5, -3, 1, 1.01, 0.99, 1}) == 0U);   // on one side, or it is no trend
  BOOST_TEST(cold_start(doubles{1, 5, 1.01, 0.99, 1, 1.02}) == 0U); // not at the beginning
  BOOST_TEST(cold_start(doubles{1.02, 1, 1.01, 0.99, 1, 1.01}) == 0U);
}

BOOST_AUTO_TEST_CASE(a_cold_start_leaves_three_samples_and_half_of_them) {
  for (const doubles& few : {doubles{}, {9}, {9, 1}, {9, 1, 1}}) BOOST_TEST(cold_start(few) == 0U);
  BOOST_TEST(cold_start(doubles{9, 1, 1, 1}) == 1U);
  BOOST_TEST(cold_start(doubles{9, 9, 1, 1, 1}) == 2U);
  BOOST_TEST(cold_start(doubles{9, 9, 9, 1, 1}) == 0U);
  BOOST_TEST(cold_start(doubles{9, 9, 9, 1, 1, 1}) == 3U);
  BOOST_TEST(cold_start(doubles{9, 9, 9, 9, 1, 1, 1}) == 0U);
}

BOOST_AUTO_TEST_CASE(a_cold_start_is_defined_for_ties_zeros_and_huge_samples) {
  BOOST_TEST(cold_start(doubles(8, 5.0)) == 0U);
  BOOST_TEST(cold_start(doubles(8, 0.0)) == 0U);
  BOOST_TEST(cold_start(doubles{1, 0, 0, 0}) == 1U);
  BOOST_TEST(cold_start(doubles{-1.7e308, 1.7e308, -1.7e308, 1.7e308, 1}) == 0U);
}

BOOST_AUTO_TEST_CASE(a_cold_start_is_hardly_ever_found_where_there_is_none) {
  random_engine random(3);
  for (std::size_t n : {4, 5, 7, 15, 32}) {
    int found = 0;
    for (int round = 0; round < 3000; ++round) {
      doubles samples(n);
      for (double& x : samples) x = 100 + random.normal();
      found += cold_start(samples) > 0 ? 1 : 0;
    }
    BOOST_TEST(found < 30, "n = " << n << ": " << found); // 1 %
  }
}

BOOST_AUTO_TEST_CASE(a_first_run_that_is_a_fifth_slower_is_found) {
  random_engine random(4);
  int found = 0;
  for (int round = 0; round < 1000; ++round) {
    doubles samples{120 + random.normal()};
    for (int i = 0; i < 6; ++i) samples.push_back(100 + random.normal());
    found += cold_start(samples) == 1 ? 1 : 0;
  }
  BOOST_TEST(found > 980);
}

BOOST_AUTO_TEST_CASE(normal_samples_are_hardly_ever_rejected) {
  random_engine random(1);
  std::size_t rejected = 0;
  for (int round = 0; round < 1000; ++round) {
    doubles samples;
    for (int i = 0; i < 20; ++i) samples.push_back(100 + random.normal());
    rejected += reject_outliers(samples).rejected.size();
  }
  BOOST_TEST(rejected < 20000U / 50); // 2 %
}

BOOST_AUTO_TEST_CASE(the_median_is_hardly_ever_below_its_floor) {
  BOOST_TEST(median_floor(doubles{5, 5, 5}) == 5.0);
  BOOST_TEST(median_floor(doubles{0, 0}) == 0.0);
  random_engine random(5);
  for (int n : {2, 3, 5, 9, 15, 40}) {
    int below = 0;
    for (int round = 0; round < 10000; ++round) {
      doubles samples;
      for (int i = 0; i < n; ++i) samples.push_back(100 + random.normal());
      below += median_floor(samples) > 100 ? 1 : 0;
    }
    BOOST_TEST(below <= 25, "n = " << n << ": " << below); // 0.1 %, and what chance adds
  }
}

BOOST_AUTO_TEST_CASE(the_interval_is_that_of_the_tables) {
  // Ranks for 95 %: n = 6: 1, 6; 9: 2, 8; 20: 6, 15; 50: 18, 33 (Le Boudec, table A.1; Conover).
  auto ranks = [](int n) {
    doubles samples;
    for (int i = 1; i <= n; ++i) samples.push_back(i);
    auto i = median_interval(samples);
    return std::pair(i.low, i.high);
  };
  BOOST_TEST((ranks(6) == std::pair(1.0, 6.0)));
  BOOST_TEST((ranks(9) == std::pair(2.0, 8.0)));
  BOOST_TEST((ranks(20) == std::pair(6.0, 15.0)));
  BOOST_TEST((ranks(50) == std::pair(18.0, 33.0)));
}

BOOST_AUTO_TEST_CASE(the_interval_covers_the_median_as_often_as_it_says) {
  random_engine random(42);
  for (int n : {2, 3, 5, 6, 10, 31, 1500}) {
    int covered = 0, rounds = n > 1000 ? 400 : 4000;
    for (int round = 0; round < rounds; ++round) {
      doubles samples;
      for (int i = 0; i < n; ++i) samples.push_back(random.normal());
      auto i = median_interval(samples);
      if (i.low <= 0 && 0 <= i.high) ++covered;
    }
    double share = static_cast<double>(covered) / rounds;
    BOOST_TEST(share >= (n > 1000 ? 0.92 : 0.94), "n = " << n << ": " << share);
  }
}

BOOST_AUTO_TEST_CASE(the_interval_holds_for_skewed_samples_too) {
  random_engine random(43);
  int covered = 0;
  for (int round = 0; round < 4000; ++round) {
    doubles samples;
    for (int i = 0; i < 15; ++i) samples.push_back(-std::log(1 - random.uniform())); // exponential: median ln 2
    auto i = median_interval(samples);
    if (i.low <= std::log(2.0) && std::log(2.0) <= i.high) ++covered;
  }
  BOOST_TEST(covered >= 3800);
}

BOOST_AUTO_TEST_CASE(the_spread_is_half_the_interval_over_the_value) {
  BOOST_TEST(summarize(doubles{5}).spread == 0.0);
  BOOST_TEST(summarize(doubles{0, 0, 0}).spread == 0.0);
  doubles samples{9, 10, 10, 10, 10, 11, 11, 9};
  auto s = summarize(samples);
  BOOST_TEST(s.value == 10.0);
  BOOST_TEST(s.spread == 0.1, boost::test_tools::tolerance(1e-12));
}
