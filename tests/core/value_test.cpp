#include "core/random.hpp"
#include "core/text.hpp"
#include "core/value.hpp"

#include <boost/test/unit_test.hpp>

#include <bit>
#include <clocale>
#include <cmath>
#include <limits>
#include <locale>
#include <map>
#include <sstream>

using namespace attune;

namespace {

std::string encoded(const value& v) {
  std::string out;
  encode(v, out);
  return out;
}

/// Values of every kind, with what an encoding is made of ('s', ':', ';', digits) among their texts.
value random_value(random_engine& r) {
  const auto word = [&r] {
    constexpr std::string_view letters = "sidptfa0123:;,{}\n";
    std::string s;
    for (auto n = r.below(6); n > 0; --n) s += letters[r.below(letters.size())];
    return s;
  };
  switch (r.below(6)) {
  case 0:
    return {};
  case 1:
    return r.chance(0.5);
  case 2:
    return r.chance(0.5) ? static_cast<std::int64_t>(r()) : static_cast<std::int64_t>(r.below(30)) - 15;
  case 3: {
    const double d = std::bit_cast<double>(r());
    return std::isnan(d) || r.chance(0.5) ? static_cast<double>(r.below(20)) / 2 : d;
  }
  case 4:
    return word();
  default: {
    permutation p;
    for (auto n = r.below(4); n > 0; --n) p.order.push_back(word());
    return p;
  }
  }
}

} // namespace

BOOST_AUTO_TEST_SUITE(values)

BOOST_AUTO_TEST_CASE(an_integer_a_real_a_text_and_a_boolean_are_four_values) {
  const value all[]{1, 1.0, "1", true};
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j) {
      BOOST_TEST((all[i] == all[j]) == (i == j));
      BOOST_TEST((encoded(all[i]) == encoded(all[j])) == (i == j));
    }
}

BOOST_AUTO_TEST_CASE(the_canonical_encoding_never_changes) {
  const std::pair<value, std::string> golden[]{
      {{}, "a"},
      {true, "t"},
      {false, "f"},
      {0, "i0;"},
      {-17, "i-17;"},
      {std::numeric_limits<std::int64_t>::min(), "i-9223372036854775808;"},
      {0.0, "d0000000000000000"},
      {-0.0, "d0000000000000000"},
      {1.0, "d3ff0000000000000"},
      {-0.1, "dbfb999999999999a"},
      {std::numeric_limits<double>::infinity(), "d7ff0000000000000"},
      {"", "s0:"},
      {"1", "s1:1"},
      {"\xc3\xa9", "s2:\xc3\xa9"},
      {std::string("a\0b", 3), std::string("s3:a\0b", 6)},
      {permutation{}, "p0:"},
      {permutation{{"i", "jj", ""}}, "p3:s1:is2:jjs0:"},
  };
  for (const auto& [v, form] : golden) BOOST_TEST(encoded(v) == form);
}

