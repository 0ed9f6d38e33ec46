#include "core/random.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

using namespace attune;

namespace {

/// Pearson's statistic of `counts` against the even distribution.
double chi_square(const std::vector<std::uint64_t>& counts) {
  const double total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (const auto c : counts)
    sum += (static_cast<double>(c) - expected) * (static_cast<double>(c) - expected) / expected;
  return sum;
}

/// The largest statistic that chance gives once in some 10^5 times: Wilson and Hilferty's cube, z = 4.3.
double limit(double degrees) {
  const double c = 2.0 / (9.0 * degrees);
  return degrees * std::pow(1 - c + 4.3 * std::sqrt(c), 3);
}

} // namespace

BOOST_AUTO_TEST_SUITE(random_numbers)

// From a Python program written from the papers' definitions, not from this code.
BOOST_AUTO_TEST_CASE(the_first_values_are_those_of_xoshiro256_starstar_seeded_by_splitmix64) {
  const std::vector<std::pair<std::uint64_t, std::vector<std::uint64_t>>> golden{
      {0, {0x99ec5f36cb75f2b4, 0xbf6e1f784956452a, 0x1a5f849d4933e6e0, 0x6aa594f1262d2d2c, 0xbba5ad4a1f842e59}},
      {1, {0xb3f2af6d0fc710c5, 0x853b559647364cea, 0x92f89756082a4514, 0x642e1c7bc266a3a7, 0xb27a48e29a233673}},
      {42, {0x15780b2e0c2ec716, 0x6104d9866d113a7e, 0xae17533239e499a1, 0xecb8ad4703b360a1, 0xfde6dc7fe2ec5e64}}};
  for (const auto& [seed, values] : golden) {
    random_engine r(seed);
    for (const auto v : values) BOOST_TEST(r() == v, "seed " << seed);
  }
}

BOOST_AUTO_TEST_CASE(what_is_derived_is_the_same_everywhere) {
  random_engine a(9), b(9), c(9);
  for (const std::uint64_t v : {0, 2, 1, 7, 9, 7, 6, 5, 1, 4}) BOOST_TEST(a.below(10) == v);
  const std::pair<std::uint64_t, std::uint64_t> wide[]{
      {0x60, 0x40619b85d152fbf9}, {0x17, 0xbb91dca2edee4c4c}, {0x65, 0xbe9191bbe2ffd2a0}};
  for (const auto& [high, low] : wide) BOOST_TEST((b.below128(uint128{3} << 70) == (uint128{high} << 64 | low)));
  BOOST_TEST(c.uniform() == 0.0025834396857136177);
  BOOST_TEST(c.uniform() == 0.25148937241585745);
  BOOST_TEST(random_engine(1).fork("plan")() == 0x404d7fe960808d0cu);
}

BOOST_AUTO_TEST_CASE(below_is_uniform) {
  for (const std::uint64_t n : {2, 3, 7, 10, 100}) {
    random_engine r(2026);
    std::vector<std::uint64_t> counts(n);
    for (int i = 0; i < 100'000; ++i) {
      const auto v = r.below(n);
      BOOST_REQUIRE(v < n);
      ++counts[v];
    }
    BOOST_TEST(chi_square(counts) < limit(static_cast<double>(n - 1)), "n = " << n << ", seed 2026");
  }
}

BOOST_AUTO_TEST_CASE(below_is_without_bias_where_n_does_not_divide_the_range) {
  // n = 3/4 of the range: a bare remainder or an unguarded product puts half of all draws into one third.
  const std::uint64_t n = std::uint64_t{3} << 62;
  random_engine r(5);
  std::vector<std::uint64_t> remainders(3), thirds(3);
  for (int i = 0; i < 30'000; ++i) {
    const auto v = r.below(n);
    BOOST_REQUIRE(v < n);
    ++remainders[v % 3];
    ++thirds[v >> 62];
  }
  BOOST_TEST(chi_square(remainders) < limit(2));
  BOOST_TEST(chi_square(thirds) < limit(2));
}

BOOST_AUTO_TEST_CASE(below_one_is_zero) {
  random_engine r(1);
  for (int i = 0; i < 100; ++i) {
    BOOST_TEST(r.below(1) == 0u);
    BOOST_TEST((r.below128(1) == 0));
  }
}

BOOST_AUTO_TEST_CASE(below128_covers_its_range_evenly_and_stays_within_it) {
  const uint128 n = uint128{5} << 100;
  random_engine r(7);
  std::vector<std::uint64_t> fifths(5);
  for (int i = 0; i < 20'000; ++i) {
    const auto v = r.below128(n);
    BOOST_REQUIRE((v < n));
    ++fifths[static_cast<std::size_t>(v >> 100)];
  }
  BOOST_TEST(chi_square(fifths) < limit(4));
  std::set<std::uint64_t> upper;
  const uint128 edge = uint128{1} << 64; // the smallest n that below() cannot serve
  for (int i = 0; i < 100; ++i) {
    const auto v = r.below128(edge);
    BOOST_REQUIRE((v < edge));
    upper.insert(static_cast<std::uint64_t>(v) >> 60);
  }
  BOOST_TEST(upper.size() > 8u);
  BOOST_TEST((r.below128(edge + 1) <= edge));
}

