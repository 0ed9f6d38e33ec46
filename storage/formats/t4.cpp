// T4, the results format of the Auto-Tuning Association (autotuning_methodology, schemas/T4, 1.0.0), as tools really
// write it: one JSON object.
//
//   {"metadata": {"timeunit": "milliseconds", "device": …, …},
//    "results": [{"timestamp": …, "configuration": {…}, "times": {"compilation_time": …, "framework": …,
//      "search_algorithm": …, "validation": …, "runtimes": […]}, "invalidity": "correct", "correctness": 1,
//      "measurements": [{"name": "time", "value": …, "unit": "…"}], "objectives": ["time"]}, …], "schema_version":
//      "1.0.0"}
//
// Units: `timeunit` holds for `times`, and for a measurement whose own unit is empty; it comes in several spellings
// (`miliseconds`). `compilation_time` is also written `compilation`. A rate (GFLOP/s) is its own unit, and more of it
// is better. Without any unit: seconds.
//
// Failures are `invalidity`: compile -> build_error, runtime -> run_error, timeout -> run_timeout, correctness ->
// wrong_output, constraints -> invalid_config; `correct` (also absent or empty) is success.
//
// Workload: the name is that of the file (or --task), for T4 has none. Target: `device`, where the metadata have one.
// Configuration: values that some tools write as text ("64") are numbers where all values of that parameter are
// numbers. Build time is compilation_time, run time is validation and the runtimes together (written as validation
// alone), search time is search_algorithm; further measurements are further metrics.
#include "core/text.hpp"
#include "storage/formats/common.hpp"
#include "storage/formats/elements.hpp"

#include <algorithm>
#include <cmath>

namespace attune::storage::formats {
namespace {

constexpr const char* t4_runner = "t4";

failure_kind t4_failure(std::string_view word) {
  if (word.starts_with("compil") || word.find("Compilation") != word.npos) return failure_kind::build_error;
  if (word == "timeout") return failure_kind::run_timeout;
  if (word == "constraints" || word.find("InvalidConfig") != word.npos) return failure_kind::invalid_config;
  if (word == "correctness" || word == "incorrect") return failure_kind::wrong_output;
  return failure_kind::run_error;
}

const char* t4_word(failure_kind kind) {
  switch (kind) {
  case failure_kind::build_error:
    return "compile";
  case failure_kind::build_timeout:
  case failure_kind::run_timeout:
    return "timeout";
  case failure_kind::invalid_config:
    return "constraints";
  case failure_kind::wrong_output:
    return "correctness";
  default:
    return "runtime";
  }
}

std::optional<value> numeric(std::string_view text) {
  if (const auto i = parse_integer(text)) return value(*i);
  if (const auto d = parse_double(text); d && std::isfinite(*d)) return value(*d);
  return std::nullopt;
}

class t4_reader final : public element_format {
public:
  t4_reader(source& from, const read_options& options)
      : element_format(from, "results"), stated_(options.stated), name_(name_of_file(from, options)) {}

  std::string format() const override { return "t4"; }
  std::string unit() const override { return unit_; }

private:
  /// The first of two readings: the metadata, wherever they stand; which parameters have values that are text and no
  /// numbers; whether there are samples.
  bool begin() override {
    for (auto s = walk().next(); s != document_walker::step::end; s = walk().next()) {
      const auto root = s == document_walker::step::damaged ? json_ref() : parse_piece();
      if (!root) continue;
      if (s == document_walker::step::member) {
        if (walk().key() != "metadata") continue;
        time_unit_ = canonical_unit(root.find("timeunit").text());
        device_ = root.find("device").text();
        continue;
      }
      if (const auto o = root.find("objectives"); metric_.empty() && o[0].is_string()) metric_ = o[0].text();
      samples_ |= root.find("times").find("runtimes").size() > 0;
      const auto config = root.find("configuration");
      for (auto it = config.begin(), stop = config.end(); it != stop; ++it) {
        const auto v = *it;
        if (!v.is_string()) continue;
        auto& all = written_.try_emplace(std::string(it.key()), true).first->second;
        all = all && numeric(v.text()).has_value();
      }
    }
    if (!walk().error() || !rewind()) return false;
    if (metric_.empty()) metric_ = "time";
    return true;
  }

