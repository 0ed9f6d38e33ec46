// What similar tasks have shown.
#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune::testing;

namespace {

/// The same valley for every size of the workload, twice as high for twice the size: 40,000 configurations.
void write_spec(const scenario& s, const std::string& file, int n, const std::string& task = "valley") {
  s.write(file, "task: " + task + "\nworkload: {n: " + std::to_string(n) +
                    "}\nparameters: {x: {range: [1, 200]}, y: {range: [1, 200]}}\n"
                    "run: {command: \"echo $(( {workload.n} * (10 + ({x}-131)*({x}-131) + ({y}-57)*({y}-57)) ))\"}\n");
}

double best_of(const ended& e) { return e.document()["best"]["value"].get<double>(); }

} // namespace

BOOST_AUTO_TEST_CASE(a_task_begins_with_what_was_best_for_a_similar_one) {
  const scenario s;
  write_spec(s, "small.yaml", 2);
  const auto small = s.tune("small.yaml", {"--trials", "80"});
  BOOST_REQUIRE_MESSAGE(small.exit == 0, small.told());
  BOOST_REQUIRE(best_of(small) < 2 * 100);
  write_spec(s, "large.yaml", 3);
  const auto large = s.tune("large.yaml", {"--trials", "4"});
  BOOST_REQUIRE_MESSAGE(large.exit == 0, large.told());
  BOOST_TEST(best_of(large) / 3 <= best_of(small) / 2);
  // Played back with the same experience, whatever the store has learned in the meantime: nothing is measured.
  const auto again = s.tune("large.yaml", {"--trials", "4"});
  BOOST_TEST(again.document()["trials"]["measured"] == 0);
  const auto on = s.tune("large.yaml", {"--trials", "8"});
  BOOST_TEST(on.document()["trials"]["measured"] == 4);
  BOOST_TEST(s.history("large.yaml").size() == 8u);
  // Another kernel with parameters of the same names is not asked.
  write_spec(s, "other.yaml", 2, "hill");
  const auto other = s.tune("other.yaml", {"--trials", "4"});
  BOOST_TEST(best_of(other) > best_of(small));
}
