#include "core/random.hpp"
#include "storage/formats/document.hpp"
#include "tests/storage/formats/support.hpp"
#include "tests/storage/samples.hpp"

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <zlib.h>

using namespace attune;
using namespace attune::storage;
using namespace attune::storage::formats;

namespace {

std::string back(std::string text) {
  json_document d;
  if (!d.parse(text.data(), text.size())) return "refused: " + d.why();
  std::string out;
  dump(d.root(), out);
  return out;
}

std::string scaled(double d, int exponent) {
  std::string out;
  write_scaled(d, exponent, out);
  return out;
}

double any_double(random_engine& rng) {
  for (;;) {
    const std::uint64_t bits = rng();
    double d = 0;
    std::memcpy(&d, &bits, sizeof d);
    if (std::isfinite(d)) return d;
  }
}

std::vector<std::string> lines_of(source& from) {
  line_reader lines(from);
  std::vector<std::string> out;
  while (lines.next()) out.push_back(lines.too_long() ? "too long" : std::string(lines.text()));
  return out;
}

std::string walk(const std::string& text, bool* cut = nullptr) {
  const auto from = source::of(text, "t");
  document_walker w(*from, {"list"});
  std::string out;
  for (auto s = w.next(); s != document_walker::step::end; s = w.next()) {
    out += s == document_walker::step::member ? "m:" : s == document_walker::step::element ? "e:" : "d";
    if (s == document_walker::step::damaged)
      out += std::to_string(w.line()) + " ";
    else
      out += w.key() + "=" + std::string(w.data(), w.size()) + " ";
  }
  if (cut != nullptr) *cut = w.unterminated();
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(formats_json)

BOOST_AUTO_TEST_CASE(json_is_read_as_it_is_written) {
  for (const std::string text : {R"({"a":[1,1.0,-2.50e-3,true,null,"x"],"b":{}})", R"([NaN,-Infinity])", R"("\"\\\n")",
                                 "[]", "12345678901234567890"})
    BOOST_TEST(back(text) == text);
  BOOST_TEST(back("\"\\u0041\\ud83d\\ude00\"") == "\"A\xf0\x9f\x98\x80\"");
  BOOST_TEST(back(R"({"a":1)").starts_with("refused"));
  BOOST_TEST(back("[1] 2").starts_with("refused"));
  BOOST_TEST(back("").starts_with("refused"));
  BOOST_TEST(back(std::string("[1\0]", 4)).starts_with("refused"));
  BOOST_TEST(back(std::string(100'000, '[')) == "refused: nested too deeply");
  BOOST_TEST(!back(std::string(200, '[') + std::string(200, ']')).starts_with("refused"));
}

BOOST_AUTO_TEST_CASE(questions_to_what_is_not_there_have_empty_answers) {
  std::string text = R"({"a": [1], "a": 2})";
  json_document d;
  BOOST_REQUIRE(d.parse(text.data(), text.size()));
  BOOST_TEST(*d.root().find("a").integer() == 2);
  BOOST_TEST(!d.root().find("b"));
  BOOST_TEST(!d.root().find("b").find("c")[3].is_number());
  BOOST_TEST(d.root().find("b").size() == 0u);
  for ([[maybe_unused]] const auto item : d.root().find("b")) BOOST_ERROR("an element of nothing");
}

BOOST_AUTO_TEST_CASE(values_of_parameters_come_back_as_they_were) {
  for (const value& v :
       {value(1), value(1.0), value(true), value("x"), value("[1,2]"), value("null"), value("{\"a\":1}"),
        value("\"null\""), value(1e300), value(std::numeric_limits<double>::infinity()), value("1")}) {
    std::string text;
    BOOST_TEST(value_to_json(v, text));
    json_document d;
    BOOST_REQUIRE(d.parse(text.data(), text.size()));
    BOOST_TEST((to_value(d.root()) == v));
  }
  std::string text;
  BOOST_TEST(!value_to_json(value("[1, 2"), text)); // said, since it comes back with quotes
  BOOST_TEST(!value_to_json(value(permutation{{"a"}}), text));
}

BOOST_AUTO_TEST_CASE(a_unit_costs_no_digit) {
  BOOST_TEST(*parse_scaled("5.657844", -3) == 0.005657844);
  BOOST_TEST(*parse_scaled("62.816", -6) == 6.2816e-5);
  BOOST_TEST(*parse_scaled("1E+2", -3) == 0.1);
  BOOST_TEST(scaled(0.005657844, -3) == "5.657844");
  BOOST_TEST(scaled(6.2816e-5, -6) == "62.816");
  BOOST_TEST(scaled(1, -9) == "1000000000.0");
  BOOST_TEST(scaled(0, -3) == "0.0");
  BOOST_TEST(!parse_scaled("1,5", -3));
  random_engine rng(1);
  for (int i = 0; i < 20'000; ++i) {
    const double d = any_double(rng);
    for (const int exponent : {0, -3, -6, -9}) {
      const auto again = parse_scaled(scaled(d, exponent), exponent);
      BOOST_REQUIRE(again.has_value());
      BOOST_REQUIRE_MESSAGE(*again == d, "of " << d << " comes " << *again << " with " << exponent);
    }
  }
}

BOOST_AUTO_TEST_CASE(times_are_exact_to_the_nanosecond) {
  BOOST_TEST(*parse_nanoseconds("1610455202.4939427", 0) == 1610455202493942700);
  BOOST_TEST(*parse_nanoseconds("918.5990339610726", -3) == 918599034);
  BOOST_TEST(*parse_nanoseconds("1e3", -6) == 1'000'000);
  BOOST_TEST(!parse_nanoseconds("1e300", 0));
  BOOST_TEST(!parse_nanoseconds("nan", 0));
  random_engine rng(2);
  for (int i = 0; i < 20'000; ++i) {
    const auto ns = static_cast<std::int64_t>(rng() >> (2 + rng.below(60)));
    for (const int exponent : {0, -3, -6, -9}) {
      std::string text;
      write_nanoseconds(ns, exponent, text);
      if (ns < 900'000'000'000'000'000)
        BOOST_REQUIRE_MESSAGE(parse_nanoseconds(text, exponent) == ns, ns << " " << text);
    }
    const auto at = ns % 7'000'000'000'000'000'000;
    BOOST_REQUIRE_MESSAGE(parse_time(time_text(at)) == at, at << " " << time_text(at));
  }
  BOOST_TEST(*parse_time("2023-12-22 09:54:05.502007+00:00") == 1703238845502007000);
  BOOST_TEST(*parse_time("2026-03-05 09:04:43 UTC") == *parse_time("2026-03-05T10:04:43+01:00"));
  for (const char* bad :
       {"", "2023", "2023-13-01 00:00:00", "2023-02-30 00:00:00", "2023-01-01 24:00:00", "yesterday!!!!!!!!!!!!"})
    BOOST_TEST(!parse_time(bad));
}

BOOST_AUTO_TEST_CASE(lines_are_lines_wherever_a_block_ends) {
  const auto from = source::of("\xef\xbb\xbfone\r\n\ntwo\nthree", "t");
  BOOST_TEST((lines_of(*from) == std::vector<std::string>{"one", "", "two", "three"}),
             boost::test_tools::per_element());
  std::string long_text;
  std::vector<std::string> wanted;
  for (int i = 0; i < 2000; ++i) {
    wanted.push_back(std::string(static_cast<std::size_t>(i) % 700, 'x') + std::to_string(i));
    long_text += wanted.back() + "\n";
  }
  const auto many = source::of(long_text, "t");
  BOOST_TEST((lines_of(*many) == wanted));
  const std::string huge = std::string(line_reader::longest + 300'000, 'a') + "\nb\n";
  const auto big = source::of(huge, "t");
  BOOST_TEST((lines_of(*big) == std::vector<std::string>{"too long", "b"}));
}

BOOST_AUTO_TEST_CASE(gzip_is_read_twice_and_a_cut_off_one_says_so) {
  const samples::scratch_folder folder;
  const auto path = folder.path() + "/x.gz";
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i * 7919) + "\n";
  gzFile f = gzopen(path.c_str(), "wb");
  BOOST_REQUIRE(gzwrite(f, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size()));
  gzclose(f);
  {
    const auto from = source::open(path);
    BOOST_REQUIRE(from.ok());
    BOOST_TEST(lines_of(**from).size() == 20'000u);
    BOOST_REQUIRE((*from)->rewind().ok());
    BOOST_TEST(lines_of(**from).back() == std::to_string(19'999 * 7919));
  }
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  const auto cut = source::open(path);
  BOOST_REQUIRE(cut.ok());
  line_reader lines(**cut);
  std::size_t n = 0;
  while (lines.next()) ++n;
  BOOST_TEST(n > 1000u);
  BOOST_TEST(!lines.error().ok());
  BOOST_TEST(!source::open("/nonexistent/file").ok());
}

BOOST_AUTO_TEST_CASE(a_document_is_walked_piece_by_piece) {
  BOOST_TEST(walk(R"({"a": 1, "list": [{"x": "}"}, {"y": [2]}], "b": "q"})") ==
             R"(m:a=1 e:={"x": "}"} e:={"y": [2]} m:b="q" )");
  BOOST_TEST(walk(R"({"list": {"k,1": {"x": 1}, "k2": 3}})") == R"(e:k,1={"x": 1} e:k2=3 )");
  bool cut = false;
  BOOST_TEST(walk("{\"list\": [{\"a\": 1},", &cut) == "e:={\"a\": 1} ");
  BOOST_TEST(cut);
  BOOST_TEST(walk("{\"list\": [{\"a\": 1}, {\"b\": \"", &cut) == "e:={\"a\": 1} ");
  BOOST_TEST(cut);
  BOOST_TEST(walk("{\"list\": []}", &cut) == "");
  BOOST_TEST(!cut);
  BOOST_TEST(walk("[1]") == "d1 ");
  BOOST_TEST(walk("") == "d1 ");
}

BOOST_AUTO_TEST_CASE(a_torn_element_costs_itself_alone) {
  BOOST_TEST(walk("{\"list\": {\n\"1\": {\"x\": 1},\n\"2\": {\"x\": \"to\n\"3\": {\"x\": 3},\n\"4\": {\"x\": "
                  "4]},\n\"5\": {}}}") == "e:1={\"x\": 1} d3 e:3={\"x\": 3} d5 e:5={} ");
  BOOST_TEST(walk("{\"list\": [\n{\"x\": 1},\n{\"x\": ]\n,\n{\"x\": 3}\n]}") == "e:={\"x\": 1} d3 e:={\"x\": 3} ");
}

BOOST_AUTO_TEST_SUITE_END()
