#include "core/random.hpp"
#include "measure/substitution.hpp"
#include "tests/per_element.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace attune;
using namespace attune::measure;

namespace {

using texts = std::vector<std::string>;

substitution names(arguments config) {
  task_spec spec;
  spec.directory = "/spec";
  spec.workload = {{"m", 512}};
  spec.target = {{"flags", "-O2"}};
  return {spec, configuration(config), "/trial/artifact", "/trial"};
}

std::string expanded(const std::string& text, arguments config = {{"x", 1}, {"tile_m", 32}}) {
  auto out = names(std::move(config)).expand(text);
  return out ? *out : "error: " + out.err().message;
}

texts line(command what, arguments config) {
  auto out = names(std::move(config)).command_line(what);
  return out ? *out : texts{"error: " + out.err().message};
}

} // namespace

BOOST_AUTO_TEST_CASE(every_name_is_replaced_once) {
  BOOST_TEST(expanded("a {x} b{tile_m}c") == "a 1 b32c");
  BOOST_TEST(expanded("{artifact} {workdir} {specdir} {workload.m} {target.flags}") ==
             "/trial/artifact /trial /spec 512 -O2");
}

BOOST_AUTO_TEST_CASE(values_that_look_like_names_stay_as_they_are) { // A08
  arguments config{{"foo", "a,{bar}"}, {"bar", "quux"}};
  BOOST_TEST(expanded("echo {foo} {bar}", config) == "echo a,{bar} quux");
  std::reverse(config.begin(), config.end());
  BOOST_TEST(expanded("echo {foo} {bar}", config) == "echo a,{bar} quux");
  BOOST_TEST(expanded("{x}", {{"x", "{{"}}) == "{{");
  BOOST_TEST(expanded("{x}{y}", {{"x", "{"}, {"y", "x}"}}) == "{x}");
}

BOOST_AUTO_TEST_CASE(a_doubled_brace_is_a_brace) {
  BOOST_TEST(expanded("awk '{{print $1}'") == "awk '{print $1}'");
  BOOST_TEST(expanded("{{x}") == "{x}");
  BOOST_TEST(expanded("{{{x}}") == "{1}");
  BOOST_TEST(expanded("{{{{") == "{{");
}

BOOST_AUTO_TEST_CASE(braces_that_begin_no_name_stand_for_themselves) {
  for (const char* text : {"{ echo 1; }", "{}", "{1..3}", "{a,b}", "{\"a\": 1}", "}", "a{", "{print $1}", "${1}"})
    BOOST_TEST(expanded(text) == text);
}

BOOST_AUTO_TEST_CASE(a_name_that_is_none_is_an_error_with_its_remedy) {
  BOOST_TEST(expanded("{tile_n}") == "error: '{tile_n}' names nothing; did you mean {tile_m}? (write {{ for a brace)");
  BOOST_TEST(expanded("{ x }") == "error: '{ x }': write {x} for the value, {{ for a brace");
  BOOST_TEST(expanded("{x").starts_with("error: '{x' is not closed"));
  BOOST_TEST(expanded("{workload.n}").starts_with("error: '{workload.n}' names nothing"));
}

BOOST_AUTO_TEST_CASE(a_string_command_goes_to_the_shell_as_it_is) {
  BOOST_TEST(line({"cc {f} {f*} x", {}}, {{"f", "-a -b"}}) == (texts{"/bin/sh", "-c", "cc -a -b -a -b x"}),
             per_element);
}

BOOST_AUTO_TEST_CASE(a_list_command_keeps_each_element_one_argument) { // SA09
  command what{{}, {"cc", "-D{f}", "{f}", "{f*}"}};
  BOOST_TEST(line(what, {{"f", ""}}) == (texts{"cc", "-D", ""}), per_element);
  BOOST_TEST(line(what, {{"f", "-O3"}}) == (texts{"cc", "-D-O3", "-O3", "-O3"}), per_element);
  std::string all = "-O2 -march=native -DNAME=\"a b\"";
  BOOST_TEST(line(what, {{"f", all}}) == (texts{"cc", "-D" + all, all, "-O2", "-march=native", "-DNAME=a b"}),
             per_element);
  BOOST_TEST(line({{}, {"cc", "a{f*}"}}, {{"f", "b"}})[0].starts_with("error: 'a{f*}'"));
  BOOST_TEST(line({{}, {"{f*}"}}, {{"f", ""}})[0] == "error: the command's program is an empty text");
}

