#include "search/evolution.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune;
using namespace attune::search;

namespace {

parameter listed(std::string name, std::vector<value> values, std::optional<value> standard = {},
                 std::string when = {}) {
  parameter p;
  p.name = std::move(name);
  p.domain = value_list{std::move(values)};
  p.standard = std::move(standard);
  p.when = std::move(when);
  return p;
}

struct grown {
  explicit grown(std::vector<parameter> p, std::vector<std::string> rules = {}) : declared(std::move(p)) {
    std::vector<constraint> all;
    for (auto& r : rules) all.push_back({std::move(r), {}, {}});
    auto s = space::compile(declared, all);
    BOOST_REQUIRE_MESSAGE(s.ok(), (s ? "" : s.err().text()));
    over = *s;
  }
  /// What an earlier configuration means, as text; `-` for none.
  std::string of(const arguments& earlier) {
    const auto c = completed(*over, declared, configuration(earlier), lacking);
    return c ? c->text() : "-";
  }
  std::vector<parameter> declared;
  space_ptr over;
  std::vector<std::string> lacking;
};

} // namespace

BOOST_AUTO_TEST_SUITE(evolution)

BOOST_AUTO_TEST_CASE(what_is_lacking_takes_its_default) {
  grown g({listed("a", {value(1), value(2)}), listed("b", {value(0), value(4)}, value(4)),
           listed("c", {value("x"), value("y")}, value("x"))});
  BOOST_TEST(g.of({{"a", value(2)}}) == "a=2 b=4 c=x");
  BOOST_TEST((g.lacking == std::vector<std::string>{"b", "c"}));
  BOOST_TEST(g.of({{"c", value("y")}, {"a", value(1)}}) == "a=1 b=4 c=y");
  BOOST_TEST((g.lacking == std::vector<std::string>{"b"}));
  BOOST_TEST(g.of({{"a", value(1)}, {"b", value(0)}, {"c", value("y")}}) == "-"); // lacks nothing
  BOOST_TEST(g.of({{"b", value(0)}}) == "-");                                     // `a` has no default
  BOOST_TEST(g.of({{"a", value(3)}}) == "-");                                     // no value any more
  BOOST_TEST(g.of({{"a", value(1.0)}}) == "-");                                   // another configuration
  BOOST_TEST(g.of({{"a", value(1)}, {"gone", value(1)}}) == "-");
}

BOOST_AUTO_TEST_CASE(a_default_becomes_the_value_that_the_domain_has) {
  grown g({listed("a", {value(1)}), listed("b", {value(1.0), value(2.5)}, value(1))});
  std::vector<std::string> lacking;
  const auto c = completed(*g.over, g.declared, configuration(arguments{{"a", value(1)}}), lacking);
  BOOST_REQUIRE(c.has_value());
  BOOST_TEST((*c->find("b") == value(1.0)));
}

BOOST_AUTO_TEST_CASE(what_is_invalid_today_means_nothing) {
  grown g({listed("a", {value(1), value(2)}), listed("b", {value(0), value(4)}, value(4))}, {"a * b < 8"});
  BOOST_TEST(g.of({{"a", value(1)}}) == "a=1 b=4");
  BOOST_TEST(g.of({{"a", value(2)}}) == "-");
}

BOOST_AUTO_TEST_CASE(a_condition_says_whether_what_is_lacking_is_there) {
  grown g({listed("a", {value(1), value(2)}), listed("b", {value(0), value(4)}, value(4), "a == 2"),
           listed("c", {value(7), value(8)}, value(7), "b == 4")});
  BOOST_TEST(g.of({{"a", value(1)}}) == "a=1");
  BOOST_TEST(g.of({{"a", value(2)}}) == "a=2 b=4 c=7");
  BOOST_TEST(g.of({{"a", value(2)}, {"b", value(0)}}) == "a=2 b=0");
}

BOOST_AUTO_TEST_SUITE_END()
