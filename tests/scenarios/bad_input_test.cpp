// Bad input of every kind: exit 2, one clear line that names the place, nothing started, nothing written. SA11 too.
#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <sstream>

using namespace attune::testing;
using namespace std::chrono_literals;
using namespace std::string_view_literals;

namespace {

/// How many messages there are: lines, but for the indented ones, which show an expression with its caret.
std::size_t messages_in(const std::string& text) {
  std::size_t n = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) n += line.starts_with("  ") ? 0u : 1u;
  return n;
}

/// Gives the commands a spec that must be refused; the one line must hold each of `words`.
void refused(const std::string& what, const std::string& name, std::string_view contents,
             const std::vector<std::string>& words, const std::vector<std::string>& commands = {"tune"}) {
  const scenario s;
  if (!name.empty()) s.write(name, contents);
  const auto spec = name.empty() ? "missing.yaml" : name;
  for (const auto& command : commands) {
    const auto e = s.attune({command, spec}, 20s);
    const auto told = what + ", " + command + ": " + e.told();
    BOOST_TEST(e.exit == 2, told);
    BOOST_TEST(e.out.empty(), told);
    BOOST_TEST(messages_in(e.err) == 1u, told);
    BOOST_TEST(e.err.size() < 600u, told);
    BOOST_TEST(e.err.find(spec) != std::string::npos, told);
    for (const auto& word : words) BOOST_TEST(e.err.find(word) != std::string::npos, told << "\nwanted: " << word);
    BOOST_TEST(
        std::all_of(e.err.begin(), e.err.end(), [](unsigned char c) { return c == '\n' || (c >= ' ' && c != 0x7f); }),
        told);
    BOOST_TEST(!s.store_exists(), told);
    BOOST_TEST(!std::filesystem::exists(s.path("ran")), told);
    BOOST_TEST(std::filesystem::is_empty(s.temporary()), told);
  }
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

/// A right spec (that would leave the file `ran`), to be spoilt in one place.
std::string spec(const std::string& parameters, const std::string& more = {}) {
  return "task: t\nparameters:\n" + parameters + more + "run: {command: \"touch ran; echo 1\"}\n";
}

constexpr auto png = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0\x90wS\xde"sv;

} // namespace

BOOST_AUTO_TEST_CASE(a_right_spec_is_not_refused) {
  const scenario s;
  s.write("s.yaml", spec("  x: [1, 2]\n"));
  const auto e = s.tune("s.yaml");
  BOOST_TEST(e.exit == 0, e.told());
  BOOST_TEST(std::filesystem::exists(s.path("ran")));
}

BOOST_AUTO_TEST_CASE(what_is_no_spec_at_all_is_refused) {
  refused("missing", "", "", {});
  refused("empty", "s.yaml", "", {"empty"});
  refused("blank", "s.yaml", "\n\n  \n", {"nothing"});
  refused("comments only", "s.yaml", "# nothing\n# here\n", {"nothing"});
  refused("empty T1", "s.json", "", {"empty"});
  refused("JSON array", "s.yaml", "[1, 2, 3]\n", {});
  refused("JSON array as T1", "s.json", "[1, 2, 3]\n", {});
  refused("a text", "s.yaml", "hello\n", {});
  refused("a number", "s.yaml", "42\n", {});
  refused("PNG", "s.yaml", png, {});
  refused("PNG as T1", "s.json", png, {});
  refused("bytes that are no UTF-8", "s.yaml", "task: \xff\xfe\xfd\nparameters: {x: [1]}\n", {"UTF-8", "offset 6"});
  std::string noise;
  unsigned seed = 1;
  for (int i = 0; i < 4096; ++i) {
    seed = seed * 1664525u + 1013904223u;
    noise += static_cast<char>(seed >> 24);
  }
  refused("noise", "s.yaml", noise, {});
  refused("zeros", "s.yaml", std::string(4096, '\0'), {});
}

