#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>

using namespace attune::testing;

namespace {

/// A bowl with its least value 1 at x = 11, y = 4.
std::string spec_text(const std::string& workload) {
  return "task: bowl\nworkload: {n: " + workload +
         "}\nparameters: {x: {range: [0, 15]}, y: {range: [0, 15]}}\nrun:\n"
         "  command: \"echo $(( ({x}-11)*({x}-11) + ({y}-4)*({y}-4) + 1 ))\"\n  repeats: 1\n  warmup: 0\n"
         "search: {strategy: random, trials: 60}\n";
}

double distance(const json& config) {
  return std::hypot(config["x"].get<double>() - 11, config["y"].get<double>() - 4);
}

} // namespace

BOOST_AUTO_TEST_SUITE(offline)

BOOST_AUTO_TEST_CASE(predictions_come_from_the_store_alone_and_are_never_called_measured) {
  const scenario s;
  const auto spec = s.write("a.yaml", spec_text("64"));
  const auto nothing = s.attune({"tune", spec, "--offline", "--json"});
  BOOST_TEST(nothing.exit == 1, nothing.told());
  BOOST_TEST(nothing.document()["predicted"].is_null());
  BOOST_TEST(nothing.err.find("nothing can be predicted") != std::string::npos);

  BOOST_REQUIRE(s.tune(spec).exit == 0);
  const auto before = s.history(spec).size();
  const auto got = s.attune({"tune", spec, "--offline", "--json"});
  BOOST_REQUIRE_MESSAGE(got.exit == 0, got.told());
  const auto answer = got.document();
  BOOST_TEST(answer["best"].is_null());
  BOOST_TEST(answer["trials"]["measured"] == 0);
  BOOST_TEST(answer["learned_from"]["records"] == 60);
  BOOST_TEST(answer["predicted"]["measured"] == false);
  BOOST_TEST(!answer["predicted"].contains("samples"));
  BOOST_TEST(distance(answer["predicted"]["config"]) < 4.0);
  BOOST_TEST(answer["predicted"]["value"].get<double>() < 40.0);
  BOOST_TEST(s.history(spec).size() == before);
  BOOST_TEST((s.attune({"tune", spec, "--offline", "--json"}).document()["predicted"] == answer["predicted"]));
  BOOST_TEST(s.attune({"tune", spec, "--offline"}).out.find("predicted, not measured") != std::string::npos);

  // A task of which nothing is known, but one that is like it: where, not how much.
  const auto other = s.write("b.yaml", spec_text("96"));
  const auto foreign = s.attune({"tune", other, "--offline", "--json"});
  BOOST_REQUIRE_MESSAGE(foreign.exit == 0, foreign.told());
  BOOST_TEST(foreign.document()["learned_from"]["records"] == 0);
  BOOST_TEST(foreign.document()["learned_from"]["similar_tasks"] == 1);
  BOOST_TEST(foreign.document()["predicted"]["value"].is_null());
  BOOST_TEST(distance(foreign.document()["predicted"]["config"]) < 4.0);
  BOOST_TEST(s.attune({"best", other}).exit == 1);
}

BOOST_AUTO_TEST_SUITE_END()
