// Kernel Tuner cache files (kernel_tuner/file_utils.py, cache schema 1.0.0 and before): one JSON object.
//
//   {"device_name": …, "kernel_name": …, "problem_size": …, "tune_params_keys": […], "tune_params": {…: […]},
//    "objective": …, "cache": {"16,1": {"block_size_x": 16, …, "time": 3.87, "times": […], "compile_time": …,
//    "benchmark_time": …, "verification_time": …, "strategy_time": …, "timestamp": "…"}, …}}
//
// The last brackets may be missing: a cache that was not closed. Units: times in milliseconds; another objective
// (GFLOP/s) in its own unit, and more of it is better. `time` is the mean of `times`.
//
// Failures are words, in the place of the objective or of `time`, or in `__error__`: CompilationFailedConfig ->
// build_error, RuntimeFailedConfig -> run_error, InvalidConfig -> invalid_config; in old caches the number 1e20
// (run_error). Other kinds are written as RuntimeFailedConfig.
//
// Workload: the kernel's name; `problem_size` (a list as its JSON text). Target: `device`.
// Configuration: the parameters that tune_params_keys names. Build time is compile_time, run time is benchmark_time and
// verification_time together, search time is strategy_time; other numbers of an entry (GFLOP/s) are further metrics.
#include "core/text.hpp"
#include "storage/formats/common.hpp"
#include "storage/formats/elements.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace attune::storage::formats {
namespace {

constexpr const char* kernel_tuner_runner = "kernel-tuner";

failure_kind kernel_tuner_failure(std::string_view word) {
  if (word.find("Compilation") != word.npos || word == "compile" || word == "compilation")
    return failure_kind::build_error;
  if (word.find("InvalidConfig") != word.npos || word == "constraints" || word == "invalid")
    return failure_kind::invalid_config;
  if (word == "timeout") return failure_kind::run_timeout;
  if (word == "correctness" || word == "incorrect" || word.find("Verification") != word.npos)
    return failure_kind::wrong_output;
  return failure_kind::run_error;
}

const char* kernel_tuner_word(failure_kind kind) {
  switch (kind) {
  case failure_kind::build_error:
  case failure_kind::build_timeout:
    return "CompilationFailedConfig";
  case failure_kind::invalid_config:
    return "InvalidConfig";
  default:
    return "RuntimeFailedConfig";
  }
}

/// An entry's members that are no metrics.
bool is_known(std::string_view key) {
  static constexpr std::string_view keys[] = {"time",           "times",         "compile_time",   "verification_time",
                                              "benchmark_time", "strategy_time", "framework_time", "timestamp",
                                              "__error__"};
  return std::find(std::begin(keys), std::end(keys), key) != std::end(keys);
}

class kernel_tuner_reader final : public element_format {
public:
  kernel_tuner_reader(source& from, const read_options& options)
      : element_format(from, "cache"), stated_(options.stated), given_name_(options.task) {}

  std::string format() const override { return "kernel-tuner"; }
  std::string unit() const override { return unit_; }
  status error() const override { return error_ ? walk().error() : error_; }
  const std::vector<std::pair<std::string, std::vector<value>>>* declared() const override { return &domains_; }

private:
  void member() override {
    const auto key = walk().key();
    const auto root = parse_piece();
    if (!root) return;
    if (key == "kernel_name") kernel_ = root.text();
    if (key == "device_name") device_ = root.text();
    if (key == "objective" && root.is_string()) metric_ = root.text();
    if (key == "problem_size") size_ = to_value(root);
    if (key == "tune_params_keys" && root.is_array()) {
      names_.clear();
      for (const auto k : root)
        if (k.is_string()) names_.emplace_back(k.text());
    }
    if (key == "tune_params" && root.is_object()) {
      lists_.clear();
      for (auto it = root.begin(), stop = root.end(); it != stop; ++it) {
        auto& [name, values] = lists_.emplace_back(std::string(it.key()), std::vector<value>{});
        for (const auto item : *it)
          if (auto v = to_value(item); v && std::find(values.begin(), values.end(), *v) == values.end())
            values.push_back(std::move(*v));
      }
    }
  }

  /// Before the first entry: the head must be known. Where it comes behind the list, it is read ahead.
  const char* ready() override {
    if (!std::exchange(ready_, true) && !prepare()) return "tune_params_keys names no parameter";
    return nullptr;
  }

