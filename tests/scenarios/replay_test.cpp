#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>

using namespace attune::testing;

namespace {

/// 100 configurations of the times 1 to 100 in a mixed order; every `fails`-th one failed where that is not 0.
std::string recorded(int fails = 0, const std::string& word = "RuntimeFailedConfig") {
  std::string entries, values;
  for (int x = 0; x < 100; ++x) {
    const int time = x * 37 % 100 + 1;
    const bool failed = fails != 0 && x % fails == 0;
    entries += (x == 0 ? "\"" : ",\"") + std::to_string(x) + "\": {\"x\": " + std::to_string(x) +
               ", \"time\": " + (failed ? "\"" + word + "\"" : std::to_string(time)) + ", \"compile_time\": 1000}";
    values += (x == 0 ? "" : ",") + std::to_string(x);
  }
  return R"({"kernel_name": "k", "tune_params_keys": ["x"], "tune_params": {"x": [)" + values + R"(]}, "cache": {)" +
         entries + "}}";
}

/// The best of the first `trials` in the order of the grid.
int grid_best(int trials) {
  int best = 1000;
  for (int x = 0; x < trials; ++x) best = std::min(best, x * 37 % 100 + 1);
  return best;
}

} // namespace

BOOST_AUTO_TEST_SUITE(replays)

BOOST_AUTO_TEST_CASE(random_is_exact_and_the_score_is_the_contracts) {
  const scenario s;
  const auto file = s.write("space.json", recorded());
  const auto ran = s.attune({"replay", file, "--strategy", "grid,random", "--trials", "50", "--seeds", "4", "--json"});
  BOOST_REQUIRE_MESSAGE(ran.exit == 0, ran.told());
  const auto j = ran.document();
  BOOST_TEST(j["space"] == "space.json");
  BOOST_TEST(j["configs"] == 100);
  BOOST_TEST(j["valid"] == 100);
  BOOST_TEST(j["optimum"] == 1);
  // The mean of the least of t out of 1 to n is (n + 1) / (t + 1).
  BOOST_REQUIRE(j["random"].size() == 2u);
  BOOST_TEST(std::abs(j["random"]["25"].get<double>() - 101.0 / 26) < 1e-9);
  BOOST_TEST(std::abs(j["random"]["50"].get<double>() - 101.0 / 51) < 1e-9);
  BOOST_REQUIRE(j["strategies"].size() == 2u);
  const auto& grid = j["strategies"][0];
  BOOST_TEST(grid["name"] == "grid");
  BOOST_TEST(grid["seeds"] == 4);
  BOOST_TEST(grid["best_over_optimum"]["25"] == grid_best(25));
  BOOST_TEST(grid["best_over_optimum"]["50"] == grid_best(50));
  double score = 0;
  for (int t = 20; t <= 50; ++t) {
    const double random = 101.0 / (t + 1);
    score += (random - grid_best(t)) / (random - 1) / 31;
  }
  BOOST_TEST(std::abs(grid["score"].get<double>() - score) < 1e-9);
  BOOST_TEST(grid["overhead_us_per_trial"].get<double>() > 0);
  BOOST_TEST(!s.store_exists());
}

BOOST_AUTO_TEST_CASE(failures_count_as_trials_and_a_rate_is_maximised) {
  const scenario s;
  const auto failing =
      s.attune({"replay", s.write("f.json", recorded(4)), "--trials", "100", "--seeds", "2", "--json"});
  BOOST_REQUIRE_MESSAGE(failing.exit == 0, failing.told());
  const auto document = failing.document();
  BOOST_TEST(document["valid"] == 75);
  const auto& of = document["strategies"][0];
  BOOST_TEST(of["name"] == "auto");
  BOOST_TEST(of["best_over_optimum"]["100"] == 1);
  const auto rate =
      s.write("r.json", R"({"objective": "GFLOP/s", "tune_params_keys": ["x"], "tune_params": {"x": [1, 2]},
    "cache": {"1": {"x": 1, "GFLOP/s": 5}, "2": {"x": 2, "GFLOP/s": 20}}})");
  const auto ran = s.attune({"replay", rate, "--strategy", "grid", "--trials", "1", "--seeds", "1", "--json"});
  BOOST_REQUIRE_MESSAGE(ran.exit == 0, ran.told());
  BOOST_TEST(ran.document()["optimum"] == 20);
  BOOST_TEST(ran.document()["strategies"][0]["best_over_optimum"]["1"] == 4);
}

