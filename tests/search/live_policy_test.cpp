#include "core/random.hpp"
#include "search/live_policy.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

using namespace attune;
using search::live_limits;
using search::live_policy;

namespace {

/// A service: how slow each configuration is at a request, and how its latencies spread.
struct service {
  std::string name;
  std::function<double(std::uint32_t arm, std::uint64_t request)> mean;
  std::function<double(random_engine&)> shape; ///< of mean 1
};

constexpr std::uint64_t requests = 60'000;
constexpr std::uint32_t candidates = 12;

/// Over the default: some better, some as good, some dreadful.
double ratio_of(std::uint32_t arm) {
  constexpr double ratios[] = {1.0, 1.6, 3.0, 0.95, 1.0, 0.7, 1.1, 20.0, 0.55, 0.9, 2.0, 1.02, 0.8};
  return ratios[arm];
}

double normal_shape(random_engine& r) { return std::max(0.2, 1 + 0.15 * r.normal()); }

std::vector<service> services() {
  const auto still = [](std::uint32_t arm, std::uint64_t) { return 1e-3 * ratio_of(arm); };
  return {
      {"still", still, normal_shape},
      {"drift",
       [](std::uint32_t arm, std::uint64_t t) {
         return 1e-3 * ratio_of(arm) * (1 + 0.5 * std::sin(6.283 * static_cast<double>(t) / 30'000));
       },
       normal_shape},
      {"spikes", still,
       [](random_engine& r) { return r.chance(0.01) ? 20 * (0.5 + r.uniform()) / 1.19 : normal_shape(r) / 1.19; }},
      {"bimodal", still, [](random_engine& r) { return (r.chance(0.8) ? 1.0 : 6.0) * normal_shape(r) / 2.0; }},
      // What was best becomes three times as slow as the default, and another is best.
      {"abrupt",
       [](std::uint32_t arm, std::uint64_t t) {
         if (t < requests / 2) return 1e-3 * ratio_of(arm);
         return 1e-3 * (arm == 8 ? 3.0 : arm == 10 ? 0.6 : std::max(ratio_of(arm), 0.9));
       },
       normal_shape},
  };
}

struct course {
  double served = 0;      ///< seconds
  double by_default = 0;  ///< what the default would have taken
  double lost = 0;        ///< on probes, beyond the default's true mean
  double last_ratio = 0;  ///< of the incumbent at the end, over the best's
  std::uint64_t left = 0; ///< requests that left the incumbent
  bool share_kept = true, bound_kept = true, regret_kept = true;
  std::uint64_t fell_after = 0; ///< requests on what became slow, after the abrupt change
};

course run(const service& s, std::uint64_t seed, const live_limits& limits = {}) {
  random_engine rng(seed);
  live_policy policy(limits);
  for (std::uint32_t a = 0; a < candidates; ++a) policy.add();
  course out;
  std::uint64_t until = policy.spacing();
  live_policy::probe probe;
  std::uint64_t generation = 0, last_left = 0;
  double charged = 0, worst_single = 0;
  nanoseconds now{0};
  for (std::uint64_t t = 0; t < requests; ++t) {
    auto arm = policy.incumbent();
    if (--until == 0) {
      until = policy.spacing() + rng.below(policy.spacing() / 2 + 1);
      if (probe.count == 0)
        if (const auto next = policy.next(now)) probe = *next;
      if (probe.count > 0) {
        --probe.count;
        arm = probe.which;
        ++out.left;
        if (static_cast<double>(t - std::exchange(last_left, t)) < 1 / limits.explore - 1e-9) out.share_kept = false;
        const auto lower = policy.lower_bound();
        if (arm != 0 && lower && *lower > (1 + limits.worse) * policy.default_level() * (1 + 1e-9))
          out.bound_kept = false;
        if (arm != 0) BOOST_TEST_REQUIRE(arm <= candidates);
      }
    }
    const bool elsewhere = arm != policy.incumbent();
    const double mean = s.mean(arm, t), latency = mean * s.shape(rng);
    const double standard = policy.default_level();
    out.served += latency;
    out.by_default += s.mean(0, t);
    if (elsewhere) {
      const double single = std::max(0.0, latency - standard);
      // What is out at once is charged before the account stops it: four requests at most.
      worst_single = std::max(worst_single, single);
      charged += single;
      out.lost += std::max(0.0, mean - s.mean(0, t));
      if (charged > limits.regret * out.served + 4 * worst_single) out.regret_kept = false;
    }
    if (t > requests / 2 && s.name == "abrupt" && arm == 8 && !elsewhere) ++out.fell_after;
    now += from_seconds(latency);
    policy.record(arm, latency, now);
    if (std::exchange(generation, policy.generation()) != policy.generation()) probe.count = 0;
    if (static_cast<double>(out.left) > limits.explore * static_cast<double>(t + 1) + 1e-9) out.share_kept = false;
  }
  double best = 1e9;
  for (std::uint32_t a = 0; a <= candidates; ++a) best = std::min(best, s.mean(a, requests - 1));
  out.last_ratio = s.mean(policy.incumbent(), requests - 1) / best;
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_bounds_are_kept_in_every_seed_and_something_better_is_found) {
  for (const auto& s : services()) {
    double gain = 0, worst_loss = 0;
    int good = 0;
    std::uint64_t slowest_fall = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      const auto c = run(s, seed);
      BOOST_TEST(c.share_kept, s.name << ", seed " << seed << ": too many requests left the incumbent: " << c.left);
      BOOST_TEST(c.bound_kept, s.name << ", seed " << seed << ": a candidate beyond its bound was used");
      BOOST_TEST(c.regret_kept, s.name << ", seed " << seed << ": more was lost than is allowed");
      worst_loss = std::max(worst_loss, c.lost / c.served);
      slowest_fall = std::max(slowest_fall, c.fell_after);
      gain += c.by_default / c.served;
      good += c.last_ratio <= 1.1 ? 1 : 0;
    }
    BOOST_TEST_MESSAGE(s.name << ": " << good << " of 100 end within 10 % of the best; the default's time over theirs "
                              << gain / 100 << "; lost at most " << 100 * worst_loss << " %; slow after a change for "
                              << slowest_fall << " requests at most");
    BOOST_TEST(worst_loss <= live_limits{}.regret, s.name);
    BOOST_TEST(good >= 90, s.name << ": " << good);
    BOOST_TEST(gain / 100 >= 1.2, s.name << ": " << gain / 100);
    BOOST_TEST(slowest_fall <= 60u, s.name << ": " << slowest_fall);
  }
}

BOOST_AUTO_TEST_CASE(dreadful_candidates_wait_until_their_loss_is_earned) {
  const service dreadful{"dreadful", [](std::uint32_t arm, std::uint64_t) { return arm == 0 ? 1e-3 : 30e-3; },
                         normal_shape};
  live_limits limits;
  limits.regret = 0.001;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) BOOST_TEST(run(dreadful, seed, limits).regret_kept, "seed " << seed);
}

BOOST_AUTO_TEST_CASE(where_nothing_is_better_the_default_stays) {
  const service level{"level", [](std::uint32_t arm, std::uint64_t) { return arm == 0 ? 1e-3 : 1.1e-3; }, normal_shape};
  int stayed = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) stayed += run(level, seed).last_ratio < 1.01 ? 1 : 0;
  BOOST_TEST(stayed == 100);
}

