#include "tests/shared_data.hpp"
#include "tests/storage/formats/support.hpp"

#include <algorithm>
#include <cmath>

using namespace attune;
using namespace attune::storage;
using namespace attune::storage::formats;
using namespace attune::storage::formats::testing;

namespace {

std::string autotvm(const std::string& entity, const std::string& result) {
  return R"({"input": ["cuda -model=titanx", "conv", [["TENSOR", [1, 2], "float32"], 3, null], {"layout": "NCHW"}], "config": {"index": 9, "code_hash": null, "entity": )" +
         entity + R"(}, "result": )" + result + R"(, "version": 0.2, "tvm_version": "0.8"})" + "\n";
}

const std::string good_entity =
    R"([["tile", "sp", [-1, 4]], ["order", "re", [1, 0]], ["ann", "an", ["none", "vec"]], ["unroll", "ot", 1]])";

std::string kernel_tuner(const std::string& entries, const std::string& head = R"("objective": "time",)") {
  return R"({"device_name": "GPU", "kernel_name": "k", "problem_size": [4, 4], "tune_params_keys": ["x"], "tune_params": {"x": [1, 2]}, )" +
         head + " \"cache\": {\n" + entries + "\n}}";
}

value of(const entry& e, const char* name) {
  const auto* v = e.config.find(name);
  return v == nullptr ? value("missing") : *v;
}

void refuses(const std::string& text, const std::string& why) {
  const auto from = source::of(text, "f");
  const auto as = recognise(*from);
  BOOST_REQUIRE(!as.ok());
  BOOST_TEST((as.err().code == errc::invalid_spec));
  BOOST_TEST(as.err().message.find(why) != std::string::npos, as.err().message << " is not about " << why);
}

} // namespace

BOOST_AUTO_TEST_SUITE(formats_readers)

BOOST_AUTO_TEST_CASE(what_is_no_format_says_what_it_is_instead) {
  refuses("", "empty");
  refuses(" \n\n", "empty");
  refuses("# only\n# comments\n", "comments");
  refuses("[1, 2, 3]\n", "array");
  refuses("[\n1\n]\n", "array");
  refuses(std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16), "no text");
  refuses("{\"a\": 1}", "none of the formats");
  refuses("hello\nworld\n", "none of the formats");
  refuses("a,b,c\n1,2,3\n", "none of the formats"); // no column is a value
}

BOOST_AUTO_TEST_CASE(every_format_is_recognised_by_its_content) {
  const std::pair<std::string, const char*> texts[] = {
      {"# c\nbroken {\n" + autotvm(good_entity, "[[0.5], 0, 1.5, 1.0]"), "autotvm-0.2"},
      {R"({"i": ["cuda", "dense", [1], {}, null, {"i": 3, "t": "", "c": null, "e": [["u", "ot", 1]]}], "r": [[0.5], 0, 2.0, 1.0], "v": 0.1})",
       "autotvm-0.2"},
      {R"({"i": [["[\"h\"]", "llvm", [1], "", 0], [[], [["PR", 1, 0, "u$1"]]]], "r": [[0.5], 0, 1, 2], "v": "v0.6"})",
       "ansor"},
      {R"([0, [[[["A",[],[],["b"]]], []], [0.5], null, []]])", "metaschedule"},
      {R"(["123", "abc="])", "metaschedule"},
      {kernel_tuner(R"("1": {"x": 1, "time": 2})"), "kernel-tuner"},
      {"{\n\"results\": [\n{\"configuration\": {\"x\": 1}}]}", "t4"},
      {"{\"Metadata\": {}, \"Results\": []}", "ktt"},
      {"{\"records\": []}", "history"},
      {"{\"config\": {\"x\": 1}, \"value\": 1}", "history"},
      {"{\"attune\": \"records\", \"version\": 1}", "attune"},
      {"x,y,time_ms\n1,2,3\n", "csv"},
      {"config.x;value\n1;2\n", "csv"}};
  for (const auto& [text, name] : texts) {
    const auto from = source::of(text, "f");
    const auto as = recognise(*from);
    BOOST_REQUIRE_MESSAGE(as.ok(), name);
    BOOST_TEST(std::string((*as)->name) == name);
  }
}