BOOST_AUTO_TEST_CASE(the_same_seeds_give_the_same_document_however_many_processors) {
  const scenario s;
  const auto file = s.write("space.json", recorded(7));
  const auto play = [&](const std::string& workers) {
    auto j = s.attune({"replay", file, "--strategy", "auto,genetic,local", "--trials", "40", "--seeds", "6",
                       "--workers", workers, "--json"})
                 .document();
    for (auto& of : j["strategies"]) of.erase("overhead_us_per_trial");
    return j;
  };
  const auto one = play("1"), eight = play("8");
  BOOST_TEST(one == play("1"));
  BOOST_TEST(eight == play("8"));
  BOOST_TEST(one["strategies"] != eight["strategies"]);
}

BOOST_AUTO_TEST_CASE(curves_are_drawn) {
  const scenario s;
  const auto file = s.write("a&b.json", recorded(5));
  const auto ran = s.attune(
      {"replay", file, "--strategy", "random,grid", "--trials", "30", "--seeds", "3", "--svg", s.path("curves.svg")});
  BOOST_REQUIRE_MESSAGE(ran.exit == 0, ran.told());
  const auto svg = s.read("curves.svg");
  BOOST_TEST(svg.rfind("<svg ", 0) == 0u);
  BOOST_TEST(svg.find("a&amp;b.json") != std::string::npos);
  std::size_t curves = 0;
  for (auto at = svg.find("<polyline"); at != std::string::npos; at = svg.find("<polyline", at + 1)) ++curves;
  BOOST_TEST(curves == 3u); // two strategies, and random as it is expected
  BOOST_TEST(svg.find("nan") == std::string::npos);
  const auto nowhere = s.attune({"replay", file, "--trials", "5", "--seeds", "1", "--svg", s.path("none/x.svg")});
  BOOST_TEST(nowhere.exit == 2, nowhere.told());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_played_is_refused) {
  const scenario s;
  const auto good = s.write("good.json", recorded());
  const std::vector<std::vector<std::string>> wrong{
      {"replay", s.path("missing.json")},
      {"replay", s.write("rubbish", "\x1f\x8b not gzip")},
      {"replay", s.write("empty", "")},
      {"replay", s.write("spec.yaml", "task: t\n")},
      {"replay", s.write("other.json", "{\"a\": 1}")},
      {"replay", good, "--strategy", "anealing"},
      {"replay", good, "--trials", "0"},
      {"replay", good, "--workers", "0"},
      {"replay"},
  };
  for (const auto& line : wrong) {
    const auto ran = s.attune(line);
    BOOST_TEST(ran.exit == 2, ran.told());
    BOOST_TEST(ran.out.empty(), ran.told());
    BOOST_TEST(!ran.err.empty());
  }
  const auto none = s.attune({"replay", s.write("none.json", recorded(1)), "--json"});
  BOOST_TEST(none.exit == 1, none.told());
}

BOOST_AUTO_TEST_CASE(a_task_that_was_tuned_can_be_replayed_from_its_history) {
  const scenario s;
  const auto spec = s.write("t.yaml", "task: t\nparameters:\n  x: {range: [1, 6]}\n  opt: [a, b]\n"
                                      "run: {command: \"test {x} -ne 3 && echo $((x + 1))\"}\n");
  const auto tuned = s.tune(spec, {"--trials", "12", "--strategy", "grid"});
  BOOST_REQUIRE_MESSAGE(tuned.exit == 0, tuned.told());
  const auto history = s.attune({"history", spec, "--json"});
  BOOST_REQUIRE_MESSAGE(history.exit == 0, history.told());
  std::string lines;
  const auto document = history.document();
  for (const auto& r : document["records"]) lines += r.dump() + "\n";
  for (const auto& file : {s.write("h.json", history.out), s.write("h.jsonl", lines)}) {
    const auto ran = s.attune({"replay", file, "--strategy", "random", "--trials", "12", "--seeds", "2", "--json"});
    BOOST_REQUIRE_MESSAGE(ran.exit == 0, ran.told());
    BOOST_TEST(ran.document()["configs"] == 12);
    BOOST_TEST(ran.document()["valid"] == 10);
    BOOST_TEST(ran.document()["strategies"][0]["best_over_optimum"]["12"] == 1);
  }
}

BOOST_AUTO_TEST_SUITE_END()
