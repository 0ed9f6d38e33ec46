#include "core/text.hpp"
#include "storage/spec_reader.hpp"
#include "tests/shared_data.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace attune;
using namespace attune::storage;

namespace {

/// The only task of a text that must be good.
task_spec good(const std::string& text, const std::string& file = "spec.yaml") {
  auto tasks = storage::read_spec_text(text, file, "/somewhere");
  BOOST_REQUIRE_MESSAGE(tasks.ok(), (tasks.ok() ? "" : tasks.err().text()));
  BOOST_REQUIRE_EQUAL(tasks->size(), 1u);
  return (*tasks)[0];
}

/// The error's one line for a text that must be refused.
std::string refusal(const std::string& text, const std::string& file = "spec.yaml") {
  const auto tasks = storage::read_spec_text(text, file, "/somewhere");
  BOOST_REQUIRE_MESSAGE(!tasks.ok(), "was read, though it is wrong: " + text.substr(0, 200));
  BOOST_TEST((tasks.err().code == errc::invalid_spec));
  return tasks.err().text();
}

struct bad_case {
  const char* text;
  const char* expected; ///< the whole line
};

/// Puts lines below a spec that is good without them (line 3 on).
std::string with(const std::string& lines) { return "task: t\nparameters: {x: [1, 2]}\n" + lines; }

void check_refusals(std::span<const bad_case> cases) {
  for (const auto& c : cases) BOOST_CHECK_EQUAL(refusal(c.text), c.expected);
}

void check_additions(std::span<const bad_case> cases) {
  for (const auto& c : cases) BOOST_CHECK_EQUAL(refusal(with(c.text)), c.expected);
}

struct temporary_folder {
  std::filesystem::path path;
  temporary_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "attune-spec-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~temporary_folder() { std::filesystem::remove_all(path); }
  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(path / name, std::ios::binary) << text;
    return (path / name).string();
  }
};

std::string yaml_of_contract() {
  return R"yaml(task: gemm
workload: {m: 512, n: 512, k: 512, dtype: f32}
target: {device: local}
parameters:
  tile_m: [8, 16, 32, 64]
  unroll: {range: [1, 8]}
  alpha:  {range: [0.8, 1.0], step: 0.1}
  vec:    {pow2: [1, 16]}
  opt:    ["-O2", "-O3 -funroll-loops"]
  fma:    {bool: true}
  order:  {permutation: [i, j, k]}
  pad:    {values: [0, 4], when: "fma"}
constraints:
  - tile_m % vec == 0
  - 64 <= tile_m * unroll <= 512
build:
  command: g++ {opt} -march=native -DTILE_M={tile_m} gemm.cpp -o {artifact}
  sources: [gemm.cpp]
  timeout: 30s
run:
  command: "{artifact} {workload.m}"
  timeout: 10s
  metric: {name: time, unit: ms, goal: minimize, pattern: "time: ([-+0-9.eE]+)"}
  warmup: 1
  repeats: {min: 3, max: 15, until: 1%}
  check: {command: "{artifact} --verify", timeout: 20s}
search: {strategy: auto, trials: 200, time: 10m, seed: 1}
measure: {slots: auto, builders: auto, tolerance: 2%}
)yaml";
}

} // namespace

BOOST_AUTO_TEST_SUITE(spec_reader)

BOOST_AUTO_TEST_CASE(reads_the_contracts_example_to_the_letter) {
  const auto t = good(yaml_of_contract());
  BOOST_TEST(t.name == "gemm");
  BOOST_TEST(t.directory == "/somewhere");
  BOOST_TEST(t.file == "spec.yaml");
  BOOST_TEST((t.workload == arguments{{"m", 512}, {"n", 512}, {"k", 512}, {"dtype", "f32"}}));
  BOOST_TEST((t.target == arguments{{"device", "local"}}));
  BOOST_REQUIRE_EQUAL(t.parameters.size(), 8u);
  const auto& p = t.parameters;
  BOOST_TEST((std::get<value_list>(p[0].domain).values == std::vector<value>{8, 16, 32, 64}));
  const auto whole = std::get<integer_range>(p[1].domain);
  BOOST_TEST((whole.first == 1 && whole.last == 8 && whole.step == 1 && !whole.log));
  const auto real = std::get<real_range>(p[2].domain);
  BOOST_TEST((real.first == 0.8 && real.last == 1.0 && real.step == 0.1));
  const auto power = std::get<power_range>(p[3].domain);
  BOOST_TEST((power.first == 1 && power.last == 16));
  BOOST_TEST((std::get<value_list>(p[4].domain).values == std::vector<value>{"-O2", "-O3 -funroll-loops"}));
  BOOST_TEST((std::get<value_list>(p[5].domain).values == std::vector<value>{true, false}));
  BOOST_TEST((std::get<permutation_of>(p[6].domain).items == std::vector<std::string>{"i", "j", "k"}));
  BOOST_TEST((std::get<value_list>(p[7].domain).values == std::vector<value>{0, 4}));
  BOOST_TEST(p[7].when == "fma");
  BOOST_TEST(p[7].name == "pad");
  BOOST_TEST(p[7].place.text() == "spec.yaml:12");
  BOOST_REQUIRE_EQUAL(t.constraints.size(), 2u);
  BOOST_TEST(t.constraints[1].expression == "64 <= tile_m * unroll <= 512");
  BOOST_TEST(t.constraints[1].place.line == 15);
  BOOST_REQUIRE(t.build.has_value());
  BOOST_TEST(t.build->run.shell == "g++ {opt} -march=native -DTILE_M={tile_m} gemm.cpp -o {artifact}");
  BOOST_TEST((t.build->sources == std::vector<std::string>{"gemm.cpp"}));
  BOOST_TEST((t.build->timeout == std::chrono::seconds(30)));
  BOOST_TEST(t.run.run.shell == "{artifact} {workload.m}");
  BOOST_TEST((t.run.timeout == std::chrono::seconds(10)));
  BOOST_REQUIRE_EQUAL(t.run.metrics.size(), 1u);
  const auto& m = t.run.metrics[0];
  BOOST_TEST(m.name == "time");
  BOOST_TEST(m.unit == "ms");
  BOOST_TEST((m.direction == goal::minimize && m.source == metric_spec::from::pattern));
  BOOST_TEST(m.expression == "time: ([-+0-9.eE]+)");
  BOOST_TEST(t.run.warmup == 1u);
  BOOST_TEST((t.run.repeats.min == 3 && t.run.repeats.max == 15 && t.run.repeats.until == 0.01));
  BOOST_TEST(t.run.check.run.shell == "{artifact} --verify");
  BOOST_TEST((t.run.check.timeout == std::chrono::seconds(20)));
  BOOST_TEST(t.search.strategy == "auto");
  BOOST_TEST((t.search.trials == 200u && t.search.seed == 1u && !t.search.fraction));
  BOOST_TEST((t.search.time == std::chrono::minutes(10)));
  BOOST_TEST((t.measure.slots.automatic && t.measure.builders.automatic && t.measure.tolerance == 0.02));
  BOOST_TEST(t.warnings.empty());
}

