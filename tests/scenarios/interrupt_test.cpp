// A27: a tuning run that is stopped keeps what it has measured, and goes on from there.
#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

#include <csignal>

using namespace attune::testing;
using namespace std::chrono_literals;

namespace {

constexpr auto ten_slow_runs = R"(task: t
parameters: {x: {range: [1, 10]}}
run: {command: "echo {x} >>runs.log; sleep 0.7; echo {x}"}
measure: {slots: 1}
search: {strategy: grid, trials: 10}
)";

/// Stops the run in the middle of its fourth trial, and looks at what is left.
void stop_with(int number, int exit_code) {
  const scenario s;
  s.write("s.yaml", ten_slow_runs);
  auto running = s.start({"tune", "s.yaml", "--json"});
  BOOST_REQUIRE(running.wait_until([&] { return s.lines("runs.log").size() == 4; }));
  BOOST_REQUIRE(!running.gone_within(200ms)); // the third is durable by now, the fourth goes on for as long again
  const auto begin = std::chrono::steady_clock::now();
  running.signal(number);
  const auto e = running.wait(10s);
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 2s), e.told());
  BOOST_TEST(e.exit == exit_code, e.told());
  const auto d = e.document();
  BOOST_REQUIRE_MESSAGE(d.is_object(), e.told());
  BOOST_TEST(d["best"]["config"]["x"] == 1, e.told());
  BOOST_TEST(d["stopped_because"] == "interrupted", e.told());
  BOOST_TEST(s.survivors().empty());

  const auto stats = s.attune({"db", "stats", "--json"});
  BOOST_TEST(stats.document()["records"] == 3, stats.told());
  const auto rest = s.tune("s.yaml");
  BOOST_REQUIRE_MESSAGE(rest.exit == 0, rest.told());
  BOOST_TEST(rest.document()["trials"]["measured"] == 7, rest.told());
  BOOST_TEST(s.lines("runs.log").size() == 11u); // ten, and the one that was cut off
  BOOST_TEST(s.history("s.yaml").size() == 10u);
}

} // namespace

BOOST_AUTO_TEST_CASE(ctrl_c_ends_within_two_seconds_and_the_same_command_does_the_rest) { stop_with(SIGINT, 130); }

BOOST_AUTO_TEST_CASE(so_does_a_request_to_terminate) { stop_with(SIGTERM, 143); }

BOOST_AUTO_TEST_CASE(a_second_ctrl_c_ends_at_once_without_damage) {
  const scenario s;
  // A run that does not care about SIGTERM holds the orderly end up for its grace.
  s.write("s.yaml", R"(task: t
parameters: {x: {range: [1, 5]}}
run: {command: "trap '' TERM; echo {x} >>runs.log; if [ {x} = 3 ]; then sleep 30; fi; echo {x}", timeout: 60s}
measure: {slots: 1}
search: {strategy: grid, trials: 5}
)");
  auto running = s.start({"tune", "s.yaml", "--json"});
  BOOST_REQUIRE(running.wait_until([&] { return s.lines("runs.log").size() == 3; }));
  BOOST_REQUIRE(!running.gone_within(200ms));
  running.signal(SIGINT);
  running.gone_within(20ms);
  running.signal(SIGINT);
  const auto e = running.wait(5s);
  BOOST_TEST(!e.timed_out, e.told());
  BOOST_TEST((e.exit == 130 || e.signal == SIGINT), e.told());
  const auto verified = s.attune({"db", "verify", "--json"});
  BOOST_TEST(verified.exit == 0, verified.told());
  BOOST_TEST(s.history("s.yaml").size() == 2u);
}
