#include "actors/messages.hpp"
#include "cli/json.hpp"
#include "cli/output.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cmath>
#include <limits>
#include <sstream>

using namespace attune;
using namespace attune::cli;

namespace {

actors::tuning_report finished_report() {
  auto t = std::make_shared<task>();
  t->spec.name = "gemm";
  t->spec.run.metrics[0].unit = "ms";
  t->where.facts = {{"device", "local"}, {"cores", 2}};
  actors::tuning_report r;
  r.of = t;
  r.session = "s1";
  r.counts.proposed = 200;
  r.counts.measured = 150;
  r.counts.cached = 40;
  r.counts.failed[static_cast<std::size_t>(failure_kind::build_error)] = 8;
  r.counts.failed[static_cast<std::size_t>(failure_kind::run_timeout)] = 2;
  r.wall = std::chrono::seconds(61);
  r.times.build = std::chrono::milliseconds(40100);
  r.reason = search::stop_reason::trials;
  return r;
}

search::best_so_far some_best() {
  measurement m;
  m.value = 0.00123;
  m.spread = 0.004;
  m.samples = {0.00123, 0.00124};
  auto o = std::make_shared<outcome>();
  o->data = m;
  return {configuration(arguments{{"tile_m", 32}, {"alpha", 1.0}}), o, {}, 3};
}

} // namespace

BOOST_AUTO_TEST_SUITE(json_shapes)

BOOST_AUTO_TEST_CASE(gives_tunes_document_as_the_contract_has_it) {
  auto r = finished_report();
  r.times.store = std::chrono::milliseconds(500);
  r.times.trials = std::chrono::seconds(60);
  r.times.devices = {{"local/slot0", std::chrono::milliseconds(30500)}};
  r.best = some_best();
  const std::string zeros(64, '0'), key(32, '0');
  BOOST_TEST(
      dump(report_json(r)) ==
      R"({"task":"gemm","key":")" + zeros +
          R"(","target":{"device":"local","cores":2},"best":{"config":{"tile_m":32,"alpha":1.0},"value":0.00123,)"
          R"("unit":"s","goal":"minimize","spread":0.004,"samples":[0.00123,0.00124],"record":")" +
          key +
          R"("},"trials":{"proposed":200,"measured":150,"stopped_early":0,"cached":40,"estimated":0,"failed":{"build_error":8,"run_timeout":2}},)"
          R"("time_s":{"wall":61.0,"build":40.1,"run":0.0,"queue":0.0,"search":0.0,"clean":0.0,"store":0.5,"trials":60.0},)"
          R"("devices":{"local/slot0":{"run_s":30.5,"busy":0.5}},)"
          R"("stopped_because":"trials","session":"s1"})");
}

BOOST_AUTO_TEST_CASE(gives_null_for_no_best_and_sums_several_tasks) {
  auto r = finished_report();
  r.first_failure = failure{failure_kind::build_error, "no such header", 1, {}};
  const auto alone = report_json(r);
  BOOST_TEST(alone["best"].is_null());
  BOOST_TEST(dump(alone["first_failure"]) == R"({"kind":"build_error","message":"no such header"})");
  auto good = std::make_shared<actors::tuning_report>(finished_report());
  good->best = some_best();
  good->wall = std::chrono::seconds(90);
  const std::vector<actors::report_ptr> both{std::make_shared<actors::tuning_report>(r), good};
  const auto doc = reports_json(both);
  BOOST_TEST(doc["tasks"].size() == 2u);
  BOOST_TEST(
      dump(doc["total"]["trials"]) ==
      R"({"proposed":400,"measured":300,"stopped_early":0,"cached":80,"estimated":0,"failed":{"build_error":16,"run_timeout":4}})");
  BOOST_TEST(doc["total"]["with_best"] == 1u);
  BOOST_TEST(doc["total"]["time_s"]["wall"] == 90.0);
  BOOST_TEST(dump(reports_json(std::span(both).subspan(1))) == dump(report_json(*good)));
}