  const char* take(const json_ref& root, entry& out) override {
    const auto config = root.find("configuration");
    if (!config.is_object() || config.size() == 0) return "the result has no configuration";
    names_.clear();
    std::vector<value> values;
    for (auto it = config.begin(), stop = config.end(); it != stop; ++it) {
      if (std::find(names_.begin(), names_.end(), it.key()) != names_.end()) return "a parameter stands there twice";
      names_.emplace_back(it.key());
      const auto v = *it;
      const auto text = v.is_string() ? written_.find(names_.back()) : written_.end();
      auto typed = text != written_.end() && text->second ? numeric(v.text()) : to_value(v);
      if (!typed) return "a value of the configuration is not a number";
      values.push_back(std::move(*typed));
    }
    out.config = {pool_.of(names_), std::move(values)};

    json_ref objective;
    for (const auto m : root.find("measurements"))
      if (m.find("name").text() == metric_) objective = m;
    auto unit = canonical_unit(objective.find("unit").text());
    if (unit.empty()) unit = is_rate(metric_) ? metric_ : time_unit_;
    if (unit.empty()) unit = "s";
    const auto phase_unit = unit_exponent(time_unit_.empty() && is_time_unit(unit) ? unit : time_unit_);
    auto& o = out.result;
    o.runner = t4_runner;
    const auto times = root.find("times");
    const auto time = [&](const char* key) {
      const auto t = times.find(key);
      return std::max(nanoseconds(0),
                      nanoseconds(t.is_number() ? parse_nanoseconds(t.text(), phase_unit).value_or(0) : 0));
    };
    o.phases.build = times.find("compilation_time") ? time("compilation_time") : time("compilation");
    const auto runtimes = times.find("runtimes");
    o.phases.run = time("validation");
    o.phases.search = time("search_algorithm");
    double run = 0;
    for (const auto s : runtimes) run += s.number().value_or(0);
    if (std::isfinite(run)) {
      const auto runs = std::max(nanoseconds(0), from_seconds(run * std::pow(10.0, phase_unit)));
      o.phases.run = added(o.phases.run, runs);
    }
    if (const auto at = parse_time(root.find("timestamp").text())) o.at = nanoseconds(*at);

    const auto invalidity = root.find("invalidity").text();
    const auto written = objective.find("value");
    const bool timed = is_time_unit(unit);
    bool sampled = samples_ && timed && metric_ == "time";
    if (!invalidity.empty() && invalidity != "correct") {
      fail(o, t4_failure(invalidity), std::string(invalidity));
    } else if (!written.is_number()) {
      fail(o, failure_kind::bad_metric, "no value is recorded");
    } else {
      unit_ = unit;
      measure(out, written.text(), unit_exponent(unit));
      if (sampled) take_samples(out, runtimes, phase_unit);
      if (auto* m = std::get_if<measurement>(&o.data)) {
        sampled = sampled && !m->samples.empty();
        for (const auto extra : root.find("measurements")) {
          const auto name = extra.find("name").text();
          const auto v = extra.find("value").number();
          if (name != metric_ && v && std::isfinite(*v)) m->metrics.emplace_back(name, *v);
        }
      }
    }
    sampled = sampled && !stated_;
    out.by_samples = sampled && o.ok();
    const auto& both = tasks_.of(timed ? "s" : unit, [&] {
      target where;
      where.facts.emplace_back("device", value(device_));
      return foreign({name_, {}}, where, {"t4", {}, {}}, metric_, timed ? "s" : unit,
                     is_rate(metric_) ? goal::maximize : goal::minimize);
    });
    out.task = sampled ? both.sampled : both.stated;
    return nullptr;
  }