BOOST_AUTO_TEST_CASE(what_was_known_serves_at_once_and_falls_where_it_is_no_longer_true) {
  for (const double truth : {0.6, 1.5}) {
    random_engine rng(7);
    live_policy policy({});
    const auto known = policy.add(0.6);
    policy.start_with(known, 0.6);
    BOOST_TEST(policy.incumbent() == known);
    std::uint64_t until = policy.spacing(), on_known = 0;
    nanoseconds now{0};
    for (int t = 0; t < 4000; ++t) {
      auto arm = policy.incumbent();
      if (--until == 0) {
        until = policy.spacing();
        if (const auto p = policy.next(now)) arm = p->which;
      }
      on_known += arm == known ? 1 : 0;
      policy.record(arm, 1e-3 * (arm == known ? truth : 1) * normal_shape(rng), now);
      now += std::chrono::milliseconds(1);
    }
    if (truth < 1) {
      BOOST_TEST(policy.incumbent() == known);
      BOOST_TEST(policy.default_level() / policy.level() == 1 / truth, boost::test_tools::tolerance(0.1));
    } else {
      BOOST_TEST(policy.incumbent() == 0u);
      BOOST_TEST(on_known < 600u);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_failing_configuration_is_left_at_once) {
  live_policy policy({});
  const auto a = policy.add(), b = policy.add();
  nanoseconds now{0};
  for (int i = 0; i < 100; ++i) policy.record(0, 1e-3, now);
  auto p = policy.next(now);
  BOOST_REQUIRE(p);
  BOOST_TEST(p->which == a);
  policy.fail(a);
  p = policy.next(now);
  BOOST_REQUIRE(p);
  BOOST_TEST(p->which == b);
  for (int i = 0; i < 400 && policy.incumbent() == 0; ++i) {
    policy.record(0, 1e-3, now);
    policy.record(b, 0.5e-3, now);
  }
  BOOST_TEST(policy.incumbent() == b);
  policy.fail(b);
  BOOST_TEST(policy.incumbent() == 0u);
  const auto verdicts = policy.take_verdicts();
  BOOST_TEST((verdicts.back().what == live_policy::verdict_kind::failed));
}

BOOST_AUTO_TEST_CASE(one_probe_is_out_until_it_is_answered_or_lost) {
  live_policy policy({});
  policy.add();
  nanoseconds now{0};
  for (int i = 0; i < 100; ++i) policy.record(0, 1e-3, now);
  BOOST_REQUIRE(policy.next(now));
  BOOST_TEST(!policy.next(now));
  BOOST_TEST(policy.next(now + std::chrono::minutes(2)).has_value());
}

BOOST_AUTO_TEST_CASE(nonsense_is_left_out) {
  live_policy policy({});
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) policy.record(0, bad, {});
  policy.record(99, 1, {});
  BOOST_TEST(policy.seen() == 0u);
  BOOST_TEST(!policy.next({}));
}