BOOST_AUTO_TEST_CASE(fills_in_defaults) {
  const auto t = good("task: t\nparameters: {x: [1]}\n");
  BOOST_TEST(t.run.run.empty());
  BOOST_TEST(!t.build.has_value());
  BOOST_TEST(t.search.strategy == "auto");
  BOOST_TEST(!t.search.trials.has_value());
  BOOST_TEST(t.weight == 1.0);
  const auto r = good(with("run: {command: run me}\n")).run;
  BOOST_TEST((r.metrics[0].source == metric_spec::from::last_number && r.metrics[0].unit == "s"));
  BOOST_TEST((r.repeats.min == 1 && r.repeats.max == 1 && r.warmup == 0));
}

BOOST_AUTO_TEST_CASE(types_scalars_by_the_core_schema) {
  const auto list = [](const std::string& written) {
    return std::get<value_list>(good("task: t\nparameters:\n  x: " + written + "\n").parameters[0].domain).values;
  };
  BOOST_TEST((list("[1, 1.0, '1', \"1\u00e9\", yes, no, true, False, on]") ==
              std::vector<value>{1, 1.0, "1", "1\u00e9", "yes", "no", true, false, "on"}));
  BOOST_TEST((list("[0x10, 0o17, 010, +5, -5, 1e3, .5, 5., -.5e-1, 0b1, 1_000, 1:30, '']") ==
              std::vector<value>{16, 15, 10, 5, -5, 1e3, .5, 5.0, -.05, "0b1", "1_000", "1:30", ""}));
  BOOST_TEST((list("[9223372036854775807, -9223372036854775808]") ==
              std::vector<value>{std::int64_t{9223372036854775807}, std::int64_t{-9223372036854775807 - 1}}));
  BOOST_TEST((list("[-O2, a b, !!str 7, 'true']") == std::vector<value>{"-O2", "a b", "7", "true"}));
  BOOST_TEST((list("&v [1, 2]") == std::vector<value>{1, 2}));
  BOOST_TEST((list("\n    - 1\n    - |\n      two\n      lines\n") == std::vector<value>{1, "two\nlines\n"}));
}

BOOST_AUTO_TEST_CASE(reads_every_form_of_a_parameter) {
  const auto t = good(R"(task: t
parameters:
  a: {range: [1, 9], step: 4}
  b: {range: [1, 1024], log: true}
  c: {range: [0.001, 10.0], log: true, count: 5}
  d: {range: [0, 1], step: 0.25, default: 0.5}
  e: {range: [0, 1], count: 11}
  f: {bool: true, when: a > 1, default: false}
  g: {values: [x, y], default: y}
  h: {permutation: [1, 2, 3], default: [3, 2, 1]}
  i: {pow2: [3, 40], default: 32}
  j: {range: [7, 7]}
)");
  BOOST_REQUIRE_EQUAL(t.parameters.size(), 10u);
  const auto& p = t.parameters;
  BOOST_TEST(std::get<integer_range>(p[0].domain).step == 4);
  BOOST_TEST(std::get<integer_range>(p[1].domain).log);
  const auto grid = std::get<real_grid>(p[2].domain);
  BOOST_TEST((grid.first == 0.001 && grid.last == 10.0 && grid.count == 5 && grid.log));
  const auto real = std::get<real_range>(p[3].domain);
  BOOST_TEST((real.first == 0.0 && real.last == 1.0 && real.step == 0.25));
  BOOST_TEST((p[3].standard == value(0.5)));
  BOOST_TEST((std::get<real_grid>(p[4].domain).count == 11 && !std::get<real_grid>(p[4].domain).log));
  BOOST_TEST((p[5].when == "a > 1" && p[5].standard == value(false)));
  BOOST_TEST((p[6].standard == value("y")));
  BOOST_TEST((std::get<permutation_of>(p[7].domain).items == std::vector<std::string>{"1", "2", "3"}));
  BOOST_TEST((p[7].standard == value(permutation{{"3", "2", "1"}})));
  BOOST_TEST((p[8].standard == value(32)));
  BOOST_TEST(std::get<integer_range>(p[9].domain).last == 7);
}

