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

BOOST_AUTO_TEST_CASE(ktt_output_is_read_in_its_own_unit) {
  const auto with = [](const std::string& unit, const std::string& results) {
    return parse_recorded("{\"Metadata\": {\"Device\": \"gpu\"" + unit + "}, \"Results\": [" + results + "]}", "t");
  };
  const auto one = [](int block, const std::string& status, const std::string& duration) {
    return R"({"KernelName": "k", "Status": ")" + status + R"(", "TotalDuration": )" + duration +
           R"(, "TotalOverhead": 900.0, "CompilationOverhead": 500.0, "Configuration": [{"Name": "block", "Value": )" +
           std::to_string(block) + R"(, "ValueType": "UnsignedInt"}, {"Name": "vec", "Value": true}]})";
  };
  const auto s = with(R"(, "TimeUnit": "Microseconds")",
                      one(64, "Ok", "54.5") + "," + one(32, "Ok", "89.5") + "," + one(128, "CompilationFailed", "0") +
                          "," + one(256, "ValidationFailed", "1") + "," + one(512, "ComputationFailed", "0") + "," +
                          one(1024, "DeviceLimitsExceeded", "0"));
  BOOST_REQUIRE(s.ok());
  BOOST_TEST(s->format == "ktt");
  BOOST_TEST(s->name == "k");
  BOOST_TEST(s->device == "gpu");
  BOOST_TEST(s->unit == "us");
  BOOST_REQUIRE(s->trials.size() == 6u);
  BOOST_TEST((s->parameters[0].values ==
              std::vector<value>{value(32), value(64), value(128), value(256), value(512), value(1024)}));
  const auto& t = s->trials[0];
  BOOST_TEST((t.at == std::vector<std::uint32_t>{1, 0}));
  BOOST_TEST(t.written == 54.5);
  BOOST_TEST(std::abs(t.result.measured()->value - 54.5e-6) < 1e-18);
  BOOST_TEST((t.result.phases.build == std::chrono::microseconds(500)));
  BOOST_TEST(std::abs(seconds(t.result.phases.run) - 454.5e-6) < 2e-9);
  BOOST_TEST((s->trials[2].result.failed()->kind == failure_kind::build_error));
  BOOST_TEST((s->trials[3].result.failed()->kind == failure_kind::wrong_output));
  BOOST_TEST((s->trials[4].result.failed()->kind == failure_kind::run_error));
  BOOST_TEST((s->trials[5].result.failed()->kind == failure_kind::invalid_config));
  const auto silent = with("", one(64, "Ok", "54.5"));
  BOOST_REQUIRE(silent.ok());
  BOOST_TEST(silent->unit == "ns");
  BOOST_TEST(silent->warnings.size() == 1u);
}

namespace {

std::string autotvm(const std::string& factors, const std::string& costs, int error, const std::string& task = "conv") {
  return R"({"input": ["llvm", ")" + task + R"(", [1, 2], {}], "config": {"index": 1, "entity": [["tile", "sp", )" +
         factors + R"(], ["unroll", "ot", 0], ["order", "re", [1, 0]]]}, "result": [)" + costs + ", " +
         std::to_string(error) + ", 1.5, 1600000000.0], \"version\": 0.2}\n";
}

} // namespace

BOOST_AUTO_TEST_CASE(an_autotvm_log_gives_splits_as_their_free_factors) {
  const auto s = parse_recorded("# a comment\n" + autotvm("[-1, 2, 16]", "[0.25, 0.75]", 0) +
                                    autotvm("[-1, 4, 8]", "[0.125]", 0) + autotvm("[-1, 4, 4]", "[1000000000.0]", 7),
                                "log");
  BOOST_REQUIRE(s.ok());
  BOOST_TEST(s->format == "autotvm");
  BOOST_TEST(s->name == "conv");
  BOOST_TEST(s->device == "llvm");
  BOOST_TEST(s->unit == "s");
  BOOST_REQUIRE(s->parameters.size() == 4u);
  BOOST_TEST(s->parameters[0].name == "tile.1");
  BOOST_TEST((s->parameters[1].values == std::vector<value>{value(4), value(8), value(16)}));
  BOOST_TEST((s->parameters[3].values == std::vector<value>{value("[1,0]")}));
  BOOST_REQUIRE(s->trials.size() == 3u);
  BOOST_TEST(s->trials[0].result.measured()->value == 0.5);
  BOOST_TEST(s->trials[0].result.measured()->samples.size() == 2u);
  BOOST_TEST((s->trials[1].at == std::vector<std::uint32_t>{1, 1, 0, 0}));
  BOOST_TEST((s->trials[1].result.phases.build == std::chrono::milliseconds(1500)));
  // A failure is its number, not its cost.
  BOOST_REQUIRE(s->trials[2].result.failed() != nullptr);
  BOOST_TEST((s->trials[2].result.failed()->kind == failure_kind::run_timeout));
  BOOST_TEST(s->warnings.empty());
}

