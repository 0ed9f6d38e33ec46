// One call: attune::tune.
#include "attune/attune.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace attune;
using namespace std::chrono_literals;

namespace {

struct tune_folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() /
                               ("attune-library-" + std::to_string(getpid()) + "-" + std::to_string(n++));
  ~tune_folder() { std::filesystem::remove_all(path); }
  static inline int n = 0;
};

std::uint64_t failures_of(const report& r, failure_kind kind) {
  for (const auto& [k, n] : r.failed)
    if (k == kind) return n;
  return 0;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_best_of_a_small_space_is_found) {
  space s("bowl");
  const auto x = s.integers("x", -10, 10);
  const auto y = s.integers("y", 0, 8, 2);
  int calls = 0;
  const auto r = tune(s,
                      [&](config_view c) {
                        ++calls;
                        return 1.0 + std::abs(static_cast<double>(c[x] - 3)) + static_cast<double>(c[y]);
                      },
                      {.strategy = "grid"});
  BOOST_REQUIRE_MESSAGE(r, (r ? "" : r.err().text()));
  BOOST_REQUIRE(r->best);
  BOOST_TEST((*r->best)[x] == 3);
  BOOST_TEST((*r->best)[y] == 0);
  BOOST_TEST(r->best->value == 1.0);
  BOOST_TEST(r->best->unit == "s");
  BOOST_TEST(r->measured == 21u * 5);
  BOOST_TEST(calls == 21 * 5);
  BOOST_TEST(r->finished);
  BOOST_TEST((r->ended == ending::exhausted));
}

BOOST_AUTO_TEST_CASE(every_kind_of_parameter_arrives_as_it_was_declared) {
  space s("kinds");
  s.workload("m", 512).workload("dtype", "f32").target("flavour", "test");
  const auto i = s.integers("i", 1, 3);
  const auto p = s.powers_of_two("p", 1, 8);
  const auto r = s.reals("r", 0.8, 1.0, 0.1);
  const auto g = s.grid("g", 1, 4, 4);
  const auto b = s.boolean("b");
  const auto n = s.one_of("n", {std::int64_t{3}, std::int64_t{7}});
  const auto t = s.one_of("t", {"-O2", "-O3"});
  const auto o = s.permutations("o", {"i", "j"});
  const auto v = s.one_of("v", std::vector<value>{1, "two"});
  const auto w = s.integers("w", 5, 6);
  s.when(w, "b");
  s.standard(p, 4);
  s.constraint("i + p <= 9");
  s.constraint(
      "odd", [](std::int64_t a, double d) { return a == 3 || d < 0.95; }, n, r);
  BOOST_REQUIRE(s.check().ok());
  // i 3 · p 4 less (2, 8) and (3, 8) = 10; (n, r): 3 with 3, 7 with 2 = 5; g 4, t 2, o 2, v 2; b: 1 + 2
  BOOST_TEST(*s.count() == std::to_string(10 * 5 * 4 * 2 * 2 * 2 * 3));
  bool fine = true;
  std::set<std::string> seen;
  const auto out = tune(s,
                        [&](config_view c) -> answer {
                          fine = fine && c[i] >= 1 && c[i] <= 3 && c[i] + c[p] <= 9 && c[r] >= 0.8 && c[r] <= 1.0 &&
                                 c[g] >= 1 && (c[n] == 3 || c[r] < 0.95) && (c[t] == "-O2" || c[t] == "-O3") &&
                                 c[o].order.size() == 2 && c.has(w) == c[b] && (!c.has(w) || c[w] >= 5) &&
                                 (c[v] == value(1) || c[v] == value("two")) && c.find("i") != nullptr &&
                                 c.find("nobody") == nullptr;
                          seen.insert(c.text());
                          return static_cast<double>(c[p]);
                        },
                        {.strategy = "random", .trials = 300});
  BOOST_REQUIRE_MESSAGE(out, (out ? "" : out.err().text()));
  BOOST_TEST(fine);
  BOOST_TEST(seen.size() == 300u);
  BOOST_REQUIRE(out->standard);
  BOOST_TEST((*out->standard)[p] == 4);
  BOOST_TEST((*out->best)[p] == 1);
}

BOOST_AUTO_TEST_CASE(failures_are_kinds_and_never_the_best) {
  space s("failing");
  const auto x = s.integers("x", 0, 5);
  const auto r = tune(s,
                      [&](config_view c) -> answer {
                        switch (c[x]) {
                        case 0:
                          return failed(failure_kind::wrong_output, "no");
                        case 1:
                          throw std::runtime_error("out of order");
                        case 2:
                          return std::nan("");
                        case 3:
                          return -1.0;
                        case 4:
                          throw 5;
                        default:
                          return 2.0;
                        }
                      },
                      {.strategy = "grid"});
  BOOST_REQUIRE(r);
  BOOST_REQUIRE(r->best);
  BOOST_TEST((*r->best)[x] == 5);
  BOOST_TEST(failures_of(*r, failure_kind::wrong_output) == 1u);
  BOOST_TEST(failures_of(*r, failure_kind::run_error) == 2u);
  BOOST_TEST(failures_of(*r, failure_kind::bad_metric) == 2u);
  BOOST_TEST(r->failures() == 5u);
  BOOST_REQUIRE(r->first_failure);
  const auto none =
      tune(s, [](config_view) -> answer { return failed(failure_kind::run_error, "never"); }, {.strategy = "grid"});
  BOOST_REQUIRE(none);
  BOOST_TEST(!none->best);
  BOOST_TEST((none->ended == ending::no_valid));
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_said_before_anything_is_called) {
  const auto refused = [](const space& s, search_options how = {}) {
    bool called = false;
    const auto r = tune(
        s,
        [&](config_view) {
          called = true;
          return 1.0;
        },
        how);
    BOOST_TEST(!called);
    return !r && r.err().code == errc::invalid_spec && !r.err().message.empty();
  };
  space good("good");
  good.integers("x", 0, 3);
  space doubled = good, empty("empty"), wrong = good, impossible = good, nameless("");
  doubled.integers("x", 0, 3);
  wrong.constraint("x %% 2");
  impossible.constraint("x > 7");
  nameless.integers("x", 0, 3);
  for (const auto& s : {doubled, wrong, impossible, nameless}) BOOST_TEST(refused(s), s.name());
  BOOST_TEST(refused(good, {.strategy = "no such thing"}));
  BOOST_TEST(refused(good, {.method = ""}));
  BOOST_TEST(refused(good, {.repeats = 0}));
  BOOST_TEST(refused(good, {.limit = 0s}));
  BOOST_TEST(!impossible.check().ok());
  const auto too_few = engine::start({.threads = 2});
  BOOST_TEST((!too_few && too_few.err().code == errc::invalid_spec));
}

