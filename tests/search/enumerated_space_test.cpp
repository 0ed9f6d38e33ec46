#include "search/enumerated_space.hpp"
#include "tests/search/spaces.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <map>

using namespace attune;
using namespace attune::search;

namespace {
const auto not_equal = [](const point& p) { return p[0] != p[1]; };
}

BOOST_AUTO_TEST_CASE(the_index_is_the_lexicographic_order_and_inverts) {
  const auto s = grid_space({4, 4, 2}, not_equal);
  BOOST_REQUIRE(s);
  BOOST_TEST(s->size() == 24u);
  BOOST_TEST((s->cartesian() == 32));
  for (std::size_t i = 0; i < s->size(); ++i) {
    const point p = s->at(i);
    BOOST_TEST((s->index_of(p) == std::optional<uint128>(i)));
    if (i > 0) BOOST_TEST((s->at(i - 1) < p));
  }
  BOOST_TEST(!s->index_of(point{1, 1, 0}).has_value());
  BOOST_TEST(!s->contains(point{9, 1, 0}));
  BOOST_TEST(!s->contains(point{1, 2}));
}

BOOST_AUTO_TEST_CASE(neighbours_are_exactly_those_of_their_definition) {
  const auto s = grid_space({5, 5, 3}, not_equal);
  for (std::size_t i = 0; i < s->size(); ++i) {
    const point p = s->at(i);
    std::vector<point> hamming;
    for (std::size_t j = 0; j < s->size(); ++j) {
      const point q = s->at(j);
      int differ = 0;
      for (std::size_t d = 0; d < 3; ++d) differ += p[d] != q[d] ? 1 : 0;
      if (differ == 1) hamming.push_back(q);
    }
    auto got = s->neighbours(p, neighbourhood::hamming);
    std::sort(got.begin(), got.end());
    BOOST_TEST((got == hamming));
  }
  // From (1, 2): the first parameter cannot be 2, so the next valid value upwards is 3.
  const auto near = s->neighbours(point{1, 2, 0}, neighbourhood::adjacent);
  const std::vector<point> expected{{0, 2, 0}, {3, 2, 0}, {1, 0, 0}, {1, 3, 0}, {1, 2, 1}};
  BOOST_TEST((near == expected));
}

BOOST_AUTO_TEST_CASE(a_drawn_neighbour_is_one_of_the_neighbours) {
  const auto s = grid_space({5, 5, 3}, not_equal);
  random_engine rng(5);
  for (int k = 0; k < 500; ++k) {
    const point p = s->sample(rng);
    for (const auto kind : {neighbourhood::adjacent, neighbourhood::hamming}) {
      const auto q = s->neighbour(p, kind, rng);
      const auto all = s->neighbours(p, kind);
      BOOST_REQUIRE(q.has_value());
      BOOST_TEST((std::find(all.begin(), all.end(), *q) != all.end()));
    }
  }
  BOOST_TEST(!grid_space({1})->neighbour(point{0}, neighbourhood::hamming, rng).has_value());
}

BOOST_AUTO_TEST_CASE(sampling_is_uniform) {
  const auto s = grid_space({4, 4}, not_equal);
  random_engine rng(17);
  std::map<point, int> seen;
  for (int k = 0; k < 12000; ++k) ++seen[s->sample(rng)];
  BOOST_TEST(seen.size() == 12u);
  for (const auto& [p, n] : seen) BOOST_TEST(std::abs(n - 1000) < 160);
}

BOOST_AUTO_TEST_CASE(repair_gives_valid_configurations_near_by) {
  const auto s = grid_space({6, 6, 6}, [](const point& p) { return p[0] != p[1] && (p[2] + p[0]) % 2 == 0; });
  random_engine rng(3);
  for (std::uint32_t a = 0; a < 6; ++a)
    for (std::uint32_t b = 0; b < 6; ++b)
      for (std::uint32_t c = 0; c < 8; ++c) {
        const point q = s->repair(point{a, b, c}, rng);
        BOOST_TEST(s->contains(q));
        if (s->contains(point{a, b, c})) BOOST_TEST((q == point{a, b, c}));
      }
  BOOST_TEST(s->contains(s->repair(point{1}, rng)));
}

BOOST_AUTO_TEST_CASE(features_are_numbers_logarithms_or_one_of_many) {
  std::vector<enumerated_space::axis> axes{{"vec", {value(1), value(2), value(4), value(8)}, true},
                                           {"step", {value(10), value(20), value(50)}, true},
                                           {"opt", {value("-O2"), value("-O3")}, false}};
  const auto s = enumerated_space::make(axes, {{3, 1, 1}, {0, inactive, 0}});
  BOOST_REQUIRE(s.ok());
  BOOST_TEST((*s)->features() == 4u);
  std::vector<float> f(4);
  (*s)->encode(point{3, 1, 1}, f);
  BOOST_TEST(f[0] == 3.0f);
  BOOST_TEST(f[1] == 20.0f);
  BOOST_TEST(f[2] == 0.0f);
  BOOST_TEST(f[3] == 1.0f);
  (*s)->encode(point{0, inactive, 0}, f);
  BOOST_TEST(std::isnan(f[1]));
  BOOST_TEST((*s)->parameters()[1].conditional);
}

BOOST_AUTO_TEST_CASE(wrong_lists_are_refused) {
  const std::vector<enumerated_space::axis> one{{"a", {value(1), value(2)}, true}};
  BOOST_TEST(!enumerated_space::make({}, {{}}).ok());
  BOOST_TEST(!enumerated_space::make(one, {}).ok());
  BOOST_TEST(!enumerated_space::make(one, {{0}, {0}}).ok());
  BOOST_TEST(!enumerated_space::make(one, {{2}}).ok());
  BOOST_TEST(!enumerated_space::make(one, {{0, 0}}).ok());
  BOOST_TEST(!enumerated_space::make({one[0], one[0]}, {{0, 0}}).ok());
  BOOST_TEST(enumerated_space::make(one, {{1}}).ok());
}
