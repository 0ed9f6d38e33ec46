#include "search/replay.hpp"
#include "tests/search/spaces.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>

using namespace attune;
using namespace attune::search;

namespace {

replay_table table_of(const std::vector<std::optional<double>>& values, goal g = goal::minimize) {
  replay_table t;
  t.over = grid_space({static_cast<std::uint32_t>(values.size())});
  t.direction = g;
  for (const auto& v : values) t.results.push_back({v, 1, 1});
  return t;
}

} // namespace

BOOST_AUTO_TEST_CASE(expected_random_is_the_mean_over_all_samples) {
  const auto t = table_of({5, 1, 3, 8, 2, std::nullopt});
  const auto got = expected_random(t, 8);
  BOOST_REQUIRE(got.size() == 8u);
  // By enumeration of all subsets; the failure stands as the worst value.
  const double v[] = {5, 1, 3, 8, 2, 8};
  for (int size = 1; size <= 6; ++size) {
    double sum = 0;
    int count = 0;
    for (unsigned mask = 0; mask < 64; ++mask) {
      if (__builtin_popcount(mask) != size) continue;
      double best = 100;
      for (int i = 0; i < 6; ++i)
        if ((mask >> i & 1) != 0) best = std::min(best, v[i]);
      sum += best;
      ++count;
    }
    BOOST_TEST(std::abs(got[static_cast<std::size_t>(size - 1)] - sum / count) < 1e-12);
  }
  BOOST_TEST(got[7] == 1.0);
}

BOOST_AUTO_TEST_CASE(the_score_is_0_for_random_and_1_for_the_optimum_at_once) {
  std::vector<std::optional<double>> values;
  for (int i = 0; i < 300; ++i) values.push_back(1 + (i * 7919 % 300) * 0.01);
  for (const auto g : {goal::minimize, goal::maximize}) {
    const auto t = table_of(values, g);
    const auto random = expected_random(t, 100);
    const std::vector<double> at_once(100, t.optimum());
    BOOST_TEST(std::abs(score(t, at_once, random, 100) - 1) < 1e-12);
    BOOST_TEST(std::abs(score(t, random, random, 100)) < 1e-12);
    // A run that ended early keeps its best.
    BOOST_TEST(std::abs(score(t, std::vector<double>{t.optimum()}, random, 100) - 1) < 1e-12);
  }
}

BOOST_AUTO_TEST_CASE(a_replay_uses_the_budget_and_is_repeated_by_its_seed) {
  replay_table t;
  t.over = grid_space({12, 12, 6});
  for (std::size_t i = 0; i < t.over->size(); ++i) {
    const auto p = t.over->row(i);
    const double x = p[0], y = p[1], z = p[2];
    recorded_result r{1 + (x - 4) * (x - 4) + (y - x) * (y - x) + z, 1 + z, 2};
    if (p[0] == 7) r.value.reset();
    t.results.push_back(r);
  }
  for (const std::uint32_t workers : {1u, 8u}) {
    replay_options o;
    o.trials = 60;
    o.workers = workers;
    const auto a = replay(t, "genetic", o), b = replay(t, "genetic", o);
    BOOST_REQUIRE(a.ok());
    BOOST_TEST(a->best.size() == 60u);
    BOOST_TEST(a->duplicates + a->invalid == 0u);
    BOOST_TEST((a->best == b->best));
    BOOST_TEST(std::is_sorted(a->best.rbegin(), a->best.rend()));
    // Each trial takes 3 to 8 s; eight at a time take an eighth.
    BOOST_TEST(a->virtual_s > 60 * 3.0 / workers);
    BOOST_TEST(a->virtual_s < 60 * 8.0 / workers + 8);
  }
  BOOST_TEST(!replay(t, "nonsense", {}).ok());
}

BOOST_AUTO_TEST_CASE(auto_is_far_ahead_of_random_on_a_smooth_space) {
  replay_table t;
  t.over = grid_space({16, 16, 8, 2}, [](const point& p) { return p[0] + p[1] < 26; });
  for (std::size_t i = 0; i < t.over->size(); ++i) {
    const auto p = t.over->row(i);
    const double x = p[0], y = p[1], z = p[2];
    t.results.push_back({10 + (x - 11) * (x - 11) + 0.5 * (y - 5) * (y - 5) + 2 * std::abs(z - 6) + 4.0 * p[3], 1, 1});
  }
  const auto random = expected_random(t, 60);
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    replay_options o;
    o.trials = 60;
    o.seed = seed;
    sum += score(t, replay(t, "auto", o)->best, random, 60) / 5;
  }
  BOOST_TEST(sum > 0.7);
}
