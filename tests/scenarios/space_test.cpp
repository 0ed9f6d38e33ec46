#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace attune::testing;

namespace {

std::string space(const std::string& parameters, const std::vector<std::string>& constraints,
                  const std::string& command = "echo 1") {
  std::string out = "task: t\nparameters:\n" + parameters;
  if (!constraints.empty()) out += "constraints:\n";
  for (const auto& c : constraints) out += "  - \"" + c + "\"\n";
  return out + "run: {command: \"" + command + "\"}\n";
}

} // namespace

BOOST_AUTO_TEST_SUITE(spaces)

// A01
BOOST_AUTO_TEST_CASE(a_division_by_zero_makes_a_configuration_invalid) {
  const scenario s;
  const auto spec = s.write(
      "a.yaml", space("  LS: {range: [0, 11]}\n  WPT: {range: [0, 11]}\n", {"12 % LS == 0", "(12 / LS) % WPT == 0"}));
  const auto ran = s.attune({"space", spec, "--count", "--json"});
  BOOST_REQUIRE_MESSAGE(ran.exit == 0, ran.told());
  BOOST_TEST(ran.document()["valid"] == 16);
  BOOST_TEST(!s.store_exists());
}

// A02
BOOST_AUTO_TEST_CASE(every_spelling_of_a_constraint_means_the_same) {
  const scenario s;
  for (const auto* spelling : {"a*2==b", "b==a*2", "a * 2 == b"}) {
    const auto spec = s.write("a.yaml", space("  a: [1, 2, 3]\n  b: [2, 4, 5]\n", {spelling}));
    const auto ran = s.attune({"space", spec, "--list", "--json"});
    BOOST_REQUIRE_MESSAGE(ran.exit == 0, ran.told());
    BOOST_TEST(ran.document()["configurations"] == json::parse(R"([{"a":1,"b":2},{"a":2,"b":4}])"), spelling);
  }
}

// A03
BOOST_AUTO_TEST_CASE(an_unknown_name_in_a_constraint_is_refused_before_anything_is_started) {
  const scenario s;
  const auto spec = s.write("a.yaml", space("  vec: [1, 2, 4]\n", {"n % vec == 0"}, "touch ran; echo 1"));
  const auto ran = s.tune(spec);
  BOOST_TEST(ran.exit == 2, ran.told());
  BOOST_TEST(ran.err.find("unknown name `n`") != std::string::npos, ran.told());
  BOOST_TEST(ran.err.find("n % vec == 0") != std::string::npos, ran.told());
  BOOST_TEST(ran.err.find("a.yaml:5") != std::string::npos, ran.told());
  BOOST_TEST(!s.store_exists());
  BOOST_TEST(s.read("ran").empty());
}

