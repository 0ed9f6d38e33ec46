// Several tasks, one budget.
#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <cstdlib>

using namespace attune::testing;
using namespace std::chrono_literals;

namespace {

constexpr const char* policies[] = {"gradient", "round_robin", "sequential"};

/// Three tasks; the first one's run always exits 1.
std::string with_a_dead_one(const std::string& policy) {
  return "parameters: {x: {range: [1, 50]}}\n"
         "budget: {trials: 30, policy: " +
         policy +
         "}\n"
         "tasks:\n"
         "  - {task: one, run: {command: \"echo one >>runs.log; exit 1\"}}\n"
         "  - {task: two, weight: 3, run: {command: \"echo two >>runs.log; echo {x}\"}}\n"
         "  - {task: three, run: {command: \"echo three >>runs.log; echo $((60 - {x}))\"}}\n";
}

} // namespace

// A25
BOOST_AUTO_TEST_CASE(a_dead_task_leaves_the_budget_to_the_others_under_each_policy) {
  for (const std::string policy : policies) {
    const scenario s;
    s.write("s.yaml", with_a_dead_one(policy));
    const auto e = s.tune("s.yaml");
    BOOST_TEST(e.exit == 4, policy << ": " << e.told());
    const auto runs = s.lines("runs.log");
    BOOST_TEST(runs.size() == 30u, policy);
    BOOST_TEST(std::count(runs.begin(), runs.end(), "one") < 3, policy);
    const auto d = e.document();
    BOOST_TEST(d["tasks"][0]["best"].is_null());
    BOOST_TEST(d["tasks"][0]["failed"] == true);
    BOOST_TEST(d["tasks"][0]["after"].is_null());
    BOOST_TEST(d["tasks"][0]["stopped_because"] == "no_valid");
    BOOST_TEST(d["tasks"][1]["best"].is_object());
    BOOST_TEST(d["tasks"][2]["best"].is_object());
    BOOST_TEST(d["total"]["with_best"] == 2);
    BOOST_TEST(d["total"]["policy"] == policy);
    BOOST_TEST(d["total"]["shared_trials"] == 30);
    // Neither 1e10 nor infinity: in the texts for people neither.
    const auto again = s.attune({"tune", "s.yaml"});
    BOOST_TEST(again.exit == 4, again.told());
    BOOST_TEST(again.out.find("n/a") != std::string::npos, again.told());
    BOOST_TEST(again.out.find("inf") == std::string::npos, again.told());
    BOOST_TEST(again.out.find("nan") == std::string::npos, again.told());
    BOOST_TEST(again.out.find("e+") == std::string::npos, again.told());
    BOOST_TEST(s.lines("runs.log").size() == 30u, "the second time nothing is run");
  }
}

BOOST_AUTO_TEST_CASE(the_total_is_weighted_before_and_after_and_drawn) {
  const scenario s;
  s.write("s.yaml", "parameters: {x: {range: [1, 40], default: 40}}\n"
                    "run: {command: \"echo $(({workload.n} * {x}))\"}\n"
                    "budget: {trials: 80}\n"
                    "tasks:\n"
                    "  - {task: t, weight: 5, workload: {n: 1}}\n"
                    "  - {task: t, weight: 2, workload: {n: 10}}\n");
  const auto e = s.tune("s.yaml", {"--svg", s.path("total.svg")});
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  const auto total = e.document()["total"];
  BOOST_TEST(total["before"] == 5 * 40 + 2 * 400);
  BOOST_TEST(total["after"] == 5 * 1 + 2 * 10);
  BOOST_TEST(total["speedup"] == 40);
  BOOST_TEST(total["relative"] == false);
  BOOST_TEST(total["device_hours"] > 0);
  BOOST_TEST(total["curve"].size() >= 2u);
  BOOST_TEST(total["curve"].back()["total"] == 25);
  BOOST_TEST(e.document()["tasks"][1]["workload"]["n"] == 10);
  BOOST_TEST(e.document()["tasks"][1]["before"] == 400);
  BOOST_TEST(e.document()["tasks"][1]["speedup"] == 40);
  BOOST_TEST(s.read("total.svg").starts_with("<svg"));
}