BOOST_AUTO_TEST_CASE(refuses_parameters_that_say_nothing_sensible) {
  const auto refused = [](const std::string& written) {
    return refusal("task: t\nparameters:\n  x: " + written + "\n");
  };
  BOOST_TEST(refused("5") ==
             "spec.yaml:3:6: parameters.x must be a list of values or a map such as {range: [1, 8]}, not "
             "the number 5: write [5] for a single value");
  BOOST_TEST(refused("").find("parameters.x must be a list of values or a map") != std::string::npos);
  BOOST_TEST(refused("[]") == "spec.yaml:3:6: parameters.x has no values");
  BOOST_TEST(refused("[1, [2]]") ==
             "spec.yaml:3:10: a value of parameters.x must be a number, a string or a boolean, not a list");
  BOOST_TEST(refused("[1, ~]") ==
             "spec.yaml:3:10: a value of parameters.x must be a number, a string or a boolean, not nothing");
  BOOST_TEST(refused("[1, 2, 1]") == "spec.yaml:3:13: parameters.x lists the number 1 twice");
  BOOST_TEST(refused("[.nan]") == "spec.yaml:3:7: a value of parameters.x: .nan is no finite number");
  BOOST_TEST(refused("[-.inf]") == "spec.yaml:3:7: a value of parameters.x: -.inf is no finite number");
  BOOST_TEST(refused("[1e999]") == "spec.yaml:3:7: a value of parameters.x: the number 1e999 is too large");
  BOOST_TEST(refused("[9223372036854775808]") ==
             "spec.yaml:3:7: a value of parameters.x: the integer 9223372036854775808 does not fit into 64 bits");
  BOOST_TEST(refused("{range: [8, 1]}") ==
             "spec.yaml:3:14: parameters.x.range is empty: its first value 8 is larger than its last, 1");
  BOOST_TEST(refused("{range: [1]}") ==
             "spec.yaml:3:14: parameters.x.range must be a list of two numbers, the first and the last value");
  BOOST_TEST(refused("{range: [1, b]}") ==
             "spec.yaml:3:18: parameters.x.range must be a list of two numbers, not the string 'b'");
  BOOST_TEST(refused("{range: [1, 8], step: 0}") ==
             "spec.yaml:3:28: parameters.x.step must be a number above 0, not the number 0");
  BOOST_TEST(refused("{range: [1, 8], step: -1}") ==
             "spec.yaml:3:28: parameters.x.step must be a number above 0, not the number -1");
  BOOST_TEST(refused("{range: [0.5, 8]}") == "spec.yaml:3:14: parameters.x.range of real numbers needs 'step: S' (the "
                                             "distance) or 'count: N' (how many)");
  BOOST_TEST(refused("{range: [0, 8], log: true}") ==
             "spec.yaml:3:14: parameters.x.range must begin above 0 for a log scale");
  BOOST_TEST(refused("{range: [0.5, 8], log: true, step: 0.5}") ==
             "spec.yaml:3:29: parameters.x.log needs 'count: N' in place of step for real numbers");
  BOOST_TEST(refused("{pow2: [5, 7]}") == "spec.yaml:3:13: parameters.x.pow2 holds no power of two between 5 and 7");
  BOOST_TEST(refused("{pow2: [0, 8]}") ==
             "spec.yaml:3:13: parameters.x.pow2 must be a list of two whole numbers from 1 on");
  BOOST_TEST(refused("{pow2: [9223372036854775806, 9223372036854775807]}").find("holds no power of two") !=
             std::string::npos);
  BOOST_TEST(refused("{bool: false}") ==
             "spec.yaml:3:13: parameters.x.bool must be true (a single value is written as a list: [false])");
  BOOST_TEST(refused("{bool: yes}") == "spec.yaml:3:13: parameters.x.bool must be true or false, not the string 'yes'");
  BOOST_TEST(refused("{permutation: [a, a]}") == "spec.yaml:3:24: parameters.x.permutation has the item 'a' twice");
  BOOST_TEST(refused("{values: [1], range: [1, 2]}") ==
             "spec.yaml:3:20: parameters.x has both 'values' and 'range'; give one of them");
  BOOST_TEST(refused("{when: y}") == "spec.yaml:3:6: parameters.x needs one of values, range, pow2, bool, permutation");
  BOOST_TEST(refused("{values: [1], step: 2}") ==
             "spec.yaml:3:26: parameters.x.step goes with 'range', not with 'values'");
  BOOST_TEST(refused("{values: [1, 2], default: 3}") ==
             "spec.yaml:3:32: parameters.x.default: 3 is not among the values of x");
  BOOST_TEST(refused("{rang: [1, 2]}") == "spec.yaml:3:7: unknown key 'rang' in parameters.x; did you mean 'range'?");
  BOOST_TEST(refusal("task: t\nparameters: {1x: [1]}\n") ==
             "spec.yaml:2:14: '1x' in parameters is no name: letters, digits and _, no digit first");
  BOOST_TEST(refusal("task: t\nparameters: {in: [1]}\n") ==
             "spec.yaml:2:14: 'in' cannot name a parameter: it is a word of constraints or of substitution");
  BOOST_TEST(refusal("task: t\nparameters: {}\n") == "spec.yaml:2:13: parameters is empty; there is nothing to tune");
  BOOST_TEST(refusal("task: t\nparameters: [x]\n") ==
             "spec.yaml:2:13: parameters must be a map of names and their values, not a list");
}

// A05
BOOST_AUTO_TEST_CASE(refuses_doubled_keys_naming_both_lines) {
  constexpr std::array cases{
      bad_case{"task: t\nparameters:\n  block: [16, 32]\n  tile: [1]\n  block: [64]\n",
               "spec.yaml:5:3: 'block' is given twice, first in line 3"},
      bad_case{"timeout: 5\ntask: t\ntimeout: 50\n", "spec.yaml:3:1: 'timeout' is given twice, first in line 1"},
      bad_case{"task: t\nparameters: {x: [1], \"x\": [2]}\n", "spec.yaml:2:22: 'x' is given twice, first in line 2"},
      bad_case{"task: t\nparameters: {x: {range: [1, 2], range: [1, 3]}}\n",
               "spec.yaml:2:33: 'range' is given twice, first in line 2"},
  };
  check_refusals(cases);
  BOOST_TEST(refusal("{\"a\": 1,\n \"b\": {\"c\": 1,\n\n \"c\": 2}}", "t1.json") ==
             "t1.json:4: 'c' is given twice, first in line 2");
}

