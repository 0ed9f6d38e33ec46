// What every strategy owes, held over all of them.
#include "search/strategy.hpp"
#include "tests/search/spaces.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <map>
#include <set>

using namespace attune;
using namespace attune::search;

namespace {

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& s : strategies()) out.push_back(s.name);
  return out;
}

using objective = std::function<observation(std::span<const std::uint32_t>)>;

observation bowl(std::span<const std::uint32_t> p) {
  double sum = 1;
  for (std::size_t d = 0; d < p.size(); ++d) {
    const double x = p[d] == inactive ? 0 : p[d];
    sum += (x - 2.3) * (x - 2.3) * static_cast<double>(d + 1);
  }
  return {observation::status::measured, sum};
}

struct played {
  std::vector<point> asked;
  std::size_t duplicates = 0, invalid = 0;
};

/// Plays `trials` trials with `workers` in flight; answers come in an order drawn from the seed.
played play(const std::string& name, const space_ptr& s, std::size_t trials, const objective& f, std::uint64_t seed = 1,
            std::size_t workers = 1) {
  strategy_options options;
  options.seed = seed;
  options.budget = trials;
  auto made = make_strategy(name, s, options);
  BOOST_REQUIRE(made.ok());
  auto& how = **made;
  played out;
  std::set<point> seen;
  std::vector<point> flying;
  random_engine order(seed + 77);
  for (;;) {
    while (out.asked.size() < trials && flying.size() < workers) {
      auto p = how.ask();
      if (!p) break;
      if (!seen.insert(*p).second) ++out.duplicates;
      if (!s->contains(*p)) ++out.invalid;
      out.asked.push_back(*p);
      flying.push_back(std::move(*p));
    }
    if (flying.empty()) break;
    const std::size_t which = order.below(flying.size());
    const point p = flying[which];
    flying.erase(flying.begin() + static_cast<std::ptrdiff_t>(which));
    how.tell(p, f(p));
  }
  return out;
}

void expect_full(const played& got, std::size_t trials) {
  BOOST_TEST(got.asked.size() == trials);
  BOOST_TEST(got.duplicates == 0u);
  BOOST_TEST(got.invalid == 0u);
}

} // namespace

BOOST_DATA_TEST_CASE(a_space_of_one_configuration_gives_one_trial, boost::unit_test::data::make(names()), name) {
  expect_full(play(name, grid_space({1}), 20, bowl), 1);
  expect_full(play(name, grid_space({1, 1, 1}), 20, bowl, 3, 8), 1);
}

BOOST_DATA_TEST_CASE(a_space_of_two_configurations_gives_two_trials, boost::unit_test::data::make(names()), name) {
  expect_full(play(name, grid_space({2}), 20, bowl), 2);
  expect_full(play(name, grid_space({2}, {}, false), 20, bowl, 2, 8), 2);
}

BOOST_DATA_TEST_CASE(two_valued_and_single_valued_parameters_are_searched, boost::unit_test::data::make(names()),
                     name) {
  expect_full(play(name, grid_space({2, 7, 7}), 20, bowl), 20);
  expect_full(play(name, grid_space({2, 7, 7, 1}), 98, bowl), 98);
  expect_full(play(name, grid_space({1, 7}, {}, false), 20, bowl), 7);
}

BOOST_DATA_TEST_CASE(eight_configurations_with_four_workers_are_eight_trials, boost::unit_test::data::make(names()),
                     name) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) expect_full(play(name, grid_space({2, 4}), 8, bowl, seed, 4), 8);
}

BOOST_DATA_TEST_CASE(a_space_on_which_all_fails_is_used_to_the_budget, boost::unit_test::data::make(names()), name) {
  const auto fail = [](auto) { return observation{observation::status::failed, 0}; };
  expect_full(play(name, grid_space({5, 5, 5}), 60, fail), 60);
  expect_full(play(name, grid_space({5, 5}), 60, fail, 2, 8), 25);
}

BOOST_DATA_TEST_CASE(equal_values_do_no_harm, boost::unit_test::data::make(names()), name) {
  for (const double v : {0.0, 1.0, -3.5}) {
    const auto equal = [v](auto) { return observation{observation::status::measured, v}; };
    expect_full(play(name, grid_space({5, 5, 5}), 60, equal), 60);
  }
}

