#include "core/random.hpp"
#include "measure/finalists.hpp"
#include "tests/per_element.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>

using namespace attune;
using namespace attune::measure;

namespace {

using table = std::vector<std::vector<double>>;
using verdict = finalists::verdict;

/// Runs them all with the values that `run` gives; who ran, in order.
template <class Run>
std::vector<std::size_t> finish(finalists& f, Run run) {
  std::vector<std::size_t> order;
  while (const auto who = f.next()) {
    BOOST_REQUIRE(order.size() < 1000U);
    order.push_back(*who);
    f.add(run(*who));
  }
  return order;
}

} // namespace

BOOST_AUTO_TEST_CASE(nothing_measured_has_no_winner) {
  finalists none(table{}, goal::minimize);
  BOOST_TEST(!none.next().has_value());
  BOOST_TEST((none.state() == verdict::none));
  finalists failed(table{{}, {}}, goal::minimize, 0);
  BOOST_TEST((failed.state() == verdict::none));
  BOOST_TEST(!failed.winner().has_value());
}

BOOST_AUTO_TEST_CASE(one_that_is_far_ahead_is_not_measured_again) {
  finalists f(table{{10, 10.1, 9.9}, {1, 1.01, 0.99}, {}, {5, 5.1, 4.9}}, goal::minimize);
  BOOST_TEST(!f.next().has_value());
  BOOST_TEST((f.state() == verdict::separated));
  BOOST_TEST(*f.winner() == 1U);
  BOOST_TEST(f.tied().empty());
  BOOST_TEST(!f.speedup().has_value());
}

BOOST_AUTO_TEST_CASE(those_that_overlap_the_best_run_side_by_side) {
  const table measured{{1.00, 1.02, 0.98}, {1.01, 1.03, 0.99}, {9, 9.1, 8.9}, {1.005, 1.0, 1.01}};
  finalists f(measured, goal::minimize);
  random_engine random(1);
  const auto order = finish(f, [&](std::size_t who) { return (who == 1 ? 0.9 : 1.0) + 0.001 * random.normal(); });
  BOOST_TEST((f.state() == verdict::separated));
  BOOST_TEST(*f.winner() == 1U); // whatever it looked like before
  BOOST_TEST(f.rounds() == 3U);
  BOOST_TEST(order.size() == 9U);
  BOOST_TEST(std::count(order.begin(), order.end(), 2U) == 0);
  BOOST_TEST(f.values(1).size() == 3U);
  BOOST_TEST(f.values(2).empty());
}

BOOST_AUTO_TEST_CASE(the_order_is_balanced) {
  finalists f(table{{1}, {1}, {1}, {1}}, goal::minimize, {}, {.rounds = 8});
  // Now one is faster and now another: neither out nor close.
  const auto order = finish(f, [&](std::size_t who) { return (f.rounds() + who) % 2 == 0 ? 1.0 : 1.2; });
  BOOST_REQUIRE(f.rounds() == 8U);
  BOOST_REQUIRE(order.size() == 32U);
  std::map<std::pair<std::size_t, std::size_t>, int> at; // who, position
  for (std::size_t i = 0; i < order.size(); ++i) ++at[{order[i], i % 4}];
  for (std::size_t who = 0; who < 4; ++who)
    for (std::size_t position = 0; position < 4; ++position) BOOST_TEST((at[{who, position}]) == 2);
}

BOOST_AUTO_TEST_CASE(equal_ones_are_a_tie_as_soon_as_that_is_known) {
  finalists f(table{{2, 2, 2}, {2, 2, 2}}, goal::minimize);
  finish(f, [](std::size_t) { return 2.0; });
  BOOST_TEST((f.state() == verdict::tied));
  BOOST_TEST(f.rounds() == 3U);
  BOOST_TEST(*f.winner() == 0U);
  BOOST_TEST(f.tied() == (std::vector<std::size_t>{1}), per_element);
}

BOOST_AUTO_TEST_CASE(the_rounds_are_bounded) {
  random_engine random(3);
  finalists f(table{{1, 2, 3}, {1, 2, 3}, {2, 1, 3}}, goal::minimize, {}, {.rounds = 5, .margin = 0});
  const auto order = finish(f, [&](std::size_t) { return 1 + random.uniform(); });
  BOOST_TEST(f.rounds() <= 5U);
  BOOST_TEST(order.size() <= 15U);
  finalists none(table{{1, 2, 3}, {1, 2, 3}}, goal::minimize, {}, {.rounds = 0});
  BOOST_TEST((none.state() == verdict::tied));
  BOOST_TEST(*none.winner() == 0U);
}

BOOST_AUTO_TEST_CASE(where_no_noise_is_known_the_best_values_are_finalists) {
  finalists f(table{{5}, {1}, {3}, {2}, {4}}, goal::minimize, {}, {.most = 3, .rounds = 3});
  const auto order = finish(f, [](std::size_t who) { return static_cast<double>(who); });
  BOOST_TEST(std::count(order.begin(), order.end(), 0U) == 0);
  BOOST_TEST(std::count(order.begin(), order.end(), 4U) == 0);
  BOOST_TEST(order.size() == 9U);
  BOOST_TEST(*f.winner() == 1U);
}