BOOST_AUTO_TEST_CASE(every_autotvm_error_number_is_told_apart) {
  const failure_kind kinds[] = {failure_kind::invalid_config, failure_kind::build_error,  failure_kind::build_error,
                                failure_kind::run_error,      failure_kind::wrong_output, failure_kind::build_timeout,
                                failure_kind::run_timeout,    failure_kind::run_error};
  for (int number = 1; number <= 8; ++number) {
    const auto s = parse_recorded(autotvm("[-1, 2]", "[1000000000.0]", number), "log");
    BOOST_REQUIRE(s.ok());
    const auto* f = s->trials[0].result.failed();
    BOOST_REQUIRE(f != nullptr);
    BOOST_TEST((f->kind == kinds[number - 1]));
    BOOST_TEST(f->message == "AutoTVM error " + std::to_string(number));
  }
}

BOOST_AUTO_TEST_CASE(version_0_1_of_autotvm_is_read_too) {
  const auto s = parse_recorded(
      R"({"i": ["cuda", "dense", [1], {}, ["dense", 1], {"i": 3, "t": "", "c": null, "e": [["x", "sp", [8, 4]], ["u", "ot", 1]]}], "r": [[0.5], 0, 2.0, 1.0], "v": 0.1})",
      "log");
  BOOST_REQUIRE(s.ok());
  BOOST_TEST(s->name == "dense");
  BOOST_REQUIRE(s->parameters.size() == 2u);
  BOOST_TEST(s->parameters[0].name == "x.1");
  BOOST_TEST(s->trials[0].written == 0.5);
}

BOOST_AUTO_TEST_CASE(of_many_tasks_the_one_of_the_most_configurations_is_taken) {
  const auto s = parse_recorded(autotvm("[-1, 2]", "[1.0]", 0, "a") + autotvm("[-1, 2]", "[1.0]", 0, "a") +
                                    autotvm("[-1, 2]", "[1.0]", 0, "a") + autotvm("[-1, 2]", "[1.0]", 0, "a") +
                                    autotvm("[-1, 2]", "[2.0]", 0, "b") + autotvm("[-1, 4]", "[3.0]", 0, "b") +
                                    autotvm("[-1, 4]", "[2.5]", 0, "b") + "nonsense\n",
                                "log");
  BOOST_REQUIRE(s.ok());
  BOOST_TEST(s->name == "b");
  BOOST_REQUIRE(s->trials.size() == 2u);
  BOOST_TEST(s->trials[1].written == 2.5);
  BOOST_REQUIRE(s->warnings.size() == 3u);
  BOOST_TEST(s->warnings[0] == "1 lines that are no record left out");
  BOOST_TEST(s->warnings[1].find("2 tasks in 7 records") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_history_is_read_as_a_document_and_line_by_line) {
  const std::string records[] = {
      R"({"config": {"x": 1, "opt": "-O2"}, "value": 0.5, "unit": "s", "failure": null, "samples": [0.4, 0.6]})",
      R"({"config": {"x": 2, "opt": "-O2", "pad": 4}, "value": null, "unit": "s", "failure": "build_timeout", "message": "slow"})",
      R"({"config": {"x": 4, "opt": "-O2"}, "value": null, "unit": "s", "failure": "device_lost"})"};
  const auto a = parse_recorded("{\"records\": [" + records[0] + "," + records[1] + "," + records[2] + "]}", "h");
  const auto b = parse_recorded(records[0] + "\n" + records[1] + "\n\n" + records[2] + "\n", "h");
  for (const auto* s : {&a, &b}) {
    BOOST_REQUIRE(s->ok());
    BOOST_TEST((*s)->format == "attune");
    BOOST_TEST((*s)->unit == "s");
    BOOST_REQUIRE((*s)->parameters.size() == 3u);
    // What the machine did is no result of the configuration.
    BOOST_REQUIRE((*s)->trials.size() == 2u);
    BOOST_TEST(((*s)->trials[0].at == std::vector<std::uint32_t>{0, 0, 0xffffffffu}));
    BOOST_TEST((*s)->trials[0].result.measured()->value == 0.5);
    BOOST_TEST((*s)->trials[0].result.measured()->samples.size() == 2u);
    BOOST_TEST(((*s)->trials[1].result.failed()->kind == failure_kind::build_timeout));
    BOOST_TEST((*s)->trials[1].result.failed()->message == "slow");
  }
  const auto rate = parse_recorded(R"({"config": {"x": 1}, "value": 5, "unit": "GFLOP/s"})", "h");
  BOOST_REQUIRE(rate.ok());
  BOOST_TEST((rate->direction == goal::maximize));
}

BOOST_AUTO_TEST_CASE(real_autotvm_logs_are_read_in_full) {
  if (const auto path = attune::testing::shared_data("logs/intel_graphics_v0.02.log")) {
    const auto s = read_recorded(*path);
    BOOST_REQUIRE(s.ok());
    const auto said = std::find_if(s->warnings.begin(), s->warnings.end(), [](const std::string& w) {
      return w.find("43 tasks in 73 records") != std::string::npos;
    });
    BOOST_TEST((said != s->warnings.end()));
  }
  if (const auto path = attune::testing::shared_data("logs/autotvm-bert-with-failures.log.gz")) {
    const auto s = read_recorded(*path);
    BOOST_REQUIRE(s.ok());
    BOOST_TEST(s->trials.size() > 100u);
    BOOST_TEST(std::any_of(s->trials.begin(), s->trials.end(), [](const auto& t) { return !t.result.ok(); }));
    for (const auto& t : s->trials)
      if (t.result.ok()) BOOST_TEST(t.written < 1.0);
  }
}
