// What a measurement is remembered under: its target, its names and values, whatever the order in which they stand.
#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune::testing;

namespace {

/// Every run leaves a line in runs.log.
std::string spec(const std::string& head, const std::string& parameters) {
  return head + "parameters:\n" + parameters + R"(
run:
  command: ./run {x} {y}
)";
}

void write_program(const scenario& s) { s.write("run", "#!/bin/sh\necho \"$*\" >>runs.log\necho \"$1$2\"\n", true); }

} // namespace

// A18
BOOST_AUTO_TEST_CASE(the_best_for_a_target_is_never_that_of_another) {
  const scenario s;
  s.write("run", "#!/bin/sh\n[ $1 = a ] && echo 1 || echo 2\n", true);
  for (const std::string board : {"A", "B", "C"})
    s.write(board + ".yaml", "task: W\nworkload: {shape: 1x64}\ntarget: {board: " + board +
                                 "}\nparameters: {config: [" + (board == "A" ? "a" : "b") +
                                 "]}\nrun: {command: \"./run {config}\"}\n");
  for (const std::string board : {"A", "B"}) {
    const auto e = s.tune(board + ".yaml");
    BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  }
  const auto best = s.attune({"best", "B.yaml", "--json"});
  BOOST_REQUIRE_MESSAGE(best.exit == 0, best.told());
  BOOST_TEST(best.out.find(R"("config":{"config":"b"})") != std::string::npos, best.told());
  const auto none = s.attune({"best", "C.yaml", "--json"});
  BOOST_TEST(none.exit == 1, none.told());
  BOOST_TEST(none.out.find("\"config\":\"a\"") == std::string::npos, none.told());
  BOOST_TEST(none.out.find("\"config\":\"b\"") == std::string::npos, none.told());
}

// A19
BOOST_AUTO_TEST_CASE(the_order_of_parameters_and_of_workload_arguments_is_no_part_of_the_key) {
  const scenario s;
  write_program(s);
  const auto tuned = [&](const std::string& head, const std::string& parameters) {
    s.write("s.yaml", spec(head, parameters));
    const auto e = s.tune("s.yaml");
    BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
    return e.document()["trials"];
  };
  tuned("task: t\nworkload: {m: 1, n: 2}\n", "  x: [1]\n  y: [2]\n");
  BOOST_TEST(s.lines("runs.log").size() == 1u);
  const auto reordered = tuned("task: t\nworkload: {n: 2, m: 1}\n", "  y: [2]\n  x: [1]\n");
  BOOST_TEST(s.lines("runs.log").size() == 1u);
  BOOST_TEST(reordered["measured"] == 0);
  BOOST_TEST(reordered["cached"] == 1);
  const auto swapped = tuned("task: t\nworkload: {m: 1, n: 2}\n", "  x: [2]\n  y: [1]\n");
  BOOST_TEST(s.lines("runs.log").size() == 2u);
  BOOST_TEST(swapped["measured"] == 1);
}

BOOST_AUTO_TEST_CASE(whole_numbers_decimals_texts_and_booleans_are_told_apart) {
  const scenario s;
  write_program(s);
  s.write("s.yaml", "task: t\nparameters: {x: [1], y: [0]}\nrun: {command: \"./run {x} {y}\"}\n");
  s.write("t.yaml", "task: t\nparameters: {x: [\"1\"], y: [0]}\nrun: {command: \"./run {x} {y}\"}\n");
  s.write("u.yaml", "task: t\nparameters: {x: [1.0], y: [0]}\nrun: {command: \"./run {x} {y}\"}\n");
  for (const auto* name : {"s.yaml", "t.yaml", "u.yaml", "s.yaml", "t.yaml", "u.yaml"}) {
    const auto e = s.tune(name);
    BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  }
  BOOST_TEST(s.lines("runs.log").size() == 3u);
}

// A20
BOOST_AUTO_TEST_CASE(a_changed_list_of_values_measures_only_what_is_new) {
  const scenario s;
  s.write("run", "#!/bin/sh\necho $1 >>runs.log\n[ $1 = 2 ] && echo 1 || echo $((10 - $1))\n", true);
  json last;
  const auto runs_after = [&](const std::string& values) {
    s.write("s.yaml", "task: t\nparameters: {x: " + values + "}\nrun: {command: \"./run {x}\"}\n");
    const auto e = s.tune("s.yaml");
    BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
    last = e.document();
    return s.lines("runs.log").size();
  };
  BOOST_TEST(runs_after("[1, 2, 3]") == 3u);
  BOOST_TEST(last["best"]["config"]["x"] == 2);
  BOOST_TEST(runs_after("[1, 2, 3, 4]") == 4u);
  BOOST_TEST(last["best"]["config"]["x"] == 2);
  BOOST_TEST(runs_after("[1, 3]") == 4u);
  BOOST_TEST(last["best"]["config"]["x"] == 3); // 2 is not among what is asked for now
  BOOST_TEST(last["trials"]["cached"] == 2);
}

BOOST_AUTO_TEST_CASE(a_changed_source_file_or_command_is_measured_anew) {
  const scenario s;
  write_program(s);
  const auto tune = [&](const std::string& command, const std::string& source) {
    s.write("source.c", source);
    s.write("s.yaml", "task: t\nparameters: {x: [1], y: [2]}\nbuild: {command: \"cp source.c {artifact}\", sources: "
                      "[source.c]}\nrun: {command: \"" +
                          command + "\"}\n");
    const auto e = s.tune("s.yaml");
    BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
    return s.lines("runs.log").size();
  };
  BOOST_TEST(tune("./run {x} {y}", "one") == 1u);
  BOOST_TEST(tune("./run {x} {y}", "one") == 1u);
  BOOST_TEST(tune("./run {x} {y}", "two") == 2u);
  BOOST_TEST(tune("./run {x} {y} more", "two") == 3u);
  BOOST_TEST(tune("./run {x} {y}", "one") == 3u);
}
