#include "core/evolution.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune;

namespace {

std::string without(const std::string& shell, const std::vector<std::string>& names) {
  task_spec spec;
  spec.run.run.shell = shell;
  return without_parameters(spec, names).run.run.shell;
}

} // namespace

BOOST_AUTO_TEST_SUITE(evolution)

BOOST_AUTO_TEST_CASE(words_that_mention_a_parameter_go_with_it) {
  BOOST_TEST(without("./run {a} {b}", {"b"}) == "./run {a}");
  BOOST_TEST(without("./run {b} {a}", {"b"}) == "./run {a}");
  BOOST_TEST(without("{b} ./run {a}", {"b"}) == "./run {a}");
  BOOST_TEST(without("cc -DA={a} -DB={b} k.c -o {artifact}", {"b"}) == "cc -DA={a} k.c -o {artifact}");
  BOOST_TEST(without("./run {a} {b*} >> log; echo {b}", {"b"}) == "./run {a} >> log; echo");
  BOOST_TEST(without("./run {a} {b}; echo 1", {"b"}) == "./run {a}; echo 1");
  BOOST_TEST(without("./run '{a} x' \"-D {b} y\" z", {"b"}) == "./run '{a} x' z");
  BOOST_TEST(without("./run $ATTUNE_b \"${ATTUNE_B}\" $ATTUNE_bb", {"b"}) == "./run $ATTUNE_bb");
  BOOST_TEST(without("./run {a} {b} {c}", {"b", "c"}) == "./run {a}");
}

BOOST_AUTO_TEST_CASE(an_option_goes_with_its_value) {
  BOOST_TEST(without("./run {a} --pad {b} -v", {"b"}) == "./run {a} -v");
  BOOST_TEST(without("./run --pad={b} {a}", {"b"}) == "./run {a}");
  // A short option may stand for itself; so may what has a value.
  BOOST_TEST(without("cc -O3 {b} k.c", {"b"}) == "cc -O3 k.c");
  BOOST_TEST(without("./run --x=1 {b}", {"b"}) == "./run --x=1");
  BOOST_TEST(without("./run --x {a} {b}", {"b"}) == "./run --x {a}");
}

BOOST_AUTO_TEST_CASE(what_mentions_others_stays_as_it_is) {
  for (const auto* text : {"./run {a}", "./run {bb} {ab}", "./run ATTUNE_bc xATTUNE_b b", "", "  ./run  {a} "})
    BOOST_TEST(without(text, {"b"}) == text);
}

BOOST_AUTO_TEST_CASE(elements_of_an_argv_go_whole) {
  task_spec spec;
  spec.build.emplace();
  spec.build->run.argv = {"cc", "-DB={b}", "--pad", "{b}", "k c", "{a} {b}", "x"};
  spec.run.check.run.shell = "./check {b} {a}";
  parameter a, b;
  a.name = "a";
  b.name = "b";
  spec.parameters = {a, b};
  const std::vector<std::string> names{"b"};
  const auto out = without_parameters(spec, names);
  BOOST_TEST((out.build->run.argv == std::vector<std::string>{"cc", "k c", "x"}));
  BOOST_TEST(out.run.check.run.shell == "./check {a}");
  BOOST_REQUIRE_EQUAL(out.parameters.size(), 1u);
  BOOST_TEST(out.parameters[0].name == "a");
}

BOOST_AUTO_TEST_SUITE_END()