  bool prepare() {
    if (names_.empty()) {
      const auto list = walk().line();
      if (!rewind()) return false;
      for (auto s = walk().next(); s != document_walker::step::end; s = walk().next())
        if (s == document_walker::step::member) member();
      // And back to the first entry.
      if (names_.empty() || !rewind()) return false;
      while (walk().next() != document_walker::step::element || walk().line() != list)
        if (!walk().error()) return false;
    }
    auto sorted = names_;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return false;
    shared_ = std::make_shared<const std::vector<std::string>>(names_);
    for (const auto& n : names_) {
      const auto at = std::find_if(lists_.begin(), lists_.end(), [&](const auto& l) { return l.first == n; });
      domains_.emplace_back(n, at == lists_.end() ? std::vector<value>{} : at->second);
    }
    if (metric_.empty()) metric_ = "time";
    unit_ = metric_ == "time" ? "ms" : metric_;
    workload what{!given_name_.empty() ? given_name_ : kernel_, {}};
    if (size_) what.args.emplace_back("problem_size", *size_);
    target where;
    where.facts.emplace_back("device", value(device_));
    tasks_ = foreign(what, where, {"kernel-tuner", {}, {}}, metric_, metric_ == "time" ? "s" : unit_,
                     is_rate(metric_) ? goal::maximize : goal::minimize);
    return true;
  }

  /// Null, or what is wrong.
  const char* take(const json_ref& entry_of, entry& out) override {
    if (!entry_of.is_object()) return "the entry is no object";
    std::vector<value> values;
    values.reserve(names_.size());
    for (const auto& n : names_) {
      const auto v = entry_of.find(n);
      auto typed = v ? to_value(v) : std::nullopt;
      if (!typed) return "the entry lacks a parameter";
      values.push_back(std::move(*typed));
    }
    out.config = {shared_, std::move(values)};
    auto& o = out.result;
    o.runner = kernel_tuner_runner;
    const auto time = [&](const char* key) {
      const auto t = entry_of.find(key);
      return nanoseconds(t.is_number() ? parse_nanoseconds(t.text(), -3).value_or(0) : 0);
    };
    o.phases.build = time("compile_time");
    o.phases.run = time("benchmark_time") + time("verification_time");
    o.phases.search = time("strategy_time");
    if (const auto at = parse_time(entry_of.find("timestamp").text())) o.at = nanoseconds(*at);
    const bool timed = metric_ == "time";
    const auto measured = entry_of.find(metric_), of_time = entry_of.find("time"), stated = entry_of.find("__error__");
    // Where a rate is the objective, the failure still stands in `time`.
    const auto word = stated.is_string()     ? stated
                      : measured.is_string() ? measured
                      : of_time.is_string()  ? of_time
                                             : json_ref{};
    const auto number = measured.number();
    bool sampled = timed;
    if (word) {
      fail(o, kernel_tuner_failure(word.text()), std::string(word.text()));
    } else if (!number) {
      fail(o, failure_kind::bad_metric, "no value is recorded");
    } else if (*number >= 1e20) {
      fail(o, failure_kind::run_error, "recorded as 1e20");
    } else {
      measure(out, measured.text(), timed ? -3 : 0);
      if (timed) take_samples(out, entry_of.find("times"), -3);
      if (auto* m = std::get_if<measurement>(&o.data)) {
        sampled = !m->samples.empty();
        further(entry_of, *m);
      }
    }
    sampled &= !stated_;
    out.by_samples = sampled && o.ok();
    out.task = sampled ? tasks_.sampled : tasks_.stated;
    return nullptr;
  }

  void further(const json_ref& entry_of, measurement& m) const {
    for (auto it = entry_of.begin(), stop = entry_of.end(); it != stop; ++it) {
      const auto key = it.key();
      const auto v = (*it).number();
      if (!v || !std::isfinite(*v) || key == metric_ || is_known(key) ||
          std::find(names_.begin(), names_.end(), key) != names_.end())
        continue;
      m.metrics.emplace_back(key, *v);
    }
  }

  const bool stated_;
  const std::string given_name_;
  std::string kernel_, device_, metric_, unit_ = "ms";
  std::optional<value> size_;
  std::vector<std::string> names_;
  parameter_names shared_;
  std::vector<std::pair<std::string, std::vector<value>>> lists_, domains_;
  foreign_task tasks_;
  bool ready_ = false;
  status error_;
};

} // namespace

std::unique_ptr<reader> read_kernel_tuner(source& from, const read_options& options) {
  return std::make_unique<kernel_tuner_reader>(from, options);
}