BOOST_AUTO_TEST_CASE(refuses_unknown_keys_with_the_nearest_known_one) {
  constexpr std::array cases{
      bad_case{"serach: {}\n", "spec.yaml:3:1: unknown key 'serach'; did you mean 'search'?"},
      bad_case{"paramters: {}\n", "spec.yaml:3:1: unknown key 'paramters'; did you mean 'parameters'?"},
      bad_case{"timeout: 5s\n", "spec.yaml:3:1: unknown key 'timeout'; known are task, workload, target, parameters, "
                                "constraints, build, run, objective, search, measure, weight, tasks, budget"},
      bad_case{"<<: {a: 1}\n", "spec.yaml:3:1: unknown key '<<'; known are task, workload, target, parameters, "
                               "constraints, build, run, objective, search, measure, weight, tasks, budget"},
      bad_case{"build: {comand: x}\nrun: {command: x}\n",
               "spec.yaml:3:9: unknown key 'comand' in build; did you mean 'command'?"},
      bad_case{"build: {command: x, at: remote}\nrun: {command: x}\n",
               "spec.yaml:3:21: unknown key 'at' in build; known are command, sources, timeout, cwd, on"},
      bad_case{"build: {command: x, on: remote}\nrun: {command: x}\n",
               "spec.yaml:3:25: build.on cannot be 'remote'; known are hub, runner"},
      bad_case{"run: {command: x, files: [a, a]}\n", "spec.yaml:3:30: run.files names 'a' twice"},
      bad_case{"run: {command: x, pages: [a]}\n",
               "spec.yaml:3:19: unknown key 'pages' in run; known are command, "
               "timeout, metric, objective, warmup, repeats, check, cwd, files, limits"},
      bad_case{"run: {command: x, metric: {units: ms}}\n",
               "spec.yaml:3:28: unknown key 'units' in run.metric; did you mean 'unit'?"},
      bad_case{"run: {command: x, repeats: {minn: 3}}\n",
               "spec.yaml:3:29: unknown key 'minn' in run.repeats; did you mean 'min'?"},
      bad_case{"run: {command: x, check: {cmd: y}}\n",
               "spec.yaml:3:27: unknown key 'cmd' in run.check; known are command, timeout"},
      bad_case{"search: {trails: 3}\n", "spec.yaml:3:10: unknown key 'trails' in search; did you mean 'trials'?"},
      bad_case{"measure: {slot: 3}\n", "spec.yaml:3:11: unknown key 'slot' in measure; did you mean 'slots'?"},
  };
  check_additions(cases);
}