BOOST_AUTO_TEST_CASE(autotvm_is_mapped_as_its_header_says) {
  const auto all = read_text("# a comment\n" + autotvm(good_entity, "[[0.25, 0.75], 0, 1.5, 1600000000.25]"));
  BOOST_TEST(all.comments == 1u);
  BOOST_REQUIRE(all.entries.size() == 1u);
  const auto& e = all.entries[0];
  BOOST_TEST(e.task->name == "conv");
  BOOST_TEST((*find(e.task->workload_args, "arg0") == value("[\"TENSOR\",[1,2],\"float32\"]")));
  BOOST_TEST((*find(e.task->workload_args, "arg1") == value(3)));
  BOOST_TEST((*find(e.task->workload_args, "arg2") == value("null")));
  BOOST_TEST((*find(e.task->workload_args, "layout") == value("NCHW")));
  BOOST_TEST((*find(e.task->target_facts, "device") == value("titanx")));
  BOOST_TEST((*find(e.task->target_facts, "kind") == value("cuda")));
  BOOST_TEST((of(e, "tile.0") == value(-1)));
  BOOST_TEST((of(e, "tile.1") == value(4)));
  BOOST_TEST((of(e, "order") == value("[1,0]")));
  BOOST_TEST((of(e, "ann") == value("[\"none\",\"vec\"]")));
  BOOST_TEST((of(e, "unroll") == value(1)));
  BOOST_TEST(e.by_samples);
  BOOST_TEST(e.result.measured()->value == 0.5);
  BOOST_TEST(e.result.measured()->samples.size() == 2u);
  BOOST_TEST((e.result.phases.build == std::chrono::milliseconds(1500)));
  BOOST_TEST(e.result.at.count() == 1600000000250000000);
  BOOST_TEST(e.result.runner == "autotvm");
  const auto made = origin_of(e.task->method_form);
  BOOST_REQUIRE(made.has_value());
  BOOST_TEST(made->format == "autotvm");
  BOOST_TEST(made->tool == "0.8");
  BOOST_TEST(made->statistic == "median");
}

BOOST_AUTO_TEST_CASE(no_cost_of_a_failure_is_ever_a_value) {
  for (int number = 1; number <= 8; ++number)
    for (const char* cost : {"[1000000000.0]", "[0.001]", "[1e10]", "[]", "null"}) {
      const auto all =
          read_text(autotvm(good_entity, "[" + std::string(cost) + ", " + std::to_string(number) + ", 1, 2]"));
      BOOST_REQUIRE(all.entries.size() == 1u);
      const auto* f = all.entries[0].result.failed();
      BOOST_REQUIRE(f != nullptr);
      // Exported, the number is the same.
      const auto again = read_text(write_all(all.entries, "autotvm-0.2").text);
      BOOST_TEST(same(again.entries[0], all.entries[0]));
      BOOST_TEST(again.entries[0].result.failed()->message == "AutoTVM error " + std::to_string(number));
    }
  for (const char* cost :
       {"[1000000000.0]", "[1e10]", "[1e20]", "[NaN]", "[Infinity]", "[-1.0]", "[]", "null", "[\"x\"]"}) {
    const auto all = read_text(autotvm(good_entity, "[" + std::string(cost) + ", 0, 1, 2]"));
    BOOST_REQUIRE(all.entries.size() == 1u);
    BOOST_TEST(
        (all.entries[0].result.failed() != nullptr && all.entries[0].result.failed()->kind == failure_kind::bad_metric),
        cost);
  }
  const auto meta =
      read_text("[0,[[[],[]],[1e10],null,[]]]\n[0,[[[],[]],null,null,[]]]\n[0,[[[],[]],[0.5],null,[]]]\n");
  BOOST_REQUIRE(meta.entries.size() == 3u);
  BOOST_TEST(meta.entries[0].result.failed() != nullptr);
  BOOST_TEST(meta.entries[1].result.failed() != nullptr);
  BOOST_TEST(meta.entries[2].result.ok());
}

BOOST_AUTO_TEST_CASE(each_damaged_line_is_told_and_the_rest_is_taken) {
  const auto good = autotvm(good_entity, "[[0.5], 0, 1, 2]");
  const auto all = read_text(good + "{\"input\": [\n" + good + "nonsense\n" + autotvm("[[1]]", "[[0.5], 0, 1, 2]") +
                             autotvm(good_entity, "[[0.5]]") + std::string("a\0b\n", 4) + "\n" + good);
  BOOST_TEST(all.entries.size() == 3u);
  BOOST_REQUIRE(all.damages.size() == 5u);
  const std::uint64_t lines[] = {2, 4, 5, 6, 7};
  for (std::size_t i = 0; i < 5; ++i) {
    BOOST_TEST(all.damages[i].line == lines[i]);
    BOOST_TEST(!all.damages[i].why.empty());
  }
}

