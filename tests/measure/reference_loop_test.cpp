#include "core/random.hpp"
#include "measure/reference_loop.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <sched.h>

using namespace attune;
using namespace attune::measure;

namespace {

/// `passes` of a millisecond, changed by what the test says of the i-th.
template <class Change>
loop_samples loop_of(int passes, Change change) {
  loop_samples out;
  double now = 0;
  for (int i = 0; i < passes; ++i) {
    const double took = 1e-3 * change(i);
    out.begun.push_back(now);
    out.took.push_back(took);
    now += took;
  }
  out.wall = out.cpu = now;
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(reference_loops)

BOOST_AUTO_TEST_CASE(a_quiet_machine_has_no_noise) {
  const auto r = summarize_loop(loop_of(100, [](int) { return 1.0; }));
  BOOST_TEST(r.passes == 100u);
  BOOST_TEST(r.median == 1e-3);
  BOOST_TEST((r.half_width == 0 && r.spread == 0 && r.drift == 0 && r.taken == 0));
}

BOOST_AUTO_TEST_CASE(a_drift_is_told_whatever_the_outliers) {
  // 3 % slower at the end than at the beginning; every fifth pass is interrupted.
  const auto r = summarize_loop(loop_of(500, [](int i) { return (1 + 0.03 * i / 500) * (i % 5 == 0 ? 4 : 1); }));
  BOOST_TEST(std::abs(r.drift - 0.03) < 0.002, r.drift);
  const auto faster = summarize_loop(loop_of(500, [](int i) { return 1 - 0.03 * i / 500; }));
  BOOST_TEST(std::abs(faster.drift + 0.03) < 0.001, faster.drift);
}

BOOST_AUTO_TEST_CASE(the_spread_is_a_standard_deviation_that_outliers_do_not_move) {
  random_engine rng(1);
  const auto normal = [&] { // Box and Muller
    return std::sqrt(-2 * std::log(1 - rng.uniform())) * std::cos(6.283185307179586 * rng.uniform());
  };
  const auto r = summarize_loop(loop_of(2000, [&](int i) { return (1 + 0.01 * normal()) * (i % 50 == 0 ? 10 : 1); }));
  BOOST_TEST(std::abs(r.spread - 0.01) < 0.001, r.spread);
  BOOST_TEST(r.half_width < 0.001);
  BOOST_TEST(std::abs(r.median - 1e-3) < 2e-6);
}

BOOST_AUTO_TEST_CASE(what_others_take_is_the_time_without_the_processor) {
  auto loop = loop_of(10, [](int) { return 1.0; });
  loop.cpu = loop.wall * 0.75;
  BOOST_TEST(std::abs(summarize_loop(loop).taken - 0.25) < 1e-12);
  loop.cpu = loop.wall * 1.001; // two clocks
  BOOST_TEST(summarize_loop(loop).taken == 0.0);
}

BOOST_AUTO_TEST_CASE(the_robust_slope_is_the_median_of_all_slopes) {
  const std::vector<double> x{0, 1, 2, 3, 4}, y{1, 3, 5, 7, 100};
  BOOST_TEST(robust_slope(x, y) == 2.0);
  BOOST_TEST(robust_slope(std::vector{1.0, 1.0}, std::vector{1.0, 2.0}) == 0.0);
  BOOST_TEST(robust_slope({}, {}) == 0.0);
}

BOOST_AUTO_TEST_CASE(a_loop_runs_three_passes_at_least_and_leaves_the_thread_as_it_was) {
  cpu_set_t before, after;
  BOOST_REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  for (const auto what : {reference_work::compute, reference_work::memory}) {
    const auto loop = run_reference(what, -1, nanoseconds(1));
    BOOST_TEST(loop.took.size() >= 3u);
    BOOST_TEST(loop.took.size() == loop.begun.size());
    for (const double t : loop.took) BOOST_TEST(t > 0);
    BOOST_TEST(summarize_loop(loop).median > 0);
  }
  int last = -1;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &before)) last = cpu;
  const auto noise = measure_noise({last, {}, last}, std::chrono::milliseconds(1));
  BOOST_TEST(noise.cpu == last);
  BOOST_REQUIRE_EQUAL(noise.works.size(), 2u);
  for (const auto& w : noise.works) BOOST_TEST((w.quiet.passes >= 3 && w.other && !w.sibling));
  BOOST_TEST((noise.clock_step > 0 && noise.clock_cost > 0));
  BOOST_REQUIRE(sched_getaffinity(0, sizeof after, &after) == 0);
  BOOST_TEST(bool(CPU_EQUAL(&before, &after)));
}

BOOST_AUTO_TEST_SUITE_END()
