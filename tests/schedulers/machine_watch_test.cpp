#include "core/random.hpp"
#include "schedulers/machine_watch.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune;
using namespace attune::schedulers;
using namespace std::chrono_literals;
using kind = noise_decision::kind;

namespace {

watch_options alone(double tolerance = 0.02) {
  watch_options o;
  o.ladder = {admission{}};
  o.tolerance = tolerance;
  return o;
}

/// A machine whose trials take 400 ms and whose reference takes 100 ms; the reference is run when it is due.
struct bench {
  machine_watch watch;
  nanoseconds now{0};
  random_engine random{7};
  double noise = 0.002;
  int references = 0;
  std::vector<noise_decision> said{};

  /// For so long; `slow` gives the machine at a time.
  template <class Slow>
  void run(nanoseconds how_long, Slow slow, std::uint64_t* ended = nullptr) {
    for (const auto end = now + how_long; now < end;) {
      if (watch.due(now)) {
        now += 100ms;
        ++references;
        const double v = slow(now) * (1 + noise * random.normal());
        if (auto d = watch.observe(v, 100ms, 0, 0, true, now)) said.push_back(*d);
      } else if (watch.holding(now)) {
        now += 10ms;
      } else {
        now += 400ms;
        watch.ran(400ms);
        if (ended != nullptr) watch.ended((*ended)++);
      }
    }
  }
  bool heard(kind k) const {
    return std::any_of(said.begin(), said.end(), [k](const auto& d) { return d.what == k; });
  }
};

} // namespace

BOOST_AUTO_TEST_SUITE(machine_watch_rules)

BOOST_AUTO_TEST_CASE(the_ladder_moves_only_what_may_move) {
  const auto fixed = admission_ladder(3, false, 2, false);
  BOOST_REQUIRE(fixed.size() == 1u);
  BOOST_TEST((fixed[0] == admission{3, 2, 0}));
  const auto slots = admission_ladder(3, true, 2, false);
  BOOST_REQUIRE(slots.size() == 3u);
  BOOST_TEST((slots[0] == admission{1, 2, 0}));
  BOOST_TEST((slots[2] == admission{3, 2, 0}));
  const auto both = admission_ladder(2, true, 3, true);
  const std::vector<admission> expected{{1, 3, 0}, {1, 3, 1}, {2, 3, 1}, {2, 3, 2}, {2, 3, 3}};
  BOOST_TEST((both == expected));
}

BOOST_AUTO_TEST_CASE(the_reference_takes_a_small_share_of_the_time) {
  bench b{machine_watch(alone())};
  b.run(600s, [](nanoseconds) { return 1.0; });
  BOOST_TEST(b.references >= 200); // every two seconds or so
  BOOST_TEST(b.references <= 320);
  // A reference that takes as long as everything else is run seldom.
  machine_watch slow(alone());
  int references = 0;
  for (nanoseconds now{0}; now < 3600s;) {
    now += 10s;
    if (slow.due(now)) {
      ++references;
      slow.observe(1, 10s, 0, 0, true, now);
    } else {
      slow.ran(10s);
    }
  }
  BOOST_TEST(references <= 40);
  BOOST_TEST(references >= 20);
}

BOOST_AUTO_TEST_CASE(a_slow_drift_is_followed_and_a_step_is_not) {
  bench b{machine_watch(alone())};
  b.run(60s, [](nanoseconds) { return 1.0; });
  BOOST_TEST(b.watch.now().correction == 1.0, boost::test_tools::tolerance(0.002));
  b.run(400s, [](nanoseconds t) { return 1 + 0.06 * (seconds(t) - 60) / 400; });
  BOOST_TEST(!b.heard(kind::disturbed));
  BOOST_TEST(std::abs(b.watch.now().correction - 1.06) < 0.006, b.watch.now().correction);
  BOOST_TEST(std::abs(*b.watch.now().drift - 0.06) < 0.01);
  b.run(8s, [](nanoseconds) { return 1.06 * 1.3; });
  BOOST_TEST(b.heard(kind::disturbed));
  BOOST_TEST(b.watch.now().disturbed);
  BOOST_TEST(std::abs(b.watch.now().correction - 1.06) < 0.01);
}