BOOST_AUTO_TEST_CASE(a_cache_is_read_with_its_head_wherever_that_stands) {
  const auto front =
      read_text(kernel_tuner("\"1\": {\"x\": 1, \"time\": 2.5, \"times\": [2, 3], \"GFLOP/s\": 7, \"compile_time\": "
                             "10},\n\"2\": {\"x\": 2, \"time\": \"CompilationFailedConfig\"}"));
  BOOST_REQUIRE(front.entries.size() == 2u);
  const auto& e = front.entries[0];
  BOOST_TEST(e.result.measured()->value == 0.0025);
  BOOST_TEST(e.written == 2.5);
  BOOST_TEST((e.result.measured()->samples == std::vector<double>{0.002, 0.003}));
  BOOST_TEST((e.result.measured()->metrics == std::vector<std::pair<std::string, double>>{{"GFLOP/s", 7}}));
  BOOST_TEST((*find(e.task->workload_args, "problem_size") == value("[4,4]")));
  BOOST_TEST((front.entries[1].task == e.task)); // its failures too
  const auto behind = read_text(
      R"({"cache": {"1": {"x": 1, "time": 2.5, "times": [2, 3], "GFLOP/s": 7, "compile_time": 10}, "2": {"x": 2, "time": "CompilationFailedConfig"}}, "device_name": "GPU", "kernel_name": "k", "problem_size": [4, 4], "tune_params": {"x": [1, 2]}, "tune_params_keys": ["x"]})");
  BOOST_REQUIRE(behind.entries.size() == 2u);
  BOOST_TEST(same(behind.entries[0], e));
}

BOOST_AUTO_TEST_CASE(numbers_written_as_text_are_numbers_where_all_are) {
  const auto t4 = [](const std::string& a, const std::string& b) {
    return "{\"metadata\": {\"timeunit\": \"microseconds\", \"device\": \"d\"}, \"results\": [{\"configuration\": "
           "{\"x\": " +
           a +
           "}, \"measurements\": [{\"name\": \"time\", \"value\": 62.816, \"unit\": \"\"}], \"invalidity\": "
           "\"correct\"}, "
           "{\"configuration\": {\"x\": " +
           b + "}, \"invalidity\": \"compile\"}]}";
  };
  const auto numbers = read_text(t4("\"64\"", "\"128\""));
  BOOST_REQUIRE(numbers.entries.size() == 2u);
  BOOST_TEST((of(numbers.entries[0], "x") == value(64)));
  BOOST_TEST(numbers.entries[0].result.measured()->value == 6.2816e-5);
  BOOST_TEST(numbers.entries[0].task->name == "some"); // the file's
  BOOST_TEST((numbers.entries[1].result.failed()->kind == failure_kind::build_error));
  const auto words = read_text(t4("\"64\"", "\"auto\""), {.stated = false, .task = "gemm"});
  BOOST_TEST((of(words.entries[0], "x") == value("64")));
  BOOST_TEST(words.entries[0].task->name == "gemm");
}

BOOST_AUTO_TEST_CASE(a_table_of_ones_own_is_read) {
  const auto all = read_text(
      "tile,opt,fast,time (us),\n32,-O2,true,1500.5,\n64,\"-O3 -g\",false,,\n1.5,\"a,\"\"b\"\"\",true,2e3,\n1,2\n");
  BOOST_REQUIRE(all.entries.size() == 3u);
  BOOST_TEST((of(all.entries[0], "tile") == value(32)));
  BOOST_TEST((of(all.entries[0], "fast") == value(true)));
  BOOST_TEST(all.entries[0].result.measured()->value == 0.0015005);
  BOOST_TEST((of(all.entries[1], "opt") == value("-O3 -g")));
  BOOST_TEST((all.entries[1].result.failed()->kind == failure_kind::bad_metric));
  BOOST_TEST((of(all.entries[2], "tile") == value(1.5)));
  BOOST_TEST((of(all.entries[2], "opt") == value("a,\"b\"")));
  BOOST_TEST(all.entries[2].result.measured()->value == 0.002);
  BOOST_REQUIRE(all.damages.size() == 1u);
  BOOST_TEST(all.damages[0].line == 5u);
}

BOOST_AUTO_TEST_CASE(workloads_of_a_metaschedule_database_are_known_by_their_hashes) {
  std::vector<std::string> workloads;
  read_options options;
  options.workloads = &workloads;
  const auto first = read_text("[\"111\",\"QQ==\"]\n[\"222\",\"QQ==\"]\n", options);
  BOOST_TEST(first.entries.empty());
  BOOST_TEST(first.damages.empty());
  const auto second = read_text("[1,[[[[\"S\",[],[],[\"v\"]]],[[0,[2,3]],[1,4]]],[0.5],{\"kind\":\"llvm\",\"mcpu\":"
                                "\"x\"},[[\"TENSOR\",\"float32\",[1]]]]]\n",
                                options);
  BOOST_REQUIRE(second.entries.size() == 1u);
  const auto& e = second.entries[0];
  BOOST_TEST((*find(e.task->workload_args, "hash") == value("222")));
  BOOST_TEST((of(e, "0.1") == value(3)));
  BOOST_TEST((of(e, "1") == value(4)));
  BOOST_TEST((*find(e.task->target_facts, "device") == value("llvm")));
}

BOOST_AUTO_TEST_SUITE_END()
