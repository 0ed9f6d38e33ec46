#include "search/strategies/extra_tree.hpp"
#include "search/strategies/features.hpp"
#include "search/strategies/gaussian_process.hpp"
#include "search/strategies/moves.hpp"
#include "tests/search/spaces.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace attune;
using namespace attune::search;

namespace {

double hill(const point& p) { return std::abs(p[0] - 4.0) + 0.3 * std::abs(p[1] - 6.0) + (p[2] == 1 ? 2 : 0); }

} // namespace

BOOST_AUTO_TEST_CASE(a_gaussian_process_predicts_what_it_has_not_seen) {
  const auto s = grid_space({9, 9, 2});
  random_engine rng(4);
  std::vector<point> points;
  for (int k = 0; k < 60; ++k) points.push_back(s->sample(rng));
  std::vector<const point*> x;
  std::vector<double> y;
  for (const auto& p : points) {
    x.push_back(&p);
    y.push_back(hill(p));
  }
  gaussian_process gp(*s);
  gp.set(x, y);
  gp.tune(3);
  std::vector<point> at;
  for (std::size_t i = 0; i < s->size(); ++i) at.push_back(s->at(i));
  std::vector<float> mean, deviation;
  gp.predict(at, mean, deviation);
  double error = 0;
  for (std::size_t i = 0; i < at.size(); ++i) error += std::abs(mean[i] - hill(at[i])) / static_cast<double>(at.size());
  BOOST_TEST(error < 0.25);
  // Less certain where nothing was seen: the data's own points are known best.
  gp.predict(std::span(points).first(20), mean, deviation);
  const float seen = std::accumulate(deviation.begin(), deviation.end(), 0.0f) / 20;
  gp.predict(at, mean, deviation);
  const float all = std::accumulate(deviation.begin(), deviation.end(), 0.0f) / static_cast<float>(at.size());
  BOOST_TEST(seen < all);
}

BOOST_AUTO_TEST_CASE(adding_a_point_gives_the_same_as_starting_anew) {
  const auto s = grid_space({9, 9, 2});
  random_engine rng(8);
  std::vector<point> points;
  for (int k = 0; k < 30; ++k) points.push_back(s->at(static_cast<uint128>(k * 5)));
  std::vector<const point*> x;
  std::vector<double> y;
  gaussian_process grown(*s), fresh(*s);
  for (const auto& p : points) {
    x.push_back(&p);
    y.push_back(hill(p));
    grown.set(x, y);
  }
  fresh.set(x, y);
  std::vector<point> at{s->sample(rng), s->sample(rng), s->sample(rng)};
  std::vector<float> m1, d1, m2, d2;
  grown.predict(at, m1, d1);
  fresh.predict(at, m2, d2);
  BOOST_TEST((m1 == m2));
  BOOST_TEST((d1 == d2));
}

BOOST_AUTO_TEST_CASE(an_extra_tree_learns_its_data_and_sorts_rows_as_it_predicts_one) {
  const auto s = grid_space({9, 9, 2});
  const rank_features f(*s);
  code_table x(f.size());
  std::vector<std::uint16_t> row(f.size());
  std::vector<float> y;
  for (std::size_t i = 0; i < s->size(); ++i) {
    f.encode(s->row(i), row);
    x.add(row);
    y.push_back(static_cast<float>(hill(s->at(i))));
  }
  std::vector<std::uint32_t> rows(y.size());
  std::iota(rows.begin(), rows.end(), 0u);
  random_engine rng(1);
  extra_tree tree;
  tree.grow(x, f.columns(), y, {}, rows, {0, 2}, rng);
  std::vector<float> out(y.size());
  std::vector<std::uint32_t> scratch;
  tree.predict(x, out, scratch);
  for (std::size_t i = 0; i < y.size(); ++i) {
    BOOST_TEST(std::abs(out[i] - y[i]) < 1e-4f);
    f.encode(s->row(i), row);
    BOOST_TEST(tree.predict(row) == out[i]);
  }
}

BOOST_AUTO_TEST_CASE(alignment_is_how_often_two_divides) {
  std::vector<enumerated_space::axis> axes{{"block", {value(32), value(48), value(64), value(80)}, true},
                                           {"vec", {value(1), value(2), value(4), value(8)}, true}};
  const auto s = enumerated_space::make(axes, {{0, 0}, {1, 1}, {2, 2}, {3, 3}});
  BOOST_REQUIRE(s.ok());
  BOOST_TEST((alignment(**s, 0) == std::vector<std::uint8_t>{5, 4, 6, 4}));
  // Powers of two in order: nothing that the order does not say.
  BOOST_TEST(alignment(**s, 1).empty());
}

BOOST_AUTO_TEST_CASE(a_training_set_keeps_the_best_and_stays_bounded) {
  training_set data(20);
  random_engine rng(2);
  for (int k = 0; k < 1000; ++k) {
    const double cost = (k * 619 % 1000) + 1;
    data.take({point{static_cast<std::uint32_t>(k)}, observation::status::measured, cost, false}, rng);
  }
  BOOST_TEST(data.items().size() == 20u);
  for (int want = 1; want <= 10; ++want) BOOST_TEST(data.items()[static_cast<std::size_t>(want - 1)].cost == want);
  const auto y = data.targets();
  BOOST_TEST(*std::min_element(y.begin(), y.end()) == -1.0);
}

BOOST_AUTO_TEST_CASE(expected_improvement_has_its_known_values) {
  BOOST_TEST(std::abs(expected_improvement(0, 0, 1) - 0.3989422804) < 1e-9);
  BOOST_TEST(std::abs(expected_improvement(1, 0, 1) - 1.0833154706) < 1e-9);
  BOOST_TEST(expected_improvement(1, 0.25, 0) == 0.75);
  BOOST_TEST(expected_improvement(0, 100, 1) == 0.0);
}