BOOST_AUTO_TEST_CASE(every_command_refuses_it_and_says_so_in_json_too) {
  for (const auto& [name, contents] : {std::pair("s.yaml", "task: t\nfoo: 1\n"), std::pair("", "")}) {
    refused("every command", name, contents, {}, {"tune", "space", "best", "history"});
    const scenario s;
    if (*name != '\0') s.write(name, contents);
    for (const std::string command : {"tune", "space", "best", "history"}) {
      const auto e = s.attune({command, "s.yaml", "--json"});
      BOOST_TEST(e.exit == 2, command << ": " << e.told());
      BOOST_TEST(e.document().contains("error"), command << ": " << e.told());
      BOOST_TEST(!s.store_exists());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_folder_is_no_spec) {
  const scenario s;
  std::filesystem::create_directory(s.path("s.yaml"));
  const auto e = s.attune({"tune", "s.yaml"});
  BOOST_TEST(e.exit == 2, e.told());
  BOOST_TEST(!s.store_exists());
}

BOOST_AUTO_TEST_CASE(a_spec_of_100_megabytes_is_refused_at_once) {
  refused("100 MB of one word", "s.yaml", std::string(100'000'000, 'a'), {"large"});
  refused("100 MB of a list", "s.yaml", "task: t\nparameters:\n  x: [" + repeated("1, ", 33'333'333) + "2]\n",
          {"large"});
  refused("100 MB of T1", "s.json", "{\"a\": [" + repeated("1, ", 33'333'333) + "2]}\n", {"large"});
}

BOOST_AUTO_TEST_CASE(deep_nesting_is_refused_without_a_crash) {
  for (const std::size_t depth : {200u, 10'000u, 200'000u}) {
    const auto n = std::to_string(depth);
    refused("nested lists " + n, "s.yaml", "task: " + std::string(depth, '[') + std::string(depth, ']') + "\n",
            {"s.yaml:"});
    refused("unclosed lists " + n, "s.yaml", "task: " + std::string(depth, '['), {"s.yaml:"});
    refused("nested maps " + n, "s.yaml", "task: " + repeated("{a: ", depth) + "1" + std::string(depth, '}') + "\n",
            {"s.yaml:"});
    refused("nested T1 " + n, "s.json", repeated("{\"a\":[", depth), {"s.json"});
    refused(
        "nested parentheses " + n, "s.yaml",
        spec("  x: [1, 2]\n", "constraints: ['" + std::string(depth, '(') + "x" + std::string(depth, ')') + " > 0']\n"),
        {"s.yaml:4"});
    refused("a long chain of not " + n, "s.yaml",
            spec("  x: [1, 2]\n", "constraints: ['" + repeated("not ", depth) + "x > 0']\n"), {"s.yaml:4"});
  }
  std::string block = "task:\n";
  for (std::size_t i = 1; i <= 2000; ++i) block += std::string(i, ' ') + "a:\n";
  refused("nested blocks", "s.yaml", block, {"s.yaml:"});
}

BOOST_AUTO_TEST_CASE(references_that_multiply_are_refused) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i <= 12; ++i) {
    const auto before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int k = 0; k < 9; ++k) bomb += ", " + before;
    bomb += "]\n";
  }
  refused("references", "s.yaml", bomb, {"s.yaml:"});
}

BOOST_AUTO_TEST_CASE(doubled_keys_are_refused_with_their_line) {
  refused("parameter", "s.yaml", spec("  block: [16, 32]\n  y: [1]\n  block: [64]\n"), {"s.yaml:5", "block"});
  refused("top", "s.yaml", "task: t\ntask: u\nparameters: {x: [1]}\nrun: {command: echo 1}\n", {"s.yaml:2", "task"});
  refused("inner", "s.yaml", "task: t\nparameters: {x: [1]}\nrun:\n  command: echo 1\n  timeout: 5s\n  timeout: 50s\n",
          {"s.yaml:6", "timeout"});
  refused("in one line", "s.yaml", "task: t\nparameters: {x: [1], x: [2]}\nrun: {command: echo 1}\n",
          {"s.yaml:2", "x"});
  refused("value", "s.yaml", spec("  x: [1, 2, 1]\n"), {"s.yaml:3"});
}

BOOST_AUTO_TEST_CASE(unknown_keys_are_refused_with_the_nearest_known_one) {
  refused("top", "s.yaml", "tusk: t\nparameters: {x: [1]}\nrun: {command: echo 1}\n", {"s.yaml:1", "tusk", "task"});
  refused("in run", "s.yaml", "task: t\nparameters: {x: [1]}\nrun:\n  command: echo 1\n  time_out: 5s\n",
          {"s.yaml:5", "time_out", "timeout"});
  refused("in a parameter", "s.yaml", spec("  x: {rnge: [1, 2]}\n"), {"s.yaml:3", "rnge", "range"});
  refused("in search", "s.yaml", spec("  x: [1]\n", "search: {strateqy: random}\n"),
          {"s.yaml:4", "strateqy", "strategy"});
  refused("in a command", "s.yaml", "task: t\nparameters: {tile: [1]}\nrun: {command: \"echo {tiel}\"}\n",
          {"tiel", "tile"});
}

