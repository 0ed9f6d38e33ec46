#include "storage/formats/export.hpp"
#include "tests/shared_data.hpp"
#include "tests/storage/formats/support.hpp"
#include "tests/storage/samples.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

using namespace attune;
using namespace attune::storage;
using namespace attune::storage::formats;
using attune::testing::shared_data;

namespace {

/// A plain median, where the program has its cleaned one.
void median(measurement& m) {
  auto sorted = m.samples;
  if (sorted.empty()) return;
  std::sort(sorted.begin(), sorted.end());
  m.value = sorted[sorted.size() / 2];
}

import_report take(store& s, source& from,
                   const import_options& options = {.read = {}, .restate = median, .damaged = {}}) {
  const auto as = recognise(from);
  BOOST_REQUIRE_MESSAGE(as.ok(), (as.ok() ? "" : as.err().text()));
  auto report = import_records(s, from, **as, options);
  BOOST_REQUIRE_MESSAGE(report.ok(), (report.ok() ? "" : report.err().text()));
  return *report;
}

import_report take_file(store& s, const std::string& path,
                        const import_options& options = {.read = {}, .restate = median, .damaged = {}}) {
  const auto from = source::open(path);
  BOOST_REQUIRE(from.ok());
  return take(s, **from, options);
}

import_report take_text(store& s, const std::string& text) {
  const auto from = source::of(text, "x.csv");
  return take(s, *from);
}

struct opened {
  samples::scratch_folder folder;
  std::unique_ptr<store> s;
  opened() {
    auto made = store::open(folder.store(), {});
    BOOST_REQUIRE(made.ok());
    s = std::move(*made);
  }
  ~opened() {
    const auto seen = s->verify();
    BOOST_CHECK(seen.ok());
    if (!seen.ok()) return;
    for (const auto& p : seen->problems) BOOST_ERROR(p);
  }
};

std::vector<task_entry> tasks_of(const store& s) {
  std::vector<task_entry> out;
  BOOST_REQUIRE(s.tasks([&](const task_entry& t, const task_counts&) { out.push_back(t); }).ok());
  return out;
}

record best_of(const store& s, const task_entry& t) {
  const auto b = s.best(t.task);
  BOOST_REQUIRE(b.ok());
  BOOST_REQUIRE(!b->empty());
  return b->front();
}

std::string exported(const store& s, const char* format, const export_options& options = {}) {
  std::string text;
  sink to([&](std::string_view t) {
    text += t;
    return true;
  });
  const auto done = export_records(s, to, *find_format(format), options);
  BOOST_REQUIRE_MESSAGE(done.ok(), (done.ok() ? "" : done.err().text()));
  return text;
}

} // namespace

BOOST_AUTO_TEST_SUITE(formats_import)

BOOST_AUTO_TEST_CASE(microseconds_become_seconds_and_texts_integers) {
  const auto path = shared_data("logs/ktt-microseconds.t4.json");
  if (!path) return;
  opened o;
  const auto r = take_file(*o.s, *path);
  BOOST_TEST(r.added == 4u);
  BOOST_TEST(r.damages == 0u);
  BOOST_TEST(r.format == "t4");
  const auto all = tasks_of(*o.s);
  BOOST_REQUIRE(all.size() == 1u);
  const auto best = best_of(*o.s, all[0]);
  BOOST_TEST(best.result.measured()->value == 6.2816e-5);
  BOOST_TEST((*best.config.find("multiply_block_size") == value(64)));
  BOOST_TEST(all[0].name == "ktt-microseconds");
}

