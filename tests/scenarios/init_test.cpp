// A spec that attune init drafts is one that the other commands take; and the manual pages are pages.
#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <unistd.h>

using namespace attune::testing;

namespace {

constexpr const char* source = R"(#include <cstdio>
#include <chrono>
#ifndef TILE
#define TILE 8
#endif
#ifndef USE_LONG
#define USE_LONG 0
#endif
int main() {
#if USE_LONG
  volatile long sum = 0;
#else
  volatile int sum = 0;
#endif
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < SIZE; i += TILE) sum = sum + i;
  std::printf("time: %.9f s\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}
)";

} // namespace

BOOST_AUTO_TEST_SUITE(drafting)

BOOST_AUTO_TEST_CASE(a_draft_for_a_source_is_taken_by_space_and_tune) {
  const scenario s;
  s.write("loop.cpp", std::string("#include \"shape.hpp\"\n") + source);
  s.write("shape.hpp", "#define SIZE 4096\n");
  const auto made = s.attune({"init", "loop.cpp", "--json"});
  BOOST_REQUIRE_MESSAGE(made.exit == 0, made.told());
  BOOST_TEST(made.document()["spec"] == "loop.yaml");
  BOOST_TEST((made.document()["parameters"] == json{"tile", "use_long", "opt"}));
  const auto text = s.read("loop.yaml");
  BOOST_TEST(text.find("# ") != std::string::npos);
  BOOST_TEST(text.find("shape.hpp") != std::string::npos);
  const auto space = s.attune({"space", "loop.yaml", "--count", "--json"});
  BOOST_REQUIRE_MESSAGE(space.exit == 0, space.told());
  BOOST_TEST(space.document()["valid"] == made.document()["valid"]);
  const auto dry = s.attune({"tune", "loop.yaml", "--dry-run"});
  BOOST_TEST(dry.exit == 0, dry.told());
  const auto tuned = s.attune({"tune", "loop.yaml", "--trials", "2", "--strategy", "random", "--json"});
  BOOST_REQUIRE_MESSAGE(tuned.exit == 0, tuned.told());
  BOOST_TEST(tuned.document()["best"]["unit"] == "s");
  BOOST_TEST(tuned.document()["best"]["value"] > 0);

  // It is left alone, whatever is there.
  s.write("loop.yaml", "mine");
  const auto again = s.attune({"init", "loop.cpp"});
  BOOST_TEST(again.exit == 2);
  BOOST_TEST(again.err.find("loop.yaml: is there already") != std::string::npos, again.err);
  BOOST_TEST(s.read("loop.yaml") == "mine");
  const auto shown = s.attune({"init", "loop.cpp", "-o", "-"});
  BOOST_TEST(shown.exit == 0);
  BOOST_TEST(shown.out.find("task: \"loop\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_draft_for_a_command_and_for_a_t1_file) {
  const scenario s;
  const auto command = s.attune({"init", "--command", "echo --block 64", "-o", "c.yaml"});
  BOOST_REQUIRE_MESSAGE(command.exit == 0, command.told());
  BOOST_TEST(s.attune({"tune", "c.yaml", "--dry-run"}).exit == 0);
  const auto tuned = s.attune({"tune", "c.yaml", "--trials", "2", "--json"});
  BOOST_TEST(tuned.exit == 0, tuned.told());

  s.write("conv.json", R"({"General": {"BenchmarkName": "conv", "TimeUnit": "Milliseconds"},
 "ConfigurationSpace": {"TuningParameters": [
   {"Name": "x", "Type": "int", "Values": "[2**i for i in range(4)]", "Default": 2},
   {"Name": "y", "Type": "int", "Values": "[1, 3]"}],
  "Conditions": [{"Expression": "x * y < 16", "Parameters": ["x", "y"]}]}})");
  const auto t1 = s.attune({"init", "conv.json"});
  BOOST_REQUIRE_MESSAGE(t1.exit == 0, t1.told());
  const auto of = [&](const char* file) { return s.attune({"space", file, "--list", "--json"}).document(); };
  BOOST_TEST(s.attune({"space", "conv.yaml", "--count", "--json"}).document()["valid"] ==
             s.attune({"space", "conv.json", "--count", "--json"}).document()["valid"]);
  BOOST_TEST((of("conv.yaml") == of("conv.json")));
  BOOST_TEST(s.attune({"tune", "conv.yaml", "--dry-run"}).exit == 0);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_drafted_is_refused) {
  const scenario s;
  s.write("a.txt", "x");
  s.write("b.cpp", std::string_view("\0\1", 2));
  for (const auto& bad : std::vector<std::vector<std::string>>{{"init"},
                                                               {"init", "a.txt"},
                                                               {"init", "b.cpp"},
                                                               {"init", "gone.cpp"},
                                                               {"init", "--command", "true"},
                                                               {"init", "a.cpp", "--command", "true"}}) {
    const auto e = s.attune(bad);
    BOOST_TEST(e.exit == 2, e.told());
    BOOST_TEST(std::count(e.err.begin(), e.err.end(), '\n') == 1, e.err);
  }
  BOOST_TEST(!s.store_exists());
}

BOOST_AUTO_TEST_CASE(manual_pages_are_pages) {
  const scenario s;
  const auto made = s.attune({"man", "--directory", s.path("man"), "--json"});
  BOOST_REQUIRE_MESSAGE(made.exit == 0, made.told());
  std::size_t pages = 0;
  const bool groff = ::access("/usr/bin/groff", X_OK) == 0;
  if (!groff) BOOST_TEST_MESSAGE("no groff here: the pages are not typeset");
  for (const auto& entry : std::filesystem::directory_iterator(s.path("man"))) {
    ++pages;
    if (!groff) continue;
    process typeset({"/usr/bin/groff", "-ww", "-man", "-K", "utf8", "-T", "utf8", "-P-cbou", entry.path().string()},
                    s.folder());
    const auto ended = typeset.wait();
    BOOST_TEST(ended.exit == 0, ended.told());
    BOOST_TEST(ended.err == "", entry.path() << ": " << ended.err);
    BOOST_TEST(ended.out.find("OPTIONS") != std::string::npos);
  }
  BOOST_TEST(made.document()["pages"] == pages);
  const auto one = s.attune({"man", "db", "forget"});
  BOOST_TEST(one.out.find(".TH \"ATTUNE\\-DB\\-FORGET\" 1") == 0u);
  BOOST_TEST(s.attune({"man", "nothing"}).exit == 2);
}

BOOST_AUTO_TEST_SUITE_END()