BOOST_DATA_TEST_CASE(values_that_are_not_finite_count_as_failures, boost::unit_test::data::make(names()), name) {
  const double odd[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                        -std::numeric_limits<double>::infinity()};
  const auto f = [&](std::span<const std::uint32_t> p) {
    return p[0] < 3 ? observation{observation::status::measured, odd[p[0]]} : bowl(p);
  };
  expect_full(play(name, grid_space({6, 5, 4}), 100, f), 100);
}

BOOST_DATA_TEST_CASE(negative_costs_are_minimised, boost::unit_test::data::make(names()), name) {
  const auto f = [](std::span<const std::uint32_t> p) {
    return observation{observation::status::measured, -1000 / bowl(p).cost};
  };
  expect_full(play(name, grid_space({9, 9, 9}), 80, f), 80);
  // Signs on both sides.
  const auto g = [](std::span<const std::uint32_t> p) {
    return observation{observation::status::measured, bowl(p).cost - 20};
  };
  expect_full(play(name, grid_space({9, 9, 9}), 80, g), 80);
}

BOOST_DATA_TEST_CASE(extreme_values_do_no_harm, boost::unit_test::data::make(names()), name) {
  const auto f = [](std::span<const std::uint32_t> p) {
    const double v = p[0] == 0 ? 1e300 : p[0] == 1 ? 5e-324 : p[0] == 2 ? 0.0 : bowl(p).cost;
    return observation{observation::status::measured, v};
  };
  expect_full(play(name, grid_space({6, 5, 4}), 100, f), 100);
}

BOOST_DATA_TEST_CASE(censored_values_and_failures_are_learned_from, boost::unit_test::data::make(names()), name) {
  const auto f = [](std::span<const std::uint32_t> p) {
    const auto o = bowl(p);
    if (p[1] == 0) return observation{observation::status::failed, 0};
    return o.cost > 30 ? observation{observation::status::censored, 30} : o;
  };
  expect_full(play(name, grid_space({9, 9, 9}), 120, f), 120);
  const auto all = [](auto) { return observation{observation::status::censored, 5}; };
  expect_full(play(name, grid_space({9, 9}), 60, all), 60);
}

BOOST_DATA_TEST_CASE(answers_may_come_in_any_order_from_many_workers, boost::unit_test::data::make(names()), name) {
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    expect_full(play(name, grid_space({8, 8, 8}), 120, bowl, seed, 8), 120);
  // More in flight than there will ever be answers for.
  expect_full(play(name, grid_space({8, 8, 8}), 64, bowl, 1, 64), 64);
}

BOOST_DATA_TEST_CASE(a_budget_above_the_space_ends_with_each_configuration_once, boost::unit_test::data::make(names()),
                     name) {
  expect_full(play(name, grid_space({61, 8}), 10000, bowl), 488);
}

BOOST_DATA_TEST_CASE(a_dropped_proposal_is_offered_again, boost::unit_test::data::make(names()), name) {
  const auto s = grid_space({3, 4});
  strategy_options options;
  options.budget = 12;
  auto made = make_strategy(name, s, options);
  BOOST_REQUIRE(made.ok());
  auto& how = **made;
  std::map<point, int> told, dropped;
  int asks = 0;
  while (auto p = how.ask()) {
    BOOST_REQUIRE(++asks <= 24);
    if (dropped[*p]++ == 0)
      how.tell(*p, {observation::status::dropped, 0});
    else {
      ++told[*p];
      how.tell(*p, bowl(*p));
    }
  }
  BOOST_TEST(told.size() == 12u);
  for (const auto& [p, n] : told) BOOST_TEST(n == 1);
}

BOOST_DATA_TEST_CASE(what_was_dropped_and_then_told_by_others_is_not_offered_again,
                     boost::unit_test::data::make(names()), name) {
  const auto s = grid_space({3});
  auto made = make_strategy(name, s, {});
  auto& how = **made;
  const auto p = how.ask();
  BOOST_REQUIRE(p.has_value());
  how.tell(*p, {observation::status::dropped, 0});
  how.tell(*p, bowl(*p));
  std::size_t rest = 0;
  while (const auto q = how.ask()) {
    BOOST_TEST((*q != *p));
    how.tell(*q, bowl(*q));
    BOOST_REQUIRE(++rest < 5);
  }
  BOOST_TEST(rest == 2u);
}