BOOST_AUTO_TEST_CASE(a_cold_start_ranks_by_the_mean_alone) {
  const auto path = shared_data("logs/kernel_tuner-vector_add.json");
  if (!path) return;
  opened o;
  const auto r = take_file(*o.s, *path);
  BOOST_TEST(r.added == 15u);
  BOOST_TEST(r.by_median == 15u);
  import_options stated;
  stated.read.stated = true;
  const auto by_mean = take_file(*o.s, *path, stated);
  BOOST_TEST(by_mean.added == 15u); // another statistic is another task: they are not mixed
  BOOST_TEST(by_mean.by_median == 0u);
  const auto all = tasks_of(*o.s);
  BOOST_REQUIRE(all.size() == 2u);
  BOOST_TEST(origin_of(all[0].method_form)->statistic == "median");
  BOOST_TEST(origin_of(all[1].method_form)->statistic == "stated");
  const auto median_best = best_of(*o.s, all[0]), mean_best = best_of(*o.s, all[1]);
  BOOST_TEST((*median_best.config.find("block_size_x") == value(896)));
  BOOST_TEST(std::abs(median_best.result.measured()->value - 0.025024e-3) < 1e-9);
  BOOST_TEST((*mean_best.config.find("block_size_x") == value(768)));
  BOOST_TEST(std::abs(mean_best.result.measured()->value - 0.031758e-3) < 1e-9);
  // What the file stated is kept beside it.
  BOOST_REQUIRE(median_best.result.measured()->metrics.size() == 1u);
  BOOST_TEST(median_best.result.measured()->metrics[0].first == "stated");
  // And written again as it was.
  const auto text = exported(*o.s, "kernel-tuner", {.task = all[0].task.hex().substr(0, 12), .best = false});
  const auto again = source::of(text, "again");
  BOOST_TEST(take(*o.s, *again).added == 0u);
}

