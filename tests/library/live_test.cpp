// Live tuning: the shell around search/live_policy.hpp, with services whose latencies are made up.
#include "attune/attune.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace attune;

namespace {

struct live_folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("attune-live-" + std::to_string(getpid()) + "-" + std::to_string(n++));
  ~live_folder() { std::filesystem::remove_all(path); }
  static inline int n = 0;
};

template <class T>
T value_of(result<T> r) {
  BOOST_REQUIRE_MESSAGE(r, (r ? std::string() : r.err().text()));
  return std::move(*r);
}

struct plan {
  std::int64_t width = 0;
};

/// Eight widths; 5 is the best, 0 (the default) takes twice as long, 7 is dreadful.
double seconds_of(std::int64_t width) {
  constexpr double of[] = {2e-3, 1.9e-3, 2.4e-3, 1.7e-3, 1.4e-3, 1e-3, 1.6e-3, 30e-3};
  return of[width];
}

struct course {
  std::uint64_t served = 0, elsewhere = 0;
};

/// Serves so many requests; each latency is a little off, in a fixed way.
template <class Seconds>
course serve(live<plan>& with, int requests, Seconds seconds) {
  course out;
  for (int n = 0; n < requests; ++n) {
    const auto c = with.choose();
    const auto best = (*with.status().best.find("width")).as_integer();
    out.elsewhere += c->width != best ? 1 : 0;
    ++out.served;
    const double jitter = 1 + 0.02 * ((n * 7919) % 11 - 5);
    with.tell(c, std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * seconds(c->width) * jitter)));
    // What waits for the search is waited for, so that it does not depend on the machine.
    if (n % 16 == 0) with.flush();
  }
  with.flush();
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_service_finds_the_best_and_begins_with_it_the_next_time) {
  const live_folder f;
  space s("service");
  const auto width = s.integers("width", 0, 7);
  const auto make = [&](config_view c) { return plan{c[width]}; };
  {
    auto e = value_of(engine::start({.store = f.path.string()}));
    auto l = value_of(Live<plan>::start(e, s, make));
    BOOST_TEST(l.choose()->width == 0);
    const auto c = serve(l, 12'000, seconds_of);
    const auto status = l.status();
    BOOST_TEST(status.best.find("width")->as_integer() == 5);
    BOOST_TEST(status.level == 1e-3, boost::test_tools::tolerance(0.05));
    BOOST_TEST(status.default_level == 2e-3, boost::test_tools::tolerance(0.2));
    BOOST_TEST(status.tried == 7u);
    BOOST_TEST(static_cast<double>(c.elsewhere) <= 0.05 * static_cast<double>(c.served));
    const auto best = value_of(e.best(s, {.method = "live/1"}));
    BOOST_REQUIRE(best.size() == 1);
    BOOST_TEST(best[0][width] == 5);
    BOOST_TEST(best[0].value == 1e-3, boost::test_tools::tolerance(0.2));
  }
  auto e = value_of(engine::start({.store = f.path.string()}));
  auto l = value_of(Live<plan>::start(e, s, make));
  BOOST_TEST(l.choose()->width == 5);
  // It is no longer true: the default serves again.
  serve(l, 4'000, [](std::int64_t w) { return w == 5 ? 8e-3 : seconds_of(w); });
  BOOST_TEST(l.choose()->width != 5);
}

BOOST_AUTO_TEST_CASE(a_configuration_that_fails_is_left_and_the_failure_is_passed_on) {
  auto e = value_of(engine::start());
  space s("failing");
  const auto width = s.integers("width", 0, 3);
  auto l = value_of(live<plan>::start(e, s, [&](config_view c) {
    if (c[width] == 2) throw std::runtime_error("there is no such width");
    return plan{c[width]};
  }));
  int thrown = 0, of_one = 0;
  // When it is tried is up to the latencies, which are the machine's here.
  for (int n = 0; n < 3'000 || (thrown == 0 && n < 300'000); ++n) {
    try {
      const auto seen = l.run([&](const plan& p) {
        of_one += p.width == 1 ? 1 : 0;
        if (p.width == 1) throw 1;
        return p.width;
      });
      BOOST_TEST_REQUIRE(seen != 1);
      BOOST_TEST_REQUIRE(seen != 2);
    } catch (int) {
      ++thrown;
    }
    if (n % 16 == 0) l.flush();
  }
  BOOST_TEST(thrown == of_one);
  BOOST_TEST(thrown >= 1);
  BOOST_TEST(thrown <= 1 + static_cast<int>(l.status().changes));
}

BOOST_AUTO_TEST_CASE(each_thread_keeps_to_the_share) {
  auto e = value_of(engine::start());
  space s("threads");
  const auto width = s.integers("width", 0, 7);
  auto l = value_of(live<plan>::start(e, s, [&](config_view c) { return plan{c[width]}; }, {.explore = 0.1}));
  std::atomic<bool> kept{true};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      // Nothing is told: the default serves, so whatever else is chosen is a probe.
      std::uint64_t since = 0;
      for (int n = 0; n < 20'000; ++n) {
        const auto c = l.choose();
        ++since;
        if (c->width != 0 && std::exchange(since, 0) < 10) kept = false;
        l.tell(c, std::chrono::microseconds(c->width == 0 ? 1000 : 1010));
      }
    });
  for (auto& t : threads) t.join();
  // The search may not have had its turn so far.
  for (int n = 0; n < 20'000 && l.status().tried == 0; ++n) {
    const auto c = l.choose();
    l.tell(c, std::chrono::microseconds(c->width == 0 ? 1000 : 1010));
    if (n % 16 == 0) l.flush();
  }
  BOOST_TEST(kept);
  BOOST_TEST(l.status().best.find("width")->as_integer() == 0);
  BOOST_TEST(l.status().tried > 0u);
}

BOOST_AUTO_TEST_CASE(several_lives_on_one_thread_are_kept_apart) {
  auto e = value_of(engine::start());
  space s("several");
  const auto width = s.integers("width", 0, 7);
  std::vector<live<plan>> all;
  for (int n = 0; n < 12; ++n)
    all.push_back(value_of(live<plan>::start(e, s, [&, n](config_view c) { return plan{c[width] + 100 * n}; },
                                             {.method = "m" + std::to_string(n)})));
  for (int round = 0; round < 100; ++round)
    for (int n = 0; n < 12; ++n) {
      const auto c = all[static_cast<std::size_t>(n)].choose();
      BOOST_TEST_REQUIRE(c->width / 100 == n);
      all[static_cast<std::size_t>(n)].tell(c, std::chrono::microseconds(10));
    }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused) {
  auto e = value_of(engine::start());
  space s("refused");
  s.integers("width", 0, 7);
  const auto make = [](config_view) { return 1; };
  for (const auto& how :
       {live_options{.explore = 0}, live_options{.explore = 1.5}, live_options{.worse = -1}, live_options{.regret = 0},
        live_options{.gain = 1}, live_options{.candidates = 0}, live_options{.strategy = "no such thing"}}) {
    const auto l = live<int>::start(e, s, make, how);
    BOOST_TEST((!l && l.err().code == errc::invalid_spec));
  }
  const auto l = live<int>::start(e, s, [](config_view) -> int { throw std::runtime_error("never"); });
  BOOST_TEST((!l && l.err().code == errc::invalid_spec));
}