BOOST_AUTO_TEST_CASE(uniform_is_in_the_unit_interval_and_even) {
  random_engine r(3);
  std::vector<std::uint64_t> counts(16);
  for (int i = 0; i < 50'000; ++i) {
    const double u = r.uniform();
    BOOST_REQUIRE((u >= 0 && u < 1));
    ++counts[static_cast<std::size_t>(u * 16)];
  }
  BOOST_TEST(chi_square(counts) < limit(15));
}

BOOST_AUTO_TEST_CASE(normal_has_the_moments_of_the_standard_normal) {
  random_engine r(4);
  constexpr int n = 100'000;
  double sum = 0, squares = 0, fourths = 0;
  for (int i = 0; i < n; ++i) {
    const double x = r.normal();
    BOOST_REQUIRE(std::isfinite(x));
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
  }
  BOOST_TEST(std::fabs(sum / n) < 4.5 / std::sqrt(n));
  BOOST_TEST(std::fabs(squares / n - 1) < 4.5 * std::sqrt(2.0 / n));
  BOOST_TEST(std::fabs(fourths / n - 3) < 4.5 * std::sqrt(96.0 / n));
}

BOOST_AUTO_TEST_CASE(chance_is_never_at_zero_and_always_at_one) {
  random_engine r(6);
  for (int i = 0; i < 1000; ++i) {
    BOOST_TEST(!r.chance(0));
    BOOST_TEST(r.chance(1));
  }
}

BOOST_AUTO_TEST_CASE(shuffle_gives_every_order_equally_often) {
  random_engine r(8);
  std::vector<std::uint64_t> counts(24);
  for (int i = 0; i < 24'000; ++i) {
    std::vector<int> items{0, 1, 2, 3};
    r.shuffle(std::span<int>(items));
    std::size_t rank = 0;
    for (std::size_t k = 0; k < 4; ++k)
      rank = rank * (4 - k) +
             static_cast<std::size_t>(std::count_if(items.begin() + static_cast<std::ptrdiff_t>(k), items.end(),
                                                    [&](int other) { return other < items[k]; }));
    ++counts[rank];
  }
  BOOST_TEST(chi_square(counts) < limit(23));
}

BOOST_AUTO_TEST_CASE(a_fork_depends_on_the_seed_and_the_purpose_alone) {
  random_engine a(1);
  const auto before = a.fork("model").state();
  for (int i = 0; i < 10; ++i) a();
  BOOST_TEST((a.fork("model").state() == before));
  BOOST_TEST((a.fork("warmup").state() != before));
  BOOST_TEST((random_engine(2).fork("model").state() != before));
  BOOST_TEST((random_engine(1).state() != before));
}

BOOST_AUTO_TEST_CASE(forks_of_neighbouring_seeds_are_different_streams) {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed = 0; seed < 64; ++seed)
    for (const char* purpose : {"", "a", "b", "c", "d", "grid", "grie", "hrid"})
      firsts.insert(random_engine(seed).fork(purpose)());
  BOOST_TEST(firsts.size() == 64u * 8u);
}

BOOST_AUTO_TEST_CASE(a_fork_does_not_follow_its_parent) {
  random_engine parent(11);
  auto child = parent.fork("child");
  int equal_bits = 0;
  for (int i = 0; i < 1000; ++i) equal_bits += __builtin_popcountll(~(parent() ^ child()));
  BOOST_TEST(std::abs(equal_bits - 32'000) < 4.5 * 0.5 * std::sqrt(64'000.0));
}

BOOST_AUTO_TEST_CASE(a_restored_engine_goes_on_where_the_saved_one_stood) {
  random_engine a(12);
  for (int i = 0; i < 5; ++i) a();
  auto b = random_engine::restore(a.state());
  BOOST_TEST((a.fork("x").state() == b.fork("x").state()));
  for (int i = 0; i < 100; ++i) BOOST_TEST(a() == b());
}

BOOST_AUTO_TEST_CASE(a_state_of_zeros_is_not_a_generator_that_stands_still) {
  auto r = random_engine::restore({0, 0, 0, 0, 12});
  BOOST_TEST((r.state() == random_engine(12).state()));
  BOOST_TEST(r.below(3) < 3u); // with the state as it was given this would never return
}

BOOST_AUTO_TEST_SUITE_END()
