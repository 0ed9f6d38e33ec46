// What changes a store as a whole, while another process tunes on it.
#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

#include <csignal>

using namespace attune::testing;

namespace {

std::string spec(const std::string& name, int last, const std::string& pause = "") {
  return "task: " + name + "\nparameters: {x: {range: [1, " + std::to_string(last) +
         "]}}\nrun: {command: \"echo {x} >>" + name + ".log; " + pause +
         "echo {x}\"}\nsearch: {strategy: grid, trials: " + std::to_string(last) + "}\n";
}

constexpr const char* log_line =
    R"({"input": ["llvm -model=cpu", "conv2d", [["TENSOR", [1, 16], "float32"]], {}], "config": {"index": 1, "code_hash": null, "entity": [["tile", "sp", [-1, 4]]]}, "result": [[0.002], 0, 1.5, 1587243236.45], "version": 0.2, "tvm_version": "0.8"})";

} // namespace

BOOST_AUTO_TEST_SUITE(changes)

BOOST_AUTO_TEST_CASE(nothing_is_refused_while_another_process_tunes) {
  const scenario s;
  s.write("done.yaml", spec("done", 30));
  s.write("long.yaml", spec("long", 4000));
  BOOST_REQUIRE(s.tune("done.yaml").exit == 0);
  auto running = s.start({"tune", "long.yaml", "--json"});
  BOOST_REQUIRE(running.wait_until([&] { return s.lines("long.log").size() >= 10; }));

  const auto imported = s.attune({"db", "import", s.write("a.log", log_line), "--json"});
  BOOST_TEST(imported.exit == 0, imported.told());
  BOOST_TEST(imported.document()["added"] == 1, imported.told());
  const auto again = s.attune({"db", "import", "a.log", "--json"});
  BOOST_TEST(again.document()["added"] == 0, again.told());
  BOOST_TEST(again.document()["duplicates"] == 1, again.told());

  const auto invalid = s.attune({"db", "forget", "--cache", "--task", "done", "--json"});
  BOOST_TEST(invalid.exit == 0, invalid.told());
  BOOST_TEST(invalid.document()["cache_entries"] == 30, invalid.told());
  const auto thinned = s.attune({"db", "forget", "--task", "done", "--keep-best", "3", "--json"});
  BOOST_TEST(thinned.exit == 0, thinned.told());
  BOOST_TEST(thinned.document()["removed"] == 27, thinned.told());
  // What the search under way has made stays.
  const auto held = s.attune({"db", "forget", "--task", "long", "--json"});
  BOOST_TEST(held.exit == 0, held.told());
  BOOST_TEST(held.document()["removed"] == 0, held.told());
  BOOST_TEST(held.document()["tasks"][0]["held"].get<int>() >= 10, held.told());

  const auto compacted = s.attune({"db", "compact", "--json"});
  BOOST_TEST(compacted.exit == 0, compacted.told());
  const auto backup = s.attune({"db", "backup", "copy", "--json"});
  BOOST_TEST(backup.exit == 0, backup.told());
  for (const auto* where : {"store", "copy"}) {
    const auto verified = s.attune({"db", "verify", "--store", s.path(where)});
    BOOST_TEST(verified.exit == 0, verified.told());
  }
  BOOST_TEST(!running.gone_within(milliseconds(0)));

  running.signal(SIGINT);
  BOOST_TEST(running.wait().exit == 130);
  const auto verified = s.attune({"db", "verify"});
  BOOST_TEST(verified.exit == 0, verified.told());
  // Its session goes on from there.
  const auto ran = s.lines("long.log").size();
  const auto rest = s.tune("long.yaml", {"--trials", std::to_string(ran)});
  BOOST_TEST(rest.exit == 0, rest.told());
  BOOST_TEST(rest.document()["trials"]["measured"].get<std::size_t>() <= 2u, rest.told());
}

BOOST_AUTO_TEST_CASE(what_is_invalidated_from_outside_is_measured_again_by_a_search_under_way) {
  const scenario s;
  s.write("s.yaml", spec("t", 8));
  BOOST_REQUIRE(s.tune("s.yaml").exit == 0);
  // A program that keeps the store open, with all of it in memory, beside the one that invalidates.
  s.write("long.yaml", spec("long", 4000));
  auto running = s.start({"tune", "long.yaml", "--json"});
  BOOST_REQUIRE(running.wait_until([&] { return s.lines("long.log").size() >= 3; }));
  BOOST_REQUIRE(s.attune({"db", "forget", "--cache", "--task", "t"}).exit == 0);
  const auto anew = s.tune("s.yaml", {"--seed", "2", "--strategy", "random"});
  BOOST_TEST(anew.document()["trials"]["measured"] == 8, anew.told());
  BOOST_TEST(s.lines("t.log").size() == 16u);
  running.signal(SIGINT);
  BOOST_TEST(running.wait().exit == 130);
}

BOOST_AUTO_TEST_CASE(a_large_import_beside_a_search_is_whole) {
  const scenario s;
  s.write("long.yaml", spec("long", 4000));
  auto running = s.start({"tune", "long.yaml", "--json"});
  BOOST_REQUIRE(running.wait_until([&] { return s.lines("long.log").size() >= 3; }));
  std::string text;
  std::string line = log_line;
  const auto at = line.find("[-1, 4]") + 5;
  for (int i = 1; i <= 9000; ++i) text += std::string(line).replace(at, 1, std::to_string(i)) + "\n";
  const auto e = s.attune({"db", "import", s.write("many.log", text), "--json"});
  BOOST_TEST(e.exit == 0, e.told());
  BOOST_TEST(e.document()["added"] == 9000, e.told());
  running.signal(SIGINT);
  BOOST_TEST(running.wait().exit == 130);
  const auto verified = s.attune({"db", "verify"});
  BOOST_TEST(verified.exit == 0, verified.told());
}

BOOST_AUTO_TEST_CASE(an_owner_that_is_stopped_is_named_to_who_comes) {
  const scenario s;
  s.write("long.yaml", spec("long", 4000));
  s.write("s.yaml", spec("t", 3));
  auto running = s.start({"tune", "long.yaml", "--json"});
  BOOST_REQUIRE(running.wait_until([&] { return s.lines("long.log").size() >= 3; }));
  running.signal(SIGSTOP);
  const auto e = s.tune("s.yaml");
  BOOST_TEST(e.exit == 3, e.told());
  BOOST_TEST(e.err.find(std::to_string(running.pid())) != std::string::npos, e.told());
  BOOST_TEST(e.err.find("does not answer") != std::string::npos, e.told());
  running.signal(SIGCONT);
  const auto now = s.tune("s.yaml");
  BOOST_TEST(now.exit == 0, now.told());
  running.signal(SIGINT);
  BOOST_TEST(running.wait().exit == 130);
}

BOOST_AUTO_TEST_SUITE_END()
