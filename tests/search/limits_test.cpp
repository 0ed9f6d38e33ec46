#include "search/limits.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune;
using namespace attune::search;

namespace {

/// The objective is the second metric.
task_spec with(const std::vector<std::string>& limits) {
  task_spec spec;
  spec.file = "spec.yaml";
  spec.workload = {{"n", 100}};
  spec.run.metrics.resize(3);
  spec.run.metrics[0].name = "peak_mb";
  spec.run.metrics[1].name = "time";
  spec.run.metrics[2].name = "cycles";
  spec.run.objective = 1;
  for (const auto& text : limits) spec.run.limits.push_back({text, {"spec.yaml", 7, 3}});
  return spec;
}

std::optional<failure> judged(const std::vector<std::string>& limits, const measurement& m) {
  const auto made = run_limits::compile(with(limits));
  BOOST_REQUIRE_MESSAGE(made.ok(), (made.ok() ? "" : made.err().text()));
  return made->judge(m);
}

std::string refused(const std::string& limit) {
  const auto made = run_limits::compile(with({limit}));
  return made ? "" : made.err().text();
}

measurement some() {
  measurement m;
  m.value = 0.5;
  m.metrics = {{"peak_mb", 512}, {"cycles", 1e9}};
  return m;
}

} // namespace

BOOST_AUTO_TEST_SUITE(limits_of_runs)

BOOST_AUTO_TEST_CASE(what_keeps_every_limit_is_a_result) {
  BOOST_TEST(!judged({}, some()));
  BOOST_TEST(!judged({"peak_mb <= 512", "0 < time < 1", "cycles <= 1e9 and peak_mb / workload.n < 6"}, some()));
}

BOOST_AUTO_TEST_CASE(the_first_broken_limit_is_told_with_the_values_that_it_reads) {
  const auto broken = judged({"time < 1", "peak_mb < 512", "cycles < 1"}, some());
  BOOST_REQUIRE(broken);
  BOOST_TEST((broken->kind == failure_kind::invalid_config));
  BOOST_TEST(broken->message == "the limit `peak_mb < 512` is not kept: peak_mb = 512");
  const auto two = judged({"peak_mb * time > cycles"}, some());
  BOOST_REQUIRE(two);
  BOOST_TEST(two->message ==
             "the limit `peak_mb * time > cycles` is not kept: peak_mb = 512, time = 0.5, cycles = 1e+09");
}

BOOST_AUTO_TEST_CASE(a_limit_without_a_value_is_not_kept) {
  auto m = some();
  m.value = 0;
  const auto broken = judged({"peak_mb / time < 3"}, m);
  BOOST_REQUIRE(broken);
  BOOST_TEST((broken->kind == failure_kind::invalid_config));
  BOOST_TEST(broken->message.ends_with("(division by zero)"), broken->message);
}

BOOST_AUTO_TEST_CASE(a_metric_that_the_run_did_not_give_judges_nothing) {
  auto m = some();
  m.metrics.pop_back();
  BOOST_TEST(!judged({"peak_mb <= 512"}, m));
  const auto unknown = judged({"cycles >= 0"}, m);
  BOOST_REQUIRE(unknown);
  BOOST_TEST((unknown->kind == failure_kind::bad_metric));
  BOOST_TEST(unknown->message.find("'cycles'") != std::string::npos, unknown->message);
  // The objective is the measured value, whatever else has its name.
  m.metrics.emplace_back("time", 7);
  BOOST_TEST(!judged({"time == 0.5"}, m));
}

BOOST_AUTO_TEST_CASE(what_is_no_limit_is_refused_with_its_place) {
  BOOST_TEST(refused("peak_m < 3")
                 .starts_with(
                     "spec.yaml:7: run.limits: `peak_m < 3`, column 1: unknown name `peak_m`; did you mean `peak_mb`?"),
             refused("peak_m < 3"));
  BOOST_TEST(refused("workload.n < 3") == "spec.yaml:7: run.limits: `workload.n < 3` reads no metric");
  BOOST_TEST(refused("time <").find("run.limits: ") != std::string::npos, refused("time <"));
  BOOST_TEST(refused("tile < 3").find("unknown name `tile`") != std::string::npos, refused("tile < 3"));
}

BOOST_AUTO_TEST_SUITE_END()
