// What a spec grows by keeps what was measured: new values, and new parameters with a default.
#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune::testing;

namespace {

/// Every run leaves its arguments as a line in runs.log; its result is the sum of them.
struct growing {
  growing() {
    s.write("run", "#!/bin/sh\necho \"$*\" >>runs.log\nn=1\nfor i; do n=$((n + ${i##*=})); done\necho $n\n", true);
  }

  json tune(const std::string& parameters, const std::string& command, const std::string& more = {}) {
    write(parameters, command, more);
    const auto e = s.tune("s.yaml");
    BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
    return e.document();
  }
  void write(const std::string& parameters, const std::string& command, const std::string& more = {}) {
    s.write("s.yaml", "task: t\nparameters: {" + parameters + "}\nrun: {command: \"" + command +
                          "\"}\nsearch: {strategy: grid}\n" + more);
  }
  std::size_t runs() const { return s.lines("runs.log").size(); }
  const scenario s;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_parameter_with_a_default_keeps_what_was_measured_without_it) {
  growing g;
  g.tune("a: [1, 2, 3]", "./run {a}");
  BOOST_TEST(g.runs() == 3u);
  // Known before anything is measured: 1 + 0 is the best.
  g.write("a: [1, 2, 3], b: {values: [5, 0, 7], default: 0}", "./run {a} {b}");
  auto best = g.s.attune({"best", "s.yaml", "--json"});
  BOOST_REQUIRE_MESSAGE(best.exit == 0, best.told());
  BOOST_TEST(best.document()["best"]["config"] == json::parse(R"({"a": 1, "b": 0})"));

  const auto grown = g.tune("a: [1, 2, 3], b: {values: [5, 0, 7], default: 0}", "./run {a} {b}");
  BOOST_TEST(g.runs() == 9u);
  BOOST_TEST(grown["trials"]["measured"] == 6);
  BOOST_TEST(grown["trials"]["cached"] == 3);
  BOOST_TEST(grown["best"]["config"] == json::parse(R"({"a": 1, "b": 0})"));
  BOOST_TEST(grown["best"]["value"] == 2);
  for (const auto& line : g.s.lines("runs.log")) BOOST_TEST(line.find(" 0") == std::string::npos, line);

  // The same again is the same session; and one more parameter keeps both generations.
  const auto again = g.tune("a: [1, 2, 3], b: {values: [5, 0, 7], default: 0}", "./run {a} {b}");
  BOOST_TEST(again["trials"]["measured"] == 0);
  const auto third = g.tune("c: {values: [0, 1], default: 0}, a: [1, 2, 3], b: {values: [5, 0, 7], default: 0}",
                            "./run {a} --c {c} {b}");
  BOOST_TEST(third["trials"]["cached"] == 9);
  BOOST_TEST(third["trials"]["measured"] == 9);
  const auto verified = g.s.attune({"db", "verify"});
  BOOST_TEST(verified.exit == 0, verified.told());
}

BOOST_AUTO_TEST_CASE(a_parameter_that_no_command_names_keeps_it_too) {
  growing g;
  g.tune("a: [1, 2]", "./run {a}");
  const auto grown = g.tune("a: [1, 2], b: {values: [0, 1], default: 1}", "./run {a}");
  BOOST_TEST(grown["trials"]["cached"] == 2);
  BOOST_TEST(grown["trials"]["measured"] == 2);
  BOOST_TEST(g.runs() == 4u);
}

BOOST_AUTO_TEST_CASE(values_and_parameters_may_come_together) {
  growing g;
  g.tune("a: [1, 2]", "./run {a}");
  const auto grown = g.tune("a: [1, 2, 4], b: {values: [0, 3], default: 0}", "./run {a} {b}");
  BOOST_TEST(grown["trials"]["cached"] == 2);
  BOOST_TEST(grown["trials"]["measured"] == 4);
}

BOOST_AUTO_TEST_CASE(what_means_something_else_is_measured_anew) {
  {
    growing g; // no default: nothing says what it was measured with
    g.tune("a: [1, 2]", "./run {a}");
    BOOST_TEST(g.tune("a: [1, 2], b: [0, 1]", "./run {a} {b}")["trials"]["cached"] == 0);
  }
  {
    growing g; // the rest of the command is another one
    g.tune("a: [1, 2]", "./run {a}");
    BOOST_TEST(g.tune("a: [1, 2], b: {values: [0, 1], default: 0}", "./run 0 {a} {b}")["trials"]["cached"] == 0);
  }
  {
    growing g; // measured in another way
    g.tune("a: [1, 2]", "./run {a}");
    g.write("a: [1, 2], b: {values: [0, 1], default: 0}", "./run {a} {b}");
    g.s.write("s.yaml", "task: t\nparameters: {a: [1, 2], b: {values: [0, 1], default: 0}}\nrun: {command: \"./run {a} "
                        "{b}\", repeats: 3}\n");
    const auto e = g.s.tune("s.yaml");
    BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
    BOOST_TEST(e.document()["trials"]["cached"] == 0);
  }
  {
    growing g; // another workload
    g.tune("a: [1, 2]", "./run {a}");
    BOOST_TEST(g.tune("a: [1, 2], b: {values: [0, 1], default: 0}", "./run {a} {b}",
                      "workload: {m: 2}\n")["trials"]["cached"] == 0);
  }
  {
    growing g; // --remeasure means it
    g.tune("a: [1, 2]", "./run {a}");
    g.write("a: [1, 2], b: {values: [0, 1], default: 0}", "./run {a} {b}");
    const auto e = g.s.tune("s.yaml", {"--remeasure"});
    BOOST_TEST(e.document()["trials"]["measured"] == 4, e.told());
  }
}

BOOST_AUTO_TEST_CASE(a_failure_stays_one_and_a_newer_result_stands) {
  growing g;
  g.s.write("run", "#!/bin/sh\necho \"$*\" >>runs.log\n[ $1 = 2 ] && exit 3\necho $1\n", true);
  g.tune("a: [1, 2]", "./run {a}");
  const auto grown = g.tune("a: [1, 2], b: {values: [0, 1], default: 0}", "./run {a} {b}");
  BOOST_TEST(grown["trials"]["cached"] == 2);
  BOOST_TEST(grown["trials"]["failed"]["run_error"] == 2); // one from before, one new
  BOOST_TEST(g.runs() == 4u);
}