BOOST_DATA_TEST_CASE(the_same_seed_and_answers_give_the_same_proposals, boost::unit_test::data::make(names()), name) {
  const auto s = grid_space({8, 8, 8}, [](const point& p) { return (p[0] + p[1]) % 3 != 0; });
  for (const std::size_t workers : {1u, 5u}) {
    const auto a = play(name, s, 80, bowl, 42, workers), b = play(name, s, 80, bowl, 42, workers);
    BOOST_TEST((a.asked == b.asked));
  }
  if (name != "grid") {
    const auto a = play(name, s, 40, bowl, 42), c = play(name, s, 40, bowl, 43);
    BOOST_TEST((a.asked != c.asked));
  }
}

BOOST_DATA_TEST_CASE(first_points_go_first_and_invalid_ones_are_left_out, boost::unit_test::data::make(names()), name) {
  const auto s = grid_space({6, 6}, [](const point& p) { return p[0] != p[1]; });
  strategy_options options;
  options.first = {{2, 3}, {1, 1}, {2, 3}, {9, 9}, {1}, {0, 5}};
  auto made = make_strategy(name, s, options);
  auto& how = **made;
  BOOST_TEST((how.ask() == std::optional(point{2, 3})));
  BOOST_TEST((how.ask() == std::optional(point{0, 5})));
  std::set<point> rest;
  while (auto p = how.ask()) BOOST_TEST(rest.insert(*p).second);
  BOOST_TEST(rest.size() == 28u);
}

BOOST_DATA_TEST_CASE(experience_is_not_proposed, boost::unit_test::data::make(names()), name) {
  const auto s = grid_space({4, 4});
  auto made = make_strategy(name, s, {});
  auto& how = **made;
  for (std::uint32_t v = 0; v < 4; ++v) how.tell(point{v, 2}, bowl(point{v, 2}));
  how.tell(point{7, 7}, bowl(point{0, 0}));
  std::set<point> asked;
  while (auto p = how.ask()) {
    BOOST_TEST((*p)[1] != 2u);
    BOOST_TEST(asked.insert(*p).second);
    how.tell(*p, bowl(*p));
  }
  BOOST_TEST(asked.size() == 12u);
}

BOOST_DATA_TEST_CASE(a_space_that_is_not_counted_is_used_up_too, boost::unit_test::data::make(names()), name) {
  const auto s = std::make_shared<uncounted_space>(
      grid_space({5, 4, 3}, [](const point& p) { return (p[0] + p[1] + p[2]) % 2 == 0; }));
  expect_full(play(name, s, 100, bowl, 1, 3), 30);
}

BOOST_DATA_TEST_CASE(conditional_parameters_may_be_inactive, boost::unit_test::data::make(names()), name) {
  std::vector<enumerated_space::axis> axes{{"fma", {value(false), value(true)}, false},
                                           {"pad", {value(0), value(4), value(8)}, true},
                                           {"tile", {value(1), value(2), value(4), value(8)}, true}};
  std::vector<point> points;
  for (std::uint32_t t = 0; t < 4; ++t) {
    points.push_back({0, inactive, t});
    for (std::uint32_t v = 0; v < 3; ++v) points.push_back({1, v, t});
  }
  const auto s = enumerated_space::make(axes, points);
  BOOST_REQUIRE(s.ok());
  expect_full(play(name, *s, 30, bowl, 5, 2), 16);
}

