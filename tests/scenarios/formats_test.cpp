// Records of other tools in and out, through the program.
#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

#include <fstream>

using namespace attune::testing;

namespace {

const std::string log_line =
    R"({"input": ["cuda -model=titanx", "conv", [["TENSOR", [1, 2], "float32"]], {}], "config": {"index": 9, "code_hash": null, "entity": [["tile", "sp", [-1, 4]], ["unroll", "ot", 1]]}, "result": [[0.25], 0, 1.5, 1600000000.25], "version": 0.2, "tvm_version": "0.8"})"
    "\n";

std::string failed_line(int number) {
  return R"({"input": ["cuda -model=titanx", "conv", [["TENSOR", [1, 2], "float32"]], {}], "config": {"index": 3, "code_hash": null, "entity": [["tile", "sp", [-1, 8]], ["unroll", "ot", 1]]}, "result": [[1000000000.0], )" +
         std::to_string(number) + ", 10, 1600000001.5], \"version\": 0.2}\n";
}

const std::string cache =
    R"({"device_name": "GPU A", "kernel_name": "vector_add", "problem_size": 100, "tune_params_keys": ["block"], "tune_params": {"block": [32, 64, 128]}, "objective": "time", "cache": {
"32": {"block": 32, "time": 3.0, "times": [9.0, 1.5, 1.5, 1.5, 1.5]},
"64": {"block": 64, "time": 2.0, "times": [2.0, 2.0, 2.0, 2.0, 2.0]},
"128": {"block": 128, "time": "CompilationFailedConfig"}}}
)";

const std::string spec = R"(task: vector_add
workload: {problem_size: 100}
parameters: {block: [32, 64, 128]}
run: {command: "echo 1", metric: {name: time, unit: ms}}
)";

} // namespace

BOOST_AUTO_TEST_SUITE(formats)

BOOST_AUTO_TEST_CASE(a_log_is_taken_with_the_contracts_answer) {
  const scenario s;
  const auto file = s.write("t.log", "# one\n# two\n" + log_line + log_line + failed_line(7) + "broken\n");
  const auto before = s.read("t.log");
  const auto first = s.attune({"db", "import", file, "--json"});
  BOOST_TEST(first.exit == 4, first.told());
  const auto j = first.document();
  BOOST_TEST(j["read"] == 3);
  BOOST_TEST(j["added"] == 2);
  BOOST_TEST(j["duplicates"] == 1);
  BOOST_TEST(j["failures"] == 1);
  BOOST_TEST(j["comments"] == 2);
  BOOST_TEST(j["format"] == "autotvm-0.2");
  BOOST_REQUIRE(j["damaged"].size() == 1u);
  BOOST_TEST(j["damaged"][0]["line"] == 6);
  BOOST_TEST(!j["damaged"][0]["why"].get<std::string>().empty());
  BOOST_TEST(first.err.find("t.log:6: ") != std::string::npos, first.err);
  const auto second = s.attune({"db", "import", file, "--json"}).document();
  BOOST_TEST(second["added"] == 0);
  BOOST_TEST(second["duplicates"] == 3);
  BOOST_TEST(s.read("t.log") == before);
  const auto stats = s.attune({"db", "stats", "--json"}).document();
  BOOST_TEST(stats["records"] == 2);
  BOOST_TEST(stats["failures"] == 1);
  BOOST_TEST(stats["targets"] == 1);
  const auto whole = s.attune({"db", "import", s.write("good.log", log_line)});
  BOOST_TEST(whole.exit == 0, whole.told());
  BOOST_TEST(whole.out.find("1 record read, 0 added, 1 duplicate") != std::string::npos, whole.out);
}

