// How the real program measures: the best run again before one is named, slots have cores of their own. (That a
// disturbed machine is noticed: scripts/hog-check, which needs a quiet one.)
#include "measure/topology.hpp"
#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <set>

using namespace attune::testing;
using namespace std::chrono_literals;

namespace {

/// Values that come as written, each run the next line of its configuration's file.
constexpr const char* player = "n=$(cat n{x} 2>/dev/null || echo 1); echo $((n + 1)) >n{x}; "
                               "echo {x} >>runs.log; sed -n \"$(((n - 1) % 24 + 1))p\" v{x}";

void values(const scenario& s, int x, const std::vector<double>& v) {
  std::string text;
  for (int i = 0; i < 24; ++i) text += std::to_string(v[static_cast<std::size_t>(i) % v.size()]) + "\n";
  s.write("v" + std::to_string(x), text);
}

std::string spec(const std::string& repeats, const std::string& measure = "") {
  return "task: t\nparameters: {x: {values: [0, 1, 2, 3], default: 3}}\nrun:\n  command: '" + std::string(player) +
         "'\n  metric: {name: time, unit: s}\n  repeats: " + repeats + "\nsearch: {strategy: grid}\n" + measure;
}

std::set<std::string> affinities(const std::vector<std::string>& lines) { return {lines.begin(), lines.end()}; }

} // namespace

BOOST_AUTO_TEST_CASE(the_lucky_one_is_not_named_and_the_default_runs_along) {
  const scenario s;
  values(s, 0, {0.99, 1.0, 1.01, 1.2, 1.21, 1.22, 1.19, 1.2}); // lucky while it is searched
  values(s, 1, {1.04, 1.05, 1.06});
  values(s, 2, {2.9, 3.0, 3.1});
  values(s, 3, {1.98, 2.0, 2.02});
  s.write("s.yaml", spec("{min: 3, max: 3, until: 5%}"));
  const auto e = s.tune("s.yaml");
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  const auto d = e.document();
  BOOST_TEST(d["best"]["config"]["x"] == 1, e.told());
  BOOST_TEST(d["default"]["config"]["x"] == 3);
  BOOST_TEST(d["default"]["speedup"].get<double>() > 1.7);
  BOOST_TEST(d["side_by_side"]["verdict"] == "separated");
  BOOST_TEST(d["side_by_side"]["runs"].get<int>() >= 9);
  BOOST_TEST(d["trials"]["measured"] == 4);
  // It is remembered: the same again measures nothing, and best says the same.
  const auto runs = s.lines("runs.log").size();
  const auto again = s.tune("s.yaml");
  BOOST_REQUIRE_MESSAGE(again.exit == 0, again.told());
  BOOST_TEST(again.document()["best"] == d["best"]);
  BOOST_TEST(again.document()["trials"]["measured"] == 0);
  BOOST_TEST(again.document()["side_by_side"]["verdict"] == "separated");
  BOOST_TEST(s.lines("runs.log").size() == runs);
  const auto best = s.attune({"best", "s.yaml", "--json"});
  BOOST_TEST(best.out.find("\"x\":1") != std::string::npos, best.told());
  BOOST_TEST(s.attune({"db", "verify"}).exit == 0);
}

BOOST_AUTO_TEST_CASE(a_stated_number_of_repeats_is_run_exactly_so_often) {
  for (const std::string more : {"", "measure: {finalists: 0}\n"}) {
    const scenario s;
    for (int x = 0; x < 4; ++x) values(s, x, {1.0 + x});
    s.write("s.yaml", spec(more.empty() ? "3" : "{min: 3, max: 3, until: 5%}", more));
    BOOST_TEST(s.tune("s.yaml").exit == 0);
    const auto runs = s.lines("runs.log");
    // Beside those of the reference, where an interval is asked for.
    BOOST_TEST(std::count(runs.begin(), runs.end(), "1") == 3);
    if (more.empty()) BOOST_TEST(runs.size() == 12u);
  }
}

BOOST_AUTO_TEST_CASE(slots_have_cores_of_their_own_and_builds_keep_off_them) {
  const auto machine = attune::measure::this_machine();
  const scenario s;
  s.write("s.yaml", "task: t\nparameters: {x: {range: [1, 6]}}\n"
                    "build: {command: \"sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status >>builds.log; "
                    "echo {x} >{artifact}\"}\n"
                    "run: {command: \"sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status >>runs.log; echo {x}\"}\n"
                    "measure: {slots: auto}\nsearch: {strategy: grid}\n");
  const auto e = s.tune("s.yaml");
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  const auto runs = affinities(s.lines("runs.log")), builds = affinities(s.lines("builds.log"));
  if (machine.cores.size() < 2) {
    BOOST_TEST_MESSAGE("skipped: one core cannot be divided");
    return;
  }
  BOOST_TEST(runs.size() <= machine.cores.size() - 1);
  BOOST_TEST(builds.size() == 1u);
  for (const auto& r : runs) BOOST_TEST(!builds.contains(r));
}

BOOST_AUTO_TEST_CASE(more_slots_than_cores_are_said_to_disturb_each_other) {
  const scenario s;
  s.write("s.yaml", "task: t\nparameters: {x: [1, 2]}\nrun: {command: \"echo {x}\"}\nmeasure: {slots: 4000}\n");
  const auto e = s.attune({"tune", "s.yaml", "--slots", "999"});
  BOOST_TEST(e.exit == 0, e.told());
  BOOST_TEST(e.err.find("do not fit") != std::string::npos, e.told());
}
