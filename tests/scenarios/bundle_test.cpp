// attune bundle: the best of each task in one file that an application asks.
#include "include/attune/bundle.hpp"
#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune::testing;
using namespace std::chrono_literals;

namespace {

std::string spec(const std::string& name, const std::string& n, const std::string& run = "echo {x}.5",
                 const std::string& more = "") {
  return "task: " + name + "\nworkload: {n: " + n +
         "}\nparameters: {x: {range: [3, 6]}, class: [\"a b\", \"c;\\\"d\"], deep: {bool: true}, "
         "order: {permutation: [i, j]}}\nrun: {command: \"" +
         run + "\"}\nsearch: {strategy: grid}\n" + more;
}

ended consumer(const scenario& s, const std::string& file) {
  return process({BUNDLE_CONSUMER, s.path(file)}, s.folder()).wait(20s);
}

} // namespace

BOOST_AUTO_TEST_SUITE(bundling)

BOOST_AUTO_TEST_CASE(an_application_finds_what_was_tuned) {
  const scenario s;
  s.write("a.yaml", spec("t", "64"));
  s.write("b.yaml", spec("t", "128", "echo 1{x}"));
  BOOST_REQUIRE(s.tune("a.yaml").exit == 0);
  BOOST_REQUIRE(s.tune("b.yaml").exit == 0);
  const auto e = s.attune({"bundle", "a.yaml", "b.yaml", "-o", "tuned.bundle", "--json"});
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  const auto d = e.document();
  BOOST_TEST(d["file"] == "tuned.bundle");
  BOOST_TEST(d["format"] == "bundle");
  BOOST_TEST(d["bundled"] == 2);
  BOOST_TEST(d["bytes"] == std::filesystem::file_size(s.path("tuned.bundle")));
  BOOST_TEST(d["tasks"][0]["best"]["config"]["x"] == 3);
  BOOST_TEST(d["tasks"][1]["best"]["value"] == 13.0);

  std::string why;
  const auto b = attune::bundle::open(s.path("tuned.bundle").c_str(), why);
  BOOST_REQUIRE_MESSAGE(b, why);
  const auto found = b.find("t", {{"n", 64}}, "local");
  BOOST_REQUIRE(found.exact);
  BOOST_TEST(found.entry.integer("x", 0) == 3);
  BOOST_TEST(found.entry.measured() == 3.5);
  BOOST_TEST(found.entry.text("class", "") == d["tasks"][0]["best"]["config"]["class"].get<std::string>());
  // The header alone, compiled as C++17 with every warning.
  const auto said = consumer(s, "tuned.bundle");
  BOOST_TEST(said.exit == 0, said.told());
  BOOST_TEST(said.out == "t 3\nt 3\nexact\n");
  // Damaged, and replaced by a new one while it is in use.
  auto bytes = s.read("tuned.bundle");
  bytes[100] = static_cast<char>(bytes[100] ^ 4);
  s.write("damaged.bundle", bytes);
  BOOST_TEST(consumer(s, "damaged.bundle").err.find("is damaged") != std::string::npos);
  BOOST_TEST(s.attune({"bundle", "b.yaml", "-o", "tuned.bundle"}).exit == 0);
  BOOST_TEST(found.entry.integer("x", 0) == 3);
  BOOST_TEST(consumer(s, "tuned.bundle").out == "t 3\nnone\n");
}

BOOST_AUTO_TEST_CASE(as_a_header_and_for_cmake) {
  const scenario s;
  s.write("a.yaml", spec("my task", "64"));
  BOOST_REQUIRE(s.tune("a.yaml").exit == 0);
  BOOST_REQUIRE(s.attune({"bundle", "a.yaml", "-o", "tuned.hpp", "--format", "header"}).exit == 0);
  s.write(
      "use.cpp",
      "#include \"tuned.hpp\"\n"
      "namespace best = attune_tuned::my_task_n_64_local;\n"
      "static_assert(best::x == 3 && (best::deep || !best::deep));\n"
      "int main() {\n"
      "  const auto found = attune_tuned::bundle().find(\"my task\", {{\"n\", 64}}, \"local\");\n"
      "  return found.exact && found.entry.integer(\"x\", 0) == best::x &&\n"
      "      found.entry.text(\"class\", \"\") == best::class_ && found.entry.text(\"order\", \"\") == best::order\n"
      "    ? 0 : 1;\n}\n");
  s.write("alone.cpp",
          "#include \"tuned.hpp\"\nint main() { return attune_tuned::my_task_n_64_local::x == 3 ? 0 : 1; }\n");
  const auto compile = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> command{"/usr/bin/c++", "-std=c++17",  "-Wall", "-Wextra",   "-Wpedantic",
                                     "-Werror",      name + ".cpp", "-o",    s.path(name)};
    command.insert(command.end(), more.begin(), more.end());
    const auto built = process(command, s.folder()).wait(60s);
    BOOST_TEST(built.exit == 0, built.told());
    const auto ran = process({s.path(name)}, s.folder()).wait(20s);
    BOOST_TEST(ran.exit == 0, ran.told());
  };
  compile("use", {"-I" ATTUNE_SOURCE_DIR "/include"});
  compile("alone", {});

  BOOST_REQUIRE(s.attune({"bundle", "a.yaml", "-o", "tuned.cmake", "--format", "cmake"}).exit == 0);
  s.write("use.cmake",
          "include(${CMAKE_CURRENT_LIST_DIR}/tuned.cmake)\nforeach(t ${ATTUNE_TASKS})\n"
          "  message(\"${t} ${ATTUNE_${t}_x} ${ATTUNE_${t}_order} [${ATTUNE_${t}_class}]\")\nendforeach()\n");
  const auto cmake = process({"/usr/bin/env", "cmake", "-P", "use.cmake"}, s.folder()).wait(20s);
  BOOST_TEST(cmake.exit == 0, cmake.told());
  const auto best = s.attune({"best", "a.yaml", "--json"}).document()["best"]["config"];
  const auto order = best["order"][0].get<std::string>() + "," + best["order"][1].get<std::string>();
  BOOST_TEST(cmake.err == "my_task_n_64_local 3 " + order + " [" + best["class"].get<std::string>() + "]\n");
}