BOOST_AUTO_TEST_CASE(refuses_wrong_types_and_values) {
  constexpr std::array cases{
      bad_case{"workload: 5\n", "spec.yaml:3:11: workload must be a map of names and values, not the number 5"},
      bad_case{"workload: {m: {n: 1}}\n",
               "spec.yaml:3:15: workload.m must be a number, a string or a boolean, not a map "
               "(a text that begins with { or holds ': ' must be quoted)"},
      bad_case{"workload: {m-n: 1}\n",
               "spec.yaml:3:12: 'm-n' in workload is no name: letters, digits and _, no digit first"},
      bad_case{"constraints: x > 1\n",
               "spec.yaml:3:14: constraints must be a list of expressions, not the string 'x > 1'"},
      bad_case{"constraints: [{a: b}]\n", "spec.yaml:3:15: a constraint must be a text, not a map (a text that begins "
                                          "with { or holds ': ' must be quoted)"},
      bad_case{"constraints: ['']\n", "spec.yaml:3:15: a constraint is empty"},
      bad_case{"build: make\nrun: {command: x}\n", "spec.yaml:3:8: build must be a map of keys, not the string 'make'"},
      bad_case{"build: {command: x}\n", "spec.yaml:3:8: build is given without a run that would time what it makes"},
      bad_case{"build: {timeout: 1s}\nrun: {command: x}\n", "spec.yaml:3:8: build has no 'command', which it needs"},
      bad_case{"build: {command: x, sources: a.c}\nrun: {command: x}\n",
               "spec.yaml:3:30: build.sources must be a list of strings, not the string 'a.c'"},
      bad_case{"build: {command: x, sources: [a.c, a.c]}\nrun: {command: x}\n",
               "spec.yaml:3:36: build.sources names 'a.c' twice"},
      bad_case{"build: {command: x, cwd: here}\nrun: {command: x}\n",
               "spec.yaml:3:26: build.cwd must be specdir or workdir, not 'here'"},
      bad_case{"run: {timeout: 5s}\n", "spec.yaml:3:6: run has no 'command', which it needs"},
      bad_case{"run: {command: 5}\n",
               "spec.yaml:3:16: run.command must be a string, not the number 5: put quotes around "
               "it if it is meant as text"},
      bad_case{"run: {command: []}\n", "spec.yaml:3:16: run.command is an empty list; it needs at least the program"},
      bad_case{"run: {command: ' '}\n", "spec.yaml:3:16: run.command is empty"},
      bad_case{"run:\n  command: {artifact}\n", "spec.yaml:4:12: run.command must be a string, not a map (a text that "
                                                "begins with { or holds ': ' must be quoted)"},
      bad_case{
          "run: {command: x, timeout: 10}\n",
          "spec.yaml:3:28: run.timeout: duration '10' has no unit: write ns, us, ms, s, m, h or d behind the number, "
          "as in 10s"},
      bad_case{"run: {command: x, timeout: 0s}\n", "spec.yaml:3:28: run.timeout must be longer than nothing"},
      bad_case{"run: {command: x, timeout: -1s}\n",
               "spec.yaml:3:28: run.timeout: duration '-1s' must be finite and not negative"},
      bad_case{"run: {command: x, timeout: 5 parsecs}\n",
               "spec.yaml:3:28: run.timeout: duration '5 parsecs' has an unknown unit: write ns, us, ms, s, m, h or d"},
      bad_case{"run: {command: x, timeout: [1s]}\n",
               "spec.yaml:3:28: run.timeout must be a duration with its unit, as in 10s, not a list"},
      bad_case{"run: {command: x, metric: time}\n",
               "spec.yaml:3:27: run.metric must be a map of keys, not the string 'time'"},
      bad_case{"run: {command: x, metric: []}\n", "spec.yaml:3:27: run.metric is an empty list"},
      bad_case{"run: {command: x, metric: {goal: min}}\n",
               "spec.yaml:3:34: run.metric.goal must be minimize or maximize, not 'min'"},
      bad_case{"run: {command: x, metric: {pattern: a, json: /b}}\n",
               "spec.yaml:3:40: run.metric has both 'pattern' and 'json'; give one of them"},
      bad_case{"run: {command: x, metric: {json: b}}\n",
               "spec.yaml:3:34: run.metric.json must be a JSON pointer, which begins with /"},
      bad_case{"run: {command: x, metric: {wall: true, unit: ms}}\n",
               "spec.yaml:3:46: run.metric.unit must be s (or left out) where Attune's own clock measures"},
      bad_case{"run: {command: x, metric: {unit: per second}}\n", "spec.yaml:3:34: run.metric.unit must be one word"},
      bad_case{"run: {command: x, metric: [{name: a}, {name: a}]}\n", "spec.yaml:3:39: two metrics have the name 'a'"},
      bad_case{"objective: b\nrun: {command: x, metric: [{name: a}]}\n",
               "spec.yaml:3:12: objective 'b' is none of the metrics (a)"},
      bad_case{"run: {command: x, warmup: -1}\n", "spec.yaml:3:27: run.warmup must be at least 0, not -1"},
      bad_case{"run: {command: x, warmup: 1.5}\n",
               "spec.yaml:3:27: run.warmup must be a whole number, not the number 1.5"},
      bad_case{"run: {command: x, repeats: 0}\n", "spec.yaml:3:28: run.repeats must be at least 1, not 0"},
      bad_case{"run: {command: x, repeats: {min: 5, max: 3, until: 1%}}\n",
               "spec.yaml:3:34: run.repeats.min is larger than max: 5 > 3"},
      bad_case{"run: {command: x, repeats: {min: 3, until: 1%}}\n",
               "spec.yaml:3:28: run.repeats has no 'max', which it needs"},
      bad_case{"run: {command: x, repeats: {min: 3, max: 5}}\n",
               "spec.yaml:3:34: run.repeats.min has no effect without 'until', which says when to stop early"},
      bad_case{"run: {command: x, repeats: {max: 5, until: 0.01}}\n",
               "spec.yaml:3:44: run.repeats.until must be a percentage with its sign, as in 2%, not the number 0.01"},
      bad_case{"search: {trials: 0}\n", "spec.yaml:3:18: search.trials must be at least 1, not 0"},
      bad_case{"search: {trials: many}\n",
               "spec.yaml:3:18: search.trials must be a whole number, not the string 'many'"},
      bad_case{"search: {trials: 5, fraction: 0.5}\n",
               "spec.yaml:3:31: search.fraction and search.trials exclude each other"},
      bad_case{"search: {reuse: nearly}\n", "spec.yaml:3:17: search.reuse cannot be 'nearly'; did you mean 'near'?"},
      bad_case{"search: {time: 60}\n",
               "spec.yaml:3:16: search.time: duration '60' has no unit: write ns, us, ms, s, m, h "
               "or d behind the number, as in 10s"},
      bad_case{"search: {seed: -1}\n",
               "spec.yaml:3:16: search.seed must be a whole number from 0 to 18446744073709551615, not -1"},
      bad_case{"search: {strategy: [a]}\n", "spec.yaml:3:20: search.strategy must be a string, not a list"},
      bad_case{"measure: {slots: 0}\n", "spec.yaml:3:18: measure.slots must be at least 1, not 0"},
      bad_case{"measure: {builders: all}\n",
               "spec.yaml:3:21: measure.builders must be auto or a whole number, not the string 'all'"},
      bad_case{"measure: {tolerance: 2}\n",
               "spec.yaml:3:22: measure.tolerance must be a percentage with its sign, as in 2%, not the number 2"},
      bad_case{"measure: {tolerance: 0%}\n",
               "spec.yaml:3:22: measure.tolerance must be a percentage above 0% and up to 100%, not 0%"},
      bad_case{"measure: {cores: 2}\n", "spec.yaml:3:18: measure.cores is for slots that are kept apart: one slot has "
                                        "the whole machine; give measure.slots"},
      bad_case{"measure: {finalists: -1}\n", "spec.yaml:3:22: measure.finalists must be at least 0, not -1"},
      bad_case{"weight: 0\n", "spec.yaml:3:9: weight must be above 0, not 0"},
      bad_case{"weight: heavy\n", "spec.yaml:3:9: weight must be a number, not the string 'heavy'"},
  };
  check_additions(cases);
  BOOST_TEST(refusal("parameters: {x: [1]}\n") == "spec.yaml:1:1: the spec has no 'task', which it needs");
  BOOST_TEST(refusal("task: t\n") == "spec.yaml:1:1: the spec has no 'parameters', which it needs");
  BOOST_TEST(refusal("task: 1\n") ==
             "spec.yaml:1:7: task must be a string, not the number 1: put quotes around it if it is meant as text");
  BOOST_TEST(refusal("- task\n") == "spec.yaml:1:1: a spec must be a map of keys, not a list");
  BOOST_TEST(refusal("just text\n") == "spec.yaml:1:1: a spec must be a map of keys, not the string 'just text'");
}

// A30
BOOST_AUTO_TEST_CASE(knows_whether_something_may_be_estimated) {
  BOOST_TEST(!good(with("")).search.near);
  BOOST_TEST(!good(with("search: {reuse: exact}\n")).search.near);
  BOOST_TEST(good(with("search: {reuse: near}\n")).search.near);
}