BOOST_AUTO_TEST_CASE(an_unterminated_cache_gives_its_two_records_and_stays_as_it_is) {
  const auto path = shared_data("logs/kernel_tuner-unterminated.json");
  if (!path) return;
  std::ifstream in(*path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  opened o;
  const auto r = take_file(*o.s, *path);
  BOOST_TEST(r.added == 2u);
  BOOST_TEST(r.damages == 0u);
  BOOST_REQUIRE(r.warnings.size() == 1u);
  BOOST_TEST(r.warnings[0].find("unterminated") != std::string::npos);
  std::string comma = whole;
  comma.erase(comma.find_last_not_of(" \n") + 1);
  comma += ",\n";
  const auto from = source::of(comma, *path);
  const auto again = take(*o.s, *from);
  BOOST_TEST(again.read == 2u);
  BOOST_TEST(again.added == 0u);
  BOOST_TEST(again.damages == 0u);
  const auto b = best_of(*o.s, tasks_of(*o.s)[0]);
  BOOST_TEST((*b.config.find("block_size_y") == value(1)));
}

BOOST_AUTO_TEST_CASE(a_timeout_of_autotvm_is_no_result) {
  opened o;
  const std::string line =
      R"({"input": ["llvm -device=arm_cpu", "conv2d", [["TENSOR", [1, 3, 224, 224], "float32"]], {}], "config": {"index": 239, "code_hash": null, "entity": [["tile_co", "sp", [-1, 8]]]}, "result": [[1000000000.0], 7, 150, 1587243236.45], "version": 0.2})"
      "\n";
  const auto r = take_text(*o.s, line);
  BOOST_TEST(r.read == 1u);
  BOOST_TEST(r.failures == 1u);
  const auto all = tasks_of(*o.s);
  BOOST_REQUIRE(all.size() == 1u);
  const auto b = o.s->best(all[0].task);
  BOOST_REQUIRE(b.ok());
  BOOST_TEST(b->empty());
  BOOST_REQUIRE(o.s->records_of(all[0].task,
                                [](const record& rec) {
                                  BOOST_TEST((rec.result.failed()->kind == failure_kind::run_timeout));
                                  return true;
                                })
                    .ok());
  const auto text = exported(*o.s, "autotvm-0.2");
  BOOST_TEST(text.find("\"result\": [[1000000000.0], 7, 150.0, 1587243236.45]") != std::string::npos, text);
  BOOST_TEST(text.find("\"index\": 239") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_published_log_is_taken_once) {
  const auto path = shared_data("logs/intel_graphics_v0.02.log");
  if (!path) return;
  opened o;
  const auto r = take_file(*o.s, *path);
  BOOST_TEST(r.format == "autotvm-0.2");
  BOOST_TEST(r.read == 73u);
  BOOST_TEST(r.added == 43u);
  BOOST_TEST(r.duplicates == 30u);
  BOOST_TEST(r.comments == 2u);
  BOOST_TEST(r.failures == 0u);
  const auto second = take_file(*o.s, *path);
  BOOST_TEST(second.read == 73u);
  BOOST_TEST(second.added == 0u);
  const auto s = o.s->statistics();
  BOOST_REQUIRE(s.ok());
  BOOST_TEST(s->records == 43u);
  BOOST_TEST(s->tasks == 43u);
  BOOST_TEST(s->targets == 1u);
  BOOST_TEST(s->cache_entries == 43u);
  double low = 1, high = 0;
  for (const auto& t : tasks_of(*o.s)) {
    const double v = best_of(*o.s, t).result.measured()->value;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  BOOST_TEST(std::abs(low - 0.00019955) < 5e-9);
  BOOST_TEST(std::abs(high - 0.03408498) < 5e-9);
  const auto text = exported(*o.s, "autotvm-0.2", {.task = "", .best = true});
  BOOST_TEST(std::count(text.begin(), text.end(), '\n') == 43);
  // Into an empty store from our own lines, and out again, nothing is another byte.
  const auto lines = exported(*o.s, "attune");
  opened other;
  const auto from = source::of(lines, "lines");
  BOOST_TEST(take(*other.s, *from).added == 43u);
  BOOST_TEST((exported(*other.s, "attune") == lines));
}

BOOST_AUTO_TEST_CASE(every_recorded_file_is_taken_in_full) {
  struct expected {
    const char* file;
    std::uint64_t read, failures, tasks; ///< a workload of TVM is one on a target
  };
  for (const auto& [file, read, failures, tasks] : {expected{"logs/autotvm-bert-with-failures.log.gz", 6800, 650, 0},
                                                    {"logs/cuda_v0.10.log", 825, 0, 814},
                                                    {"logs/metaschedule-tuning_record.json.gz", 292, 0, 0},
                                                    {"logs/ansor-bert_t4.json.gz", 100, 2, 0},
                                                    {"recorded/convolution_milo-A100.json.gz", 4362, 161, 1},
                                                    {"recorded/convolution_milo-A100_T4.json.gz", 4362, 161, 1},
                                                    {"recorded/convolution_milo-MI250X.json.gz", 4362, 0, 1},
                                                    {"recorded/dedispersion_milo-A4000.json.gz", 11130, 0, 1},
                                                    {"recorded/dedispersion_milo-MI250X.json.gz", 11130, 0, 1},
                                                    {"recorded/gemm-RTX_3090.json.gz", 17956, 0, 1},
                                                    {"recorded/pnpoly-RTX_3090.json.gz", 4092, 318, 1}}) {
    const auto path = shared_data(file);
    if (!path) continue;
    opened o;
    const auto r = take_file(*o.s, *path);
    BOOST_TEST(r.read == read, file << " gives " << r.read);
    BOOST_TEST(r.failures == failures, file << " has failed " << r.failures);
    BOOST_TEST(r.damages == 0u, file);
    BOOST_TEST(r.added + r.duplicates == r.read, file);
    if (tasks != 0) BOOST_TEST(tasks_of(*o.s).size() == tasks, file << " has " << tasks_of(*o.s).size() << " tasks");
    BOOST_TEST(take_file(*o.s, *path).added == 0u, file);
  }
}

BOOST_AUTO_TEST_CASE(the_better_of_two_files_is_the_best_in_either_order) {
  const std::string first = "task,workload.m,target.device,config.x,value\nS,64,d,a,2.0\n",
                    second = "task,workload.m,target.device,config.x,value\nS,64,d,b,1.0\n";
  for (const bool swapped : {false, true}) {
    opened o;
    BOOST_TEST(take_text(*o.s, swapped ? second : first).added == 1u);
    BOOST_TEST(take_text(*o.s, swapped ? first : second).added == 1u);
    const auto all = tasks_of(*o.s);
    BOOST_REQUIRE(all.size() == 1u);
    BOOST_TEST((*best_of(*o.s, all[0]).config.find("x") == value("b")));
  }
}

BOOST_AUTO_TEST_CASE(targets_are_kept_apart) {
  opened o;
  take_text(*o.s, "task,workload.m,target.device,config.x,value\nW,64,A,a,1.0\nW,64,B,b,2.0\n");
  const auto all = tasks_of(*o.s);
  BOOST_REQUIRE(all.size() == 2u);
  BOOST_TEST((all[0].workload == all[1].workload));
  const auto on = [&](const char* device) {
    const auto found = o.s->best_for(all[0].workload, sha256(target{{{"device", value(device)}}}.canonical()));
    BOOST_REQUIRE(found.ok());
    return *found;
  };
  BOOST_REQUIRE(on("B").size() == 1u);
  BOOST_TEST((*on("B")[0].best[0].config.find("x") == value("b")));
  BOOST_TEST(on("C").empty());
}

BOOST_AUTO_TEST_CASE(what_was_measured_here_is_known_to_an_import) {
  opened o;
  const auto t = samples::make();
  const auto add = [&](std::int64_t from, std::int64_t to) {
    for (auto i = from; i < to; ++i) {
      std::vector<record_item> items(1);
      items[0].what = samples::ask(t, i);
      auto r = std::make_shared<outcome>();
      r->data = measurement{1.0 + static_cast<double>(i), 0, {1.0}, 0, {}};
      items[0].result = r;
      BOOST_REQUIRE(o.s->append(items, {}).ok());
    }
  };
  add(0, 20);
  auto lines = exported(*o.s, "attune");
  const auto again = [&] {
    const auto from = source::of(lines, "lines");
    return take(*o.s, *from);
  };
  BOOST_TEST(again().added == 0u);
  add(20, 40); // behind the index
  lines = exported(*o.s, "attune");
  BOOST_TEST(again().added == 0u);
  BOOST_TEST(again().duplicates == 40u);
  // Measured again with another result: another record, and the newer one counts.
  take_text(*o.s, "task,target.device,config.x,value\nW,d,1,5.0\n");
  take_text(*o.s, "task,target.device,config.x,value\nW,d,1,7.0\n");
  const auto all = tasks_of(*o.s);
  BOOST_TEST(best_of(*o.s, all[1]).result.measured()->value == 7.0);
  std::uint64_t n = 0;
  BOOST_REQUIRE(o.s->visit(0, o.s->newest(), [&](const record& r) { return r.id == ++n; }).ok());
  BOOST_TEST(n == 42u);
  n = 0;
  BOOST_REQUIRE(o.s->visit(17, 30,
                           [&](const record& r) {
                             BOOST_TEST(r.id == 18 + n);
                             return ++n < 100;
                           })
                    .ok());
  BOOST_TEST(n == 13u);
}

BOOST_AUTO_TEST_CASE(records_without_a_time_are_told_apart_by_all_they_hold) {
  opened o;
  // One configuration that failed three times, each time with another word, and was measured twice with one value.
  const std::string text =
      "task,target.device,config.x,value,failure,message,notes\nW,d,1,,run_error,a,\nW,d,1,,run_error,b,\n"
      "W,d,1,,run_error,a,\"[\"\"n\"\"]\"\nW,d,1,5.0,,,\nW,d,1,5.0,,,\"[\"\"n\"\"]\"\nW,d,1,5.0,,,\n";
  const auto first = take_text(*o.s, text);
  BOOST_TEST(first.added == 5u);
  BOOST_TEST(first.duplicates == 1u);
  BOOST_TEST(take_text(*o.s, text).added == 0u);
}

BOOST_AUTO_TEST_CASE(a_store_that_is_only_read_takes_nothing) {
  opened o;
  take_text(*o.s, "task,target.device,config.x,value\nW,d,1,5.0\n");
  auto reading = store::open(o.folder.store(), {.read_only = true, .create = false});
  BOOST_REQUIRE(reading.ok());
  const auto from = source::of("task,target.device,config.x,value\nW,d,2,5.0\n", "x.csv");
  const auto report = import_records(**reading, *from, *find_format("csv"), {});
  BOOST_REQUIRE(!report.ok());
  BOOST_TEST((report.err().code == errc::store_unusable));
}

BOOST_AUTO_TEST_SUITE_END()