BOOST_DATA_TEST_CASE(random_spaces_are_searched_without_repetition, boost::unit_test::data::make(names()), name) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    random_engine rng(seed * 1009);
    std::vector<std::uint32_t> sizes(1 + rng.below(5));
    for (auto& n : sizes) n = static_cast<std::uint32_t>(1 + rng.below(7));
    const std::uint64_t salt = rng();
    const auto keep = [salt](const point& p) {
      std::uint64_t h = salt;
      for (const auto v : p) h = (h ^ v) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
      return h % 3 != 0;
    };
    const auto s = grid_space(sizes, keep, rng.chance(0.7));
    if (!s) continue;
    const std::size_t trials = 1 + rng.below(150);
    const auto f = [salt](std::span<const std::uint32_t> p) {
      std::uint64_t h = salt + 1;
      for (const auto v : p) h = (h ^ v) * 0x9e3779b97f4a7c15u, h ^= h >> 31;
      if (h % 5 == 0) return observation{observation::status::failed, 0};
      auto o = bowl(p);
      o.cost += static_cast<double>(h % 7);
      return o;
    };
    BOOST_TEST_CONTEXT("space of seed " << seed) {
      expect_full(play(name, s, trials, f, seed, 1 + rng.below(8)), std::min<std::size_t>(trials, s->size()));
    }
  }
}

BOOST_DATA_TEST_CASE(compiled_spaces_are_searched_without_repetition, boost::unit_test::data::make(names()), name) {
  std::vector<parameter> p(6);
  p[0] = {"a", power_range{1, 4096}};
  p[1] = {"b", integer_range{1, 1000, 1}};
  p[2] = {"c", integer_range{1, 1000, 1}};
  p[3] = {"vector", value_list{{value(false), value(true)}}};
  p[4] = {"pad", value_list{{value(0), value(4), value(8)}}};
  p[4].when = "vector";
  p[5] = {"order", permutation_of{{"i", "j", "k"}}};
  std::vector<constraint> c(2);
  c[0].expression = "a * b <= 65536";
  c[1].expression = "c % 2 == 0 or vector";
  const auto s = space::compile(p, c);
  BOOST_REQUIRE(s.ok());
  const auto f = [](std::span<const std::uint32_t> at) {
    if (at[1] % 5 == 0) return observation{observation::status::failed, 0};
    return observation{observation::status::measured, 1.0 + std::abs(at[0] - 5.0) + at[1] / 100.0 + at[5]};
  };
  for (std::uint64_t seed = 1; seed <= 2; ++seed) expect_full(play(name, *s, 60, f, seed, 1 + 3 * (seed % 2)), 60);
}

BOOST_DATA_TEST_CASE(records_of_other_tasks_never_break_the_contract, boost::unit_test::data::make(names()), name) {
  const auto s = grid_space({7, 6, 5}, [](const point& p) { return p[0] != p[1]; });
  random_engine rng(5);
  const auto record = [&](observation o, std::uint32_t source) { return prior_record{s->sample(rng), o, source, 0.5}; };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::vector<prior_record>> priors(5);
  for (std::uint32_t k = 0; k < 60; ++k) {
    priors[0].push_back(record(bowl(s->sample(rng)), 0)); // noise
    priors[1].push_back(record({observation::status::failed, 0}, k % 2));
    priors[2].push_back(record({observation::status::measured, 3}, k)); // a source each, all equal
    priors[3].push_back(record({observation::status::measured, k % 3 == 0 ? nan : -1.0 * k}, k % 5));
    priors[4].push_back({point{9, 9, 9}, {observation::status::measured, 1}, 0, 1});
  }
  priors[4].push_back({point{1}, {observation::status::measured, 1}, 0, 1});
  priors[4].push_back(record({observation::status::dropped, 0}, 1));
  for (const auto& prior : priors) {
    strategy_options options;
    options.budget = 200;
    options.prior = prior;
    auto made = make_strategy(name, s, options);
    BOOST_REQUIRE(made.ok());
    std::set<point> seen;
    while (const auto p = (*made)->ask()) {
      BOOST_TEST(s->contains(*p));
      BOOST_TEST(seen.insert(*p).second);
      (*made)->tell(*p, bowl(*p));
    }
    BOOST_TEST(seen.size() == s->size());
  }
}

BOOST_AUTO_TEST_CASE(an_unknown_name_is_answered_with_the_nearest_one) {
  const auto made = make_strategy("anealing", grid_space({2}), {});
  BOOST_REQUIRE(!made.ok());
  BOOST_TEST((made.err().code == errc::invalid_spec));
  BOOST_TEST(made.err().message.find("'annealing'") != std::string::npos);
  const auto far = make_strategy("zzzzzz", grid_space({2}), {});
  BOOST_REQUIRE(!far.ok());
  BOOST_TEST(far.err().message.find("random") != std::string::npos);
}