BOOST_AUTO_TEST_CASE(takes_fractions_above_zero_and_up_to_one_only) {
  const auto fraction = [](const std::string& written) {
    return *good(with("search: {fraction: " + written + "}\n")).search.fraction;
  };
  BOOST_TEST(fraction("0.005") == 0.005);
  BOOST_TEST(fraction("1.0") == 1.0);
  BOOST_TEST(fraction("1") == 1.0);
  BOOST_TEST(fraction("5%") == 0.05);
  for (const auto* wrong : {"2.0", "0", "-1", "0.0", "1.0000001"})
    BOOST_TEST(refusal(with("search: {fraction: " + std::string(wrong) + "}\n")) ==
               "spec.yaml:3:20: search.fraction must be a number above 0 and up to 1, or a percentage, not " +
                   std::string(wrong));
  BOOST_TEST(refusal(with("search: {fraction: .nan}\n")) ==
             "spec.yaml:3:20: search.fraction: .nan is no finite number");
  BOOST_TEST(
      refusal(with("search: {fraction: nan}\n")) ==
      "spec.yaml:3:20: search.fraction must be a number above 0 and up to 1, or a percentage, not the string 'nan'");
  BOOST_TEST(refusal(with("search: {fraction: nan%}\n")) ==
             "spec.yaml:3:20: search.fraction must be a percentage above 0% and up to 100%, not nan%");
}

BOOST_AUTO_TEST_CASE(reads_metrics_of_the_processes_and_limits) {
  const auto run = good(with("run:\n  command: x\n  metric:\n  - {name: time, unit: ms}\n  - {cpu: true}\n"
                             "  - {name: peak_mb, memory: peak, unit: MB}\n  - {counter: cache-misses}\n"
                             "  - {counter: task-clock, goal: minimize}\n  - {energy: package}\n"
                             "  limits: [peak_mb < 512, \"cpu <= 2 * workload.n\"]\n"))
                       .run;
  using from = metric_spec::from;
  const auto is = [&](std::size_t i, from source, const std::string& name, const std::string& word,
                      const std::string& unit) {
    const auto& m = run.metrics.at(i);
    BOOST_TEST((m.source == source && m.name == name && m.expression == word && m.unit == unit),
               i << ": " << m.name << " " << m.expression << " " << m.unit);
  };
  is(1, from::cpu, "cpu", "", "s");
  is(2, from::memory, "peak_mb", "peak", "MB");
  is(3, from::counter, "cache_misses", "cache-misses", "count");
  is(4, from::counter, "task_clock", "task-clock", "s");
  is(5, from::energy, "energy", "package", "J");
  BOOST_REQUIRE_EQUAL(run.limits.size(), 2u);
  BOOST_TEST(run.limits[0].expression == "peak_mb < 512");
  BOOST_TEST(run.limits[0].place.text() == "spec.yaml:12");
  BOOST_TEST(run.limits[1].expression == "cpu <= 2 * workload.n");
}

BOOST_AUTO_TEST_CASE(refuses_metrics_of_the_processes_that_are_none) {
  constexpr std::array cases{
      bad_case{"run: {command: x, metric: {counter: instructons}}\n",
               "spec.yaml:3:37: run.metric.counter cannot be 'instructons'; did you mean 'instructions'?"},
      bad_case{"run: {command: x, metric: {energy: everything}}\n",
               "spec.yaml:3:36: run.metric.energy cannot be 'everything'; known are package, cores, ram, gpu, psys"},
      bad_case{"run: {command: x, metric: {memory: peek, unit: MB}}\n",
               "spec.yaml:3:36: run.metric.memory cannot be 'peek'; did you mean 'peak'?"},
      bad_case{"run: {command: x, metric: {memory: peak}}\n",
               "spec.yaml:3:36: run.metric.unit is missing beside memory: B, kB, MB, GB, KiB, MiB or GiB"},
      bad_case{"run: {command: x, metric: {memory: peak, unit: mb}}\n",
               "spec.yaml:3:48: run.metric.unit cannot be 'mb'; known are B, kB, MB, GB, KiB, MiB, GiB"},
      bad_case{"run: {command: x, metric: {cpu: false}}\n", "spec.yaml:3:33: run.metric.cpu must be true, or left out"},
      bad_case{"run: {command: x, metric: {cpu: true, unit: ms}}\n",
               "spec.yaml:3:45: run.metric.unit must be s (or left out) where run.metric.cpu is given"},
      bad_case{"run: {command: x, metric: {counter: cycles, unit: G}}\n",
               "spec.yaml:3:51: run.metric.unit must be count (or left out) where run.metric.counter is given"},
      bad_case{"run: {command: x, metric: {cpu: true, counter: cycles}}\n",
               "spec.yaml:3:39: run.metric has both 'cpu' and 'counter'; give one of them"},
      bad_case{"run: {command: x, limits: time < 1}\n",
               "spec.yaml:3:27: run.limits must be a list of expressions over the metrics, not the string 'time < 1'"},
      bad_case{"run: {command: x, limits: ['']}\n", "spec.yaml:3:28: a limit is empty"},
  };
  check_additions(cases);
}

BOOST_AUTO_TEST_CASE(reads_commands_as_text_or_argv) {
  const auto t =
      good(with("build: {command: [cc, '{opt*}', -o, '{artifact}', 1], cwd: workdir}\n"
                "run: {command: '{artifact}', cwd: workdir, repeats: 5,\n"
                "      metric: [{name: time, wall: true}, {name: rate, unit: GFLOP/s, goal: maximize, json: /r}]}\n"
                "objective: rate\n"));
  BOOST_TEST((t.build->run.argv == std::vector<std::string>{"cc", "{opt*}", "-o", "{artifact}", "1"}));
  BOOST_TEST(t.build->run.shell.empty());
  BOOST_TEST((t.build->cwd == working_directory::workdir && t.run.cwd == working_directory::workdir));
  BOOST_TEST((t.run.repeats.min == 5 && t.run.repeats.max == 5 && t.run.repeats.until == 0));
  BOOST_REQUIRE_EQUAL(t.run.metrics.size(), 2u);
  BOOST_TEST(t.run.objective == 1u);
  BOOST_TEST((t.run.metrics[0].source == metric_spec::from::wall));
  BOOST_TEST((t.run.metrics[1].source == metric_spec::from::json && t.run.metrics[1].expression == "/r"));
  BOOST_TEST((t.run.metrics[1].direction == goal::maximize && t.run.metrics[1].unit == "GFLOP/s"));
  BOOST_TEST(good(with("run: {command: a, objective: b, metric: [{name: a}, {name: b}]}\n")).run.objective == 1u);
}

