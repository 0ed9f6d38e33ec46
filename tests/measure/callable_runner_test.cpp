#include "core/thread_time.hpp"
#include "measure/callable_runner.hpp"
#include "tests/measure/support.hpp"

#include <cmath>
#include <future>
#include <stdexcept>
#include <thread>

using namespace attune;
using namespace attune::measure;
using namespace attune::measure::testing;
using namespace std::chrono_literals;

namespace {

using samples = std::variant<std::vector<double>, failure>;

struct callable_fixture {
  callable_runner runner;
  task_spec spec;
  run_result call(objective_function f) { return run(runner, trial_of(spec, {{"x", 3}}, std::move(f))); }
};

const measurement& measured(const run_result& r) {
  const auto* f = failed(r);
  BOOST_REQUIRE_MESSAGE(!f, (f ? std::string(to_string(f->kind)) + ": " + f->message : std::string()));
  return std::get<measurement>(r.data);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(callables, callable_fixture)

BOOST_AUTO_TEST_CASE(a_call_gives_one_sample_or_many) {
  auto r = call([](const configuration& c, std::stop_token) -> samples {
    return std::vector<double>{static_cast<double>(c.find("x")->as_integer()), 4, 5};
  });
  BOOST_TEST(measured(r).value == 4.0);
  BOOST_TEST(measured(r).samples.size() == 3U);
}

BOOST_AUTO_TEST_CASE(warm_up_and_repeats_are_those_of_commands) {
  spec.run.warmup = 1;
  spec.run.repeats = {3, 3, 0};
  double next = 9;
  auto r = call([&](const configuration&, std::stop_token) -> samples { return std::vector<double>{next++}; });
  BOOST_TEST(measured(r).samples == (std::vector<double>{10, 11, 12}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_cpu_time_of_the_calls_is_a_further_metric) {
  spec.run.metrics.resize(2);
  spec.run.metrics[1].name = "cpu";
  spec.run.metrics[1].source = metric_spec::from::cpu;
  const auto r = call([](const configuration&, std::stop_token) -> samples {
    const auto begun = thread_time().monotonic();
    while (thread_time().monotonic() - begun < 5ms) continue;
    return std::vector<double>{1};
  });
  BOOST_REQUIRE_EQUAL(measured(r).metrics.size(), 1u);
  BOOST_TEST(measured(r).metrics[0].first == "cpu");
  BOOST_TEST(measured(r).metrics[0].second >= 0.005);
  const auto idle = call([](const configuration&, std::stop_token) -> samples { return std::vector<double>{1}; });
  BOOST_TEST(measured(idle).metrics[0].second < 0.005);
}

BOOST_AUTO_TEST_CASE(a_hopeless_candidate_is_stopped_early) {
  spec.run.repeats = {3, 15, 0.001};
  int calls = 0;
  const auto slow = [&](const configuration&, std::stop_token) -> samples {
    return std::vector<double>{9 + 0.1 * (++calls % 3)};
  };
  auto r = run(runner, trial_of(spec, {}, slow, 1.0));
  BOOST_REQUIRE(std::holds_alternative<bound>(r.data));
  BOOST_TEST(std::get<bound>(r.data).value > 1.0);
  BOOST_TEST(std::get<bound>(r.data).value < 9.1);
  BOOST_TEST(calls == 3);
  BOOST_TEST(measured(run(runner, trial_of(spec, {}, slow))).samples.size() == 15U); // alone it is measured to the end
}

BOOST_AUTO_TEST_CASE(outliers_on_both_sides_are_left_out) { // A16
  auto r = call(
      [](const configuration&, std::stop_token) -> samples { return std::vector<double>{10, 10, 10, 10, 10, 10, 50}; });
  BOOST_TEST(measured(r).value == 10.0);
  BOOST_TEST(measured(r).rejected == 1U);
  BOOST_TEST(measured(r).samples.size() == 7U);
}

BOOST_AUTO_TEST_CASE(samples_are_in_the_metrics_unit) {
  spec.run.metrics[0].unit = "ms";
  auto r = call([](const configuration&, std::stop_token) -> samples { return std::vector<double>{5}; });
  BOOST_TEST(measured(r).value == 0.005);
}

BOOST_AUTO_TEST_CASE(what_is_no_measurement_is_a_failure) {
  auto kind = [&](objective_function f) {
    auto r = call(std::move(f));
    BOOST_REQUIRE(failed(r));
    return *failed(r);
  };
  auto value = [&](double x) {
    return kind([x](const configuration&, std::stop_token) -> samples { return std::vector<double>{x}; });
  };
  BOOST_TEST((value(std::nan("")).kind == failure_kind::bad_metric));
  BOOST_TEST((value(HUGE_VAL).kind == failure_kind::bad_metric));
  BOOST_TEST((value(-1).kind == failure_kind::bad_metric));
  auto none = kind([](const configuration&, std::stop_token) -> samples { return std::vector<double>{}; });
  BOOST_TEST(none.message == "the metric 'time' has no sample");
  auto thrown = kind([](const configuration&, std::stop_token) -> samples { throw std::runtime_error("no device"); });
  BOOST_TEST((thrown.kind == failure_kind::run_error));
  BOOST_TEST(thrown.message == "no device");
  auto odd = kind([](const configuration&, std::stop_token) -> samples { throw 7; });
  BOOST_TEST((odd.kind == failure_kind::run_error));
  auto own = kind([](const configuration&, std::stop_token) -> samples {
    return failure{failure_kind::wrong_output, "differs", {}, {}};
  });
  BOOST_TEST((own.kind == failure_kind::wrong_output));
}

BOOST_AUTO_TEST_CASE(at_its_limit_a_call_is_asked_to_stop_and_is_a_timeout) {
  spec.run.timeout = 50ms;
  for (int i = 0; i < 3; ++i) {
    auto r = call([](const configuration&, std::stop_token stop) -> samples {
      while (!stop.stop_requested()) std::this_thread::yield();
      return std::vector<double>{1};
    });
    BOOST_REQUIRE(failed(r));
    BOOST_TEST((failed(r)->kind == failure_kind::run_timeout));
    BOOST_TEST(failed(r)->message == "the call reached its limit of 50.0 ms");
  }
}

BOOST_AUTO_TEST_CASE(a_short_limit_after_a_long_one_is_kept) {
  spec.run.timeout = 1h;
  measured(call([](const configuration&, std::stop_token) -> samples { return std::vector<double>{1}; }));
  spec.run.timeout = 20ms;
  auto r = call([](const configuration&, std::stop_token stop) -> samples {
    while (!stop.stop_requested()) std::this_thread::yield();
    return std::vector<double>{1};
  });
  BOOST_TEST((failed(r)->kind == failure_kind::run_timeout));
}

BOOST_AUTO_TEST_CASE(a_call_can_be_cancelled_and_the_runner_used_again) {
  auto r = call([&](const configuration&, std::stop_token stop) -> samples {
    std::thread other([&] { runner.cancel(); });
    while (!stop.stop_requested()) std::this_thread::yield();
    other.join();
    return std::vector<double>{1};
  });
  BOOST_REQUIRE(failed(r));
  BOOST_TEST((failed(r)->kind == failure_kind::cancelled));
  runner.cancel(); // nothing in progress: nothing happens
  BOOST_TEST(measured(call([](const configuration&, std::stop_token) -> samples {
               return std::vector<double>{2};
             })).value == 2.0);
}

BOOST_AUTO_TEST_CASE(on_a_thread_of_its_own_run_returns_at_once_and_a_cancel_right_behind_is_not_too_early) {
  for (int round = 0; round < 200; ++round) {
    callable_runner threaded(callable_runner::calling::own_thread);
    const auto caller = std::this_thread::get_id();
    std::promise<run_result> ended;
    std::thread::id called_on;
    threaded.run(trial_of(spec, {{"x", 3}},
                          [&](const configuration&, std::stop_token stop) -> samples {
                            called_on = std::this_thread::get_id();
                            while (!stop.stop_requested()) std::this_thread::yield();
                            return std::vector<double>{1};
                          }),
                 nullptr, [&](run_result r) { ended.set_value(std::move(r)); });
    threaded.cancel();
    const auto r = ended.get_future().get();
    BOOST_REQUIRE(failed(r));
    BOOST_TEST((failed(r)->kind == failure_kind::cancelled));
    BOOST_TEST((called_on != caller));
  }
}

BOOST_AUTO_TEST_CASE(a_runner_that_goes_asks_its_call_to_stop) {
  std::promise<run_result> ended;
  std::promise<void> begun;
  {
    callable_runner threaded(callable_runner::calling::own_thread);
    threaded.run(trial_of(spec, {{"x", 3}},
                          [&](const configuration&, std::stop_token stop) -> samples {
                            begun.set_value();
                            while (!stop.stop_requested()) std::this_thread::yield();
                            return std::vector<double>{1};
                          }),
                 nullptr, [&](run_result r) { ended.set_value(std::move(r)); });
    begun.get_future().wait();
  }
  const auto r = ended.get_future().get();
  BOOST_REQUIRE(failed(r));
  BOOST_TEST((failed(r)->kind == failure_kind::cancelled));
}

BOOST_AUTO_TEST_CASE(a_wall_clock_that_is_set_back_changes_nothing) { // SA08
  manual_time clock;
  callable_runner stepped(callable_runner::calling::inside_run, clock);
  spec.run.repeats = {2, 2, 0};
  auto r = run(stepped, trial_of(spec, {}, [&](const configuration&, std::stop_token) -> samples {
                 clock.step_wall(-2h);
                 clock.advance(10ms);
                 clock.step_wall(24h);
                 return std::vector<double>{1};
               }));
  BOOST_TEST(measured(r).value == 1.0);
  BOOST_TEST((r.elapsed == 20ms));
}

BOOST_AUTO_TEST_SUITE_END()
