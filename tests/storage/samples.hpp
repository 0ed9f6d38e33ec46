// What the tests of the store are made of: tasks, trials, outcomes, a folder that goes with its owner.
#pragma once

#include "core/task.hpp"
#include "storage/store.hpp"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace attune::storage::samples {

class scratch_folder {
public:
  scratch_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "attune-store-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder");
    path_ = name;
  }
  ~scratch_folder() {
    std::error_code ec;
    std::filesystem::remove_all(path_, ec);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  /// A path in it that is not there yet.
  std::string store() const { return path_ + "/store"; }
  const std::string& path() const { return path_; }

private:
  std::string path_;
};

struct task_parts {
  std::string name = "gemm";
  std::int64_t size = 512;
  std::string device = "local";
  std::string run = "./run";
  goal direction = goal::minimize;
};

inline task_ptr make(const task_parts& p = {}) {
  task_spec spec;
  spec.name = p.name;
  spec.workload = {{"m", value(p.size)}, {"dtype", value("f32")}};
  spec.run.run.shell = p.run;
  spec.run.metrics[0].direction = p.direction;
  target where;
  where.facts = {{"device", value(p.device)}, {"cpu", value("test")}};
  auto made = make_task(std::move(spec), std::move(where));
  if (!made) throw std::runtime_error(made.err().text());
  return *std::move(made);
}

inline parameter_names names() {
  static const auto list = std::make_shared<const std::vector<std::string>>(
      std::vector<std::string>{"tile", "opt", "alpha", "fma", "order", "pad"});
  return list;
}

/// The n-th configuration: every kind of value is in it.
inline configuration config(std::int64_t n) {
  return configuration(names(), {value(n), value(n % 2 == 0 ? "-O2" : "-O3 -funroll-loops"),
                                 value(0.1 * static_cast<double>(n)), value(n % 3 == 0),
                                 value(permutation{{"i", "j", "k"}}), n % 5 == 0 ? value() : value(std::int64_t{4})});
}

inline trial_ptr ask(const task_ptr& of, configuration c, trial_number number = 0) {
  auto t = std::make_shared<trial>();
  t->number = number;
  t->of = of;
  t->config = std::move(c);
  t->canonical = t->config.canonical();
  t->key = measurement_key(of->identity, t->canonical);
  return t;
}
inline trial_ptr ask(const task_ptr& of, std::int64_t n) { return ask(of, config(n), static_cast<trial_number>(n)); }

inline outcome_ptr measured(double v) {
  auto o = std::make_shared<outcome>();
  measurement m;
  m.value = v;
  m.spread = 0.01;
  m.samples = {v, v * 1.01, v * 0.99};
  m.metrics = {{"energy", 3 * v}};
  o->data = std::move(m);
  o->phases = {std::chrono::microseconds(10), std::chrono::milliseconds(20), std::chrono::milliseconds(30),
               std::chrono::microseconds(4), std::chrono::microseconds(5)};
  o->used = {std::chrono::milliseconds(29), 1 << 20};
  o->runner = "local/slot0";
  o->at = std::chrono::seconds(1'800'000'000);
  return o;
}

inline outcome_ptr failed(failure_kind kind, std::string message = "no luck") {
  auto o = std::make_shared<outcome>();
  o->data = failure{kind, std::move(message), 1, std::nullopt};
  o->runner = "local/slot0";
  o->at = std::chrono::seconds(1'800'000'000);
  return o;
}

inline record_item item(trial_ptr t, outcome_ptr o, std::string_view session = "0123456789abcdef0123456789abcdef") {
  record_item r;
  r.what = std::move(t);
  r.cacheable = o->failed() == nullptr || !is_infrastructure(o->failed()->kind);
  r.result = std::move(o);
  r.session = session;
  return r;
}

inline step_item step_of(const record_item& r, trial_number asked_before, bool from_cache = false) {
  return {r.session, r.what, r.result, asked_before, from_cache, r.record};
}

inline std::unique_ptr<store> open(const std::string& path, store_options options = {}) {
  auto s = store::open(path, options);
  if (!s) throw std::runtime_error(s.err().text());
  return *std::move(s);
}

} // namespace attune::storage::samples