BOOST_AUTO_TEST_CASE(answers_are_put_into_the_unit) {
  space s("units");
  const auto x = s.integers("x", 1, 3);
  const auto best = [&](auto&& f, search_options how) {
    how.strategy = "grid";
    auto r = tune(s, f, how);
    BOOST_REQUIRE(r);
    return *r;
  };
  const auto plain = best([&](config_view c) { return c[x]; }, {.unit = "us"});
  BOOST_TEST(plain.best->value == 1e-6, boost::test_tools::tolerance(1e-12));
  const auto duration = best([&](config_view c) { return std::chrono::microseconds(c[x]); }, {.unit = "ms"});
  BOOST_TEST(duration.best->value == 1e-6, boost::test_tools::tolerance(1e-12));
  const auto items = best([&](config_view c) { return c[x]; }, {.unit = "items/s", .maximize = true});
  BOOST_TEST(items.best->value == 3);
  BOOST_TEST(items.best->unit == "items/s");
  BOOST_TEST((*items.best)[x] == 3);
  const auto mixed = best([&](config_view c) { return std::chrono::microseconds(c[x]); }, {.unit = "items/s"});
  BOOST_TEST(!mixed.best);
  BOOST_TEST(failures_of(mixed, failure_kind::bad_metric) == 3u);
  const auto timed = best([&](config_view) {}, {});
  BOOST_REQUIRE(timed.best);
  BOOST_TEST(timed.best->value >= 0);
}

BOOST_AUTO_TEST_CASE(samples_are_cleaned_and_warm_up_is_thrown_away) {
  space s("samples");
  const auto x = s.integers("x", 1, 2);
  const auto r = tune(s,
                      [&](config_view c) {
                        const auto v = static_cast<double>(c[x]);
                        return std::vector<double>{50 * v, v, v, v, v, v, 90 * v};
                      },
                      {.strategy = "grid", .warmup = 1, .repeats = 6});
  BOOST_REQUIRE((r && r->best));
  BOOST_TEST(r->best->value == 1.0);
  BOOST_TEST(r->best->samples.size() == 6u);
}

BOOST_AUTO_TEST_CASE(it_is_cancelled_from_outside) {
  space s("endless");
  s.integers("x", 0, 1'000'000);
  std::stop_source stop;
  std::atomic<int> calls{0};
  const auto r = tune(
      s,
      [&](config_view, const std::stop_token&) {
        if (++calls == 50) stop.request_stop();
        return 1.0;
      },
      {.strategy = "random", .trials = 1'000'000}, {}, stop.get_token());
  BOOST_REQUIRE(r);
  BOOST_TEST((r->ended == ending::interrupted));
  BOOST_TEST(r->measured < 1'000'000u);
  BOOST_TEST(r->best.has_value());
}

BOOST_AUTO_TEST_CASE(what_was_measured_is_found_again) {
  const tune_folder f;
  space s("kept");
  const auto x = s.integers("x", 0, 19);
  s.workload("n", 3);
  int calls = 0;
  const auto measure = [&](config_view c) {
    ++calls;
    return 1.0 + static_cast<double>((c[x] - 7) * (c[x] - 7));
  };
  const engine_options with{.store = f.path.string()};
  const search_options how{.method = "kept/1", .trials = 20};
  const auto first = tune(s, measure, how, with);
  BOOST_REQUIRE_MESSAGE(first, (first ? "" : first.err().text()));
  BOOST_TEST(first->measured == 20u);
  const auto again = tune(s, measure, how, with);
  BOOST_REQUIRE(again);
  BOOST_TEST(again->measured == 0u);
  BOOST_TEST(again->cached == 20u);
  BOOST_TEST(calls == 20);
  BOOST_TEST((*again->best)[x] == 7);
  {
    auto e = engine::start(with);
    BOOST_REQUIRE(e);
    const auto best = e->best(s, how, 3);
    BOOST_REQUIRE((best && best->size() == 3));
    BOOST_TEST((*best)[0][x] == 7);
    BOOST_TEST((*best)[0].value == 1.0);
    BOOST_TEST(e->best(s, {.method = "kept/2"})->empty());
  }
  const auto other = tune(s, measure, {.method = "kept/2", .trials = 20}, with);
  BOOST_REQUIRE(other);
  BOOST_TEST(other->measured == 20u);
}
