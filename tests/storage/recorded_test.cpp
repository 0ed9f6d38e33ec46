#include "storage/recorded.hpp"
#include "tests/shared_data.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <string>

using namespace attune;
using namespace attune::storage;

namespace {

std::string cache(const std::string& entries, const std::string& end = "}}") {
  return R"({"kernel_name": "k", "tune_params_keys": ["x", "y"], "tune_params": {"x": [1, 2], "y": ["a", "b"]}, "cache": {)" +
         entries + end;
}
const std::string good = R"("1,a": {"x": 1, "y": "a", "time": 2.5, "times": [2.0, 3.0], "compile_time": 10})";
std::string entry(const std::string& time) { return R"("2,b": {"x": 2, "y": "b", )" + time + "}"; }

failure_kind kind_of(const std::string& time) {
  const auto s = parse_recorded(cache(good + "," + entry(time)), "t");
  BOOST_REQUIRE(s.ok());
  BOOST_REQUIRE(s->trials.size() == 2u);
  for (const auto& t : s->trials)
    if (const auto* f = t.result.failed()) return f->kind;
  BOOST_FAIL("nothing failed");
  return failure_kind::internal;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_cache_gives_seconds_samples_and_phases) {
  const auto s = parse_recorded(cache(good), "t");
  BOOST_REQUIRE(s.ok());
  BOOST_TEST(s->format == "kernel-tuner");
  BOOST_TEST(s->unit == "ms");
  BOOST_REQUIRE(s->trials.size() == 1u);
  const auto& t = s->trials[0];
  BOOST_TEST((t.at == std::vector<std::uint32_t>{0, 0}));
  BOOST_REQUIRE(t.result.ok());
  BOOST_TEST(t.written == 2.5);
  BOOST_TEST(t.result.measured()->value == 2.5e-3);
  BOOST_TEST(t.result.measured()->samples.size() == 2u);
  BOOST_TEST((t.result.phases.build == std::chrono::milliseconds(10)));
}

BOOST_AUTO_TEST_CASE(every_spelling_of_a_failure_is_a_failure) {
  BOOST_TEST((kind_of(R"("time": "RuntimeFailedConfig")") == failure_kind::run_error));
  BOOST_TEST((kind_of(R"("time": "CompilationFailedConfig")") == failure_kind::build_error));
  BOOST_TEST((kind_of(R"("time": "InvalidConfig")") == failure_kind::invalid_config));
  BOOST_TEST((kind_of(R"("time": 1.0, "__error__": "CompilationFailedConfig")") == failure_kind::build_error));
  BOOST_TEST((kind_of(R"("time": 1e20)") == failure_kind::run_error));
  BOOST_TEST((kind_of(R"("time": NaN)") == failure_kind::bad_metric));
  BOOST_TEST((kind_of(R"("time": -Infinity)") == failure_kind::bad_metric));
  BOOST_TEST((kind_of(R"("time": -1)") == failure_kind::bad_metric));
  BOOST_TEST((kind_of(R"("GFLOP/s": 1)") == failure_kind::bad_metric));
}

BOOST_AUTO_TEST_CASE(a_rate_is_maximised) {
  const auto s = parse_recorded(
      R"({"objective": "GFLOP/s", "tune_params_keys": ["x"], "tune_params": {"x": [1]}, "cache": {"1": {"x": 1, "time": 2, "GFLOP/s": 7}}})",
      "t");
  BOOST_REQUIRE(s.ok());
  BOOST_TEST((s->direction == goal::maximize));
  BOOST_TEST(s->trials[0].written == 7.0);
}

BOOST_AUTO_TEST_CASE(an_unterminated_cache_is_repaired) {
  for (const std::string end : {"", ",", ", \"1,b\": {\"x\": 1, \"y\"", "}"}) {
    const auto s = parse_recorded(cache(good + "," + entry(R"("time": 4)"), end), "t");
    BOOST_REQUIRE(s.ok());
    BOOST_TEST(s->trials.size() == 2u);
    BOOST_REQUIRE(!s->warnings.empty());
    BOOST_TEST(s->warnings[0].find("unterminated") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_recorded_space_is_refused_with_its_name) {
  for (const std::string text :
       {"", "  ", "[1, 2]", "{}", "\x89PNG", "{\"results\": []}", "{\"cache\": {", "{\"a\": 1}",
        "{\"cache\": 3, \"tune_params_keys\": [\"x\"]}", "{]", "{\"results\": [{\"a\": 1}]}"}) {
    const auto s = parse_recorded(text, "somefile");
    BOOST_REQUIRE(!s.ok());
    BOOST_TEST((s.err().code == errc::invalid_spec));
    BOOST_TEST(s.err().where == "somefile");
  }
  const auto none = read_recorded("/nonexistent/file");
  BOOST_REQUIRE(!none.ok());
  BOOST_TEST((none.err().code == errc::io));
}

BOOST_AUTO_TEST_CASE(t4_values_written_as_text_are_numbers_and_microseconds_are_read) {
  const auto path = attune::testing::shared_data("logs/ktt-microseconds.t4.json");
  if (!path) return;
  const auto s = read_recorded(*path);
  BOOST_REQUIRE(s.ok());
  BOOST_TEST(s->format == "t4");
  BOOST_REQUIRE(s->trials.size() == 4u);
  const auto best = std::min_element(s->trials.begin(), s->trials.end(), [](const auto& a, const auto& b) {
    return a.result.measured()->value < b.result.measured()->value;
  });
  BOOST_TEST((s->parameters[0].values[best->at[0]] == value(64)));
  BOOST_TEST(std::abs(best->result.measured()->value - 6.2816e-5) < 1e-12);
}

BOOST_AUTO_TEST_CASE(a_real_cut_off_cache_gives_two_records) {
  const auto path = attune::testing::shared_data("logs/kernel_tuner-unterminated.json");
  if (!path) return;
  const auto s = read_recorded(*path);
  BOOST_REQUIRE(s.ok());
  BOOST_TEST(s->trials.size() == 2u);
  BOOST_TEST(!s->warnings.empty());
}

BOOST_AUTO_TEST_CASE(the_two_formats_of_one_space_agree) {
  const auto cache_path = attune::testing::shared_data("recorded/convolution_milo-A100.json.gz");
  const auto t4_path = attune::testing::shared_data("recorded/convolution_milo-A100_T4.json.gz");
  if (!cache_path || !t4_path) return;
  const auto a = read_recorded(*cache_path), b = read_recorded(*t4_path);
  BOOST_REQUIRE(a.ok());
  BOOST_REQUIRE(b.ok());
  for (const auto* s : {&*a, &*b}) {
    BOOST_TEST(s->trials.size() == 4362u);
    BOOST_TEST(std::count_if(s->trials.begin(), s->trials.end(), [](const auto& t) { return t.result.ok(); }) == 4201);
    double best = 1e9;
    for (const auto& t : s->trials)
      if (t.result.ok()) best = std::min(best, t.written);
    BOOST_TEST(std::abs(best - 0.5536) < 1e-4);
  }
}