// A04
BOOST_AUTO_TEST_CASE(a_space_of_a_trillion_points_is_tuned_without_being_enumerated) {
  const scenario s;
  std::string parameters, named;
  for (int i = 0; i < 12; ++i) {
    parameters += "  p" + std::to_string(i) + ": {range: [0, 9]}\n";
    named += " {p" + std::to_string(i) + "}";
  }
  const auto spec = s.write("a.yaml", space(parameters, {"p0 % 2 == 0"}, "echo" + named + " >>runs.log; echo 1"));
  const auto counted = s.attune({"space", spec, "--count", "--json"});
  BOOST_TEST(counted.document()["cartesian"] == 1'000'000'000'000);
  BOOST_TEST(counted.document()["valid"] == 500'000'000'000);
  const auto ran = s.tune(spec, {"--strategy", "random", "--trials", "20"});
  BOOST_REQUIRE_MESSAGE(ran.exit == 0, ran.told());
  const auto runs = s.lines("runs.log");
  BOOST_TEST(std::set<std::string>(runs.begin(), runs.end()).size() == 20u);
  BOOST_TEST(runs.size() == 20u);
  for (const auto& r : runs) BOOST_TEST((r[0] - '0') % 2 == 0, r);
}

// SA09
BOOST_AUTO_TEST_CASE(an_empty_flag_adds_no_argument_and_flags_are_compared_as_texts) {
  const scenario s;
  s.write("show", "#!/bin/sh\nfor i; do printf '<%s>' \"$i\"; done >>argv; echo >>argv; echo 1\n", true);
  const auto spec = s.write("a.yaml", R"(task: t
parameters:
  flags: ["", "-O3", '-O2 -march=native -DNAME="a b"']
  extra: [no, "yes"]
constraints:
  - flags != "-O3" or extra == "yes"
run: {command: [./show, "{flags*}", k.c]}
search: {strategy: grid}
)");
  const auto ran = s.tune(spec);
  BOOST_REQUIRE_MESSAGE(ran.exit == 0, ran.told());
  const auto seen = s.lines("argv");
  BOOST_TEST(seen.size() == 5u);
  const std::set<std::string> right{"<k.c>", "<-O3><k.c>", "<-O2><-march=native><-DNAME=a b><k.c>"};
  BOOST_TEST(std::set<std::string>(seen.begin(), seen.end()) == right);
}

// A05
BOOST_AUTO_TEST_CASE(a_key_given_twice_is_refused_naming_both_lines) {
  const scenario s;
  const auto twice = s.write("a.yaml", "task: t\nparameters:\n  block: [16, 32]\n  x: [1]\n  block: [64]\n");
  const auto ran = s.attune({"space", twice, "--count"});
  BOOST_TEST(ran.exit == 2);
  BOOST_TEST(ran.err.find("a.yaml:5:3: 'block' is given twice, first in line 3") != std::string::npos, ran.told());
  const auto top = s.write("b.yaml", "task: t\ntimeout: 5\nparameters: {x: [1]}\ntimeout: 50\n");
  const auto refused = s.tune(top);
  BOOST_TEST(refused.exit == 2);
  BOOST_TEST(refused.err.find("'timeout' is given twice, first in line 2") != std::string::npos, refused.told());
  BOOST_TEST(!s.store_exists());
}

// A06
BOOST_AUTO_TEST_CASE(a_decimal_step_reaches_the_end_of_its_range_exactly) {
  const scenario s;
  const auto spec =
      s.write("a.yaml", space("  alpha: {range: [0.8, 1.0], step: 0.1}\n", {}, "echo {alpha} >> seen; echo 1"));
  const auto ran = s.tune(spec);
  BOOST_REQUIRE_MESSAGE(ran.exit == 0, ran.told());
  auto seen = s.lines("seen");
  std::sort(seen.begin(), seen.end());
  BOOST_TEST((seen == std::vector<std::string>{"0.8", "0.9", "1"}));
}

// A08
BOOST_AUTO_TEST_CASE(a_value_that_looks_like_a_placeholder_is_not_expanded) {
  for (const bool turned : {false, true}) {
    const scenario s;
    const std::string foo = "  foo: ['a,{bar}']\n", bar = "  bar: [baz, quux]\n";
    const auto spec =
        s.write("a.yaml", space(turned ? bar + foo : foo + bar, {}, "echo '{foo} {bar}' >> seen; echo 1"));
    const auto ran = s.tune(spec);
    BOOST_REQUIRE_MESSAGE(ran.exit == 0, ran.told());
    auto seen = s.lines("seen");
    std::sort(seen.begin(), seen.end());
    BOOST_TEST((seen == std::vector<std::string>{"a,{bar} baz", "a,{bar} quux"}));
  }
}

BOOST_AUTO_TEST_CASE(a_configuration_is_found_by_its_number_and_back) {
  const scenario s;
  const auto spec = s.write("a.yaml", space("  a: [1, 2, 3]\n  b: [2, 4, 5]\n", {"a < b"}));
  const auto all = s.attune({"space", spec, "--list", "--json"}).document()["configurations"];
  BOOST_REQUIRE_EQUAL(all.size(), 7u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    BOOST_TEST(s.attune({"space", spec, "--index", std::to_string(i), "--json"}).document()["config"] == all[i]);
    const auto found = s.attune({"space", spec, "--contains", all[i].dump(), "--json"});
    BOOST_TEST(found.exit == 0);
    BOOST_TEST(found.document()["index"] == i);
  }
  BOOST_TEST(s.attune({"space", spec, "--index", "7"}).exit == 2);
  const auto invalid = s.attune({"space", spec, "--contains", R"({"a": 3, "b": 2})", "--json"});
  BOOST_TEST(invalid.exit == 1);
  BOOST_TEST(invalid.document()["contains"] == false);
  BOOST_TEST(s.attune({"space", spec, "--contains", R"({"a": 3, "c": 2})"}).exit == 1);
  BOOST_TEST(s.attune({"space", spec, "--contains", "[1]"}).exit == 2);
  const auto drawn = s.attune({"space", spec, "--sample", "20", "--seed", "7", "--json"});
  BOOST_TEST(drawn.document()["configurations"].size() == 20u);
  BOOST_TEST(drawn.out == s.attune({"space", spec, "--sample", "20", "--seed", "7", "--json"}).out);
}

BOOST_AUTO_TEST_CASE(a_summary_says_what_each_constraint_cuts) {
  const scenario s;
  const auto spec =
      s.write("a.yaml", space("  a: {range: [1, 4]}\n  b: {range: [1, 4]}\n  c: [x, y]\n", {"a + b >= 7"}));
  const auto told = s.attune({"space", spec, "--json"}).document();
  BOOST_TEST(told["valid"] == 6);
  BOOST_TEST(told["domains"][0]["used"] == 2);
  BOOST_REQUIRE(told["constraints"].size() == 1u);
  BOOST_TEST(told["constraints"][0]["expression"] == "a + b >= 7");
  BOOST_TEST(told["constraints"][0]["cuts"] == 13.0 / 16);
  BOOST_TEST(told["constraints"][0]["parameters"] == json::parse(R"(["a", "b"])"));
  BOOST_TEST(told["groups"].size() == 2u);
  BOOST_TEST(told["groups"][0]["valid"] == 3);
  const auto people = s.attune({"space", spec});
  BOOST_TEST(people.exit == 0);
  BOOST_TEST(people.out.find("a + b >= 7  cuts 81 %") != std::string::npos, people.told());
}

BOOST_AUTO_TEST_CASE(a_refused_expression_is_told_in_one_line_and_shown_below_it) {
  const scenario s;
  const auto spec = s.write("a.yaml", space("  vec: [1, 2, 4]\n", {"vec > 1", "n % vec == 0"}));
  const auto ran = s.attune({"space", spec, "--count"});
  BOOST_TEST(ran.exit == 2);
  BOOST_TEST(ran.out.empty());
  BOOST_TEST(ran.err == "attune: " + spec +
                            ":6: constraint 2: `n % vec == 0`, column 1: unknown name `n`; known are vec\n"
                            "  n % vec == 0\n  ^\n");
  const auto in_json = s.attune({"space", spec, "--count", "--json"}).document();
  BOOST_TEST(in_json["error"]["message"] == "constraint 2: `n % vec == 0`, column 1: unknown name `n`; known are vec");
}

BOOST_AUTO_TEST_SUITE_END()
