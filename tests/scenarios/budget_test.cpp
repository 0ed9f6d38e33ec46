// How many trials there are, and which.
#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune::testing;
using namespace std::chrono_literals;

namespace {

/// 8 * 61 = 488 configurations.
std::string spec_of_488(const std::string& search) {
  return "task: t\nparameters: {x: {range: [1, 8]}, y: {range: [1, 61]}}\nrun: {command: \"echo {x} {y} >>runs.log; "
         "echo {x}\"}\nsearch: " +
         search + "\n";
}

constexpr const char* strategies[] = {"auto", "random", "grid", "annealing", "genetic"};

} // namespace

// A30
BOOST_AUTO_TEST_CASE(a_fraction_of_the_space_is_rounded_up_and_never_inverted) {
  const scenario s;
  s.write("s.yaml", spec_of_488("{strategy: random, fraction: 0.005}"));
  const auto e = s.tune("s.yaml");
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  BOOST_TEST(e.document()["trials"]["proposed"] == 3);
  BOOST_TEST(s.lines("runs.log").size() == 3u);
}

BOOST_AUTO_TEST_CASE(a_fraction_that_is_none_is_refused) {
  for (const std::string bad : {"2.0", "0", "-1", "nan", ".nan", "1.0001"}) {
    const scenario s;
    s.write("s.yaml", spec_of_488("{strategy: random, fraction: " + bad + "}"));
    const auto e = s.tune("s.yaml");
    BOOST_TEST(e.exit == 2, bad << ": " << e.told());
    BOOST_TEST(e.err.find("fraction") != std::string::npos, bad << ": " << e.told());
    BOOST_TEST(e.err.find("s.yaml:4") != std::string::npos, bad << ": " << e.told());
    BOOST_TEST(!s.store_exists());
  }
}

BOOST_AUTO_TEST_CASE(a_budget_larger_than_the_space_measures_each_configuration_once_and_ends) {
  const scenario s;
  s.write("s.yaml", spec_of_488("{strategy: auto, trials: 10000}"));
  const auto e = s.tune("s.yaml", {}, 300s);
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  BOOST_TEST(e.document()["stopped_because"] == "exhausted");
  const auto runs = s.lines("runs.log");
  BOOST_TEST(runs.size() == 488u);
  BOOST_TEST(std::set<std::string>(runs.begin(), runs.end()).size() == 488u);
  // The whole of it is the fraction 1.
  s.write("s.yaml", spec_of_488("{strategy: grid, fraction: 1.0}"));
  const auto whole = s.tune("s.yaml");
  BOOST_REQUIRE_MESSAGE(whole.exit == 0, whole.told());
  BOOST_TEST(whole.document()["trials"]["proposed"] == 488);
  BOOST_TEST(whole.document()["trials"]["measured"] == 0);
}

// SA01
BOOST_AUTO_TEST_CASE(every_strategy_copes_with_parameters_of_one_and_two_values) {
  for (const std::string strategy : strategies) {
    const scenario s;
    s.write("s.yaml", R"(task: t
parameters:
  a: [true, false]
  b: {range: [1, 7]}
  c: [1, 2, 3, 5, 8, 13, 21]
  d: [only]
run: {command: "echo {a} {b} {c} {d} >>runs.log; echo {b}"}
search: {trials: 20}
)");
    const auto e = s.tune("s.yaml", {"--strategy", strategy});
    BOOST_REQUIRE_MESSAGE(e.exit == 0, strategy << ": " << e.told());
    const auto runs = s.lines("runs.log");
    BOOST_TEST(runs.size() == 20u, strategy);
    BOOST_TEST(std::set<std::string>(runs.begin(), runs.end()).size() == 20u, strategy);
    for (const auto& r : s.history("s.yaml")) {
      const auto& c = r["config"];
      BOOST_TEST(c["a"].is_boolean());
      BOOST_TEST((c["b"] >= 1 && c["b"] <= 7));
      BOOST_TEST((std::set<int>{1, 2, 3, 5, 8, 13, 21}.contains(c["c"].get<int>())));
      BOOST_TEST(c["d"] == "only");
    }
  }
}

// SA02
BOOST_AUTO_TEST_CASE(a_grid_on_several_slots_visits_each_point_once_whatever_the_seed) {
  const scenario s;
  for (int seed = 1; seed <= 20; ++seed) {
    // Another workload each time, so that nothing is known yet.
    s.write("s.yaml", "task: t\nworkload: {round: " + std::to_string(seed) +
                          "}\nparameters: {x: [1, 2], y: [1, 2, 3, 4]}\nrun: {command: \"echo {x} {y} >>runs-" +
                          std::to_string(seed) + ".log; echo {x}\"}\n");
    const auto e =
        s.tune("s.yaml", {"--strategy", "grid", "--slots", "4", "--trials", "8", "--seed", std::to_string(seed)});
    BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
    const auto runs = s.lines("runs-" + std::to_string(seed) + ".log");
    BOOST_TEST(runs.size() == 8u, seed);
    BOOST_TEST(std::set<std::string>(runs.begin(), runs.end()).size() == 8u, seed);
  }
}

BOOST_AUTO_TEST_CASE(a_session_that_has_had_its_time_ends_at_once_and_goes_on_with_more) {
  const scenario s;
  s.write("s.yaml", "task: t\nparameters: {x: {range: [1, 100000]}}\nrun: {command: \"sleep 0.05; echo {x}\"}\n");
  const auto first = s.tune("s.yaml", {"--time", "2s"});
  BOOST_REQUIRE_MESSAGE(first.exit == 0, first.told());
  const auto measured = first.document()["trials"]["measured"].get<int>();
  BOOST_TEST(measured > 0);
  const auto again = s.tune("s.yaml", {"--time", "2s"});
  BOOST_REQUIRE_MESSAGE(again.exit == 0, again.told());
  BOOST_TEST(again.document()["trials"]["measured"] == 0);
  BOOST_TEST(again.document()["trials"]["cached"] == measured);
  BOOST_TEST(again.document()["stopped_because"] == "time");
  BOOST_TEST(again.document()["best"]["config"] == first.document()["best"]["config"]);
  const auto longer = s.tune("s.yaml", {"--time", "4s"});
  BOOST_TEST(longer.document()["trials"]["measured"].get<int>() > 0);
  BOOST_TEST(longer.document()["trials"]["cached"] == measured);
}
