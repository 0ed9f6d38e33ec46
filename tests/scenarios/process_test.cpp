// What the commands of a trial do to the machine, and the machine to them.
#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace attune::testing;
using namespace std::chrono_literals;

// SA03: in a POSIX shell `a &> b` is `a & > b`.
BOOST_AUTO_TEST_CASE(a_command_that_slips_into_the_background_is_noticed_or_waited_for) {
  const scenario s;
  s.write("s.yaml", R"(task: t
parameters: {x: [1]}
run: {command: "sleep 1 &> /dev/null", metric: {wall: true}}
)");
  const auto e = s.tune("s.yaml");
  const auto records = s.history("s.yaml");
  BOOST_REQUIRE_MESSAGE(records.size() == 1u, e.told());
  const auto& r = records[0];
  const bool waited = r["value"].is_number() && r["value"] >= 1;
  const auto said = e.err + r.dump();
  BOOST_TEST((waited || said.find("left") != std::string::npos), said);
  BOOST_TEST(s.survivors().empty());
}

// SA05
BOOST_AUTO_TEST_CASE(trials_that_time_out_leave_no_files_behind_and_hold_few_at_a_time) {
  const scenario s;
  s.write("s.yaml", R"(task: t
parameters: {x: {range: [1, 50]}}
build: {command: "head -c 1000000 /dev/zero >{workdir}/blob; echo exit >{artifact}"}
run: {command: "find \"$TMPDIR\" -name blob | wc -l >>blobs.log; sleep 60", timeout: 200ms}
search: {strategy: random, trials: 50}
)");
  const auto e = s.tune("s.yaml", {}, 180s);
  BOOST_TEST(e.exit == 1, e.told());
  BOOST_TEST(e.document()["trials"]["failed"]["run_timeout"] == 50, e.told());
  std::size_t most = 0;
  for (const auto& line : s.lines("blobs.log")) most = std::max(most, static_cast<std::size_t>(std::stoul(line)));
  BOOST_TEST(most >= 1u); // the folders are where this test looks
  BOOST_TEST(most <= 8u);
  BOOST_TEST(std::filesystem::is_empty(s.temporary()));
  BOOST_TEST(s.survivors().empty());
}

// SA08: the wall clock is stepped under the running program, by a library that is loaded before the C library.
BOOST_AUTO_TEST_CASE(a_stepped_wall_clock_touches_no_duration_no_limit_and_no_order) {
  const scenario s;
  s.write("clock", "0");
  s.write("s.yaml", R"(task: t
parameters: {x: {range: [1, 5]}}
run:
  command: "echo {x} >>runs.log; if [ {x} = 4 ]; then sleep 60; fi; sleep 0.3"
  timeout: 2s
  metric: {wall: true}
search: {strategy: grid, trials: 5}
measure: {slots: 1}
)");
  auto running = s.start({"tune", "s.yaml", "--json"},
                         {{"LD_PRELOAD", STEPPED_CLOCK}, {"STEPPED_CLOCK_SECONDS", s.path("clock")}});
  const auto runs = [&] { return s.lines("runs.log").size(); };
  BOOST_REQUIRE(running.wait_until([&] { return runs() == 2; }));
  s.write("clock", "-7200");
  BOOST_REQUIRE(running.wait_until([&] { return runs() == 4; }));
  s.write("clock", "86400");
  const auto e = running.wait(60s);
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  const auto d = e.document();
  for (const auto* part : {"wall", "build", "run", "queue", "search"})
    BOOST_TEST((d["time_s"][part] >= 0 && d["time_s"][part] < 30), e.told());
  BOOST_TEST(d["time_s"]["wall"] >= 3.2, e.told());
  BOOST_TEST(d["trials"]["measured"] == 4, e.told());
  BOOST_TEST(d["trials"]["failed"]["run_timeout"] == 1, e.told());

  const auto records = s.history("s.yaml");
  BOOST_REQUIRE(records.size() == 5u);
  std::vector<std::string> stamps;
  for (std::size_t i = 0; i < 5; ++i) {
    BOOST_TEST(records[i]["config"]["x"] == i + 1); // in the order in which they were measured
    stamps.push_back(records[i]["at"]);
    if (i != 3) BOOST_TEST((records[i]["value"] >= 0.3 && records[i]["value"] < 2), records[i].dump());
  }
  // The clock was stepped indeed.
  BOOST_TEST(!std::is_sorted(stamps.begin(), stamps.end()));
}

// SA09
BOOST_AUTO_TEST_CASE(a_value_of_several_words_becomes_the_right_arguments) {
  const scenario s;
  s.write("arguments", "#!/bin/sh\nfor a; do printf '[%s]' \"$a\"; done >>runs.log\necho >>runs.log\necho 1\n", true);
  const auto spec = [](const std::string& command, const std::string& constraints) {
    return "task: t\nparameters:\n  flags: [\"\", -O3, '-O2 -march=native -DNAME=\"a b\"']\n" + constraints +
           "run: {command: " + command + "}\nsearch: {strategy: grid, trials: 3}\n";
  };
  const auto runs = [&](const std::string& text) {
    std::filesystem::remove(s.path("runs.log"));
    s.write("s.yaml", text);
    const auto e = s.tune("s.yaml");
    BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
    return s.lines("runs.log");
  };
  using texts = std::vector<std::string>;
  const auto list = R"([./arguments, "{flags*}", end])";
  BOOST_TEST((runs(spec(list, "")) == texts{"[end]", "[-O3][end]", "[-O2][-march=native][-DNAME=a b][end]"}));
  // As one argument, whatever is in it, also nothing.
  const auto single = R"([./arguments, "{flags}", end])";
  BOOST_TEST((runs(spec(single, "")) == texts{"[][end]", "[-O3][end]", "[-O2 -march=native -DNAME=\"a b\"][end]"}));
  // A string goes to the shell, which splits it.
  BOOST_TEST((runs(spec("\"./arguments {flags} end\"", "")) ==
              texts{"[end]", "[-O3][end]", "[-O2][-march=native][-DNAME=a b][end]"}));
  BOOST_TEST((runs(spec(R"([./arguments, "{flags*}"])", "constraints: ['flags != \"-O3\"']\n")) ==
              texts{"", "[-O2][-march=native][-DNAME=a b]"}));
}
