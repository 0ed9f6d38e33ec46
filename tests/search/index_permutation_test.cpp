#include "search/strategies/index_permutation.hpp"

#include <boost/test/unit_test.hpp>

#include <set>

using attune::search::index_permutation;
using attune::search::uint128;

BOOST_AUTO_TEST_CASE(every_value_comes_exactly_once) {
  for (const std::uint64_t n : {1u, 2u, 3u, 5u, 16u, 17u, 1000u, 4097u}) {
    const index_permutation p(n, 7);
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < n; ++i) {
      const uint128 v = p.at(i);
      BOOST_REQUIRE(v < n);
      BOOST_REQUIRE((p.position_of(v) == i));
      seen.insert(static_cast<std::uint64_t>(v));
    }
    BOOST_TEST(seen.size() == n);
  }
}

BOOST_AUTO_TEST_CASE(ranges_beyond_64_bits_are_permuted) {
  const uint128 n = (uint128{1} << 100) + 12345;
  const index_permutation p(n, 3);
  std::set<std::uint64_t> high;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const uint128 v = p.at(i);
    BOOST_REQUIRE((v < n));
    BOOST_REQUIRE((p.position_of(v) == i));
    high.insert(static_cast<std::uint64_t>(v >> 60));
  }
  BOOST_TEST(high.size() > 990u);
}

BOOST_AUTO_TEST_CASE(the_beginning_is_spread_evenly) {
  // 2,000 draws into 20 equal parts: each holds about 100.
  const index_permutation p(1000000, 11);
  int parts[20] = {};
  for (std::uint64_t i = 0; i < 2000; ++i) ++parts[static_cast<std::size_t>(p.at(i) / 50000)];
  for (const int k : parts) {
    BOOST_TEST(k > 60);
    BOOST_TEST(k < 145);
  }
}

BOOST_AUTO_TEST_CASE(another_seed_gives_another_order) {
  const index_permutation a(1000, 1), b(1000, 2);
  int same = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) same += a.at(i) == b.at(i) ? 1 : 0;
  BOOST_TEST(same < 20);
}
