// What counts as a result and what can be the best.
#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune::testing;

// A16
BOOST_AUTO_TEST_CASE(outliers_are_rejected_on_both_sides_also_where_the_others_are_all_equal) {
  const scenario s;
  s.write("run", R"(#!/bin/sh
case $1 in
equal) printf 'v=%s\n' 10 10 10 10 10 10 50 ;;
low) printf 'v=%s\n' 100 101 99 100 100 20 ;;
esac
)",
          true);
  s.write("s.yaml", R"yaml(task: t
parameters: {series: [equal, low]}
run:
  command: ./run {series}
  metric: {pattern: "v=([0-9]+)", unit: points}
  repeats: 6
)yaml");
  const auto e = s.tune("s.yaml");
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  BOOST_TEST(e.out.find("nan") == std::string::npos);
  BOOST_TEST(e.document()["best"]["value"] == 10);
  const auto records = s.history("s.yaml");
  BOOST_REQUIRE(records.size() == 2u);
  for (const auto& r : records) {
    const bool equal = r["config"]["series"] == "equal";
    BOOST_TEST(r["value"] == (equal ? 10 : 100), r.dump());
    BOOST_TEST(r["rejected"] == 1, r.dump());
    BOOST_TEST(r["samples"].size() == (equal ? 7u : 6u), r.dump()); // raw, the outlier among them
  }
}

// SA07
BOOST_AUTO_TEST_CASE(a_wrong_result_is_never_the_best_however_fast) {
  const scenario s;
  s.write("s.yaml", R"yaml(task: t
parameters: {x: [1, 2, 3]}
run:
  command: echo {x}
  check: {command: "test {x} -ne 1"}
)yaml");
  const auto e = s.tune("s.yaml");
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  const auto d = e.document();
  BOOST_TEST(d["best"]["config"]["x"] == 2);
  BOOST_TEST(d["trials"]["failed"]["wrong_output"] == 1);
  for (const auto& r : s.history("s.yaml")) {
    BOOST_TEST((r["failure"] == "wrong_output") == (r["config"]["x"] == 1), r.dump());
    BOOST_TEST(r["value"].is_null() == (r["config"]["x"] == 1), r.dump());
  }
}

// SA12
BOOST_AUTO_TEST_CASE(a_missing_metric_is_a_failure_and_never_a_number) {
  const scenario s;
  s.write("s.yaml", R"yaml(task: t
parameters: {x: [1, 2]}
run:
  command: 'if [ {x} = 1 ]; then echo nothing 0.001 here; else echo "score: 7"; fi'
  metric: {pattern: "score: ([0-9.]+)"}
)yaml");
  const auto e = s.tune("s.yaml");
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  BOOST_TEST(e.document()["best"]["config"]["x"] == 2);
  BOOST_TEST(e.document()["best"]["value"] == 7);
  BOOST_TEST(e.document()["trials"]["failed"]["bad_metric"] == 1);
}

BOOST_AUTO_TEST_CASE(where_the_metric_is_missing_everywhere_there_is_no_best) {
  const scenario s;
  s.write("s.yaml", R"yaml(task: t
parameters: {x: [1, 2, 3]}
run: {command: "echo done {x}", metric: {pattern: "score: ([0-9.]+)"}}
)yaml");
  const auto e = s.tune("s.yaml");
  BOOST_TEST(e.exit == 1, e.told());
  const auto d = e.document();
  BOOST_REQUIRE_MESSAGE(d.is_object(), e.told());
  BOOST_TEST(d["best"].is_null(), e.told());
  BOOST_TEST(d["trials"]["failed"]["bad_metric"] == 3, e.told());
  BOOST_TEST(d["stopped_because"] == "no_valid", e.told());
  const auto best = s.attune({"best", "s.yaml", "--json"});
  BOOST_TEST(best.exit == 1, best.told());
  const auto text = s.attune({"tune", "s.yaml"});
  BOOST_TEST(text.exit == 1, text.told());
  BOOST_TEST((text.out + text.err).find("3 of 3") != std::string::npos, text.told());
}