  const bool stated_;
  const std::string name_;
  std::string time_unit_, device_, metric_, unit_ = "s";
  std::map<std::string, bool, std::less<>> written_; ///< parameters written as text: whether all are numbers
  std::vector<std::string> names_;
  names_pool pool_;
  task_pool tasks_;
  bool samples_ = false;
};

} // namespace

std::unique_ptr<reader> read_t4(source& from, const read_options& options) {
  return std::make_unique<t4_reader>(from, options);
}

status write_t4(const selection& from, sink& to, losses& lost) {
  const auto only = only_task(from, "T4");
  if (!only) return only.err();
  const auto& task = **only;
  const bool timed = task.unit == "s";
  auto& out = to.text();
  out += "{\n\"metadata\": {\"timeunit\": \"seconds\"";
  if (const auto* device = find(task.target_facts, "device"); device != nullptr && !device->text().empty()) {
    out += ", \"device\": ";
    json_string(device->text(), out);
  }
  if (task.target_facts.size() > 1) lost.add("facts of the target");
  if (!task.workload_args.empty()) lost.add("arguments of the workload");
  lost.add("names of workloads");
  out += "},\n\"results\": [";
  bool first = true;
  auto read = from.records([&](const entry& e) {
    const auto& o = e.result;
    if (o.bounded() != nullptr) {
      lost.leave_out("records of runs that were stopped early");
      return true;
    }
    const bool samples = timed && task.metric == "time";
    count_losses(
        e,
        {.samples = samples, .message = true, .build = true, .run = true, .search = true, .at = true, .metrics = true},
        t4_runner, lost);
    out += std::exchange(first, false) ? "\n" : ",\n";
    out += "{\"timestamp\": ";
    json_string(time_text(o.at.count()), out);
    out += ", \"configuration\": {";
    for (std::size_t i = 0; i < e.config.size(); ++i) {
      if (i > 0) out += ", ";
      json_string(e.config.name(i), out);
      out += ": ";
      const auto& v = e.config[i];
      if (!value_to_json(v, out) || (v.type() == value::kind::text && numeric(v.as_text())))
        lost.add("absent values, orderings and texts that look like numbers or JSON");
    }
    out += "}, \"times\": {\"compilation_time\": ";
    const auto* m = o.measured();
    double run = 0;
    if (m != nullptr && samples)
      for (const double s : m->samples) run += s;
    // What was measured need not be time that was spent: a program may say any number.
    const auto spent = std::max(nanoseconds(0), from_seconds(run));
    const auto rest = o.phases.run > spent ? o.phases.run - spent : nanoseconds(0);
    if (o.phases.run < spent) lost.add("run times shorter than their samples");
    write_nanoseconds(o.phases.build.count(), 0, out);
    out += ", \"search_algorithm\": ";
    write_nanoseconds(o.phases.search.count(), 0, out);
    out += ", \"framework\": 0.0, \"validation\": ";
    write_nanoseconds(rest.count(), 0, out);
    if (m != nullptr && samples && !m->samples.empty()) {
      out += ", \"runtimes\": ";
      char before = '[';
      for (const double s : m->samples) {
        out += before;
        before = ',';
        json_real(s, out);
      }
      out += ']';
    }
    const auto* f = o.failed();
    std::string word = "correct";
    if (f != nullptr) {
      const bool own = !f->message.empty() && f->message.size() < 64 && t4_failure(f->message) == f->kind &&
                       f->message.find_first_of(" \n") == f->message.npos;
      word = own ? f->message : t4_word(f->kind);
      if (t4_failure(word) != f->kind) lost.add("kinds of failures");
      if (!own && !f->message.empty()) lost.add("failure messages");
    }
    out += "}, \"invalidity\": ";
    json_string(word, out);
    out += ", \"correctness\": ";
    out += f == nullptr ? "1" : "0";
    out += ", \"measurements\": [";
    const auto measured = [&](std::string_view name, std::string_view unit, double v) {
      out += "{\"name\": ";
      json_string(name, out);
      out += ", \"value\": ";
      json_real(v, out);
      out += ", \"unit\": ";
      json_string(unit, out);
      out += '}';
    };
    if (m != nullptr) {
      measured(task.metric, timed ? "seconds" : task.unit, stated_value(*m));
      for (const auto& [name, v] : m->metrics)
        if (name != stated_metric && name != task.metric && std::isfinite(v)) {
          out += ", ";
          measured(name, "", v);
        }
    }
    out += "], \"objectives\": [";
    json_string(task.metric, out);
    out += "]}";
    return to.pass();
  });
  if (!read) return read;
  out += "\n],\n\"schema_version\": \"1.0.0\"\n}\n";
  return {};
}

} // namespace attune::storage::formats