BOOST_AUTO_TEST_CASE(what_is_no_log_adds_nothing_and_makes_no_store) {
  const scenario s;
  const std::string texts[] = {"", "[1, 2, 3]\n", std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16), "{\"a\": 1}\n"};
  for (const auto& text : texts) {
    const auto done = s.attune({"db", "import", s.write("bad", text), "--json"});
    BOOST_TEST(done.exit == 1, done.told());
    const auto j = done.document();
    BOOST_TEST(j["read"] == 0);
    BOOST_TEST(j["added"] == 0);
    BOOST_REQUIRE(j["damaged"].size() == 1u);
    BOOST_TEST(!j["damaged"][0]["why"].get<std::string>().empty());
    BOOST_TEST(done.err.find("bad: ") != std::string::npos, done.err);
  }
  BOOST_TEST(s.attune({"db", "import", s.path("none")}).exit == 1);
  BOOST_TEST(!s.store_exists());
  const auto wrong = s.attune({"db", "import", s.path("bad"), "--format", "autotv"});
  BOOST_TEST(wrong.exit == 2, wrong.told());
  BOOST_TEST(s.attune({"db", "import"}).exit == 2);
  // One good file beside: partly.
  const auto some = s.attune({"db", "import", s.path("bad"), s.write("good.log", log_line), "--json"});
  BOOST_TEST(some.exit == 4, some.told());
  BOOST_TEST(some.document()["added"] == 1);
  BOOST_TEST(some.document()["files"].size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_failure_keeps_its_number_and_is_never_the_best) {
  const scenario s;
  for (int number = 1; number <= 8; ++number) {
    const scenario one;
    BOOST_REQUIRE(one.attune({"db", "import", one.write("t.log", failed_line(number))}).exit == 0);
    const auto out = one.attune({"db", "export", "-", "--format", "autotvm"});
    BOOST_TEST(out.exit == 0, out.told());
    BOOST_TEST(out.out.find("[[1000000000.0], " + std::to_string(number) + ", ") != std::string::npos, out.out);
    BOOST_TEST(one.attune({"db", "export", "-", "--format", "autotvm", "--best"}).exit == 1);
  }
}

BOOST_AUTO_TEST_CASE(what_goes_out_and_in_again_is_the_same_to_the_byte) {
  const scenario s;
  BOOST_REQUIRE(
      s.attune({"db", "import", s.write("t.log", log_line + failed_line(2)), s.write("c.json", cache)}).exit == 0);
  const auto out = s.attune({"db", "export", s.path("all.jsonl.gz"), "--format", "attune", "--json"});
  BOOST_TEST(out.exit == 0, out.told());
  const auto j = out.document();
  BOOST_TEST(j["written"] == 5);
  BOOST_TEST(j["tasks"] == 3); // of the log one for each version of TVM, and the cache's
  BOOST_TEST(j["not_expressed"].empty());
  BOOST_TEST(s.read("all.jsonl.gz").substr(0, 2) == "\x1f\x8b");
  const scenario other;
  BOOST_REQUIRE(other.attune({"db", "import", s.path("all.jsonl.gz")}).exit == 0);
  const auto a = s.attune({"db", "export", "-", "--format", "attune"}),
             b = other.attune({"db", "export", "-", "--format", "attune"});
  BOOST_TEST(a.exit == 0);
  BOOST_TEST((a.out == b.out));
  BOOST_TEST(other.attune({"db", "verify"}).exit == 0);
  // Standard input, as a shell has it.
  const scenario piped;
  const auto shell = piped.write("pipe.sh", "#!/bin/sh\ncat \"$1\" | \"$2\" --store \"$3\" db import - --json\n", true);
  process in({shell, s.path("all.jsonl.gz"), attune_program(), piped.store()}, piped.folder());
  const auto ended = in.wait();
  BOOST_TEST(ended.exit == 0, ended.told());
  BOOST_TEST(ended.document()["added"] == 5);
}

