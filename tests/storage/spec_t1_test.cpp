#include "core/text.hpp"
#include "storage/spec_reader.hpp"
#include "tests/shared_data.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <filesystem>

using namespace attune;
using namespace attune::storage;

namespace {

std::string t1(const std::string& parameters, const std::string& conditions = "[]", const std::string& more = "") {
  return "{\"General\": {\"BenchmarkName\": \"b\"},\n \"ConfigurationSpace\": {\"TuningParameters\": [" + parameters +
         "],\n  \"Conditions\": " + conditions + "}" + more + "}";
}

result<std::vector<task_spec>> read(const std::string& text) { return read_spec_text(text, "b.json", "/d"); }

task_spec good_t1(const std::string& text) {
  auto tasks = read(text);
  BOOST_REQUIRE_MESSAGE(tasks.ok(), (tasks.ok() ? "" : tasks.err().text()));
  return (*tasks)[0];
}

std::string t1_refusal(const std::string& text) {
  const auto tasks = read(text);
  BOOST_REQUIRE(!tasks.ok());
  return tasks.err().text();
}

const std::string x = R"({"Name": "x", "Type": "int", "Values": "[1, 2]"})";

} // namespace

BOOST_AUTO_TEST_SUITE(spec_t1)

BOOST_AUTO_TEST_CASE(reads_plain_lists_and_hands_expressions_over) {
  const auto t = good_t1(t1(R"({"Name": "x", "Type": "int", "Values": "[1, 2, 4]", "Default": 2},
    {"Name": "y", "Type": "int", "Values": "[2**i for i in range(3)] + [9]", "Default": 4},
    {"Name": "z", "Type": "string", "Values": "[\"a\", \"b\"]"},
    {"Name": "w", "Type": "string", "Values": "['a', 'b']"})",
                            R"([{"Expression": "x % y == 0", "Parameters": ["x", "y"]}])"));
  BOOST_TEST(t.name == "b");
  BOOST_REQUIRE_EQUAL(t.parameters.size(), 4u);
  BOOST_TEST((std::get<value_list>(t.parameters[0].domain).values == std::vector<value>{1, 2, 4}));
  BOOST_TEST((t.parameters[0].standard == value(2)));
  BOOST_TEST(std::get<value_expression>(t.parameters[1].domain).text == "[2**i for i in range(3)] + [9]");
  BOOST_TEST((t.parameters[1].standard == value(4)));
  BOOST_TEST((std::get<value_list>(t.parameters[2].domain).values == std::vector<value>{"a", "b"}));
  BOOST_TEST(std::get<value_expression>(t.parameters[3].domain).text == "['a', 'b']");
  BOOST_REQUIRE_EQUAL(t.constraints.size(), 1u);
  BOOST_TEST(t.constraints[0].expression == "x % y == 0");
  BOOST_TEST(t.constraints[0].place.text() == "b.json:6");
  BOOST_TEST(t.warnings.empty());
  BOOST_TEST(t.run.run.empty());
}

