#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>

using namespace attune::testing;

namespace {

/// Whether a number stands there that no run printed: the markers by which tools tell failures (1e9, 9e99, 1e20), or
/// the text of what JSON has no number for.
bool has_marker(const json& in) {
  if (in.is_number()) return in.get<double>() >= 1e8;
  if (in.is_string()) return in == "nan" || in == "inf" || in == "-inf";
  for (const auto& part : in)
    if (has_marker(part)) return true;
  return false;
}

} // namespace

BOOST_AUTO_TEST_SUITE(best_results)

// A12
BOOST_AUTO_TEST_CASE(a_run_that_fails_is_never_the_fastest) {
  const scenario s;
  const auto spec = s.write("a.yaml", "task: t\nparameters: {x: [1, 2]}\nrun:\n"
                                      "  command: \"if [ {x} = 1 ]; then echo 0.001; exit 1; else echo 0.050; fi\"\n");
  const auto ran = s.tune(spec);
  BOOST_REQUIRE_MESSAGE(ran.exit == 0, ran.told());
  BOOST_TEST(ran.document()["best"]["config"]["x"] == 2);
  BOOST_TEST(ran.document()["best"]["value"] == 0.05);
  for (const auto& r : s.history(spec)) {
    if (r["config"]["x"] != 1) continue;
    BOOST_TEST(r["failure"] == "run_error");
    BOOST_TEST(r["exit"] == 1);
    BOOST_TEST(r["value"].is_null());
  }
  BOOST_TEST(s.attune({"best", spec, "--format", "env"}).out == "ATTUNE_x=2\n");
  BOOST_TEST(s.attune({"best", spec, "--top", "9", "--json"}).document()["top"].size() == 1u);
}

BOOST_AUTO_TEST_CASE(one_failed_repeat_fails_the_configuration) {
  const scenario s;
  const auto spec = s.write("a.yaml", "task: t\nparameters: {x: [1]}\nrun:\n  repeats: 3\n"
                                      "  command: \"echo . >> count; [ $(wc -l < count) != 2 ] && echo 1\"\n");
  const auto ran = s.tune(spec);
  BOOST_TEST(ran.exit == 1, ran.told());
  BOOST_TEST(ran.document()["trials"]["failed"] == json::parse(R"({"run_error": 1})"));
}

// A13
BOOST_AUTO_TEST_CASE(where_all_fails_there_is_no_best_and_the_first_error_is_shown) {
  const scenario s;
  const auto spec = s.write("a.yaml", "task: t\nparameters: {x: [1, 2, 3]}\n"
                                      "run: {command: \"echo 'no such device' >&2; exit 1\"}\n");
  const auto ran = s.tune(spec);
  BOOST_TEST(ran.exit == 1, ran.told());
  BOOST_TEST(ran.document()["best"].is_null());
  BOOST_TEST(ran.document()["stopped_because"] == "no_valid");
  BOOST_TEST(ran.err.find("no valid result (3 of 3 failed)") != std::string::npos, ran.told());
  BOOST_TEST(ran.err.find("no such device") != std::string::npos, ran.told());
  const auto best = s.attune({"best", spec, "--json"});
  BOOST_TEST(best.exit == 1);
  BOOST_TEST(best.document()["best"].is_null());
  for (const auto* format : {"text", "env", "args", "header", "cmake"}) {
    const auto none = s.attune({"best", spec, "--format", format});
    BOOST_TEST(none.exit == 1);
    BOOST_TEST(none.out == "");
  }
  BOOST_TEST(!has_marker(ran.document()), ran.told());
  BOOST_TEST(!has_marker(best.document()), best.told());
}

// A14
BOOST_AUTO_TEST_CASE(what_is_no_number_is_never_the_best_in_any_order) {
  for (const bool reversed : {false, true}) {
    for (const auto* goal : {"minimize", "maximize"}) {
      for (const auto* strategy : {"grid", "genetic"}) {
        const scenario s;
        const std::string values = reversed ? "['0.003', '0.000', '1.0', nan]" : "[nan, '1.0', '0.000', '0.003']";
        const auto spec = s.write("a.yaml", "task: t\nparameters: {x: " + values + "}\nrun:\n  command: echo {x}\n" +
                                                "  metric: {goal: " + goal + "}\n");
        const auto ran = s.tune(spec, {"--strategy", strategy});
        BOOST_REQUIRE_MESSAGE(ran.exit == 0, ran.told());
        const auto doc = ran.document();
        // A zero is kept, and noted.
        BOOST_TEST(doc["best"]["value"] == (std::string(goal) == "minimize" ? 0.0 : 1.0), ran.told());
        BOOST_TEST(doc["trials"]["failed"] == json::parse(R"({"bad_metric": 1})"), ran.told());
        auto shown = doc;
        shown["best"]["config"] = nullptr;
        BOOST_TEST(!has_marker(shown), ran.told());
        for (const auto& r : s.history(spec))
          if (r["value"] == 0.0) BOOST_TEST(!r["notes"].empty());
      }
    }
  }
}

// A07
BOOST_AUTO_TEST_CASE(a_decimal_comma_of_the_locale_changes_no_number) {
  const scenario s;
  // The locale is made here, for few machines have it.
  const std::string made = "localedef -i de_DE -f UTF-8 '" + s.path("de_DE.UTF-8") + "' > /dev/null 2>&1";
  if (std::system(made.c_str()) != 0) BOOST_TEST_MESSAGE("no localedef here: run with LC_ALL=de_DE.UTF-8 all the same");
  const process::environment german{{"LOCPATH", s.folder()}, {"LC_ALL", "de_DE.UTF-8"}};
  const auto spec = s.write("a.yaml", "task: t\nparameters: {a: [0.5], b: {range: [0.25, 0.75], step: 0.25}}\n"
                                      "run: {command: \"echo {a} {b} >> seen; echo 0.125\", timeout: 5.5s}\n");
  const auto ran = s.attune({"tune", spec, "--json"}, std::chrono::seconds(60), german);
  BOOST_REQUIRE_MESSAGE(ran.exit == 0, ran.told());
  BOOST_TEST(ran.document()["best"]["value"] == 0.125, ran.told());
  BOOST_TEST(ran.document()["best"]["config"]["a"] == 0.5, ran.told());
  for (const auto& line : s.lines("seen")) BOOST_TEST(line.find(',') == std::string::npos, line);
  for (const auto* format : {"text", "env", "args", "header", "cmake"}) {
    const auto shown = s.attune({"best", spec, "--format", format}, std::chrono::seconds(60), german);
    BOOST_TEST(shown.exit == 0);
    BOOST_TEST(shown.out.find("0.5") != std::string::npos, shown.told());
    BOOST_TEST(shown.out.find("0,5") == std::string::npos, shown.told());
  }
  // The same in the C locale: everything is known.
  const auto again = s.tune(spec);
  BOOST_TEST(again.document()["trials"]["measured"] == 0, again.told());
  BOOST_TEST(again.document()["trials"]["cached"] == 3, again.told());
}

BOOST_AUTO_TEST_SUITE_END()