BOOST_AUTO_TEST_CASE(keeps_lists_among_workload_arguments_apart_by_type) {
  const auto shape = [](const std::string& written) {
    return good(with("workload: {s: " + written + "}\n")).workload[0].second;
  };
  BOOST_TEST((shape("[1, 64]") == value(permutation{{"1", "64"}})));
  BOOST_TEST((shape("[1, 64]") != shape("[64, 1]")));
  BOOST_TEST((shape("[1]") != shape("[1.0]")));
  BOOST_TEST((shape("[1]") != shape("['1']")));
  BOOST_TEST((shape("['1']") != shape("['\"1\"']")));
  BOOST_TEST((shape("[true]") != shape("['true']")));
  BOOST_TEST((shape("[f32, nchw]") == value(permutation{{"f32", "nchw"}})));
}

BOOST_AUTO_TEST_CASE(joins_tasks_with_the_defaults_beside_them) {
  const auto tasks = storage::read_spec_text(R"(search: {strategy: random, trials: 9}
workload: {dtype: f32}
parameters: {x: [1, 2], y: {range: [1, 3]}}
run: {command: default, timeout: 5s}
weight: 2
tasks:
  - task: a
    workload: {m: 1}
  - {task: b, weight: 3, workload: {m: 2, dtype: f64}, search: {trials: 4}, run: {command: own}}
  - task: c
    parameters: {y: {pow2: [1, 4]}}
    constraints: [x < y]
)",
                                             "many.yaml", "/d");
  BOOST_REQUIRE_MESSAGE(tasks.ok(), (tasks.ok() ? "" : tasks.err().text()));
  BOOST_REQUIRE_EQUAL(tasks->size(), 3u);
  const auto &a = (*tasks)[0], &b = (*tasks)[1], &c = (*tasks)[2];
  BOOST_TEST((a.name == "a" && b.name == "b" && c.name == "c"));
  BOOST_TEST((*attune::find(a.workload, "m") == value(1) && *attune::find(a.workload, "dtype") == value("f32")));
  BOOST_TEST((*attune::find(b.workload, "dtype") == value("f64")));
  BOOST_TEST((a.weight == 2 && b.weight == 3));
  BOOST_TEST((a.search.trials == 9u && b.search.trials == 4u && b.search.strategy == "random"));
  BOOST_TEST((a.run.run.shell == "default" && b.run.run.shell == "own" && b.run.timeout == std::chrono::seconds(5)));
  BOOST_REQUIRE_EQUAL(c.parameters.size(), 2u);
  BOOST_TEST((c.parameters[0].name == "x" && std::holds_alternative<power_range>(c.parameters[1].domain)));
  BOOST_TEST((c.constraints.size() == 1 && a.constraints.empty()));

  BOOST_TEST(refusal("tasks: []\n") == "spec.yaml:1:8: tasks is empty");
  BOOST_TEST(refusal("tasks: {task: a}\n") == "spec.yaml:1:8: tasks must be a list of tasks, not a map");
  BOOST_TEST(refusal("tasks: [a]\n") == "spec.yaml:1:9: a task must be a map of keys, not the string 'a'");
  BOOST_TEST(refusal("parameters: {x: [1]}\ntasks:\n  - weight: 1\n") ==
             "spec.yaml:3:5: the spec has no 'task', which it needs");
  BOOST_TEST(refusal("parameters: {x: [1]}\ntaks: 1\ntasks:\n  - task: a\n") ==
             "spec.yaml:2:1: unknown key 'taks'; did you mean 'task'?");
  BOOST_TEST(
      refusal("parameters: {x: [1]}\ntasks:\n  - {task: a, tasks: [b]}\n").find("cannot hold tasks of its own") !=
      std::string::npos);
}

BOOST_AUTO_TEST_CASE(refuses_what_is_no_yaml_with_the_place) {
  BOOST_TEST(refusal("# nothing\n\n") == "spec.yaml: holds nothing but comments and white space");
  BOOST_TEST(refusal("---\n") == "spec.yaml: holds nothing but comments and white space");
  BOOST_TEST(refusal("task: t\n---\ntask: u\n") ==
             "spec.yaml:2: holds several documents (a second --- line); a spec file is one");
  BOOST_TEST(refusal("task: t\n\tparameters: x\n").starts_with("spec.yaml:2:"));
  BOOST_TEST(refusal("task: {t\n").find("a text that begins with { or [ must be quoted") != std::string::npos);
  BOOST_TEST(refusal("task: *nobody\n").starts_with("spec.yaml:1:"));
  BOOST_TEST(refusal("task: !mine t\n") == "spec.yaml:1:7: the tag '!mine' means nothing here");
  BOOST_TEST(refusal("? [a, b]\n: c\n").find("a key must be a plain text") != std::string::npos);
  BOOST_TEST(refusal("a: b: c\n").starts_with("spec.yaml:1:"));
  BOOST_TEST(refusal("\"abc\n").starts_with("spec.yaml:"));
}