BOOST_AUTO_TEST_CASE(is_lenient_where_the_field_is_and_says_so) {
  const auto t = good_t1(t1(R"({"Name": "x", "Type": "int", "Values": [1, 2.5, 1], "Default": 7})", R"(["x > 1"])",
                            R"(, "Budget": {"Type": "ConfigurationCount", "BudgetValue": 40})"));
  BOOST_TEST((std::get<value_list>(t.parameters[0].domain).values == std::vector<value>{1, 2.5}));
  BOOST_TEST(!t.parameters[0].standard.has_value());
  BOOST_TEST(t.constraints[0].expression == "x > 1");
  BOOST_TEST((t.search.trials == 40u));
  const std::vector<std::string> expected{
      "b.json:2: Values of x is a JSON array where T1 wants a string; taken as it is",
      "b.json:2: parameter x lists 1 twice; the second is left out",
      "b.json:2: Type of x is int, but 2.5 is no integer; the values are taken as they are",
      "b.json:2: Default 7 of x is not among its values; it is left out",
      "b.json:3: a condition is a plain string where T1 wants an object with Expression; taken as it is",
      "b.json:3: Budget is an object where T1 wants an array; taken as its only entry",
  };
  BOOST_TEST(t.warnings == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(reads_budgets_and_units) {
  const auto t = good_t1("{\"General\": {\"BenchmarkName\": \"b\", \"TimeUnit\": \"Microseconds\"}, "
                         "\"ConfigurationSpace\": {\"TuningParameters\": [" +
                         x +
                         R"(]}, "Budget": [{"Type": "TuningDuration", "BudgetValue": 90.5},
                         {"Type": "ConfigurationFraction", "BudgetValue": 0.005}]})");
  BOOST_TEST((t.search.time == std::chrono::milliseconds(90500)));
  BOOST_TEST((t.search.fraction == 0.005));
  BOOST_TEST(t.run.metrics[0].unit == "us");
  BOOST_TEST(t1_refusal(t1(x, "[]", R"(, "Budget": [{"Type": "ConfigurationFraction", "BudgetValue": 2.0}])")) ==
             "b.json:3: BudgetValue must be a number above 0 and up to 1, or a percentage, not 2.0");
  BOOST_TEST(t1_refusal(t1(x, "[]", R"(, "Budget": [{"Type": "TuningDuration", "BudgetValue": -1}])")) ==
             "b.json:3: BudgetValue must be a number of seconds above 0, not -1");
  BOOST_TEST(good_t1(t1(x, "[]", R"(, "Budget": [{"Type": "Energy", "BudgetValue": 1}])")).warnings[0] ==
             "b.json:3: Budget of the type 'Energy' is not known; it is left out");
}

BOOST_AUTO_TEST_CASE(refuses_what_cannot_be_meant) {
  BOOST_TEST(t1_refusal(t1("")) == "b.json:2: TuningParameters must be an array with at least one parameter");
  BOOST_TEST(t1_refusal(t1("5")) == "b.json:2: an entry of TuningParameters must be an object, not the number 5");
  BOOST_TEST(t1_refusal(t1(R"({"Name": "x", "Type": "int"})")) ==
             "b.json:2: TuningParameters has no 'Values', which it needs");
  BOOST_TEST(t1_refusal(t1(R"({"Name": "x", "Values": "[1]", "Valeus": 3})")) ==
             "b.json:2: unknown key 'Valeus' in TuningParameters; did you mean 'Values'?");
  BOOST_TEST(t1_refusal(t1(R"({"Name": "x y", "Values": "[1]"})")) ==
             "b.json:2: Name 'x y' is no name: letters, digits and _, no digit first");
  BOOST_TEST(t1_refusal(t1(x, "{}")) == "b.json:3: Conditions must be an array, not a map");
  BOOST_TEST(t1_refusal("{\"ConfigurationSpace\": 1}") ==
             "b.json:1: ConfigurationSpace must be a map of keys, not the number 1");
  BOOST_TEST(t1_refusal("{\"General\": {}, \"ConfigurationSpace\": {\"TuningParameters\": [" + x + ", " + x + "]}")
                 .starts_with("b.json:1: is not JSON: "));
}

BOOST_AUTO_TEST_CASE(reads_every_shared_file) {
  const auto folder = testing::shared_data("spaces");
  if (!folder) return;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
    const auto tasks = read_spec(entry.path().string());
    BOOST_REQUIRE_MESSAGE(tasks.ok(), (tasks.ok() ? "" : tasks.err().text()));
    BOOST_TEST((*tasks)[0].parameters.size() >= 4u);
    BOOST_TEST(!(*tasks)[0].name.empty());
    for (const auto& warning : (*tasks)[0].warnings) BOOST_TEST_MESSAGE(warning);
    ++files;
  }
  BOOST_TEST(files == 15u);
  const auto hotspot = read_spec(*folder + "/hotspot_milo.json");
  BOOST_REQUIRE(hotspot.ok());
  const auto& t = (*hotspot)[0];
  BOOST_TEST((t.name == "hotspot" && t.parameters.size() == 10 && t.constraints.size() == 4));
  BOOST_TEST(t.parameters[2].name == "block_size_x");
  BOOST_TEST((t.parameters[2].standard == value(256)));
  BOOST_TEST(std::get<value_expression>(t.parameters[2].domain).text ==
             "[1, 2, 4, 8, 16] + list(range(32, 1024+1, 32))");
  BOOST_REQUIRE_EQUAL(t.warnings.size(), 1u);
  BOOST_TEST(t.warnings[0].find("Default 1 of max_tfactor is not among its values") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
