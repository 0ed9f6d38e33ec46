#include "search/strategies/extra_tree.hpp"
#include "search/strategies/features.hpp"
#include "search/strategies/gaussian_process.hpp"
#include "search/strategies/moves.hpp"
#include "search/strategies/simd.hpp"
#include "tests/search/spaces.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
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

BOOST_AUTO_TEST_CASE(few_integers_in_a_row_may_be_codes) {
  const auto space_of = [](std::vector<value> values, bool ordinal) {
    std::vector<point> points;
    for (std::uint32_t v = 0; v < values.size(); ++v) points.push_back({v});
    return *enumerated_space::make({{"a", std::move(values), ordinal}}, std::move(points));
  };
  const auto row = [&](std::int64_t from, int count, std::int64_t step) {
    std::vector<value> values;
    for (int k = 0; k < count; ++k) values.emplace_back(from + k * step);
    return may_be_codes(*space_of(std::move(values), true), 0);
  };
  BOOST_TEST(row(0, 3, 1));
  BOOST_TEST(row(-2, 5, 1));
  BOOST_TEST(row(std::numeric_limits<std::int64_t>::min(), 8, 1));
  BOOST_TEST(!row(0, 2, 1));
  BOOST_TEST(!row(1, 9, 1));
  BOOST_TEST(!row(16, 4, 16));
  BOOST_TEST(!may_be_codes(*space_of({value(1.0), value(2.0), value(3.0)}, true), 0));
  BOOST_TEST(!may_be_codes(*space_of({value("a"), value("b"), value("c")}, false), 0));
}

