#include "core/target.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune;

BOOST_AUTO_TEST_SUITE(targets)

BOOST_AUTO_TEST_CASE(the_canonical_forms_never_change) {
  const workload w{"gemm", {{"N", 1024}, {"M", 1024}, {"dtype", "float32"}, {"alpha", 1.5}}};
  BOOST_TEST(w.canonical() == "workload/1:4:gemm4{1:Mi1024;1:Ni1024;5:alphad3ff80000000000005:dtypes7:float32}");
  const target t{{{"device", "board-7"}, {"flags", "-O2"}, {"cores", 4}}};
  BOOST_TEST(t.canonical() == "target/1:3{5:coresi4;6:devices7:board-75:flagss3:-O2}");
}

BOOST_AUTO_TEST_CASE(the_order_of_arguments_and_facts_makes_no_difference) {
  BOOST_TEST((workload{"w", {{"a", 1}, {"b", 2}}}.canonical()) == (workload{"w", {{"b", 2}, {"a", 1}}}.canonical()));
  BOOST_TEST((target{{{"a", 1}, {"b", 2}}}.canonical()) == (target{{{"b", 2}, {"a", 1}}}.canonical()));
}

BOOST_AUTO_TEST_CASE(the_name_and_the_type_of_an_argument_are_identity) {
  BOOST_TEST((workload{"w", {{"a", 1}}}.canonical()) != (workload{"v", {{"a", 1}}}.canonical()));
  BOOST_TEST((workload{"w", {{"a", 1}}}.canonical()) != (workload{"w", {{"a", 1.0}}}.canonical()));
  BOOST_TEST((workload{"w", {{"a", 1}}}.canonical()) != (workload{"w", {{"a", "1"}}}.canonical()));
  BOOST_TEST((workload{"w", {{"a", 1}}}.canonical()) != (workload{"w", {{"a", true}}}.canonical()));
}

BOOST_AUTO_TEST_CASE(a_target_without_a_device_is_local) {
  BOOST_TEST(target{}.device() == "local");
  BOOST_TEST((target{{{"device", "gpu0"}}}.device()) == "gpu0");
}

BOOST_AUTO_TEST_CASE(the_text_shows_the_facts_as_given) {
  BOOST_TEST((target{{{"device", "local"}, {"cpu", "Some CPU"}}}.text()) == R"(device=local cpu="Some CPU")");
}

BOOST_AUTO_TEST_CASE(this_machine_is_known_by_five_facts) {
  const auto& facts = machine_fingerprint();
  BOOST_REQUIRE(facts.size() == 5u);
  const char* names[]{"cpu", "isa", "cores", "compiler", "kernel"};
  for (std::size_t i = 0; i < 5; ++i) BOOST_TEST(facts[i].first == names[i]);
  for (const char* name : {"cpu", "isa", "kernel"}) BOOST_TEST(!find(facts, name)->as_text().empty(), name);
  BOOST_TEST(find(facts, "cores")->as_integer() >= 1);
  const auto& compiler = find(facts, "compiler")->as_text(); // may be empty, where there is none; never two lines
  BOOST_TEST((compiler.find('\n') == std::string::npos));
  BOOST_TEST(&machine_fingerprint() == &facts);
}

BOOST_AUTO_TEST_CASE(what_the_spec_writes_goes_before_what_the_machine_says) {
  const auto t = local_target({{"cpu", "mine"}, {"flags", "-O2"}});
  BOOST_TEST(t.facts.size() == 7u); // device, cpu, flags, and four facts of the machine
  BOOST_TEST(t.device() == "local");
  BOOST_TEST(find(t.facts, "cpu")->as_text() == "mine");
  BOOST_TEST(find(t.facts, "flags")->as_text() == "-O2");
  BOOST_TEST((*find(t.facts, "kernel") == *find(machine_fingerprint(), "kernel")));
  BOOST_TEST(local_target({{"device", "board"}}).device() == "board");
  BOOST_TEST(local_target({{"device", "board"}}).facts.size() == 6u);
}

BOOST_AUTO_TEST_SUITE_END()