BOOST_AUTO_TEST_CASE(more_is_better_where_the_goal_says_so) {
  const table measured{{1.00, 1.02, 0.98}, {1.01, 1.03, 0.99}, {9, 9.1, 8.9}};
  finalists f(measured, goal::maximize, 0);
  const auto order = finish(f, [](std::size_t who) { return who == 2 ? 9.0 : 1.0; });
  BOOST_TEST(*f.winner() == 2U);
  BOOST_TEST((f.state() == verdict::separated));
  BOOST_TEST(order.size() == 6U); // it and the reference
  BOOST_TEST(*f.speedup() == 9.0);
}

BOOST_AUTO_TEST_CASE(the_reference_runs_along_and_never_wins_unmeasured) {
  const table measured{{4, 4.1, 3.9}, {1.0, 1.01, 0.99}, {1.0, 1.02, 0.98}};
  finalists f(measured, goal::minimize, 0);
  const auto order = finish(f, [](std::size_t who) { return who == 0 ? 3.0 : who == 1 ? 1.5 : 2.0; });
  BOOST_TEST(*f.winner() == 1U);
  BOOST_TEST(*f.speedup() == 2.0);
  BOOST_TEST(std::count(order.begin(), order.end(), 0U) == 3);
  BOOST_TEST(f.tied().empty());
}

BOOST_AUTO_TEST_CASE(a_reference_that_is_a_finalist_goes_on_when_it_is_out) {
  const table measured{{1.0, 1.01, 0.99}, {1.0, 1.01, 0.99}, {1.0, 1.01, 0.99}};
  finalists f(measured, goal::minimize, 0);
  random_engine random(4);
  // 0 is out in the third round; 1 and 2 need longer.
  finish(f, [&](std::size_t who) { return (who == 0 ? 2 : 1) + 0.03 * random.normal(); });
  BOOST_TEST(f.rounds() > 3U);
  BOOST_TEST(f.values(0).size() == f.rounds());
  BOOST_TEST(*f.winner() != 0U);
}

BOOST_AUTO_TEST_CASE(one_that_fails_is_out) {
  finalists f(table{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, goal::minimize, 2);
  while (const auto who = f.next()) *who == 1 ? f.add(1.0) : f.fail();
  BOOST_TEST((f.state() == verdict::separated));
  BOOST_TEST(*f.winner() == 1U);
  BOOST_TEST(!f.speedup().has_value());
  finalists all(table{{1, 1, 1}, {1, 1, 1}}, goal::minimize);
  while (all.next()) all.fail();
  BOOST_TEST((all.state() == verdict::none));
  BOOST_TEST(!all.winner().has_value());
}

BOOST_AUTO_TEST_CASE(zeros_and_negative_values_are_compared_by_differences) {
  finalists f(table{{0, 0.1, -0.1}, {0, 0.1, -0.1}}, goal::minimize);
  finish(f, [](std::size_t who) { return who == 0 ? 0.0 : -1.0; });
  BOOST_TEST(*f.winner() == 1U);
  BOOST_TEST((f.state() == verdict::separated));
  finalists zeros(table{{0, 0, 0}, {0, 0, 0}}, goal::minimize, 0);
  finish(zeros, [](std::size_t) { return 0.0; });
  BOOST_TEST((zeros.state() == verdict::tied));
  BOOST_TEST(!zeros.speedup().has_value());
}

// Two configurations 1 % apart on a machine that slows down by 3.8 % over the runs: one after the other, each run seven
// times, the drift decides; side by side it falls on both.
BOOST_AUTO_TEST_CASE(a_drift_of_the_machine_does_not_decide) {
  int right = 0, right_one_after_the_other = 0;
  constexpr int seeds = 200;
  for (int seed = 0; seed < seeds; ++seed) {
    random_engine random(static_cast<std::uint64_t>(seed) + 100);
    double slow = 1;
    const auto run = [&](double truth, double step) {
      slow += step;
      return truth * slow * (1 + 0.003 * random.normal());
    };
    // The better one comes last, when the machine is slowest.
    table measured(2);
    for (int n = 0; n < 7; ++n) measured[0].push_back(run(1.01, 0.038 / 14));
    for (int n = 0; n < 7; ++n) measured[1].push_back(run(1.00, 0.038 / 14));
    finalists f(measured, goal::minimize);
    if (f.next()) {
      slow = 1;
      finish(f, [&](std::size_t who) { return run(who == 0 ? 1.01 : 1.00, 0.038 / 24); });
    }
    right += f.winner() == 1U ? 1 : 0;
    std::vector<double> a = measured[0], b = measured[1];
    std::nth_element(a.begin(), a.begin() + 3, a.end());
    std::nth_element(b.begin(), b.begin() + 3, b.end());
    right_one_after_the_other += b[3] < a[3] ? 1 : 0;
  }
  BOOST_TEST(right >= 190, "side by side: " << right << " of 200");
  BOOST_TEST(right_one_after_the_other < 100, "one after the other: " << right_one_after_the_other << " of 200");
}