BOOST_AUTO_TEST_CASE(what_ended_since_the_reference_was_right_is_in_doubt) {
  bench b{machine_watch(alone())};
  std::uint64_t trial = 0;
  const auto quiet = [](nanoseconds) { return 1.0; };
  b.run(100s, quiet, &trial);
  BOOST_TEST(b.watch.take_suspects().empty());
  const auto from = trial;
  b.run(
      12s, [](nanoseconds) { return 1.5; }, &trial);
  BOOST_REQUIRE(b.heard(kind::disturbed));
  BOOST_TEST(b.watch.take_suspects().empty()); // not while it lasts
  b.run(20s, quiet, &trial);
  BOOST_REQUIRE(b.heard(kind::cleared));
  const auto suspects = b.watch.take_suspects();
  BOOST_REQUIRE(!suspects.empty());
  BOOST_TEST(suspects.front() >= from - 6);
  BOOST_TEST(suspects.front() <= from);
  BOOST_TEST(b.watch.take_suspects().empty()); // each once
}

BOOST_AUTO_TEST_CASE(new_runs_wait_for_a_disturbed_machine_and_not_for_ever) {
  bench b{machine_watch(alone())};
  b.run(100s, [](nanoseconds) { return 1.0; });
  const auto hog = [](nanoseconds) { return 1.5; };
  while (!b.heard(kind::disturbed)) b.run(100ms, hog);
  const auto since = b.now;
  BOOST_TEST(b.watch.holding(since + 1s));
  BOOST_TEST(b.watch.next_look(since).has_value());
  BOOST_TEST(!b.watch.holding(since + 10s));
  // It stays so: this is how the machine is from now on, and what is measured is corrected by it.
  b.run(600s, hog);
  BOOST_TEST(b.heard(kind::rebased));
  BOOST_TEST(!b.watch.now().disturbed);
  BOOST_TEST(std::abs(b.watch.now().correction - 1.5) < 0.01);
}

BOOST_AUTO_TEST_CASE(a_machine_that_was_not_quiet_at_first_has_another_base) {
  bench b{machine_watch(alone())};
  std::uint64_t trial = 0;
  b.run(
      60s, [](nanoseconds) { return 1.4; }, &trial);
  const auto until = trial;
  b.run(
      60s, [](nanoseconds) { return 1.0; }, &trial);
  BOOST_REQUIRE(b.heard(kind::rebased));
  BOOST_TEST(std::abs(b.watch.now().correction - 1.0) < 0.003);
  const auto suspects = b.watch.take_suspects();
  BOOST_TEST(suspects.size() >= until - 8);
}

BOOST_AUTO_TEST_CASE(a_sample_counts_for_what_went_on_beside_it) {
  auto o = alone();
  o.ladder = admission_ladder(2, true, 1, false);
  machine_watch w(o);
  nanoseconds now{0};
  std::optional<noise_decision> last;
  const auto take = [&](double v, std::uint32_t beside, bool served) {
    now += 1s;
    if (auto d = w.observe(v, 10ms, beside, 0, served, now)) last = d;
  };
  for (int i = 0; i < 40 && !last; ++i) take(1 + 0.001 * (i % 3), 0, true);
  BOOST_REQUIRE((last && last->what == kind::based));
  for (int i = 0; i < 40 && last->what == kind::based; ++i) take(1 + 0.001 * (i % 3), 0, true);
  BOOST_REQUIRE((last->what == kind::raised));
  BOOST_TEST(w.allowed().slots == 2u);
  // Alone although another wanted to run: it says nothing of two at once.
  for (int i = 0; i < 10; ++i) take(2, 0, false);
  BOOST_TEST(w.allowed().slots == 2u);
  for (int i = 0; i < 10 && w.allowed().slots == 2; ++i) take(2, 1, false);
  BOOST_TEST(w.allowed().slots == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
