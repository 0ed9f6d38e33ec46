#include "actors/messages.hpp"
#include "cli/render.hpp"
#include "cli/store_access.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace attune;
using namespace attune::cli;

namespace {

task some_task() {
  task t;
  t.spec.name = "gemm";
  return t;
}

ranked best_of(const arguments& values) {
  ranked r;
  r.config = configuration(values);
  r.measured.value = 0.00123;
  r.measured.spread = 0.0041;
  return r;
}

const arguments every_kind{{"tile_m", 32},
                           {"alpha", 1.0},
                           {"neg", -2},
                           {"fma", true},
                           {"opt", "-O3 \"x\" $y;z\\"},
                           {"pad", value{}},
                           {"order", permutation{{"j", "i"}}}};

std::string shown(best_options::form form, const arguments& values = every_kind) {
  const std::vector<ranked> one{best_of(values)};
  return render_best(some_task(), one, "local", form);
}

} // namespace

BOOST_AUTO_TEST_SUITE(render)

BOOST_AUTO_TEST_CASE(writes_the_best_in_every_form) {
  using form = best_options::form;
  BOOST_TEST(shown(form::text, {{"tile_m", 32}}) == "1.23 ms +-0.4 %  tile_m=32\n");
  BOOST_TEST(shown(form::env) == "ATTUNE_tile_m=32\nATTUNE_alpha=1\nATTUNE_neg=-2\nATTUNE_fma=true\n"
                                 "ATTUNE_opt='-O3 \"x\" $y;z\\'\nATTUNE_pad=''\nATTUNE_order=j,i\n");
  BOOST_TEST(shown(form::args) == "--tile_m=32 --alpha=1 --neg=-2 --fma=true '--opt=-O3 \"x\" $y;z\\' --order=j,i\n");
  BOOST_TEST(shown(form::header) ==
             "// gemm: 1.23 ms on local. Written by attune best.\n#pragma once\n\n"
             "#define ATTUNE_TILE_M 32\n#define ATTUNE_ALPHA 1.0\n#define ATTUNE_NEG (-2)\n#define ATTUNE_FMA 1\n"
             "#define ATTUNE_OPT \"-O3 \\\"x\\\" $y;z\\\\\"\n#define ATTUNE_ORDER \"j,i\"\n");
  BOOST_TEST(shown(form::cmake) == "# gemm: 1.23 ms on local. Written by attune best.\n"
                                   "set(ATTUNE_TILE_M 32)\nset(ATTUNE_ALPHA 1)\nset(ATTUNE_NEG -2)\n"
                                   "set(ATTUNE_FMA ON)\nset(ATTUNE_OPT \"-O3 \\\"x\\\" \\$y\\;z\\\\\")\n"
                                   "set(ATTUNE_ORDER \"j,i\")\n");
  BOOST_TEST(shown(form::header, {{"a", 1}, {"A", 2}}).find("#define ATTUNE_a 1\n#define ATTUNE_A 2\n") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(quotes_words_for_a_shell) {
  BOOST_TEST(shell_word("abc-1.5,x=y") == "abc-1.5,x=y");
  BOOST_TEST(shell_word("") == "''");
  BOOST_TEST(shell_word("it's") == "'it'\\''s'");
  BOOST_TEST(shell_word("a b") == "'a b'");
}

BOOST_AUTO_TEST_CASE(lines_tables_up) {
  BOOST_TEST(table({{"a", "b", "c"}, {"long", "", "x"}, {"é", "y"}}) == "a     b  c\nlong     x\né     y\n");
}

// A13
BOOST_AUTO_TEST_CASE(says_why_there_is_no_best) {
  actors::tuning_report r;
  r.of = std::make_shared<task>(some_task());
  r.counts.proposed = 3;
  r.counts.failed[static_cast<std::size_t>(failure_kind::run_error)] = 3;
  r.first_failure = failure{failure_kind::run_error, "warning\nno such device\n", 1, {}};
  r.reason = search::stop_reason::no_valid;
  BOOST_TEST(no_best_text(r) == "gemm: no valid result (3 of 3 failed); the first: run_error: no such device");
  BOOST_TEST(render_report(r).find("best             n/a") != std::string::npos);
  BOOST_TEST(render_report(r).find("3 failed (run_error 3)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(reports_metrics_and_where_the_time_went) {
  actors::tuning_report r;
  auto of = some_task();
  of.spec.run.metrics.resize(4);
  of.spec.run.metrics[3].name = "faults";
  of.spec.run.metrics[3].unit = "count";
  of.spec.run.metrics[1].name = "cpu";
  of.spec.run.metrics[2].name = "peak_mb";
  of.spec.run.metrics[2].unit = "MB";
  r.of = std::make_shared<task>(of);
  r.wall = std::chrono::seconds(10);
  r.times.run = std::chrono::milliseconds(9300);
  r.times.store = std::chrono::milliseconds(400);
  r.times.queue = std::chrono::milliseconds(500);
  r.times.devices = {{"local/slot0", std::chrono::milliseconds(9300)}};
  outcome o;
  o.data = measurement{0.5, 0, {0.5}, 0, {{"cpu", 0.25}, {"peak_mb", 40}, {"faults", 61}}};
  r.best = search::best_so_far{configuration(arguments{{"x", 1}}), std::make_shared<const outcome>(o), {}, 0};
  const auto text = render_report(r);
  BOOST_TEST(text.find("\n  metrics          cpu 250 ms, peak_mb 40.0 MB, faults 61.0\n") != std::string::npos, text);
  BOOST_TEST(text.find("\n  time             10.0 s (run 9.30 s, queue 500 ms, store 400 ms)\n") != std::string::npos,
             text);
  BOOST_TEST(text.find("\n  busy             local/slot0 93 %\n") != std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(shows_records_with_their_failures) {
  outcome o;
  o.at = std::chrono::seconds(0);
  o.data = failure{failure_kind::run_error, "boom\nmore", {}, 11};
  BOOST_TEST(render_record(configuration(arguments{{"x", 1}}), o, "s", goal::minimize) ==
             "1970-01-01T00:00:00Z  run_error (signal 11)  x=1\n    boom\n");
  o.data = bound{3, 2, {4, 5}};
  BOOST_TEST(render_record(configuration(arguments{{"x", 1}}), o, "s", goal::minimize) ==
             "1970-01-01T00:00:00Z  at least 3.00 s  x=1\n");
  BOOST_TEST(render_record(configuration(arguments{{"x", 1}}), o, "s", goal::maximize) ==
             "1970-01-01T00:00:00Z  at most 3.00 s  x=1\n");
}

BOOST_AUTO_TEST_CASE(matches_targets_by_device_or_facts) {
  const arguments facts{{"device", "board1"}, {"flags", "-O2"}, {"cores", 4}};
  BOOST_TEST(matches_target(facts, "board1"));
  BOOST_TEST(!matches_target(facts, "board2"));
  BOOST_TEST(matches_target(facts, "flags=-O2,cores=4"));
  BOOST_TEST(matches_target(facts, "device=board1"));
  BOOST_TEST(!matches_target(facts, "flags=-O2,cores=8"));
  BOOST_TEST(!matches_target(facts, "driver=1"));
  BOOST_TEST(matches_target({}, "local"));
}

BOOST_AUTO_TEST_CASE(shows_what_each_constraint_cuts_and_what_stands_apart) {
  task_spec spec;
  spec.name = "t";
  for (const auto* name : {"a", "b", "c", "d", "e"}) {
    parameter p;
    p.name = name;
    p.domain = integer_range{1, 4, 1, false};
    spec.parameters.push_back(std::move(p));
  }
  for (const auto* text : {"a + b >= 7", "d != e", "a * b > 0"}) spec.constraints.push_back({text, {}, {}});
  const auto space = search::space::compile(spec.parameters, spec.constraints);
  BOOST_REQUIRE(space.ok());
  const auto told = render_space(spec, **space);
  for (const auto* line : {"\n  a  4 values, 2 used  1 2 3 4\n", "\n  c  4 values          1 2 3 4\n",
                           "\n  a + b >= 7  cuts 81 %     81 % of what the others leave\n",
                           "\n  d != e      cuts 25 %     25 % of what the others leave\n",
                           "\n  a * b > 0   cuts nothing  nothing of what the others leave\n", "\n  3 valid   a, b\n",
                           "\n  12 valid  d, e\n", "\n  free      c\n", "\n  valid  144 (14.06 %)\n",
                           "\n  constraint 3 (`a * b > 0`) forbids nothing\n"})
    BOOST_TEST(told.find(line) != std::string::npos, "wanted: " << line << "\nin: " << told);
}

BOOST_AUTO_TEST_SUITE_END()