BOOST_AUTO_TEST_CASE(encodings_of_different_values_differ_and_none_begins_another) {
  constexpr std::uint64_t seed = 20261129;
  random_engine r(seed);
  std::map<std::string, value> seen;
  for (int i = 0; i < 20'000; ++i) {
    const auto v = random_value(r);
    const auto [at, fresh] = seen.emplace(encoded(v), v);
    BOOST_REQUIRE_MESSAGE(fresh || at->second == v, at->first << ", seed " << seed);
  }
  // In sorted order, a text that begins any other begins the one that follows it.
  for (auto at = seen.begin(); std::next(at) != seen.end(); ++at)
    BOOST_REQUIRE_MESSAGE(!std::next(at)->first.starts_with(at->first), at->first << ", seed " << seed);
  BOOST_TEST(seen.size() > 5'000u);
}

BOOST_AUTO_TEST_CASE(texts_are_what_commands_get) {
  BOOST_TEST(value().text() == "");
  BOOST_TEST(value(true).text() == "true");
  BOOST_TEST(value(false).text() == "false");
  BOOST_TEST(value(1234567).text() == "1234567");
  BOOST_TEST(value(1.0).text() == "1");
  BOOST_TEST(value(0.1).text() == "0.1");
  BOOST_TEST(value("a b").text() == "a b");
  BOOST_TEST((value(permutation{{"i", "j", "k"}}).text()) == "i,j,k");
  BOOST_TEST((value(permutation{{"", "j"}}).text()) == ",j");
}

BOOST_AUTO_TEST_CASE(shortest_is_the_shortest_that_reads_back_equal) {
  const std::pair<double, std::string> table[]{
      {0.1, "0.1"},         {1, "1"},
      {-2.5, "-2.5"},       {1e30, "1e+30"},
      {1e-7, "1e-07"},      {0.1 + 0.2, "0.30000000000000004"},
      {5e-324, "5e-324"},   {std::numeric_limits<double>::max(), "1.7976931348623157e+308"},
      {HUGE_VAL, "inf"},    {-HUGE_VAL, "-inf"},
      {std::nan(""), "nan"}};
  for (const auto& [d, text] : table) BOOST_TEST(shortest(d) == text);
  random_engine r(1);
  for (int i = 0; i < 10'000; ++i) {
    const double d = std::bit_cast<double>(r());
    if (std::isnan(d)) continue;
    const auto back = parse_double(shortest(d));
    BOOST_REQUIRE_MESSAGE(back && *back == d, shortest(d) << ", seed 1");
  }
}

BOOST_AUTO_TEST_CASE(no_locale_changes_a_text) {
  struct comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  struct restore_both {
    std::locale before;
    std::string c = std::setlocale(LC_ALL, nullptr);
    ~restore_both() {
      std::locale::global(before);
      std::setlocale(LC_ALL, c.c_str());
    }
  } restore;
  std::locale::global(std::locale(std::locale(), new comma));
  std::ostringstream proof;
  proof << 1234.5;
  BOOST_TEST_REQUIRE(proof.str() == "1.234,5");
  bool c_too = false;
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "fr_FR.utf8"})
    c_too = c_too || std::setlocale(LC_ALL, name) != nullptr;
  if (!c_too) BOOST_TEST_MESSAGE("skipped for the C library: no locale with a decimal comma is installed");
  BOOST_TEST(shortest(1234.5) == "1234.5");
  BOOST_TEST(value(1234567).text() == "1234567");
  BOOST_TEST(encoded(value(1234567)) == "i1234567;");
  BOOST_TEST(*parse_double("1234.5") == 1234.5);
  BOOST_TEST(!parse_double("1234,5"));
  BOOST_TEST((*parse_duration("1.5s") == std::chrono::milliseconds(1500)));
  BOOST_TEST(human_duration(std::chrono::microseconds(1500)) == "1.50 ms");
}

BOOST_AUTO_TEST_CASE(numbers_are_read_as_doubles_and_only_numbers) {
  BOOST_TEST(value(3).to_double() == 3.0);
  BOOST_TEST(value(true).to_double() == 1.0);
  BOOST_TEST(value(2.5).to_double() == 2.5);
  BOOST_TEST(value(1).is_number());
  BOOST_TEST(value(1.0).is_number());
  BOOST_TEST(!value(true).is_number());
  BOOST_TEST(!value("1").is_number());
  BOOST_CHECK_THROW(value("1").to_double(), std::bad_variant_access);
}

BOOST_AUTO_TEST_CASE(every_kind_has_the_name_that_messages_use) {
  const std::pair<value, std::string> table[]{{{}, "absent"}, {true, "boolean"}, {1, "integer"},
                                              {1.0, "float"}, {"1", "string"},   {permutation{}, "permutation"}};
  for (const auto& [v, name] : table) BOOST_TEST(to_string(v.type()) == name);
}

BOOST_AUTO_TEST_SUITE_END()
