#include "net/fleet/matching.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune;
using namespace attune::net::fleet;

namespace {

description device(const std::string& name, arguments labels, const std::string& cpu = "x", std::uint32_t slots = 1) {
  description d;
  d.name = name;
  d.labels = std::move(labels);
  d.facts = {{"cpu", value(cpu)}, {"cores", value(std::int64_t{4})}};
  d.slots = slots;
  return d;
}

task_ptr task_on(arguments asked, const target& where) {
  task_spec spec;
  spec.name = "t";
  spec.target = std::move(asked);
  auto made = make_task(std::move(spec), where);
  BOOST_REQUIRE(made.ok());
  return *made;
}

} // namespace

BOOST_AUTO_TEST_SUITE(matching_suite)

BOOST_AUTO_TEST_CASE(a_device_is_asked_for_by_its_class_or_its_name) {
  const auto a = device("board1", {{"device", value("arm")}});
  BOOST_TEST(matches({{"device", value("arm")}}, a, {}));
  BOOST_TEST(matches({{"device", value("board1")}}, a, {}));
  BOOST_TEST(!matches({{"device", value("board")}}, a, {}));
  BOOST_TEST(matches({}, a, {}));
  BOOST_TEST(matches({{"device", value("local")}}, device("b", {}), {}));
}

BOOST_AUTO_TEST_CASE(what_any_device_knows_must_be_the_same_and_what_none_knows_is_identity_alone) {
  const auto prague = device("a", {{"site", value("prague")}});
  const auto bare = device("b", {});
  const auto known = known_names({&prague, &bare});
  BOOST_TEST(matches({{"site", value("prague")}}, prague, known));
  BOOST_TEST(!matches({{"site", value("praha")}}, prague, known));
  BOOST_TEST(!matches({{"site", value("prague")}}, bare, known));
  BOOST_TEST(matches({{"flags", value("-O2")}}, bare, known));
  // A number in a spec and a text on a command line are the same label.
  BOOST_TEST(matches({{"cores", value("4")}}, bare, known));
  BOOST_TEST(!matches({{"cores", value(std::int64_t{8})}}, bare, known));
}

BOOST_AUTO_TEST_CASE(the_target_is_that_of_the_machine_that_measures) {
  const auto where =
      target_on({{"flags", value("-O2")}}, device("a", {{"device", value("arm")}, {"site", value("p")}}));
  BOOST_TEST(where.device() == "arm");
  BOOST_REQUIRE(find(where.facts, "cpu") != nullptr);
  BOOST_TEST(find(where.facts, "flags")->text() == "-O2");
  BOOST_TEST(find(where.facts, "site") == nullptr); // nobody asked for it
}

BOOST_AUTO_TEST_CASE(equal_machines_of_a_class_share_a_target_and_others_do_not) {
  const arguments asked{{"device", value("arm")}};
  const auto a = device("a", {{"device", value("arm")}}), b = device("b", {{"device", value("arm")}});
  const auto other = device("c", {{"device", value("arm")}}, "y");
  const auto t = task_on(asked, target_on(asked, a));
  BOOST_TEST(serves(*t, a, {}));
  BOOST_TEST(serves(*t, b, {}));
  BOOST_TEST(!serves(*t, other, {}));
}

BOOST_AUTO_TEST_CASE(the_class_with_the_most_slots_is_taken) {
  const auto a = device("a", {{"device", value("arm")}}, "x", 1), b = device("b", {{"device", value("arm")}}, "y", 2),
             c = device("c", {{"device", value("arm")}}, "x", 2), d = device("d", {{"device", value("gpu")}}, "z", 9);
  const auto where = choose({{"device", value("arm")}}, {&a, &b, &c, &d});
  BOOST_REQUIRE(where);
  BOOST_TEST(find(where->facts, "cpu")->text() == "x");
  BOOST_TEST(!choose({{"device", value("tpu")}}, {&a, &b, &c, &d}));
}

BOOST_AUTO_TEST_CASE(who_asks_in_vain_hears_what_there_is) {
  const auto a = device("a", {{"device", value("arm")}, {"site", value("prague")}});
  const auto text = nothing_serves({{"site", value("praha")}}, {&a});
  BOOST_TEST(text.find("site=praha") != std::string::npos);
  BOOST_TEST(text.find("a (device=arm site=prague)") != std::string::npos);
  BOOST_TEST(nothing_serves({}, {}).find("no agent is connected") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