BOOST_AUTO_TEST_CASE(bounds_depth_aliases_and_size) {
  for (const auto* open : {"[", "{a: ", "- ", "? "}) {
    std::string deep = "task: ";
    if (*open == '-' || *open == '?') deep = "";
    for (int i = 0; i < 200; ++i) deep += open;
    BOOST_TEST(refusal(deep).find("spec.yaml:1") == 0u);
  }
  std::string deep(200, '[');
  BOOST_TEST(refusal("task: " + deep + std::string(200, ']')) == "spec.yaml:1:106: nested more than 100 levels deep");
  BOOST_TEST(refusal("{\"a\": " + deep + std::string(200, ']') + "}", "a.json") ==
             "a.json:1: nested more than 100 levels deep");
  BOOST_TEST(refusal(std::string(1'000'000, '[')).starts_with("spec.yaml:1:"));

  std::string laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 10; ++i) {
    const auto name = "a" + std::to_string(i), below = "*a" + std::to_string(i - 1);
    laughs += name + ": &" + name + " [" + below;
    for (int k = 1; k < 10; ++k) laughs += ", " + below;
    laughs += "]\n";
  }
  BOOST_TEST(refusal(laughs).find("holds more than 500000 values once its aliases are expanded") != std::string::npos);
  BOOST_TEST(refusal("task: &a [*a]\n") == "spec.yaml:1:11: an alias stands inside its own anchor");
  std::string many = "task: t\nparameters:\n  x: [0";
  for (int i = 1; i < 600'000; ++i) many += ",1";
  BOOST_TEST(refusal(many + "]\n").find("holds more than 500000 values") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(lets_anchors_and_aliases_stand_for_their_values) {
  const auto t = good("task: t\nparameters:\n  x: &v [1, 2]\n  y: *v\n  z: *v\n");
  BOOST_TEST((std::get<value_list>(t.parameters[2].domain).values == std::vector<value>{1, 2}));
}

// SA11, and every kind of file that is no spec
BOOST_AUTO_TEST_CASE(refuses_files_that_are_no_specs) {
  const temporary_folder folder;
  const auto refused = [&](const std::string& path) {
    const auto tasks = read_spec(path);
    BOOST_REQUIRE(!tasks.ok());
    BOOST_TEST((tasks.err().code == errc::invalid_spec));
    const auto text = tasks.err().text();
    BOOST_REQUIRE_MESSAGE(text.starts_with(path), text);
    BOOST_TEST(text.find('\n') == std::string::npos);
    return text.substr(path.size());
  };
  BOOST_TEST(refused((folder.path / "nowhere.yaml").string()) == ": cannot be read: No such file or directory");
  BOOST_TEST(refused(folder.path.string()) == ": is a folder, not a spec file");
  BOOST_TEST(refused(folder.write("empty.yaml", "")) == ": is empty");
  BOOST_TEST(refused(folder.write("empty.json", "")) == ": is empty");
  BOOST_TEST(refused(folder.write("picture.yaml", "\x89PNG\r\n\x1a\n")) ==
             ": is not a UTF-8 text file (byte 0x89 at offset 0)");
  BOOST_TEST(refused(folder.write("picture.json", "\x89PNG\r\n\x1a\n")) ==
             ": is not a UTF-8 text file (byte 0x89 at offset 0)");
  BOOST_TEST(refused(folder.write("zero.yaml", std::string_view("task: t\0", 8))) ==
             ": is not a UTF-8 text file (byte 0x00 at offset 7)");
  BOOST_TEST(refused(folder.write("overlong.yaml", "a: \xc0\xaf")) ==
             ": is not a UTF-8 text file (byte 0xc0 at offset 3)");
  BOOST_TEST(refused(folder.write("surrogate.yaml", "a: \xed\xa0\x80")) ==
             ": is not a UTF-8 text file (byte 0xed at offset 3)");
  BOOST_TEST(refused(folder.write("array.json", "[1, 2]\n")) ==
             ":1: is a list, not a spec (a JSON object with ConfigurationSpace or parameters)");
  BOOST_TEST(refused(folder.write("cut.json", "{\"a\": 1,\n")).starts_with(":1: is not JSON: "));
  BOOST_TEST(refused(folder.write("object.json", "{}\n")) == ":1: the spec has no 'task', which it needs");
  const auto large = folder.write("large.yaml", "");
  std::filesystem::resize_file(large, std::uintmax_t{100} << 20);
  BOOST_TEST(refused(large) == ": is larger than 4 MB; no spec file is");
}

BOOST_AUTO_TEST_CASE(reads_files_and_names_their_folder) {
  const temporary_folder folder;
  const auto tasks = read_spec(folder.write("good.yaml", "\xef\xbb\xbf" + yaml_of_contract()));
  BOOST_REQUIRE_MESSAGE(tasks.ok(), (tasks.ok() ? "" : tasks.err().text()));
  BOOST_TEST((*tasks)[0].directory == std::filesystem::canonical(folder.path).string());
  const auto own = read_spec(folder.write("own.json", R"({"task": "t", "parameters": {"x": [1, 1.0, "1"]}})"));
  BOOST_REQUIRE_MESSAGE(own.ok(), (own.ok() ? "" : own.err().text()));
  BOOST_TEST((std::get<value_list>((*own)[0].parameters[0].domain).values == std::vector<value>{1, 1.0, "1"}));
}

BOOST_AUTO_TEST_CASE(what_tasks_share_stands_beside_them) {
  const std::string tasks = "parameters: {x: [1, 2]}\ntasks: [{task: a}, {task: b}]\n";
  const auto read = [](const std::string& text) { return storage::read_shared_budget_text(text, "spec.yaml"); };
  BOOST_TEST(!read(tasks)->has_value());
  BOOST_TEST(!read("task: t\nparameters: {x: [1]}\n")->has_value());
  const auto b = read(tasks + "budget: {trials: 300, time: 5m, policy: sequential, patience: 20, sufficient: 64}\n");
  BOOST_REQUIRE((b.ok() && b->has_value()));
  BOOST_CHECK((**b == budget_spec{300, std::chrono::minutes(5), "sequential", 20, 64}));
  BOOST_TEST((*read(tasks + "budget: {time: 1s}\n"))->policy == "gradient");
  const bad_case cases[] = {
      {"budget: {policy: gradient}\n",
       "spec.yaml:3:9: budget has neither trials nor time; it says how much the tasks may use together"},
      {"budget: {trials: 5, policy: sequental}\n",
       "spec.yaml:3:29: budget.policy cannot be 'sequental'; did you mean 'sequential'?"},
  };
  for (const auto& c : cases) BOOST_CHECK_EQUAL(refusal(tasks + c.text), c.expected);
  BOOST_TEST(refusal(with("budget: {trials: 5}\n")).starts_with("spec.yaml:3:9: budget is what several tasks share"));
}

BOOST_AUTO_TEST_SUITE_END()
