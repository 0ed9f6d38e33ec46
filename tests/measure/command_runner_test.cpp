#include "measure/command_builder.hpp"
#include "measure/command_runner.hpp"
#include "measure/counters.hpp"
#include "measure/scratch.hpp"
#include "measure/trial_process.hpp"
#include "tests/measure/support.hpp"

#include <cmath>
#include <csignal>

using namespace attune;
using namespace attune::measure;
using namespace attune::measure::testing;
using namespace std::chrono_literals;

namespace {

struct fixture {
  folder f;
  std::shared_ptr<supervisor> s = make_supervisor();
  command_builder builder{s};
  command_runner runner{s};
  task_spec spec = spec_in(f.path());

  run_result run_shell(const std::string& text, arguments config = {}) {
    spec.run.run.shell = text;
    return run(runner, trial_of(spec, std::move(config)));
  }
};

const measurement& measured(const run_result& r) {
  const auto* f = failed(r);
  BOOST_REQUIRE_MESSAGE(!f, (f ? std::string(to_string(f->kind)) + ": " + f->message : std::string()));
  return std::get<measurement>(r.data);
}

failure failure_in(const run_result& r) {
  BOOST_REQUIRE(failed(r));
  return *failed(r);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(command_runs, fixture)

BOOST_AUTO_TEST_CASE(the_last_number_of_a_run_is_its_value) {
  auto r = run_shell("echo warming 7; echo 0.25");
  BOOST_TEST(measured(r).value == 0.25);
  BOOST_TEST(measured(r).samples == std::vector<double>{0.25}, boost::test_tools::per_element());
  BOOST_TEST(r.notes.empty());
}

BOOST_AUTO_TEST_CASE(a_run_whose_folder_was_deleted_is_not_the_candidates_failure) {
  const auto lost = failure_in(run_shell("rm -r {workdir}; exit 3"));
  BOOST_TEST((lost.kind == failure_kind::internal));
  BOOST_TEST(lost.message.find("something else has deleted it") != std::string::npos, lost.message);
  BOOST_TEST((failure_in(run_shell("exit 3")).kind == failure_kind::run_error));
  // What ended well is not asked for it.
  BOOST_TEST(measured(run_shell("rm -r {workdir}; echo 1")).value == 1);
}

BOOST_AUTO_TEST_CASE(a_build_whose_folder_was_deleted_is_not_the_candidates_failure) {
  spec.build.emplace();
  spec.build->run.shell = "rm -r {workdir}; exit 3";
  const auto built = build(builder, trial_of(spec));
  BOOST_REQUIRE(failed(built));
  BOOST_TEST((failed(built)->kind == failure_kind::internal));
}

BOOST_AUTO_TEST_CASE(a_value_is_never_expanded_again) { // A08
  arguments config{{"foo", "a,{bar}"}, {"bar", "baz"}};
  run_shell("echo {foo} {bar} > seen; echo 1", config);
  BOOST_TEST(f.read("seen") == "a,{bar} baz\n");
  std::swap(config[0], config[1]);
  run_shell("echo {foo} {bar} > seen; echo 1", config);
  BOOST_TEST(f.read("seen") == "a,{bar} baz\n");
}

BOOST_AUTO_TEST_CASE(what_is_left_running_neither_holds_nor_spoils_the_trial) { // A09
  spec.run.timeout = 10s;
  auto r = run_shell("sh -c 'sleep 3021 & echo 0.5'");
  BOOST_TEST(measured(r).value == 0.5);
  BOOST_TEST(has_note(r.notes, "left running"));
  BOOST_TEST(processes_with("sleep 3021").empty());
}

BOOST_AUTO_TEST_CASE(a_command_that_the_shell_puts_into_the_background_is_told) { // SA03
  auto r = run_shell("sleep 3022 &> /dev/null; echo 1");
  BOOST_TEST(has_note(r.notes, "something was left running and was ended: "));
}

BOOST_AUTO_TEST_CASE(a_build_that_hangs_is_a_timeout_and_leaves_nothing) { // A10
  spec.build.emplace();
  spec.build->run.shell = "sh -c 'sleep 3023 & sleep 3023'";
  spec.build->timeout = 200ms;
  spec.run.run.shell = "echo 1";
  for (int i = 0; i < 3; ++i) {
    auto r = build(builder, trial_of(spec));
    BOOST_REQUIRE(failed(r));
    BOOST_TEST((failed(r)->kind == failure_kind::build_timeout));
    BOOST_TEST(failed(r)->message == "the build reached its limit of 200 ms");
    BOOST_TEST(processes_with("sleep 3023").empty());
    BOOST_TEST(zombies() == 0U);
  }
}

BOOST_AUTO_TEST_CASE(the_limit_is_each_processes_own_and_begins_with_it) { // A11
  // Four trials wait for one slot: together they take longer than the limit of one.
  spec.run.timeout = 4s;
  spec.run.run.shell = "sleep 0.6; echo 1";
  spec.run.repeats = {2, 2, 0};
  for (int i = 0; i < 4; ++i) BOOST_TEST(measured(run(runner, trial_of(spec))).samples.size() == 2U);
  spec.run.timeout = 100ms;
  for (int i = 0; i < 4; ++i) BOOST_TEST((failure_in(run(runner, trial_of(spec))).kind == failure_kind::run_timeout));
}

BOOST_AUTO_TEST_CASE(a_run_that_ends_with_an_error_has_no_value) { // A12
  auto r = failure_in(run_shell("echo 0.001; echo what went wrong >&2; exit 1"));
  BOOST_TEST((r.kind == failure_kind::run_error));
  BOOST_TEST(r.exit.value() == 1);
  BOOST_TEST(r.message == "what went wrong");
}

BOOST_AUTO_TEST_CASE(one_failing_repeat_fails_the_configuration) { // A12
  spec.run.repeats = {3, 3, 0};
  auto r = failure_in(run_shell("echo x >> count; [ $(wc -l < count) -ne 2 ] && echo 0.5"));
  BOOST_TEST((r.kind == failure_kind::run_error));
  BOOST_TEST(f.read("count") == "x\nx\n");
}

BOOST_AUTO_TEST_CASE(a_crash_names_its_signal) {
  auto r = failure_in(run_shell("echo 0.001; echo last words >&2; kill -SEGV $$"));
  BOOST_TEST((r.kind == failure_kind::run_error));
  BOOST_TEST(r.signal.value() == SIGSEGV);
  BOOST_TEST(r.message == "the run was ended by signal 11 (SIGSEGV)\nlast words");
}

BOOST_AUTO_TEST_CASE(a_value_that_is_none_is_a_bad_metric) { // A14
  auto r = failure_in(run_shell("echo 0.5; echo nan"));
  BOOST_TEST((r.kind == failure_kind::bad_metric));
  BOOST_TEST(r.message == "the metric 'time' is not a number (nan)");
  BOOST_TEST(failure_in(run_shell("echo inf")).message == "the metric 'time' is infinite (inf)");
  BOOST_TEST(failure_in(run_shell("echo -1")).message == "the metric 'time' is negative (-1)");
  auto zero = run_shell("echo 0.000");
  BOOST_TEST(measured(zero).value == 0.0);
  BOOST_TEST(measured(zero).spread == 0.0);
  BOOST_TEST(has_note(zero.notes, "exactly zero in 1 of 1 samples"));
}

BOOST_AUTO_TEST_CASE(a_metric_that_is_missing_is_never_invented) { // SA12
  spec.run.metrics[0].source = metric_spec::from::pattern;
  spec.run.metrics[0].expression = "time: ([0-9.]+)";
  BOOST_TEST(measured(run_shell("echo time: 0.5")).value == 0.5);
  auto r = failure_in(run_shell("echo tempo: 0.5"));
  BOOST_TEST((r.kind == failure_kind::bad_metric));
  BOOST_TEST(r.message == "the metric 'time' is missing: nothing on standard output matches time: ([0-9.]+)");
  BOOST_TEST(r.exit.value() == 0);
}

BOOST_AUTO_TEST_CASE(a_file_of_an_earlier_run_is_not_this_runs_metric) { // SA12
  spec.run.metrics[0].source = metric_spec::from::file;
  spec.run.metrics[0].expression = "result.txt";
  spec.run.repeats = {2, 2, 0};
  BOOST_TEST(measured(run_shell("echo 0.5 > result.txt")).samples.size() == 2U);
  auto r = failure_in(run_shell("true"));
  BOOST_TEST((r.kind == failure_kind::bad_metric));
  BOOST_TEST(r.message.ends_with("result.txt' was not written by this run"));
  BOOST_TEST(f.read("result.txt") == "0.5\n");
  spec.run.metrics[0].expression = "{workdir}/own";
  BOOST_TEST(measured(run_shell("echo 0.75 > {workdir}/own")).value == 0.75);
}

BOOST_AUTO_TEST_CASE(a_wrong_result_is_no_measurement) { // SA07
  spec.run.check.run.shell = "echo checked {x} >> log; [ {x} -ne 1 ] || { echo differs at 7 >&2; exit 9; }";
  spec.run.repeats = {3, 3, 0};
  auto r = failure_in(run_shell("echo run >> log; echo 0.001", {{"x", 1}}));
  BOOST_TEST((r.kind == failure_kind::wrong_output));
  BOOST_TEST(r.exit.value() == 9);
  BOOST_TEST(r.message == "differs at 7");
  BOOST_TEST(f.read("log") == "run\nchecked 1\n");
  std::filesystem::remove(f.path() + "/log");
  BOOST_TEST(measured(run_shell("echo run >> log; echo 0.001", {{"x", 2}})).samples.size() == 3U);
  BOOST_TEST(f.read("log") == "run\nchecked 2\nrun\nrun\n");
}

BOOST_AUTO_TEST_CASE(a_check_that_hangs_is_a_wrong_output) {
  spec.run.check.run.shell = "sleep 3024";
  spec.run.check.timeout = 100ms;
  auto r = failure_in(run_shell("echo 1"));
  BOOST_TEST((r.kind == failure_kind::wrong_output));
  BOOST_TEST(r.message == "the check reached its limit of 100 ms");
}

BOOST_AUTO_TEST_CASE(warm_up_runs_are_thrown_away_and_repeats_kept) {
  spec.run.warmup = 2;
  spec.run.repeats = {3, 3, 0};
  auto r = measured(run_shell("echo x >> count; wc -l < count"));
  std::vector<double> expected{3, 4, 5};
  BOOST_TEST(r.samples == expected, boost::test_tools::per_element());
  BOOST_TEST(r.value == 4.0);
}

BOOST_AUTO_TEST_CASE(a_cold_start_is_found_beside_the_stated_warm_up) {
  spec.run.warmup = 1;
  spec.run.repeats = {5, 5, 0};
  // Two cold runs: the first is the stated warm-up, the second is found.
  auto r = run_shell("echo x >> count; n=$(wc -l < count); if [ $n -le 2 ]; then echo 60; else echo 7.$((n % 2)); fi");
  BOOST_TEST(measured(r).samples.size() == 5U);
  BOOST_TEST(measured(r).rejected == 1U);
  BOOST_TEST(measured(r).value == 7.05, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(std::count(r.notes.begin(), r.notes.end(), "cold start: 1 of 5 samples left out") == 1);
}

BOOST_AUTO_TEST_CASE(a_hopeless_candidate_is_stopped_early) {
  spec.run.repeats = {3, 15, 0.001};
  spec.run.run.shell = "echo x >> count; echo 9.$(($(wc -l < count) % 3))";
  auto r = run(runner, trial_of(spec, {}, {}, 1.0));
  BOOST_REQUIRE(std::holds_alternative<bound>(r.data));
  BOOST_TEST(std::get<bound>(r.data).samples.size() == 3U);
  BOOST_TEST(f.read("count") == "x\nx\nx\n");
}

BOOST_AUTO_TEST_CASE(the_limit_of_a_run_follows_the_best) {
  spec.run.metrics[0].source = metric_spec::from::wall;
  spec.run.run.shell = "sleep 3071";
  spec.run.repeats = {1, 5, 0.01};
  auto r = run(runner, trial_of(spec, {}, {}, 0.01));
  BOOST_REQUIRE(std::holds_alternative<bound>(r.data));
  BOOST_TEST(std::get<bound>(r.data).value == 1.0);
  BOOST_TEST(std::get<bound>(r.data).against == 0.01);
  BOOST_TEST(processes_with("sleep 3071").empty());
}

BOOST_AUTO_TEST_CASE(the_users_limit_is_the_outer_bound) {
  spec.run.metrics[0].source = metric_spec::from::wall;
  spec.run.run.shell = "sleep 3072";
  spec.run.repeats = {1, 5, 0.01};
  spec.run.timeout = 200ms;
  BOOST_CHECK(failure_in(run(runner, trial_of(spec, {}, {}, 10.0))).kind == failure_kind::run_timeout);
  // A run of the stated warm-up has no other.
  spec.run.warmup = 1;
  BOOST_CHECK(failure_in(run(runner, trial_of(spec, {}, {}, 0.001))).kind == failure_kind::run_timeout);
}

BOOST_AUTO_TEST_CASE(a_stated_number_of_repeats_has_the_users_limit_alone) {
  spec.run.metrics[0].source = metric_spec::from::wall;
  spec.run.run.shell = "sleep 3073";
  spec.run.timeout = 1200ms;
  BOOST_CHECK(failure_in(run(runner, trial_of(spec, {}, {}, 0.01))).kind == failure_kind::run_timeout);
}

BOOST_AUTO_TEST_CASE(repeats_stop_when_the_interval_is_narrow) {
  spec.run.repeats = {3, 15, 0.01};
  BOOST_TEST(measured(run_shell("echo 0.5")).samples.size() == 3U);
}

BOOST_AUTO_TEST_CASE(further_metrics_are_told_or_left_out_with_a_note) {
  metric_spec energy;
  energy.name = "energy";
  energy.unit = "J";
  energy.source = metric_spec::from::json;
  energy.expression = "/energy";
  spec.run.metrics[0].source = metric_spec::from::json;
  spec.run.metrics[0].expression = "/time";
  spec.run.metrics[0].unit = "ms";
  spec.run.metrics.push_back(energy);
  auto r = measured(run_shell("echo '{{\"time\": [1, 2, 3], \"energy\": 5}'"));
  BOOST_TEST(r.value == 0.002);
  BOOST_REQUIRE(r.metrics.size() == 1U);
  BOOST_TEST(r.metrics[0].first == "energy");
  BOOST_TEST(r.metrics[0].second == 5.0);
  auto without = run_shell("echo '{{\"time\": 1}'");
  BOOST_TEST(measured(without).metrics.empty());
  BOOST_TEST(has_note(without.notes, "'energy' is missing"));
}

BOOST_AUTO_TEST_CASE(the_wall_clock_of_a_run_can_be_its_metric) {
  spec.run.metrics[0].source = metric_spec::from::wall;
  double value = measured(run_shell("sleep 0.1")).value;
  BOOST_TEST(value >= 0.1);
}

BOOST_AUTO_TEST_CASE(a_built_artifact_is_run_and_its_folder_goes_with_it) {
  spec.build.emplace();
  spec.build->run.shell = "printf '#!/bin/sh\\necho {x}\\n' > {artifact}; chmod +x {artifact}; echo {workdir} > where";
  spec.run.run.shell = "{artifact}";
  auto what = trial_of(spec, {{"x", 42}});
  auto b = build(builder, what);
  BOOST_REQUIRE(!failed(b));
  BOOST_TEST(b.elapsed.count() > 0);
  auto made = std::get<artifact_ptr>(b.data);
  std::string where = made->directory;
  BOOST_TEST(f.read("where") == where + "\n");
  BOOST_TEST(where.starts_with(s->scratch().root()));
  BOOST_TEST(measured(run(runner, what, made)).value == 42.0);
  made.reset();
  b.data = failure{};
  BOOST_TEST(!std::filesystem::exists(where));
}

BOOST_AUTO_TEST_CASE(a_failing_build_says_why_and_leaves_no_folder) {
  spec.build.emplace();
  spec.build->run.shell = "echo {workdir} > where; touch {artifact}; echo line 7: syntax error >&2; exit 2";
  spec.run.run.shell = "{artifact}";
  auto b = build(builder, trial_of(spec));
  BOOST_REQUIRE(failed(b));
  BOOST_TEST((failed(b)->kind == failure_kind::build_error));
  BOOST_TEST(failed(b)->message == "line 7: syntax error");
  BOOST_TEST(failed(b)->exit.value() == 2);
  std::string where = f.read("where");
  where.pop_back();
  BOOST_TEST(!std::filesystem::exists(where));
}

BOOST_AUTO_TEST_CASE(a_build_that_leaves_no_artifact_is_an_error) {
  spec.build.emplace();
  spec.build->run.shell = "true || touch {artifact}";
  spec.run.run.shell = "{artifact}";
  auto b = build(builder, trial_of(spec));
  BOOST_REQUIRE(failed(b));
  BOOST_TEST(failed(b)->message == "the build ended well but left no {artifact}");
}

BOOST_AUTO_TEST_CASE(fifty_hanging_builds_leave_no_folders) { // SA05
  spec.build.emplace();
  spec.build->run.shell = "head -c 1000000 /dev/zero > {workdir}/big; sleep 3025";
  spec.build->timeout = 40ms;
  spec.run.run.shell = "echo 1";
  auto folders = [&] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(s->scratch().root())) count += entry.is_directory();
    return count;
  };
  for (int i = 0; i < 50; ++i) {
    auto b = build(builder, trial_of(spec));
    BOOST_TEST((failed(b)->kind == failure_kind::build_timeout), failed(b)->message);
    BOOST_TEST(folders() == 0U); // gone before it is told: what is used at once is bounded
  }
}

BOOST_AUTO_TEST_CASE(a_private_folder_holds_the_sources_where_commands_run_in_it) {
  std::filesystem::create_directories(f.path() + "/src");
  f.write("src/a.txt", "a");
  f.write("run.sh", "#!/bin/sh\ncat src/a.txt made; echo; echo 5\n", true);
  spec.build.emplace();
  spec.build->cwd = working_directory::workdir;
  spec.build->sources = {"src/a.txt", "run.sh"};
  spec.build->run.shell = "cp src/a.txt made; echo changed > src/a.txt; pwd";
  spec.run.cwd = working_directory::workdir;
  spec.run.run.argv = {"./run.sh"};
  auto what = trial_of(spec);
  auto b = build(builder, what);
  BOOST_REQUIRE(!failed(b));
  auto made = std::get<artifact_ptr>(b.data);
  BOOST_TEST(made->path.empty());
  BOOST_TEST(measured(run(runner, what, made)).value == 5.0);
  BOOST_TEST(f.read("src/a.txt") == "a"); // a copy was changed
}

BOOST_AUTO_TEST_CASE(a_file_that_has_gone_is_the_machines_failure) {
  f.write("data.txt", "a");
  spec.run.cwd = working_directory::workdir;
  spec.run.files = {"data.txt"};
  spec.run.run.shell = "echo 1";
  const auto alone = trial_of(spec);
  spec.build.emplace();
  spec.build->run.shell = "touch {artifact}";
  const auto built = trial_of(spec);
  std::filesystem::remove(f.path() + "/data.txt");
  const auto b = build(builder, built);
  BOOST_REQUIRE(failed(b));
  const auto r = failure_in(run(runner, alone));
  for (const auto* why : {failed(b), &r}) {
    BOOST_TEST((why->kind == failure_kind::internal));
    BOOST_TEST(why->message.find("cannot copy the source 'data.txt'") == 0u, why->message);
  }
}

BOOST_AUTO_TEST_CASE(a_program_that_is_not_there_is_a_run_error) {
  spec.run.run.argv = {"/nonexistent/program"};
  const auto why = failure_in(run(runner, trial_of(spec)));
  BOOST_TEST((why.kind == failure_kind::run_error));
  BOOST_TEST(why.message.find("/nonexistent/program") != std::string::npos, why.message);
}

BOOST_AUTO_TEST_CASE(text_is_made_printable_and_what_is_none_is_marked) {
  const std::string unknown = "\xEF\xBF\xBD";
  for (const std::string good :
       {"a\tb\n", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xED\x9F\xBF", "\xF4\x8F\xBF\xBF"})
    BOOST_TEST(printable(good) == good);
  BOOST_TEST(printable("a\x1b[1mb") == "a [1mb");
  // Cut short, a byte that cannot follow, too long a form, a surrogate, beyond the last character, no beginning.
  for (const std::string bad :
       {"\xE2\x82", "\xE2\x28\x41", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xC1\x41", "\xFF"})
    BOOST_TEST(printable(bad).find(unknown) == 0u, bad.size());
}

BOOST_AUTO_TEST_CASE(commands_run_in_the_specs_folder_with_every_value_in_the_environment) {
  spec.workload = {{"m", 512}};
  spec.run.run.shell = "pwd > seen; echo $ATTUNE_tile_m $ATTUNE_TILE_M $ATTUNE_workload_m $ATTUNE_WORKLOAD_M "
                       "$ATTUNE_specdir [$ATTUNE_none] >> seen; [ -d $ATTUNE_WORKDIR ] && echo 1";
  measured(run(runner, trial_of(spec, {{"tile_m", 32}, {"none", value{}}})));
  BOOST_TEST(f.read("seen") == f.path() + "\n32 32 512 512 " + f.path() + " []\n");
}

BOOST_AUTO_TEST_CASE(flags_become_the_right_arguments) { // SA09
  f.write("show", "#!/bin/sh\nfor a in \"$@\"; do echo \"<$a>\"; done > seen\necho 1\n", true);
  spec.run.run.argv = {"./show", "first", "{flags*}", "{flags}"};
  auto seen = [&](const std::string& flags) {
    measured(run(runner, trial_of(spec, {{"flags", flags}})));
    return f.read("seen");
  };
  BOOST_TEST(seen("") == "<first>\n<>\n");
  BOOST_TEST(seen("-O3") == "<first>\n<-O3>\n<-O3>\n");
  std::string all = "-O2 -march=native -DNAME=\"a b\"";
  BOOST_TEST(seen(all) == "<first>\n<-O2>\n<-march=native>\n<-DNAME=a b>\n<" + all + ">\n");
  // As a string command the shell splits, as it does for make.
  spec.run.run = {"./show first {flags}", {}};
  BOOST_TEST(seen(all) == "<first>\n<-O2>\n<-march=native>\n<-DNAME=a b>\n");
  BOOST_TEST(seen("") == "<first>\n");
}

BOOST_AUTO_TEST_CASE(a_value_that_cannot_be_split_is_the_configurations_fault) {
  spec.run.run.argv = {"echo", "{flags*}"};
  auto r = failure_in(run(runner, trial_of(spec, {{"flags", "-DNAME=\"a"}})));
  BOOST_TEST((r.kind == failure_kind::invalid_config));
}

BOOST_AUTO_TEST_CASE(a_run_can_be_cancelled) {
  spec.run.run.shell = "echo > up; sleep 3026";
  answer<run_result> wait;
  runner.run(trial_of(spec), nullptr, wait.callback());
  runner.cancel();
  BOOST_TEST((failure_in(wait.get()).kind == failure_kind::cancelled));
  BOOST_TEST(processes_with("sleep 3026").empty());
  BOOST_TEST(measured(run_shell("echo 2")).value == 2.0); // and used again
}

BOOST_AUTO_TEST_CASE(a_runner_that_is_destroyed_answers_and_leaves_nothing) {
  spec.run.run.shell = "sleep 3027";
  answer<run_result> wait;
  {
    command_runner other(s);
    other.run(trial_of(spec), nullptr, wait.callback());
  }
  BOOST_TEST((failure_in(wait.get()).kind == failure_kind::cancelled));
  BOOST_TEST(processes_with("sleep 3027").empty());
}

BOOST_AUTO_TEST_CASE(messages_are_short_and_valid_text) {
  auto r = failure_in(run_shell("printf 'bad \\377\\001 byte\\n' >&2; exit 1"));
  BOOST_TEST(r.message == "bad \xEF\xBF\xBD  byte");
  r = failure_in(run_shell("yes error | head -10000 >&2; echo the end >&2; exit 1"));
  BOOST_TEST(r.message.size() <= 2000U);
  BOOST_TEST(r.message.ends_with("error\nthe end"));
  BOOST_TEST(failure_in(run_shell("echo on standard output; exit 4")).message == "on standard output");
  BOOST_TEST(failure_in(run_shell("exit 4")).message == "the run ended with exit status 4");
}

namespace {

metric_spec metric(const std::string& name, metric_spec::from source, const std::string& word,
                   const std::string& unit) {
  metric_spec out;
  out.name = name;
  out.source = source;
  out.expression = word;
  out.unit = unit;
  return out;
}

double further(const run_result& r, const std::string& name) {
  for (const auto& [known, value] : measured(r).metrics)
    if (known == name) return value;
  BOOST_FAIL("no metric " << name);
  return 0;
}

/// Some hundredths of a second of work in a descendant of the shell, which another one waits for.
const std::string busy = "(/bin/sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; true)";

} // namespace

BOOST_AUTO_TEST_CASE(cpu_time_and_counters_are_of_the_run_and_all_its_descendants) {
  using from = metric_spec::from;
  spec.run.metrics.push_back(metric("cpu", from::cpu, "", "s"));
  spec.run.metrics.push_back(metric("clock", from::counter, "task-clock", "s"));
  spec.run.metrics.push_back(metric("faults", from::counter, "page-faults", "count"));
  spec.run.metrics.push_back(metric("switches", from::counter, "context-switches", "count"));
  if (!can_count("task-clock") || !can_count("context-switches")) {
    BOOST_TEST_MESSAGE("the kernel does not allow counters here: not looked at");
    return;
  }
  const auto idle = run_shell("sleep 0.01; echo 1"), work = run_shell(busy + "; echo 1");
  BOOST_TEST(work.notes.empty());
  BOOST_TEST(further(work, "cpu") > 0.01);
  // Two ways to the same time.
  BOOST_TEST(std::abs(further(work, "clock") - further(work, "cpu")) < 0.3 * further(work, "cpu") + 0.01);
  BOOST_TEST(further(work, "clock") > 2 * further(idle, "clock"));
  BOOST_TEST(further(work, "faults") > 20);
  BOOST_TEST(further(idle, "switches") >= 1);
}

BOOST_AUTO_TEST_CASE(counters_of_runs_at_the_same_time_are_not_mixed) {
  if (!can_count("task-clock")) return;
  auto request = shell(busy), still = shell("sleep 0.3");
  request.counters = still.counters = {*counter_attribute("task-clock")};
  answer<process_result> first, second;
  s->start(std::move(still), first.callback());
  s->start(std::move(request), second.callback());
  const auto work = second.get(), idle = first.get();
  BOOST_REQUIRE((work.counters.size() == 1 && work.counters[0] && idle.counters.size() == 1 && idle.counters[0]));
  BOOST_TEST(work.counters[0]->value > 10'000'000U);
  BOOST_TEST(idle.counters[0]->value < 10'000'000U);
  BOOST_TEST(run_process(*s, shell("true")).counters.empty());
}

BOOST_AUTO_TEST_CASE(a_counter_is_no_descriptor_of_the_run) {
  if (!can_count("task-clock")) return;
  spec.run.metrics.push_back(metric("clock", metric_spec::from::counter, "task-clock", "s"));
  run_shell("ls /proc/self/fd > seen; echo 1");
  BOOST_TEST(f.read("seen") == "0\n1\n2\n3\n"); // 3: the folder that ls reads
}

BOOST_AUTO_TEST_CASE(peak_memory_is_known_above_the_tuners_own_and_a_bound_below) {
  spec.run.metrics.push_back(metric("peak_mb", metric_spec::from::memory, "peak", "MB"));
  const auto small = run_shell("echo 1");
  const double floor = further(small, "peak_mb");
  BOOST_TEST(has_note(small.notes, "the metric 'peak_mb' is at most what is given"));
  // Twice what this program has had.
  const auto bytes = std::to_string(static_cast<long>(2e6 * floor));
  const auto large = run_shell("head -c " + bytes + " /dev/zero | tail -c " + bytes + " | wc -c > /dev/null; echo 1");
  BOOST_TEST(further(large, "peak_mb") >= 2 * floor);
  BOOST_TEST(further(large, "peak_mb") < 3 * floor);
  BOOST_TEST(large.notes.empty());
  // What is not known is no objective.
  spec.run.metrics = {metric("peak_mb", metric_spec::from::memory, "peak", "MB")};
  const auto unknown = failure_in(run_shell("true"));
  BOOST_TEST((unknown.kind == failure_kind::bad_metric));
  BOOST_TEST(unknown.message.find("the kernel tells no less") != std::string::npos, unknown.message);
}

BOOST_AUTO_TEST_CASE(an_amount_is_an_objective_and_the_warm_ups_where_that_was_all) {
  spec.run.metrics = {metric("cpu", metric_spec::from::cpu, "", "s")};
  spec.run.repeats = {3, 3, 0};
  BOOST_TEST(measured(run_shell(busy)).samples.size() == 3U);
  // One run gives all samples of the objective, and is the warm-up of the others.
  spec.run.metrics.insert(spec.run.metrics.begin(), metric("time", metric_spec::from::json, "", "s"));
  spec.run.warmup = 1;
  const auto r = run_shell(busy + "; echo '[1, 2, 3, 4]'");
  BOOST_TEST(measured(r).samples.size() == 3U);
  BOOST_TEST(further(r, "cpu") > 0);
  BOOST_TEST(has_note(r.notes, "the metric 'cpu' is the warm-up's"));
}

BOOST_AUTO_TEST_SUITE_END()
