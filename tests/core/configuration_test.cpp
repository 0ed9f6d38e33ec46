#include "core/configuration.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

using namespace attune;

namespace {

/// One pair in braces is ambiguous between the constructors; a function with one meaning is not.
configuration of(const arguments& args) { return configuration(args); }

} // namespace

BOOST_AUTO_TEST_SUITE(configurations)

BOOST_AUTO_TEST_CASE(the_canonical_form_never_changes) {
  const configuration c =
      of({{"x", 1}, {"y", 1.0}, {"s", "1"}, {"b", true}, {"o", permutation{{"i", "j", "k"}}}, {"z", value()}});
  BOOST_TEST(c.canonical() == "5{1:bt1:op3:s1:is1:js1:k1:ss1:11:xi1;1:yd3ff0000000000000}");
  BOOST_TEST(configuration().canonical() == "0{}");
}

BOOST_AUTO_TEST_CASE(the_order_of_parameters_makes_no_difference) {
  arguments args{{"a", 1}, {"b", 2}, {"B", 3}, {"ab", 4}, {"\xc3\xa9", 5}};
  const configuration first(args);
  std::sort(args.begin(), args.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  do {
    const configuration other(args);
    BOOST_TEST(other.canonical() == first.canonical());
    BOOST_TEST((other == first));
  } while (
      std::next_permutation(args.begin(), args.end(), [](const auto& x, const auto& y) { return x.first < y.first; }));
}

BOOST_AUTO_TEST_CASE(a_large_configuration_is_sorted_too) {
  arguments up, down;
  for (int i = 0; i < 200; ++i) up.emplace_back("p" + std::to_string(i), i);
  down.assign(up.rbegin(), up.rend());
  BOOST_TEST(configuration(up).canonical() == configuration(down).canonical());
  BOOST_TEST(configuration(up).canonical().starts_with("200{2:p0i0;2:p1i1;3:p10i10;4:p100i100;"));
}

BOOST_AUTO_TEST_CASE(absent_parameters_are_left_out) {
  const configuration with = of({{"a", 1}, {"b", value()}}), without({{"a", 1}});
  BOOST_TEST(with.canonical() == without.canonical());
  BOOST_TEST((with == without));
  BOOST_TEST((of({{"a", value()}}) == configuration()));
}

BOOST_AUTO_TEST_CASE(equality_is_by_typed_values_and_by_names) {
  BOOST_TEST((of({{"a", 1}}) != of({{"a", 1.0}})));
  BOOST_TEST((of({{"a", 1}}) != of({{"a", "1"}})));
  BOOST_TEST((of({{"a", 1}}) != of({{"a", true}})));
  BOOST_TEST((of({{"a", 1}}) != of({{"b", 1}})));
  BOOST_TEST((of({{"a", 1}, {"b", 2}}) != of({{"a", 2}, {"b", 1}})));
  BOOST_TEST((of({{"a", ""}}) != of({{"a", value()}})));
}

BOOST_AUTO_TEST_CASE(configurations_of_one_space_and_of_different_name_lists_compare_alike) {
  const auto names = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"a", "b"});
  const auto same = std::make_shared<const std::vector<std::string>>(*names);
  const auto turned = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{"b", "a"});
  const configuration c(names, {1, 2});
  BOOST_TEST((c == configuration(names, {1, 2})));
  BOOST_TEST((c != configuration(names, {2, 1})));
  BOOST_TEST((c == configuration(same, {1, 2})));
  BOOST_TEST((c == configuration(turned, {2, 1})));
  BOOST_TEST((c != configuration(turned, {1, 2})));
}

BOOST_AUTO_TEST_CASE(names_and_values_cannot_be_read_as_each_other) {
  const configuration nested = of({{"a", "1:bi2;"}}), flat({{"a", ""}, {"b", 2}});
  BOOST_TEST(nested.canonical() != flat.canonical());
  BOOST_TEST(of({{"ab", "c"}}).canonical() != of({{"a", "bc"}}).canonical());
}

BOOST_AUTO_TEST_CASE(a_value_is_found_by_its_name) {
  const arguments args{{"a", 1}, {"b", "x"}};
  const configuration c(args);
  BOOST_REQUIRE(c.find("b") != nullptr);
  BOOST_TEST(c.find("b")->as_text() == "x");
  BOOST_TEST(c.find("B") == nullptr);
  BOOST_TEST(c.find("") == nullptr);
  BOOST_REQUIRE(find(args, "a") != nullptr);
  BOOST_TEST(find(args, "a")->as_integer() == 1);
  BOOST_TEST(find(args, "c") == nullptr);
  BOOST_TEST(configuration().find("a") == nullptr);
}

BOOST_AUTO_TEST_CASE(the_text_is_one_line_that_reads_one_way) {
  BOOST_TEST(of({{"tile_m", 32}, {"gone", value()}, {"unroll", 4.5}}).text() == "tile_m=32 unroll=4.5");
  BOOST_TEST(of({{"a", ""}}).text() == R"(a="")");
  BOOST_TEST(of({{"a", "x y"}}).text() == R"(a="x y")");
  BOOST_TEST(of({{"a", R"(say "hi" \ $x)"}}).text() == R"(a="say \"hi\" \\ $x")");
  BOOST_TEST(of({{"a", "it's"}}).text() == R"(a="it's")");
  BOOST_TEST(of({{"a", "x\ny"}}).text() == R"(a="x\ny")");
  BOOST_TEST(of({{"a", "-O2"}, {"b", permutation{{"i", "j"}}}}).text() == "a=-O2 b=i,j");
  BOOST_TEST(configuration().text() == "");
}

BOOST_AUTO_TEST_SUITE_END()