BOOST_AUTO_TEST_CASE(units_that_cannot_be_added_are_compared_with_the_defaults) {
  const scenario s;
  s.write("s.yaml",
          "parameters: {x: {range: [1, 10], default: 5}}\n"
          "budget: {trials: 20, policy: round_robin}\n"
          "tasks:\n"
          "  - {task: fast, run: {command: \"echo {x}\", metric: {unit: MB}}}\n"
          "  - {task: more, weight: 3, run: {command: \"echo {x}\", metric: {unit: things, goal: maximize}}}\n");
  const auto e = s.tune("s.yaml");
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  const auto total = e.document()["total"];
  BOOST_TEST(total["relative"] == true);
  BOOST_TEST(total["before"] == 4);
  BOOST_TEST(total["after"].get<double>() == 0.2 + 3 * 0.5, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(an_interrupted_model_goes_on_where_it_stood) {
  const scenario s;
  s.write("s.yaml", "parameters: {x: {range: [1, 200]}}\n"
                    "run: {command: \"echo {workload.n} {x} >>runs.log; sleep 0.02; echo {x}\"}\n"
                    "budget: {trials: 60}\n"
                    "tasks: [{task: t, workload: {n: 1}}, {task: t, workload: {n: 2}}, {task: t, workload: {n: 3}}]\n");
  auto p = s.start({"tune", "s.yaml", "--json"});
  BOOST_REQUIRE(p.wait_until([&] { return s.lines("runs.log").size() >= 25; }));
  p.signal(SIGINT);
  const auto first = p.wait();
  BOOST_TEST(first.exit == 130, first.told());
  const auto measured = first.document()["total"]["trials"]["measured"].get<int>();
  const auto second = s.tune("s.yaml");
  BOOST_REQUIRE_MESSAGE(second.exit == 0, second.told());
  BOOST_TEST(second.document()["total"]["shared_trials"] == 60);
  BOOST_TEST(second.document()["total"]["trials"]["measured"] == 60 - measured);
  const auto third = s.tune("s.yaml");
  BOOST_TEST(third.document()["total"]["trials"]["measured"] == 0, third.told());
  BOOST_TEST(third.document()["total"]["trials"]["cached"] == 60, third.told());
  for (int i = 0; i < 3; ++i) BOOST_TEST(third.document()["tasks"][i]["best"] == second.document()["tasks"][i]["best"]);
  // With a larger budget it goes on.
  const auto more = s.tune("s.yaml", {"--trials", "70"});
  BOOST_TEST(more.document()["total"]["trials"]["measured"] == 10, more.told());
}

BOOST_AUTO_TEST_CASE(a_task_begins_with_what_the_ones_before_it_have_found) {
  const scenario s;
  // One valley for both, 40,000 configurations.
  s.write("s.yaml", "parameters: {x: {range: [1, 200]}, y: {range: [1, 200]}}\n"
                    "run: {command: \"echo $(( {workload.n} * (10 + ({x}-131)*({x}-131) + ({y}-57)*({y}-57)) ))\"}\n"
                    "budget: {trials: 64, policy: sequential}\n"
                    "tasks:\n"
                    "  - {task: valley, workload: {n: 2}, search: {trials: 60}}\n"
                    "  - {task: valley, workload: {n: 3}, search: {trials: 4}}\n");
  const auto e = s.tune("s.yaml");
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  const auto d = e.document();
  const double first = d["tasks"][0]["after"].get<double>() / 2, second = d["tasks"][1]["after"].get<double>() / 3;
  BOOST_TEST(d["tasks"][1]["trials"]["proposed"] == 4);
  BOOST_TEST(first < 200, e.told());
  // Within 10 of the valley's bottom: one in 130 of the configurations.
  BOOST_TEST(second < 110, e.told());
}

BOOST_AUTO_TEST_CASE(what_is_given_twice_is_one_task_with_the_sum_of_the_weights) {
  const scenario s;
  s.write("s.yaml", "parameters: {x: {range: [1, 5]}}\nrun: {command: \"echo {x}\"}\nbudget: {trials: 100}\n"
                    "tasks: [{task: a, weight: 2}, {task: b}, {task: a, weight: 3}]\n");
  const auto e = s.tune("s.yaml");
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  BOOST_TEST(e.document()["tasks"].size() == 2u);
  BOOST_TEST(e.document()["tasks"][0]["weight"] == 5);
  BOOST_TEST(e.err.find("weight 5") != std::string::npos, e.told());
}

BOOST_AUTO_TEST_CASE(what_is_known_well_enough_is_left_as_it_is) {
  const scenario s;
  const std::string head =
      "parameters: {x: {range: [1, 30], default: 30}}\nrun: {command: \"echo {x} >>runs.log; echo {x}\"}\n";
  s.write("a.yaml", "task: a\n" + head + "search: {trials: 12}\n");
  BOOST_REQUIRE(s.tune("a.yaml").exit == 0);
  s.write("s.yaml", head + "budget: {trials: 10, sufficient: 12}\ntasks: [{task: a}, {task: b}]\n");
  const auto e = s.tune("s.yaml");
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  BOOST_TEST(e.document()["tasks"][0]["known"] == 12, e.told());
  BOOST_TEST(e.document()["tasks"][0]["trials"]["proposed"] == 0);
  BOOST_TEST(e.document()["tasks"][0]["best"].is_object());
  BOOST_TEST(e.document()["tasks"][1]["trials"]["proposed"] == 10);
  BOOST_TEST(s.lines("runs.log").size() == 22u);
}

BOOST_AUTO_TEST_CASE(nonsense_about_a_budget_is_refused_before_anything_is_written) {
  const std::string one = "task: a\nparameters: {x: [1, 2]}\nrun: {command: \"echo {x}\"}\n";
  const std::string two = "parameters: {x: [1, 2]}\nrun: {command: \"echo {x}\"}\ntasks: [{task: a}, {task: b}]\n";
  const struct {
    std::string spec;
    std::vector<std::string> more;
    std::string says;
  } cases[] = {
      {one + "budget: {trials: 3}\n", {}, "beside 'tasks:'"},
      {two + "budget: {policy: gradient}\n", {}, "neither trials nor time"},
      {two + "budget: {trials: 0}\n", {}, "budget.trials"},
      {two + "budget: {trials: 3, policy: gradiant}\n", {}, "did you mean 'gradient'"},
      {two + "budget: {trials: 3, polcy: gradient}\n", {}, "policy"},
      {two + "budget: {time: 5s, policy: sequential}\n", {}, ""}, // two configurations each: it ends
      {two, {"--policy", "gradient"}, "--trials or --time"},
      {two, {"--policy", "fair", "--trials", "3"}, "unknown policy"},
      {two, {"--svg", "x.svg"}, "--policy"},
      {one, {"--policy", "gradient", "--trials", "3"}, "there is one task"},
  };
  for (const auto& c : cases) {
    const scenario s;
    s.write("s.yaml", c.spec);
    const auto e = s.tune("s.yaml", c.more);
    BOOST_TEST(e.exit == (c.says.empty() ? 0 : 2), c.spec << e.told());
    BOOST_TEST(e.err.find(c.says) != std::string::npos, c.spec << e.told());
    if (!c.says.empty()) BOOST_TEST(!s.store_exists(), c.spec);
  }
}

BOOST_AUTO_TEST_CASE(the_command_line_gives_a_budget_to_several_files) {
  const scenario s;
  for (const std::string name : {"a", "b"})
    s.write(name + ".yaml", "task: " + name + "\nparameters: {x: {range: [1, 50]}}\nrun: {command: \"echo {x}\"}\n");
  const auto e = s.attune({"tune", "a.yaml", "b.yaml", "--policy", "round_robin", "--trials", "15", "--json"});
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  BOOST_TEST(e.document()["tasks"][0]["trials"]["proposed"] == 8);
  BOOST_TEST(e.document()["tasks"][1]["trials"]["proposed"] == 7);
  const auto plan =
      s.attune({"tune", "a.yaml", "b.yaml", "--policy", "gradient", "--time", "5m", "--dry-run", "--json"});
  BOOST_TEST(plan.document()["budget"]["policy"] == "gradient", plan.told());
  BOOST_TEST(plan.document()["budget"]["time_s"] == 300, plan.told());
}
