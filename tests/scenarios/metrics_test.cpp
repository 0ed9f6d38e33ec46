#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>

using namespace attune::testing;

namespace {

/// Three configurations: the faster one is, the more it costs.
std::string costly(const std::string& limits) {
  return "task: t\nparameters: {x: [1, 2, 3]}\nrun:\n  command: \"echo time {x}; echo cost $((10 / {x}))\"\n"
         "  metric: [{name: time, pattern: \"time (.*)\"}, {name: cost, unit: EUR, pattern: \"cost (.*)\"}]\n" +
         (limits.empty() ? "" : "  limits: [" + limits + "]\n");
}

} // namespace

BOOST_AUTO_TEST_SUITE(metrics)

BOOST_AUTO_TEST_CASE(the_best_keeps_the_limits_and_what_breaks_one_says_so) {
  const scenario s;
  const auto ran = s.tune(s.write("a.yaml", costly("cost < 10")));
  BOOST_REQUIRE_MESSAGE(ran.exit == 0, ran.told());
  const auto doc = ran.document();
  BOOST_TEST(doc["best"]["config"] == json::parse(R"({"x": 2})"), ran.told());
  BOOST_TEST(doc["best"]["metrics"] == json::parse(R"({"cost": 5.0})"), ran.told());
  BOOST_TEST(doc["trials"]["failed"] == json::parse(R"({"invalid_config": 1})"), ran.told());
  std::size_t broken = 0;
  for (const auto& r : s.history(s.path("a.yaml"))) {
    if (r["failure"].is_null()) {
      BOOST_TEST(r["metrics"]["cost"].is_number(), r.dump());
      continue;
    }
    ++broken;
    BOOST_TEST(r["failure"] == "invalid_config");
    BOOST_TEST(r["message"] == "the limit `cost < 10` is not kept: cost = 10");
    BOOST_TEST(r["value"].is_null());
  }
  BOOST_TEST(broken == 1u);
  const auto best = s.attune({"best", s.path("a.yaml"), "--json"});
  BOOST_TEST(best.out.find("\"x\":2") != std::string::npos, best.told());
  // Another limit is another measurement; none at all too.
  for (const auto* limits : {"cost < 4", ""}) {
    const auto again = s.tune(s.write("a.yaml", costly(limits)));
    BOOST_TEST(again.document()["trials"]["cached"] == 0, again.told());
  }
  BOOST_TEST(s.tune(s.path("a.yaml")).document()["best"]["value"] == 1.0);
}

BOOST_AUTO_TEST_CASE(no_configuration_may_keep_a_limit) {
  const scenario s;
  const auto ran = s.attune({"tune", s.write("a.yaml", costly("time < 0"))});
  BOOST_TEST(ran.exit == 1, ran.told());
  BOOST_TEST(ran.err.find("invalid_config: the limit `time < 0` is not kept: time = ") != std::string::npos,
             ran.told());
}

BOOST_AUTO_TEST_CASE(a_limit_of_nothing_that_is_measured_is_refused_before_anything_starts) {
  const scenario s;
  const auto unknown = s.tune(s.write("a.yaml", costly("costs < 10")));
  BOOST_TEST(unknown.exit == 2, unknown.told());
  BOOST_TEST(
      unknown.err.find("a.yaml:6: run.limits: `costs < 10`, column 1: unknown name `costs`; did you mean `cost`?") !=
          std::string::npos,
      unknown.told());
  BOOST_TEST(s.tune(s.write("b.yaml", costly("1 < 10"))).exit == 2);
  BOOST_TEST(!s.store_exists());
}

BOOST_AUTO_TEST_CASE(what_the_processes_use_is_measured_and_shown) {
  const scenario s;
  const auto spec = s.write("a.yaml", "task: t\nparameters: {x: [50000, 2000]}\nrun:\n"
                                      "  command: \"i=0; while [ $i -lt {x} ]; do i=$((i+1)); done\"\n"
                                      "  metric: [{cpu: true}, {name: peak_mb, memory: peak, unit: MB}]\n"
                                      "  limits: [peak_mb < 4000]\n");
  const auto ran = s.tune(spec);
  BOOST_REQUIRE_MESSAGE(ran.exit == 0, ran.told());
  const auto best = ran.document()["best"];
  BOOST_TEST(best["config"] == json::parse(R"({"x": 2000})"), ran.told());
  BOOST_TEST(best["unit"] == "s");
  BOOST_TEST(best["metrics"]["peak_mb"].get<double>() > 0);
  const auto shown = s.attune({"tune", spec});
  BOOST_TEST(shown.out.find("metrics          peak_mb ") != std::string::npos, shown.told());
}