namespace {

/// The part of the variance that a process trained on `results` draws of `cost` leaves, over some rounds.
double unexplained(const std::vector<std::uint32_t>& sizes, const std::function<double(const point&)>& cost,
                   int results) {
  const auto s = grid_space(sizes);
  random_engine rng(4);
  double wrong = 0, spread = 0;
  for (int round = 0; round < 12; ++round) {
    std::vector<point> points, at;
    for (int k = 0; k < results; ++k) points.push_back(s->sample(rng));
    for (int k = 0; k < 200; ++k) at.push_back(s->sample(rng));
    std::vector<const point*> x;
    std::vector<double> y;
    for (const auto& p : points) {
      x.push_back(&p);
      y.push_back(cost(p));
    }
    gaussian_process gp(*s);
    gp.set(x, y);
    gp.tune(3);
    std::vector<float> mean, deviation;
    gp.predict(at, mean, deviation);
    const double middle = std::accumulate(y.begin(), y.end(), 0.0) / static_cast<double>(y.size());
    for (std::size_t i = 0; i < at.size(); ++i) {
      wrong += std::pow(mean[i] - cost(at[i]), 2);
      spread += std::pow(middle - cost(at[i]), 2);
    }
  }
  return wrong / spread;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_gaussian_process_learns_that_numbers_are_codes) {
  // One method of six is bad, whichever its number is.
  const auto cost = [](const point& p) {
    return (p[0] == 1 ? 3 : 0) + (p[1] == 3 ? 3 : 0) + (p[2] == 2 ? 2 : 0) + (p[3] == 4 ? 2 : 0);
  };
  BOOST_TEST(unexplained({6, 6, 6, 6}, cost, 30) < 0.3);
}

BOOST_AUTO_TEST_CASE(what_each_parameter_does_by_itself_is_seen_in_few_results) {
  // Eight parameters that do nothing together: 30 results say more than the neighbourhood of any.
  const auto cost = [](const point& p) {
    double sum = 0;
    for (std::size_t d = 0; d < p.size(); ++d) sum += (p[d] == d % 3 ? 0 : 1) * (1 + 0.2 * static_cast<double>(d));
    return sum;
  };
  BOOST_TEST(unexplained({3, 3, 3, 3, 3, 3, 3, 3}, cost, 30) < 0.2);
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

BOOST_AUTO_TEST_CASE(every_variant_of_the_loops_gives_the_same_bits) {
  random_engine rng(5);
  for (const std::size_t n : {1u, 7u, 8u, 9u, 31u, 64u, 200u}) {
    std::vector<double> a(n), b(n);
    for (std::size_t i = 0; i < n; ++i) a[i] = rng.normal(), b[i] = rng.normal();
    BOOST_TEST(loops().dot(a.data(), b.data(), n) == plain_loops().dot(a.data(), b.data(), n));
    std::vector<float> column(n), r1(n, 0.5f), r2(n, 0.5f), e1(n, 0.1f), e2(n, 0.1f), k1(n), k2(n), s1(n), s2(n);
    for (auto& c : column) c = static_cast<float>(rng.normal());
    const float x = column[n / 2];
    loops().add_squares(x, column.data(), n, r1.data(), e1.data());
    plain_loops().add_squares(x, column.data(), n, r2.data(), e2.data());
    loops().add_unequal(x, 0.3f, column.data(), n, r1.data());
    plain_loops().add_unequal(x, 0.3f, column.data(), n, r2.data());
    loops().covariances(r1.data(), e1.data(), 0.6f, 0.1f, 0.7f, n, k1.data(), s1.data());
    plain_loops().covariances(r2.data(), e2.data(), 0.6f, 0.1f, 0.7f, n, k2.data(), s2.data());
    BOOST_TEST((r1 == r2));
    BOOST_TEST((e1 == e2));
    BOOST_TEST((k1 == k2));
    BOOST_TEST((s1 == s2));
    const std::size_t width = 64;
    std::vector<float> l(n * (n + 1) / 2), inverse(n), v1(n * width), explained1(width), explained2(width);
    for (auto& f : l) f = 0.1f * static_cast<float>(rng.normal());
    for (auto& f : inverse) f = 1 + static_cast<float>(rng.uniform());
    for (auto& f : v1) f = static_cast<float>(rng.normal());
    auto v2 = v1;
    loops().solve(l.data(), inverse.data(), n, v1.data(), width, explained1.data());
    plain_loops().solve(l.data(), inverse.data(), n, v2.data(), width, explained2.data());
    BOOST_TEST((v1 == v2));
    BOOST_TEST((explained1 == explained2));
  }
}

BOOST_AUTO_TEST_CASE(tuning_in_portions_ends_where_tuning_at_once_does) {
  const auto s = grid_space({9, 9, 2});
  random_engine rng(8);
  std::vector<point> points;
  for (int k = 0; k < 150; ++k) points.push_back(s->at(static_cast<uint128>(k)));
  std::vector<const point*> x;
  std::vector<double> y;
  for (const auto& p : points) {
    x.push_back(&p);
    y.push_back(hill(p));
  }
  gaussian_process at_once(*s), portions(*s);
  at_once.set(x, y);
  portions.set(x, y);
  at_once.tune(2);
  portions.begin_tuning(2);
  int count = 0;
  while (portions.tuning()) {
    portions.tune_some();
    portions.set(x, y);
    ++count;
  }
  BOOST_TEST(count > 1);
  std::vector<point> at{s->sample(rng), s->sample(rng), s->sample(rng)};
  std::vector<float> m1, d1, m2, d2;
  at_once.predict(at, m1, d1);
  portions.predict(at, m2, d2);
  BOOST_TEST((m1 == m2));
  BOOST_TEST((d1 == d2));
}

BOOST_AUTO_TEST_CASE(a_similar_source_sharpens_the_prediction_and_a_strange_one_is_kept_away) {
  const auto s = grid_space({9, 9, 2});
  random_engine rng(6);
  std::vector<point> points;
  for (int k = 0; k < 70; ++k) points.push_back(s->sample(rng));
  const auto error_with = [&](int kind) {
    std::vector<const point*> x;
    std::vector<double> y;
    std::vector<std::uint32_t> source;
    random_engine noise(1);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool foreign = i < 60;
      if (foreign && kind == 0) continue;
      x.push_back(&points[i]);
      y.push_back(foreign && kind == 2 ? hill(points[noise.below(60)]) : hill(points[i]));
      source.push_back(foreign ? 1 : 0);
    }
    gaussian_process gp(*s, 1);
    gp.set(x, y, source);
    gp.tune(3);
    std::vector<point> at;
    for (std::size_t i = 0; i < s->size(); ++i) at.push_back(s->at(i));
    std::vector<float> mean, deviation;
    gp.predict(at, mean, deviation);
    double error = 0;
    for (std::size_t i = 0; i < at.size(); ++i)
      error += std::abs(mean[i] - hill(at[i])) / static_cast<double>(at.size());
    return error;
  };
  const double alone = error_with(0), similar = error_with(1), strange = error_with(2);
  BOOST_TEST(similar < 0.5 * alone);
  BOOST_TEST(strange < 1.3 * alone);
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