BOOST_AUTO_TEST_CASE(words_are_split_as_a_shell_does) {
  auto split = [](std::string_view text) {
    auto out = split_words(text);
    return out ? *out : texts{"error: " + out.err().message};
  };
  BOOST_TEST(split("  a\tb\nc ") == (texts{"a", "b", "c"}), per_element);
  BOOST_TEST(split("'a b'c \"d 'e\" f\\ g \\\"") == (texts{"a bc", "d 'e", "f g", "\""}), per_element);
  BOOST_TEST(split("\"\" ''") == (texts{"", ""}), per_element);
  BOOST_TEST(split("\"a\\\"b\\n\"") == (texts{"a\"b\\n"}), per_element);
  BOOST_TEST(split("").empty());
  BOOST_TEST(split("'a")[0].starts_with("error:"));
  BOOST_TEST(split("\"a")[0].starts_with("error:"));
  BOOST_TEST(split("a\\")[0].starts_with("error:"));
}

BOOST_AUTO_TEST_CASE(the_environment_has_every_value_in_both_spellings) {
  auto env = names({{"tile_m", 32}, {"N", 4}, {"n", 5}, {"gone", value{}}, {"trial", 1}}).environment();
  auto has = [&](const char* entry) { return std::count(env.begin(), env.end(), entry) == 1; };
  BOOST_TEST(has("ATTUNE_tile_m=32"));
  BOOST_TEST(has("ATTUNE_TILE_M=32"));
  BOOST_TEST(has("ATTUNE_N=4")); // as written; the upper case of `n` does not take its place
  BOOST_TEST(has("ATTUNE_n=5"));
  BOOST_TEST(!has("ATTUNE_N=5"));
  BOOST_TEST(has("ATTUNE_gone="));
  BOOST_TEST(has("ATTUNE_workload_m=512"));
  BOOST_TEST(has("ATTUNE_WORKLOAD_M=512"));
  BOOST_TEST(has("ATTUNE_TARGET_FLAGS=-O2"));
  BOOST_TEST(has("ATTUNE_ARTIFACT=/trial/artifact"));
  BOOST_TEST(has("ATTUNE_WORKDIR=/trial"));
  BOOST_TEST(has("ATTUNE_SPECDIR=/spec"));
  BOOST_TEST(has("ATTUNE_trial=1"));
  BOOST_TEST(!has("ATTUNE_TRIAL=1")); // the mark's
}

BOOST_AUTO_TEST_CASE(a_build_without_a_private_place_is_in_place) {
  task_spec spec;
  BOOST_TEST(!builds_in_place(spec));
  spec.build.emplace();
  spec.build->run.shell = "make -DX={x}";
  BOOST_TEST(builds_in_place(spec));
  spec.build->run.shell = "cc -o {{artifact}";
  BOOST_TEST(builds_in_place(spec));
  spec.build->run.shell = "cc -o {artifact}";
  BOOST_TEST(!builds_in_place(spec));
  spec.build->run = {{}, {"cc", "-o", "{workdir}/x"}};
  BOOST_TEST(!builds_in_place(spec));
  spec.build->run = {"make", {}};
  spec.build->cwd = working_directory::workdir;
  BOOST_TEST(!builds_in_place(spec));
}

BOOST_AUTO_TEST_CASE(any_text_is_expanded_or_refused) {
  random_engine random(3);
  BOOST_TEST_MESSAGE("seed 3");
  const std::string_view letters = "{}x*. ab-{}";
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (auto n = random.below(10); n > 0; --n) text += letters[random.below(letters.size())];
    auto out = names({{"x", "{x}"}}).expand(text);
    BOOST_REQUIRE(out || !out.err().message.empty());
    if (text.find('{') == std::string::npos) BOOST_REQUIRE(out && *out == text);
  }
}