BOOST_AUTO_TEST_CASE(a_counter_is_counted_or_refused_with_its_reason) {
  const scenario s;
  const auto spec = [](const std::string& counter) {
    return "task: t\nparameters: {x: [1]}\nrun:\n  command: echo 1\n  metric: [{name: time}, {counter: " + counter +
           "}]\n";
  };
  for (const auto* counter : {"cycles", "page-faults"}) {
    const auto ran = s.tune(s.write("a.yaml", spec(counter)));
    if (ran.exit == 0) {
      BOOST_TEST(ran.document()["best"]["metrics"].begin().value().get<double>() > 0, ran.told());
      continue;
    }
    // A virtual machine without a unit, a kernel that does not allow it.
    BOOST_TEST(ran.exit == 2, ran.told());
    BOOST_TEST(ran.err.find("the counter '" + std::string(counter) + "' cannot be had: ") != std::string::npos,
               ran.told());
    BOOST_TEST(!s.store_exists());
    BOOST_TEST(s.tune(s.path("a.yaml"), {"--dry-run"}).exit == 2);
  }
  const auto unknown = s.tune(s.write("b.yaml", spec("cycels")));
  BOOST_TEST(unknown.exit == 2);
  BOOST_TEST(unknown.err.find("did you mean 'cycles'?") != std::string::npos, unknown.told());
}

BOOST_AUTO_TEST_CASE(the_phases_say_where_the_time_went) {
  const scenario s;
  const auto ran = s.tune(s.write("a.yaml", "task: t\nparameters: {x: {range: [1, 12]}}\n"
                                            "build: {command: \"sleep 0.01; echo {x} > {artifact}\"}\n"
                                            "run: {command: \"sleep 0.02; cat {artifact}\"}\n"));
  BOOST_REQUIRE_MESSAGE(ran.exit == 0, ran.told());
  const auto doc = ran.document(), time = doc["time_s"];
  double sum = 0;
  for (const auto* phase : {"queue", "build", "run", "clean", "store"}) sum += time[phase].get<double>();
  const double trials = time["trials"].get<double>();
  BOOST_TEST(sum + time["search"].get<double>() >= 0.98 * trials, ran.told());
  BOOST_TEST(sum <= trials, ran.told());
  // One slot: a trial runs at a time.
  const auto slot = doc["devices"]["local/slot0"];
  BOOST_TEST(std::abs(slot["run_s"].get<double>() - time["run"].get<double>()) < 1e-9, ran.told());
  BOOST_TEST(slot["run_s"].get<double>() >= 12 * 0.02, ran.told());
  BOOST_TEST(slot["busy"].get<double>() <= 1, ran.told());
}

BOOST_AUTO_TEST_CASE(doctor_measures_what_disturbances_cost_or_only_looks) {
  const scenario s;
  const auto quick = s.attune({"doctor", "--quick", "--json"});
  BOOST_REQUIRE_MESSAGE(quick.exit == 0, quick.told());
  BOOST_TEST(quick.document()["measured"].is_null());
  const auto measured = s.attune({"doctor", "--time", "100ms", "--json"});
  BOOST_REQUIRE_MESSAGE(measured.exit == 0, measured.told());
  const auto loops = measured.document()["measured"]["loops"];
  for (const auto* loop : {"compute", "memory"}) {
    BOOST_TEST(loops[loop]["passes"].get<int>() >= 3, measured.told());
    BOOST_TEST(loops[loop]["pass_s"].get<double>() > 0);
    for (const auto* figure : {"half_width", "spread", "drift", "taken"}) BOOST_TEST(loops[loop][figure].is_number());
  }
  BOOST_TEST(measured.document()["checks"].size() > quick.document()["checks"].size());
  const auto text = s.attune({"doctor", "--time", "100ms"});
  BOOST_TEST(text.out.find("What it costs, measured just now") != std::string::npos, text.told());
}

BOOST_AUTO_TEST_SUITE_END()
