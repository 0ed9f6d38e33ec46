#include "core/text.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

using namespace attune;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(texts)

BOOST_AUTO_TEST_CASE(a_likely_misspelling_is_led_back_to_the_word) {
  const std::vector<std::string> words{"trials", "time", "strategy", "seed", "fraction", "x"};
  const std::pair<std::string, std::string> table[]{{"trails", "trials"},     {"trial", "trials"}, {"Time", "time"},
                                                    {"stratgey", "strategy"}, {"sed", "seed"},     {"x", "x"},
                                                    {"fractoin", "fraction"}};
  for (const auto& [written, meant] : table) BOOST_TEST(nearest_word(written, words).value_or("") == meant, written);
  for (const char* far : {"", "y", "abcdef", "st", "budget", "xyz"}) BOOST_TEST(!nearest_word(far, words), far);
  BOOST_TEST(!nearest_word("time", {}));
  BOOST_TEST(!nearest_word(std::string(10'000, 't'), words));
}

BOOST_AUTO_TEST_CASE(the_nearest_word_wins_and_the_first_of_equals) {
  const std::vector<std::string> words{"tile_m", "tile_n", "tile"};
  BOOST_TEST(nearest_word("tile_n", words).value_or("") == "tile_n");
  BOOST_TEST(nearest_word("tile_k", words).value_or("") == "tile_m");
}

BOOST_AUTO_TEST_CASE(durations_are_read_with_their_units) {
  const std::pair<std::string, nanoseconds> table[]{
      {"0", 0s},       {"500ms", 500ms}, {"10s", 10s}, {"5m", 5min},     {"5min", 5min},  {"2h", 2h},
      {"1d", 24h},     {"7us", 7us},     {"3ns", 3ns}, {"1.5s", 1500ms}, {"1e3s", 1000s}, {"1e-3s", 1ms},
      {" 10 s ", 10s}, {"+2s", 2s},      {"0s", 0s},   {".5s", 500ms},   {"0.1s", 100ms}, {"10000d", 240000h}};
  for (const auto& [text, d] : table) {
    const auto got = parse_duration(text);
    BOOST_REQUIRE_MESSAGE(got.ok(), text);
    BOOST_TEST(got->count() == d.count(), text);
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_duration_is_refused_with_the_remedy) {
  const std::pair<std::string, std::string> table[]{{"10", "unit"},           {"", "unit"},
                                                    {"0.0", "unit"},          {"s", "number"},
                                                    {"infs", "number"},       {"nans", "number"},
                                                    {"1,5s", "unknown unit"}, {"10x", "unknown unit"},
                                                    {"10S", "unknown unit"},  {"1e999s", "finite"},
                                                    {"-1s", "negative"},      {"10001d", "10000 days"},
                                                    {"1.2.3s", "number"},     {"1s2", "unknown unit"},
                                                    {"--1s", "number"},       {"es", "number"}};
  for (const auto& [text, word] : table) {
    const auto got = parse_duration(text);
    BOOST_REQUIRE_MESSAGE(!got.ok(), text);
    BOOST_TEST((got.err().code == errc::invalid_spec));
    BOOST_TEST((got.err().message.find(word) != std::string::npos), text << ": " << got.err().message);
  }
  BOOST_TEST(parse_duration(std::string(100'000, '9')).err().message.size() < 200u);
}

BOOST_AUTO_TEST_CASE(numbers_are_read_whole) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::pair<std::string, double> table[]{
      {"0", 0},           {"1", 1},
      {"+1", 1},          {"-1.5", -1.5},
      {"+.5", 0.5},       {"5.", 5},
      {"1e-3", 1e-3},     {"1E+3", 1e3},
      {"5e-324", 5e-324}, {"1.7976931348623157e308", std::numeric_limits<double>::max()},
      {"inf", infinity},  {"-inf", -infinity},
      {"+inf", infinity}, {"Infinity", infinity}};
  for (const auto& [text, d] : table) {
    const auto got = parse_double(text);
    BOOST_REQUIRE_MESSAGE(got, text);
    BOOST_TEST(*got == d, text);
  }
  BOOST_TEST(std::isnan(parse_double("nan").value_or(0)));
  for (const char* bad :
       {"", "+", "-", ".", "e5", "1e", "1e+", " 1", "1 ", "1x", "0x10", "1,5", "++1", "+-1", "-+1", "1_0"})
    BOOST_TEST(!parse_double(bad), bad);
}

BOOST_AUTO_TEST_CASE(numbers_that_do_not_fit_are_infinite_or_zero_by_their_size) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::string zeros(400, '0');
  const std::pair<std::string, double> table[]{{"1e400", infinity},
                                               {"-1e400", -infinity},
                                               {"1e-400", 0},
                                               {"1e99999999999999999999", infinity},
                                               {"1e-99999999999999999999", 0},
                                               {"1" + zeros, infinity},
                                               {"-1" + zeros, -infinity},
                                               {"1" + zeros + "e-10", infinity},
                                               {"0." + zeros + "1", 0},
                                               {"0." + zeros + "1e10", 0}};
  for (const auto& [text, d] : table) {
    const auto got = parse_double(text);
    BOOST_REQUIRE_MESSAGE(got, text);
    BOOST_TEST(*got == d, text);
  }
  BOOST_TEST(std::signbit(parse_double("-1e-400").value_or(1)));
  BOOST_TEST(parse_double("1" + zeros + "e-400").value_or(0) == 1); // fits after all
}

BOOST_AUTO_TEST_CASE(integers_are_read_whole_and_within_64_bits) {
  const std::pair<std::string, std::int64_t> table[]{{"0", 0},
                                                     {"-0", 0},
                                                     {"+7", 7},
                                                     {"-7", -7},
                                                     {"007", 7},
                                                     {"9223372036854775807", INT64_MAX},
                                                     {"-9223372036854775808", INT64_MIN}};
  for (const auto& [text, n] : table) {
    const auto got = parse_integer(text);
    BOOST_REQUIRE_MESSAGE(got, text);
    BOOST_TEST(*got == n, text);
  }
  for (const char* bad : {"", "+", "-", "9223372036854775808", "-9223372036854775809", "0x10", "1.0", "1e3", " 1", "1 ",
                          "inf", "nan", "++1", "+-1", "-+1", "1'000"})
    BOOST_TEST(!parse_integer(bad), bad);
}

BOOST_AUTO_TEST_CASE(durations_are_shown_with_three_digits_in_the_unit_that_fits) {
  const std::pair<nanoseconds, std::string> table[]{
      {0ns, "0 ns"},           {7ns, "7.00 ns"},      {999ns, "999 ns"},
      {1230us, "1.23 ms"},     {45s, "45.0 s"},       {999'400ns, "999 us"},
      {999'900ns, "1.00 ms"},  {9'996us, "10.0 ms"},  {59'940ms, "59.9 s"},
      {59'960ms, "1 min 0 s"}, {200s, "3 min 20 s"},  {3599'600ms, "1 h 0 min"},
      {7200s, "2 h 0 min"},    {7199s, "2 h 0 min"},  {100h + 5min, "100 h 5 min"},
      {-1500us, "-1.50 ms"},   {-200s, "-3 min 20 s"}};
  for (const auto& [d, text] : table) BOOST_TEST(human_duration(d) == text);
  BOOST_TEST(human_duration(nanoseconds::min()).starts_with("-"));
}

BOOST_AUTO_TEST_CASE(values_are_shown_with_three_digits_in_their_unit) {
  const std::tuple<double, std::string, std::string> table[]{{0, "s", "0 s"},
                                                             {1.5e-3, "s", "1.50 ms"},
                                                             {9.999e-4, "s", "1.00 ms"},
                                                             {9.999e-7, "s", "1.00 us"},
                                                             {2.5e-8, "s", "25.0 ns"},
                                                             {0.9999, "s", "1.00 s"},
                                                             {-0.25, "s", "-250 ms"},
                                                             {123.4, "s", "123 s"},
                                                             {9.999, "GFLOPS", "10.0 GFLOPS"},
                                                             {12345.6, "GFLOPS", "12346 GFLOPS"},
                                                             {0.00123, "J", "0.00123 J"},
                                                             {0.0456, "J", "0.0456 J"},
                                                             {0.5, "", "0.500"},
                                                             {0, "J", "0 J"},
                                                             {123456, "J", "1.23e+05 J"},
                                                             {1e-9, "J", "1e-09 J"},
                                                             {HUGE_VAL, "s", "inf s"},
                                                             {std::nan(""), "s", "nan s"}};
  for (const auto& [v, unit, text] : table) BOOST_TEST(human_value(v, unit) == text);
}

BOOST_AUTO_TEST_CASE(trim_takes_white_space_from_both_ends_only) {
  BOOST_TEST(trim(" \t a b\r\n") == "a b");
  BOOST_TEST(trim("") == "");
  BOOST_TEST(trim(" \n\t\v\f\r ") == "");
  BOOST_TEST(trim("a") == "a");
}

BOOST_AUTO_TEST_CASE(split_keeps_empty_parts) {
  using parts = std::vector<std::string_view>;
  BOOST_TEST((split("a,b", ',') == parts{"a", "b"}));
  BOOST_TEST((split(",a,,", ',') == parts{"", "a", "", ""}));
  BOOST_TEST((split("", ',') == parts{""}));
}

BOOST_AUTO_TEST_CASE(tail_keeps_the_end_from_a_lines_beginning) {
  BOOST_TEST(tail("short", 5) == "short");
  BOOST_TEST(tail("", 0) == "");
  BOOST_TEST(tail("first line\nsecond\nthird\n", 18) == "[...] third\n");         // 12 bytes: "second\n" is cut
  BOOST_TEST(tail("first line\nsecond\nthird\n", 19) == "[...] second\nthird\n"); // 13 bytes: it is whole
  BOOST_TEST(tail("one long line", 10) == "[...] line");
  BOOST_TEST(tail("one long line\n", 11) == "[...] line\n"); // no other line to begin with
  BOOST_TEST(tail("abcdefghij", 4) == "ghij");               // no room for the mark
  BOOST_TEST(tail("abcdefghij", 0) == "");
}

BOOST_AUTO_TEST_CASE(tail_is_never_longer_than_asked_nor_begins_within_a_letter) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
  for (std::size_t bytes = 0; bytes <= text.size(); ++bytes) {
    auto got = tail(text, bytes);
    BOOST_REQUIRE(got.size() <= bytes);
    if (got.starts_with("[...] ")) got.erase(0, 6);
    BOOST_TEST(text.ends_with(got));
    BOOST_TEST((got.empty() || (static_cast<unsigned char>(got[0]) & 0xc0) != 0x80), bytes);
    BOOST_TEST(got.size() + 6 + 3 >= bytes);
  }
}

BOOST_AUTO_TEST_SUITE_END()
