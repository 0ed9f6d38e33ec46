#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune::testing;

BOOST_AUTO_TEST_SUITE(limits)

// A09
BOOST_AUTO_TEST_CASE(a_descendant_that_holds_the_output_open_does_not_hold_the_trial) {
  for (const auto* starter : {"", "setsid "}) {
    const scenario s;
    const auto spec = s.write("a.yaml", "task: t\nparameters: {x: [1]}\nrun:\n  command: \"" + std::string(starter) +
                                            "sleep 300 & echo 0.5\"\n  timeout: 20s\n");
    const auto ran = s.tune(spec);
    BOOST_REQUIRE_MESSAGE(ran.exit == 0, ran.told());
    BOOST_TEST(ran.document()["best"]["value"] == 0.5, ran.told());
    BOOST_TEST(ran.seconds < 20, ran.told());
    BOOST_TEST(s.survivors().empty());
  }
}

// A10
BOOST_AUTO_TEST_CASE(a_build_that_reaches_its_limit_ends_with_all_its_descendants) {
  const scenario s;
  const auto spec = s.write("a.yaml", "task: t\nparameters: {x: [1, 2, 3]}\n"
                                      "build: {command: \"sleep 120 & sleep 120\", timeout: 1s}\n"
                                      "run: {command: echo 1}\n");
  const auto ran = s.tune(spec);
  BOOST_TEST(ran.exit == 1, ran.told());
  BOOST_TEST(ran.document()["trials"]["failed"] == json::parse(R"({"build_timeout": 3})"), ran.told());
  BOOST_TEST(ran.seconds < 30, ran.told());
  BOOST_TEST(s.survivors().empty());
}

// A11
BOOST_AUTO_TEST_CASE(the_limit_that_is_written_holds_and_waiting_is_not_counted) {
  const auto spec = [](const std::string& command, const std::string& timeout) {
    return "task: t\nparameters: {x: [1, 2, 3, 4]}\nrun: {command: \"" + command + "\", timeout: " + timeout + "}\n";
  };
  const scenario s;
  // Generous against a busy machine: 2 s of 6 s. The last trial waits longer than its limit before it runs.
  const auto good = s.tune(s.write("good.yaml", spec("sleep 2; echo 1", "6s")));
  BOOST_REQUIRE_MESSAGE(good.exit == 0, good.told());
  BOOST_TEST(good.document()["trials"]["measured"] == 4, good.told());
  const auto late = s.tune(s.write("late.yaml", spec("sleep 2; echo 1", "1s")));
  BOOST_TEST(late.exit == 1);
  BOOST_TEST(late.document()["trials"]["failed"] == json::parse(R"({"run_timeout": 4})"), late.told());
  // No hidden limit of ten seconds.
  const auto slow = s.tune(s.write("slow.yaml", spec("sleep 12; echo 1", "60s")), {"--trials", "1"});
  BOOST_TEST(slow.document()["trials"]["measured"] == 1, slow.told());
}

BOOST_AUTO_TEST_SUITE_END()