BOOST_AUTO_TEST_CASE(wrong_types_and_missing_units_are_refused) {
  refused("parameters as a list", "s.yaml", "task: t\nparameters: [1]\nrun: {command: echo 1}\n", {"s.yaml:2"});
  refused("duration without a unit", "s.yaml", "task: t\nparameters: {x: [1]}\nrun: {command: echo 1, timeout: 10}\n",
          {"s.yaml:3", "timeout"});
  refused("trials as a text", "s.yaml", spec("  x: [1]\n", "search: {trials: many}\n"), {"s.yaml:4", "trials"});
  refused("negative trials", "s.yaml", spec("  x: [1]\n", "search: {trials: -5}\n"), {"s.yaml:4", "trials"});
  refused("huge trials", "s.yaml", spec("  x: [1]\n", "search: {trials: 99999999999999999999999}\n"),
          {"s.yaml:4", "trials"});
  refused("no value", "s.yaml", spec("  x: []\n"), {"s.yaml:3", "x"});
  refused("nan as a value", "s.yaml", spec("  x: [.nan]\n"), {"s.yaml:3"});
  refused("an empty range", "s.yaml", spec("  x: {range: [8, 1]}\n"), {"s.yaml:3"});
  refused("no run", "s.yaml", "task: t\nparameters: {x: [1]}\n", {"run"});
  refused("no parameters", "s.yaml", "task: t\nrun: {command: echo 1}\n", {"parameters"});
  refused("a name that is none", "s.yaml", spec("  2x: [1]\n"), {"s.yaml:3", "2x"});
  refused("an unknown strategy", "s.yaml", spec("  x: [1]\n", "search: {strategy: anealing}\n"), {"annealing"});
  refused("a broken pattern", "s.yaml",
          "task: t\nparameters: {x: [1]}\nrun: {command: echo 1, metric: {pattern: \"(\"}}\n", {"pattern"});
  refused("a source that is not there", "s.yaml",
          spec("  x: [1]\n", "build: {command: \"true {artifact}\", sources: [nowhere.c]}\n"), {"nowhere.c"});
  refused("YAML that ends too early", "s.yaml", "task: t\nparameters: {x: [1, 2\n", {"s.yaml:"});
  refused("a tab for indentation", "s.yaml", "task: t\nparameters:\n\tx: [1]\n", {"s.yaml:3"});
  refused("two documents", "s.yaml", spec("  x: [1]\n") + "---\n" + spec("  x: [1]\n"), {"s.yaml:"});
}

BOOST_AUTO_TEST_CASE(spaces_that_cannot_be_are_refused) {
  refused("cyclic conditions", "s.yaml",
          spec("  a: {values: [1, 2], when: \"b == 1\"}\n  b: {values: [1, 2], when: \"a == 1\"}\n"),
          {"s.yaml:", "a", "b"});
  refused("a condition on itself", "s.yaml", spec("  a: {values: [1, 2], when: \"a == 1\"}\n"), {"s.yaml:3", "a"});
  refused("zero valid", "s.yaml", spec("  x: [1, 2, 3]\n", "constraints: ['x > 5']\n"), {"s.yaml:4", "x > 5"});
  refused("zero valid by two", "s.yaml",
          spec("  x: [1, 2, 3]\n  y: [1, 2]\n", "constraints:\n  - y > 0\n  - x > 1 + y\n  - x < 2\n"),
          {"x > 1 + y", "x < 2"});
  refused("a constraint that does not parse", "s.yaml", spec("  x: [1]\n", "constraints: ['x >']\n"), {"s.yaml:4"});
  refused("a constraint on what is not there", "s.yaml", spec("  vec: [1, 2, 4]\n", "constraints: ['n % vec == 0']\n"),
          {"s.yaml:4", "n", "n % vec == 0"});
  refused("a call that is not known", "s.yaml", spec("  x: [1]\n", "constraints: ['__import__(x)']\n"), {"s.yaml:4"});
}

BOOST_AUTO_TEST_CASE(a_wrong_command_line_is_refused) {
  const scenario s;
  s.write("s.yaml", spec("  x: [1, 2]\n"));
  const std::vector<std::vector<std::string>> lines{
      {},
      {"tuna", "s.yaml"},
      {"tune"},
      {"tune", "s.yaml", "--trails", "5"},
      {"tune", "s.yaml", "--trials", "0"},
      {"tune", "s.yaml", "--trials", "-1"},
      {"tune", "s.yaml", "--trials", "1e3"},
      {"tune", "s.yaml", "--time", "10"},
      {"tune", "s.yaml", "--time", "-1s"},
      {"tune", "s.yaml", "--seed", "x"},
      {"tune", "s.yaml", "--strategy", "anealing"},
      {"space", "s.yaml", "--index", "2"},
      {"space", "s.yaml", "--contains", "{"},
      {"best", "s.yaml", "--format", "xml"},
      {"db"},
      {"db", "statistics"},
  };
  for (const auto& line : lines) {
    const auto e = s.attune(line);
    BOOST_TEST(e.exit == 2, (line.empty() ? "nothing" : line.back()) << ": " << e.told());
    BOOST_TEST(!e.err.empty(), e.told());
    BOOST_TEST(!s.store_exists(), e.told());
    BOOST_TEST(!std::filesystem::exists(s.path("ran")), e.told());
  }
}