BOOST_AUTO_TEST_CASE(never_shows_what_json_has_no_number_for) {
  auto r = finished_report();
  r.best = some_best();
  auto o = std::make_shared<outcome>(*r.best->result);
  std::get<measurement>(o->data).spread = std::numeric_limits<double>::quiet_NaN();
  std::get<measurement>(o->data).samples = {HUGE_VAL};
  r.best->result = o;
  const auto text = dump(report_json(r));
  BOOST_TEST(text.find("nan") == std::string::npos);
  BOOST_TEST(text.find("inf") == std::string::npos);
  BOOST_TEST(text.find(R"("spread":null,"samples":[null])") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(keeps_counts_exact_beyond_what_readers_round) {
  BOOST_TEST(dump(count_json(search::uint128{116928})) == "116928");
  BOOST_TEST(dump(count_json(search::uint128{1} << 53)) == "9007199254740992");
  BOOST_TEST(dump(count_json((search::uint128{1} << 53) + 1)) == "\"9007199254740993\"");
  BOOST_TEST(dump(space_count_json(7, 8294400, search::uint128{116928}, 12.5)) ==
             R"({"parameters":7,"cartesian":8294400,"valid":116928,"build_ms":12.5})");
  BOOST_TEST(dump(space_count_json(30, ~search::uint128{0}, std::nullopt, 1)) ==
             R"({"parameters":30,"cartesian":"340282366920938463463374607431768211455","valid":null,"build_ms":1.0})");
}

BOOST_AUTO_TEST_CASE(keeps_the_types_of_values) {
  const configuration c(arguments{{"i", std::int64_t{9007199254740993}},
                                  {"r", 1.0},
                                  {"t", "1"},
                                  {"b", true},
                                  {"o", permutation{{"j", "i"}}},
                                  {"a", value{}}});
  BOOST_TEST(dump(config_json(c)) == R"({"i":9007199254740993,"r":1.0,"t":"1","b":true,"o":["j","i"]})");
}

BOOST_AUTO_TEST_CASE(gives_a_record_as_the_contract_has_it) {
  outcome failed;
  failed.data = failure{failure_kind::run_error, "boom \xff", 1, {}};
  failed.runner = "local/slot0";
  failed.at = std::chrono::seconds(1796745600);
  BOOST_TEST(dump(record_json(configuration(arguments{{"x", 1}}), failed, "s", "k", goal::minimize)) ==
             R"({"config":{"x":1},"value":null,"unit":"s","failure":"run_error","message":"boom )"
             "\xef\xbf\xbd"
             R"(","exit":1,"signal":null,"samples":[],"spread":null,"runner":"local/slot0",)"
             R"("at":"2026-12-08T16:00:00Z","record":"k"})");
  outcome good;
  measurement m;
  m.value = 2;
  m.samples = {2, 2, 9};
  m.rejected = 1;
  good.data = m;
  good.notes = {"a zero among the samples"};
  BOOST_TEST(dump(record_json(configuration(arguments{{"x", 1}}), good, "s", "k", goal::minimize)) ==
             R"({"config":{"x":1},"value":2.0,"unit":"s","failure":null,"message":null,"exit":null,"signal":null,)"
             R"("samples":[2.0,2.0,9.0],"spread":0.0,"runner":"","at":"1970-01-01T00:00:00Z","record":"k",)"
             R"("rejected":1,"notes":["a zero among the samples"]})");
  outcome stopped;
  stopped.data = bound{3, 2, {4, 5}};
  const auto shown = record_json(configuration(arguments{{"x", 1}}), stopped, "s", "k", goal::minimize);
  BOOST_TEST(dump(shown) ==
             R"({"config":{"x":1},"value":null,"unit":"s","failure":null,"message":null,"exit":null,"signal":null,)"
             R"("samples":[4.0,5.0],"spread":null,"runner":"","at":"1970-01-01T00:00:00Z","record":"k",)"
             R"("at_least":3.0})");
  BOOST_TEST(record_json(configuration(), stopped, "s", "k", goal::maximize)["at_most"] == 3.0);
}

BOOST_AUTO_TEST_CASE(gives_the_stores_figures) {
  storage::store_statistics s;
  s.records = 43;
  s.tasks = 43;
  s.targets = 1;
  s.cache_entries = 43;
  s.misses = {{"new", 0}};
  s.bytes = 123456;
  s.schema = 1;
  BOOST_TEST(dump(statistics_json(s)) ==
             R"({"records":43,"tasks":43,"targets":1,"failures":0,"cache":{"entries":43,"hits":0,"misses":{"new":0},)"
             R"("evicted":0,"hit_rate":null,"speedup":null,"speedup_by_hit_rate":null,"saved_s":0.0,"spent_s":0.0},)"
             R"("bytes":123456,"schema":1})");
  s.hits = 30;
  s.misses = {{"new", 8}, {"target", 2}};
  s.saved = std::chrono::seconds(60);
  s.spent = std::chrono::seconds(20);
  const auto cache = statistics_json(s)["cache"];
  BOOST_TEST(cache["hit_rate"] == 0.75);
  BOOST_TEST(cache["speedup"] == 4.0);
  BOOST_TEST(cache["speedup_by_hit_rate"] == 4.0);
}

BOOST_AUTO_TEST_CASE(sums_the_tasks_of_a_target) {
  std::vector<storage::task_statistics> tasks(3);
  for (std::size_t k = 0; k < 3; ++k) {
    tasks[k].task.name = "t" + std::to_string(k);
    tasks[k].task.target = sha256(k < 2 ? "a" : "b");
    tasks[k].task.target_facts = {{"device", value(k < 2 ? "a" : "b")}};
    tasks[k].counts.records = 10 * (k + 1);
    tasks[k].counts.failures = k;
    tasks[k].bytes = 100;
  }
  tasks[0].hits = 1;
  tasks[1].misses = 3;
  const auto out = statistics_by_task_json(tasks);
  BOOST_TEST(out["by_task"].size() == 3u);
  BOOST_TEST(out["by_task"][2]["hit_rate"].is_null());
  BOOST_REQUIRE_EQUAL(out["by_target"].size(), 2u);
  for (const auto& t : out["by_target"]) {
    const bool a = t["target"]["device"] == "a";
    BOOST_TEST(t["tasks"] == (a ? 2 : 1));
    BOOST_TEST(t["records"] == 30);
    BOOST_TEST(t["bytes"] == (a ? 200 : 100));
    if (a) BOOST_TEST(t["hit_rate"] == 0.25);
  }
}

BOOST_AUTO_TEST_CASE(gives_errors_their_exit_codes_and_a_document) {
  std::ostringstream out, err;
  output io(out, err, true);
  BOOST_TEST(io.fail({errc::store_busy, "held by process 7", "/s"}) == 3);
  BOOST_TEST(err.str() == "attune: /s: held by process 7\n");
  BOOST_TEST(out.str() == R"({"error":{"kind":"store_busy","message":"held by process 7","where":"/s"}})"
                          "\n");
  BOOST_TEST(exit_code_of(errc::invalid_spec) == 2);
  BOOST_TEST(exit_code_of(errc::store_newer) == 3);
  BOOST_TEST(exit_code_of(errc::store_corrupt) == 3);
  BOOST_TEST(exit_code_of(errc::network) == 5);
  BOOST_TEST(exit_code_of(errc::cancelled) == 130);
}

BOOST_AUTO_TEST_SUITE_END()