BOOST_AUTO_TEST_CASE(what_has_no_result_is_said_and_nothing_is_bundled_of_it) {
  const scenario s;
  s.write("good.yaml", spec("good", "1"));
  s.write("bad.yaml", spec("bad", "1", "exit 1"));
  s.write("new.yaml", spec("new", "1"));
  BOOST_REQUIRE(s.tune("good.yaml").exit == 0);
  BOOST_REQUIRE(s.tune("bad.yaml").exit == 1);
  const auto some = s.attune({"bundle", "good.yaml", "bad.yaml", "new.yaml", "-o", "some.bundle", "--json"});
  BOOST_TEST(some.exit == 4, some.told());
  BOOST_TEST(some.document()["bundled"] == 1);
  BOOST_TEST(some.document()["tasks"][1]["best"].is_null());
  BOOST_TEST(some.document()["tasks"][1]["why"] == "no valid result is known");
  BOOST_TEST(some.document()["tasks"][2]["why"] == "no result is known");
  const auto none = s.attune({"bundle", "bad.yaml", "new.yaml", "-o", "none.bundle", "--json"});
  BOOST_TEST(none.exit == 1, none.told());
  BOOST_TEST(none.document()["file"].is_null());
  BOOST_TEST(!std::filesystem::exists(s.path("none.bundle")));
  // Changed since: what was measured of other commands is not bundled for these.
  s.write("good.yaml", spec("good", "1", "echo 7"));
  BOOST_TEST(s.attune({"bundle", "good.yaml", "-o", "none.bundle"}).exit == 1);
  // Nor what the constraints leave out by now.
  s.write("good.yaml", spec("good", "1", "echo {x}.5", "constraints: [\"x > 3\"]\n"));
  BOOST_TEST(
      s.attune({"bundle", "good.yaml", "-o", "c.bundle", "--json"}).document()["tasks"][0]["best"]["config"]["x"] == 4);
}

BOOST_AUTO_TEST_CASE(wrong_commands_are_refused_and_write_nothing) {
  const scenario s;
  s.write("a.yaml", spec("t", "64"));
  BOOST_REQUIRE(s.tune("a.yaml").exit == 0);
  for (const auto& wrong :
       std::vector<std::vector<std::string>>{{"bundle", "a.yaml"},
                                             {"bundle", "-o", "x"},
                                             {"bundle", "a.yaml", "-o", ""},
                                             {"bundle", "a.yaml", "-o", "x", "--format", "zip"},
                                             {"bundle", "a.yaml", "-o", "x", "--target", "local", "--all-targets"},
                                             {"bundle", "none.yaml", "-o", "x"},
                                             {"bundle", "a.yaml", "a.yaml", "-o", "x"}}) {
    const auto e = s.attune(wrong);
    BOOST_TEST(e.exit == 2, e.told());
    BOOST_TEST(!std::filesystem::exists(s.path("x")));
  }
  const auto nowhere = s.attune({"bundle", "a.yaml", "-o", "no/such/folder/x"});
  BOOST_TEST(nowhere.exit == 2, nowhere.told());
  BOOST_TEST(nowhere.err.find("cannot write 'no/such/folder/x'") != std::string::npos);
  const auto all = s.attune({"bundle", "a.yaml", "-o", "all.bundle", "--all-targets", "--json"});
  BOOST_TEST(all.exit == 0, all.told());
  BOOST_TEST(all.document()["bundled"] == 1);
  BOOST_TEST(s.attune({"bundle", "a.yaml", "-o", "y", "--target", "moon"}).exit == 1);
  const auto one = s.attune({"bundle", "--target", "moon", "--target", "local", "a.yaml", "-o", "y", "--json"});
  BOOST_TEST(one.exit == 0, one.told());
  BOOST_TEST(one.document()["bundled"] == 1);
}

BOOST_AUTO_TEST_SUITE_END()
