#include "measure/metric.hpp"
#include "tests/per_element.hpp"

#include <boost/test/unit_test.hpp>

#include <clocale>
#include <cmath>

using namespace attune;
using namespace attune::measure;

namespace {

using from = metric_spec::from;
using doubles = std::vector<double>;

metric_spec spec_of(from source, std::string expression = {}, std::string unit = "s") {
  metric_spec out;
  out.source = source;
  out.expression = std::move(expression);
  out.unit = std::move(unit);
  return out;
}

extracted take(const metric_spec& spec, std::string text) {
  auto reader = metric_reader::make(spec);
  BOOST_REQUIRE(reader.ok());
  captured out;
  out.total = text.size();
  out.head = std::move(text);
  return reader->extract({&out, std::chrono::milliseconds(1500), out.head});
}

doubles samples_read(const metric_spec& spec, std::string text) {
  auto out = take(spec, std::move(text));
  if (!out.samples()) BOOST_TEST_MESSAGE(std::get<std::string>(out.data));
  BOOST_REQUIRE(out.samples());
  return *out.samples();
}

std::string why(const metric_spec& spec, std::string text) {
  auto out = take(spec, std::move(text));
  BOOST_REQUIRE(!out.samples());
  return std::get<std::string>(out.data);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_last_number_is_taken) {
  for (auto [text, number] : std::initializer_list<std::pair<const char*, double>>{{"0.5\n", 0.5},
                                                                                   {"1 2 3 done", 3},
                                                                                   {"time: 12.5ms\n", 12.5},
                                                                                   {"took 3 s.", 3},
                                                                                   {"took 3.", 3},
                                                                                   {"x=1e-3;", 1e-3},
                                                                                   {"a 2.5 gemm_512 v3", 2.5},
                                                                                   {"7 0x1F", 7},
                                                                                   {"7 12.3.4", 7},
                                                                                   {"[1, 2]", 2},
                                                                                   {"+4\r\n", 4},
                                                                                   {"50% of it", 50},
                                                                                   {"3\xC2\xB5s", 3}})
    BOOST_TEST(last_number(text).value_or(-1) == number, text);
  BOOST_TEST(!last_number("no number"));
  BOOST_TEST(!last_number(""));
  BOOST_TEST(!last_number(" \n\n"));
}

BOOST_AUTO_TEST_CASE(what_is_no_number_is_not_hidden_by_the_one_before) { // A14
  auto spec = spec_of(from::last_number);
  BOOST_TEST(why(spec, "1.0\nnan\n") == "the metric 'time' is not a number (nan)");
  BOOST_TEST(why(spec, "1.0\n-nan\n") == "the metric 'time' is not a number (nan)");
  BOOST_TEST(why(spec, "1.0\ninf\n") == "the metric 'time' is infinite (inf)");
  BOOST_TEST(why(spec, "-0.5") == "the metric 'time' is negative (-0.5)");
  BOOST_TEST(why(spec, "none") == "the metric 'time' is missing: no number on standard output");
  BOOST_TEST(why(spec_of(from::last_number, "", "GFLOP/s"), "-3") == "the metric 'time' is negative (-3)");
}

BOOST_AUTO_TEST_CASE(a_zero_is_kept_and_noted) { // A14
  auto out = take(spec_of(from::last_number), "-0.000");
  BOOST_REQUIRE(out.samples());
  BOOST_TEST((*out.samples())[0] == 0.0);
  BOOST_TEST(!std::signbit((*out.samples())[0]));
  BOOST_REQUIRE(out.notes.size() == 1U);
  BOOST_TEST(out.notes[0].find("exactly zero") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(times_are_stored_in_seconds_and_other_units_as_they_are) {
  BOOST_TEST(samples_read(spec_of(from::last_number, "", "ms"), "250")[0] == 0.25);
  BOOST_TEST(samples_read(spec_of(from::last_number, "", "us"), "250")[0] == 250e-6,
             boost::test_tools::tolerance(1e-15));
  BOOST_TEST(samples_read(spec_of(from::last_number, "", "ns"), "250")[0] == 250e-9,
             boost::test_tools::tolerance(1e-15));
  BOOST_TEST(samples_read(spec_of(from::last_number, "", "GFLOP/s"), "250")[0] == 250.0);
}

BOOST_AUTO_TEST_CASE(every_match_of_a_pattern_is_a_sample) {
  auto spec = spec_of(from::pattern, "time: ([-+0-9.eE]+)");
  BOOST_TEST(samples_read(spec, "time: 1\ntime: 2.5 time: 3e-1\r\nelse 7") == (doubles{1, 2.5, 0.3}), per_element);
  BOOST_TEST(samples_read(spec_of(from::pattern, "\\d+\\.\\d+"), "a 1.5 b 2.25") == (doubles{1.5, 2.25}), per_element);
  BOOST_TEST(samples_read(spec_of(from::pattern, "^(?:a|b)=(\\d+)$"), "a=1\nb=2\nc=3\na=4 ") == (doubles{1, 2}),
             per_element);
  BOOST_TEST(samples_read(spec_of(from::pattern, "times?: (\\d+)"), "time: 1\ntimes: 2") == (doubles{1, 2}),
             per_element);
  BOOST_TEST(samples_read(spec_of(from::pattern, "a (\\d+)|b (\\d+)"), "a 1")[0] == 1.0);
  BOOST_TEST(why(spec, "tempo: 1") ==
             "the metric 'time' is missing: nothing on standard output matches time: ([-+0-9.eE]+)");
  BOOST_TEST(why(spec_of(from::pattern, "time: (\\w+)"), "time: 1\ntime: fast") ==
             "the metric 'time' is not a number: 'fast' in the line 'time: fast'");
  BOOST_TEST(why(spec_of(from::pattern, "time: (\\S+)"), "time: nan") == "the metric 'time' is not a number (nan)");
}

BOOST_AUTO_TEST_CASE(no_output_exhausts_the_stack_or_the_time_of_a_pattern) {
  std::string text(1 << 20, 'a');
  BOOST_TEST(why(spec_of(from::pattern, "(a+)+b"), text.substr(0, 200)).find("is missing") != std::string::npos);
  auto out = take(spec_of(from::pattern, "x: ([0-9]+)"), text + "\nx: 5\n");
  BOOST_REQUIRE(out.samples());
  BOOST_TEST(out.samples()->front() == 5.0);
  BOOST_TEST(out.notes.size() == 1U); // on the long line
}

BOOST_AUTO_TEST_CASE(json_is_read_from_the_last_line_that_is_some) {
  auto spec = spec_of(from::json, "/t/mean", "ms");
  BOOST_TEST(samples_read(spec, "{\"t\": {\"mean\": 1}}\nlog\n{\"t\": {\"mean\": 2}}\n[INFO] done\n17\n")[0] == 0.002);
  BOOST_TEST(samples_read(spec_of(from::json, "/t"), "{\"t\": [1, 2.5]}") == (doubles{1, 2.5}), per_element);
  BOOST_TEST(samples_read(spec_of(from::json, "/0/x"), "[{\"x\": 4}]")[0] == 4.0);
  BOOST_TEST(samples_read(spec_of(from::json, ""), "text\n3.5\n")[0] == 3.5);
  BOOST_TEST(why(spec, "{\"t\": {}}") == "the metric 'time' is missing: the JSON line has nothing at '/t/mean'");
  BOOST_TEST(why(spec, "nothing") == "the metric 'time' is missing: no line of standard output is JSON");
  BOOST_TEST(why(spec_of(from::json, "/t"), "{\"t\": null}") == "the metric 'time' is not a number at '/t': null");
  BOOST_TEST(why(spec_of(from::json, "/t"), "{\"t\": \"1\"}") == "the metric 'time' is not a number at '/t': \"1\"");
  BOOST_TEST(why(spec_of(from::json, "/t"), "{\"t\": []}") ==
             "the metric 'time' is missing: the list at '/t' is empty");
  BOOST_TEST(why(spec_of(from::json, "/t"), "{\"t\": 1}\n{\"t\": NaN}\n").find("(it holds NaN or Infinity)") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(deep_json_is_no_danger) {
  BOOST_TEST(why(spec_of(from::json, "/t"), std::string(500000, '[')).find("missing") != std::string::npos);
  std::string deep = std::string(200000, '[') + std::string(200000, ']');
  BOOST_TEST(why(spec_of(from::json, "/t"), deep).find("missing") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_wall_clock_and_a_file_are_sources_too) {
  BOOST_TEST(samples_read(spec_of(from::wall), "")[0] == 1.5);
  BOOST_TEST(samples_read(spec_of(from::wall, "", "ms"), "")[0] == 1.5); // it is in seconds already
  BOOST_TEST(samples_read(spec_of(from::file, "out"), "1\n2\n")[0] == 2.0);
  BOOST_TEST(why(spec_of(from::file, "out"), "") == "the metric 'time' is missing: no number in 'out'");
}

BOOST_AUTO_TEST_CASE(a_wrong_rule_is_refused) {
  auto refused = [](const metric_spec& spec) {
    auto made = metric_reader::make(spec);
    return made ? std::string() : made.err().message;
  };
  BOOST_TEST(refused(spec_of(from::pattern, "time: (")).starts_with("the pattern of the metric 'time' is wrong: "));
  BOOST_TEST(refused(spec_of(from::pattern, "")) == "the pattern of the metric 'time' is empty");
  BOOST_TEST(refused(spec_of(from::json, "t")).starts_with("the JSON pointer of the metric 'time' is wrong: 't'"));
  BOOST_TEST(refused(spec_of(from::wall, "", "GFLOP/s")).starts_with("the metric 'time' is a time"));
  BOOST_TEST(refused(spec_of(from::file, "")) == "the file of the metric 'time' has no name");
}

BOOST_AUTO_TEST_CASE(the_locale_makes_no_difference) { // A07
  const char* set = nullptr;
  for (const char* name : {"de_DE.UTF-8", "nb_NO.UTF-8", "de_DE", "fr_FR.UTF-8"})
    if (!set) set = std::setlocale(LC_ALL, name);
  if (!set) BOOST_TEST_MESSAGE("no locale with a decimal comma is installed");
  BOOST_TEST(samples_read(spec_of(from::last_number), "0.125")[0] == 0.125);
  BOOST_TEST(samples_read(spec_of(from::pattern, "([0-9.]+)"), "0.125")[0] == 0.125);
  BOOST_TEST(samples_read(spec_of(from::json, "/t"), "{\"t\": 0.125}")[0] == 0.125);
  std::setlocale(LC_ALL, "C");
}

namespace {

extracted amount(const metric_spec& spec, std::optional<double> of, std::string missing = {}) {
  auto reader = metric_reader::make(spec);
  BOOST_REQUIRE_MESSAGE(reader.ok(), (reader.ok() ? "" : reader.err().message));
  return reader->extract({nullptr, {}, {}, of, std::move(missing)});
}

std::string refused(const metric_spec& spec) {
  auto reader = metric_reader::make(spec);
  return reader ? "" : reader.err().message;
}

} // namespace

BOOST_AUTO_TEST_CASE(an_amount_of_the_processes_is_one_sample_in_its_unit) {
  BOOST_TEST(*amount(spec_of(from::cpu), 1.25).samples() == doubles{1.25}, per_element);
  BOOST_TEST(*amount(spec_of(from::memory, "peak", "MiB"), 3 * 1048576.0).samples() == doubles{3}, per_element);
  BOOST_TEST(*amount(spec_of(from::memory, "peak", "kB"), 3e3).samples() == doubles{3}, per_element);
  BOOST_TEST(*amount(spec_of(from::counter, "cycles", "count"), 1e9).samples() == doubles{1e9}, per_element);
  BOOST_TEST(*amount(spec_of(from::energy, "package", "J"), 2.5).samples() == doubles{2.5}, per_element);
  // None is an ordinary count: nothing to be noted.
  const auto none = amount(spec_of(from::counter, "major-faults", "count"), 0);
  BOOST_TEST(*none.samples() == doubles{0}, per_element);
  BOOST_TEST(none.notes.empty());
}

BOOST_AUTO_TEST_CASE(an_amount_that_is_missing_says_why) {
  const auto out = amount(spec_of(from::counter, "cycles", "count"), std::nullopt, "the unit is busy");
  BOOST_REQUIRE(!out.samples());
  BOOST_TEST(std::get<std::string>(out.data) == "the metric 'time' is missing: the unit is busy");
}

BOOST_AUTO_TEST_CASE(an_amount_has_no_other_unit_than_its_own) {
  BOOST_TEST(refused(spec_of(from::cpu, "", "MB")) == "the metric 'time' is a time (cpu) and cannot be in 'MB'");
  BOOST_TEST(refused(spec_of(from::memory, "peak", "s")).ends_with("cannot be in 's': B, kB, MB, GB, KiB, MiB or GiB"));
  BOOST_TEST(refused(spec_of(from::counter, "cycles", "ms")) == "the metric 'time' is a count and cannot be in 'ms'");
  BOOST_TEST(refused(spec_of(from::counter, "cycle", "count")) ==
             "the metric 'time' is of 'cycle', which is no counter");
  BOOST_TEST(refused(spec_of(from::counter, "task-clock", "count")).find("task-clock") != std::string::npos);
  BOOST_TEST(refused(spec_of(from::energy, "package", "W")) ==
             "the metric 'time' is an energy and cannot be in 'W': J");
  BOOST_TEST(refused(spec_of(from::energy, "cpu", "J")).find("no domain of RAPL") != std::string::npos);
}
