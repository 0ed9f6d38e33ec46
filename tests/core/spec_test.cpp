#include "core/spec.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune;

BOOST_AUTO_TEST_SUITE(specs)

BOOST_AUTO_TEST_CASE(a_place_is_the_file_and_the_line_where_there_is_one) {
  BOOST_TEST((source_place{"a.yaml", 3, 7}.text()) == "a.yaml:3");
  BOOST_TEST((source_place{"a.yaml", 0, 0}.text()) == "a.yaml");
  BOOST_TEST(source_place{}.text() == "");
}

BOOST_AUTO_TEST_CASE(times_are_stored_in_seconds_and_all_else_as_it_is_written) {
  const std::tuple<std::string, double, std::string> table[]{
      {"s", 1, "s"}, {"ms", 1e3, "s"},        {"us", 1e6, "s"}, {"ns", 1e9, "s"},
      {"", 1, ""},   {"GFLOPS", 1, "GFLOPS"}, {"MS", 1, "MS"}};
  for (const auto& [unit, divisor, stored] : table) {
    metric_spec m;
    m.unit = unit;
    BOOST_TEST(m.divisor() == divisor, unit);
    BOOST_TEST(m.stored_unit() == stored, unit);
  }
}

BOOST_AUTO_TEST_CASE(the_defaults_are_the_contracts) {
  const task_spec t;
  BOOST_TEST(t.search.strategy == "auto");
  BOOST_TEST(t.search.seed == 1u);
  BOOST_TEST(t.measure.accepted_noise() == 0.02);
  BOOST_TEST(t.weight == 1);
  BOOST_TEST(to_string(t.run.metrics.at(t.run.objective).direction) == std::string("minimize"));
  BOOST_TEST(to_string(goal::maximize) == std::string("maximize"));
  BOOST_TEST(t.run.run.empty());
}

BOOST_AUTO_TEST_SUITE_END()