status write_kernel_tuner(const selection& from, sink& to, losses& lost) {
  const auto only = only_task(from, "Kernel Tuner cache");
  if (!only) return only.err();
  const auto& task = **only;
  // The values that each parameter takes stand before the records.
  std::vector<std::pair<std::string, std::vector<value>>> domains;
  auto read = from.records([&](const entry& e) {
    for (std::size_t i = 0; i < e.config.size(); ++i) {
      auto at =
          std::find_if(domains.begin(), domains.end(), [&](const auto& d) { return d.first == e.config.name(i); });
      if (at == domains.end()) at = domains.insert(at, {e.config.name(i), {}});
      if (!e.config[i].is_absent() && std::find(at->second.begin(), at->second.end(), e.config[i]) == at->second.end())
        at->second.push_back(e.config[i]);
    }
    return true;
  });
  if (!read) return read;
  const bool timed = task.unit == "s";
  const int exponent = timed ? -3 : 0;
  const std::string metric = timed ? "time" : task.metric;
  auto& out = to.text();
  out += "{\n\"schema_version\": \"1.0.0\",\n\"device_name\": ";
  json_string(target{task.target_facts}.device(), out);
  if (task.target_facts.size() > 1) lost.add("facts of the target");
  out += ",\n\"kernel_name\": ";
  json_string(task.name, out);
  const auto* size = find(task.workload_args, "problem_size");
  if (task.workload_args.size() > (size == nullptr ? 0u : 1u)) lost.add("arguments of the workload");
  if (size != nullptr) {
    out += ",\n\"problem_size\": ";
    value_to_json(*size, out);
  }
  out += ",\n\"tune_params_keys\": [";
  for (std::size_t i = 0; i < domains.size(); ++i) {
    if (i > 0) out += ", ";
    json_string(domains[i].first, out);
  }
  out += "],\n\"tune_params\": {";
  for (std::size_t i = 0; i < domains.size(); ++i) {
    out += i > 0 ? ",\n" : "\n";
    json_string(domains[i].first, out);
    out += ": [";
    for (std::size_t k = 0; k < domains[i].second.size(); ++k) {
      if (k > 0) out += ", ";
      value_to_json(domains[i].second[k], out);
    }
    out += ']';
  }
  out += "\n},\n\"objective\": ";
  json_string(metric, out);
  out += ",\n\"cache\": {";
  bool first = true;
  std::string key;
  read = from.records([&](const entry& e) {
    const auto& o = e.result;
    if (o.bounded() != nullptr) {
      lost.leave_out("records of runs that were stopped early");
      return true;
    }
    count_losses(
        e, {.samples = timed, .message = true, .build = true, .run = true, .search = true, .at = true, .metrics = true},
        kernel_tuner_runner, lost);
    key.clear();
    for (const auto& [name, values] : domains) {
      const auto* v = e.config.find(name);
      if (!key.empty()) key += ',';
      if (v != nullptr) key += v->text();
    }
    out += std::exchange(first, false) ? "\n" : ",\n";
    json_string(key, out);
    out += ": {";
    for (const auto& [name, values] : domains) {
      const auto* v = e.config.find(name);
      json_string(name, out);
      out += ": ";
      if (!value_to_json(v == nullptr ? value() : *v, out))
        lost.add("absent values, orderings and texts that look like JSON");
      out += ", ";
    }
    json_string(metric, out);
    out += ": ";
    if (const auto* m = o.measured()) {
      write_scaled(stated_value(*m), exponent, out);
      if (timed && !m->samples.empty()) {
        char before = '[';
        out += ", \"times\": ";
        for (const double s : m->samples) {
          out += before;
          before = ',';
          write_scaled(s, exponent, out);
        }
        out += ']';
      }
      for (const auto& [name, v] : m->metrics) {
        if (name == stated_metric || !std::isfinite(v)) continue;
        if (is_known(name) || name == metric || e.config.find(name) != nullptr) {
          lost.add("further metrics");
          continue;
        }
        out += ", ";
        json_string(name, out);
        out += ": ";
        json_real(v, out);
      }
    } else {
      const auto& f = *o.failed();
      const bool own = !f.message.empty() && f.message.size() < 64 && kernel_tuner_failure(f.message) == f.kind &&
                       f.message.find_first_of(" \n") == f.message.npos;
      const std::string word = own ? f.message : kernel_tuner_word(f.kind);
      if (kernel_tuner_failure(word) != f.kind) lost.add("kinds of failures");
      if (!own && !f.message.empty()) lost.add("failure messages");
      json_string(word, out);
    }
    const auto phase = [&](const char* name, nanoseconds d) {
      out += ", \"";
      out += name;
      out += "\": ";
      write_nanoseconds(d.count(), -3, out);
    };
    phase("compile_time", o.phases.build);
    phase("verification_time", {});
    phase("benchmark_time", o.phases.run);
    phase("strategy_time", o.phases.search);
    out += ", \"timestamp\": ";
    json_string(time_text(o.at.count()), out);
    out += '}';
    return to.pass();
  });
  if (!read) return read;
  out += "}\n}\n";
  return {};
}

} // namespace attune::storage::formats