BOOST_AUTO_TEST_CASE(what_was_imported_answers_best_when_it_is_asked_for) {
  const scenario s;
  BOOST_REQUIRE(s.attune({"db", "import", s.write("c.json", cache)}).exit == 0);
  const auto file = s.write("spec.yaml", spec);
  const auto own = s.attune({"best", file});
  BOOST_TEST(own.exit == 1, own.told());
  BOOST_TEST(own.err.find("--imported answers from them") != std::string::npos, own.err);
  const auto unnamed = s.attune({"best", file, "--imported"});
  BOOST_TEST(unnamed.exit == 1, unnamed.told());
  BOOST_TEST(unnamed.err.find("'GPU A'") != std::string::npos, unnamed.err);
  const auto best = s.attune({"best", file, "--imported", "--target", "GPU A", "--json"});
  BOOST_TEST(best.exit == 0, best.told());
  const auto j = best.document();
  // The median of the samples without their cold start; the stated mean would be another one's.
  BOOST_TEST(j["best"]["config"]["block"] == 32);
  BOOST_TEST(j["best"]["value"] == 0.0015);
  BOOST_TEST(s.attune({"best", file, "--imported", "--target", "GPU B"}).exit == 1);
  const scenario stated;
  BOOST_REQUIRE(stated.attune({"db", "import", "--stated", stated.write("c.json", cache)}).exit == 0);
  const auto mean =
      stated.attune({"best", stated.write("spec.yaml", spec), "--imported", "--target", "GPU A", "--json"});
  BOOST_TEST(mean.document()["best"]["config"]["block"] == 64, mean.told());
  BOOST_TEST(mean.document()["statistic"] == "stated");
  // Both are there: the stated mean of 2 ms is not ranked against the medians, nor the other way round.
  BOOST_REQUIRE(stated.attune({"db", "import", stated.path("c.json")}).exit == 0);
  const auto both =
      stated.attune({"best", stated.path("spec.yaml"), "--imported", "--target", "GPU A", "--top", "9", "--json"})
          .document();
  BOOST_TEST(both["statistic"] == "median");
  BOOST_TEST(both["top"].size() == 2u);
  BOOST_TEST(both["best"]["value"] == 0.0015);
}

BOOST_AUTO_TEST_CASE(what_a_format_cannot_hold_is_said) {
  const scenario s;
  BOOST_REQUIRE(
      s.attune({"db", "import", s.write("t.log", log_line + failed_line(2)), s.write("c.json", cache)}).exit == 0);
  const auto two = s.attune({"db", "export", s.path("x.json"), "--format", "kernel-tuner"});
  BOOST_TEST(two.exit == 2, two.told());
  BOOST_TEST(two.err.find("--task") != std::string::npos, two.err);
  BOOST_TEST(!std::filesystem::exists(s.path("x.json")));
  const auto one = s.attune({"db", "export", s.path("x.json"), "--format", "kernel-tuner", "--task", "vector_add"});
  BOOST_TEST(one.exit == 0, one.told());
  const auto log =
      s.attune({"db", "export", s.path("x.log"), "--format", "autotvm-0.2", "--task", "vector_add", "--json"});
  BOOST_TEST(log.document()["written"] == 3, log.told());
  BOOST_TEST(!log.document()["not_expressed"].empty());
  BOOST_TEST(log.err.find("cannot express: failure messages (1)") != std::string::npos, log.err);
  const auto none = s.attune({"db", "export", s.path("y"), "--format", "csv", "--task", "vector_ad"});
  BOOST_TEST(none.exit == 1, none.told());
  BOOST_TEST(none.err.find("did you mean 'vector_add'?") != std::string::npos, none.err);
  BOOST_TEST(!std::filesystem::exists(s.path("y")));
  BOOST_TEST(s.attune({"db", "export", "-", "--format", "csv", "--json"}).exit == 2);
  BOOST_TEST(s.attune({"db", "export", s.path("no/such/folder/x"), "--format", "csv"}).exit == 3);
}

BOOST_AUTO_TEST_SUITE_END()
