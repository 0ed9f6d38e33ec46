// KTT's own JSON (Source/Output/OutputFormat/JsonSerializer and JsonConverters): one object.
//
//   {"Metadata": {"ComputeApi": …, "GlobalSizeType": …, "Platform": …, "Device": …, "KttVersion": …, "Timestamp": …,
//                 "TimeUnit": "Microseconds"},
//    "Results": [{"KernelName": …, "Status": "Ok", "TotalDuration": …, "TotalOverhead": …, "CompilationOverhead": …,
//                 "Configuration": [{"Name": …, "Value": …, "ValueType": "UnsignedInt"}, …]}, …], "UserData": {…}}
//
// Units: all times in `TimeUnit`; nanoseconds, with a warning, where it is not stated. There are no samples.
//
// Failures are `Status`: ComputationFailed -> run_error, ValidationFailed -> wrong_output, CompilationFailed ->
// build_error, DeviceLimitsExceeded -> invalid_config; any other but Ok -> run_error.
//
// Workload: the kernel's name. Target: `device`, `platform` and `api`, as far as they are stated. KttVersion is part of
// how it was measured. Build time is CompilationOverhead; run time is TotalDuration (of what did not fail) and the rest
// of TotalOverhead.
#include "core/text.hpp"
#include "storage/formats/common.hpp"
#include "storage/formats/elements.hpp"

#include <algorithm>
#include <cmath>

namespace attune::storage::formats {
namespace {

constexpr const char* ktt_runner = "ktt";

failure_kind ktt_failure(std::string_view status) {
  if (status == "ValidationFailed") return failure_kind::wrong_output;
  if (status == "CompilationFailed") return failure_kind::build_error;
  if (status == "DeviceLimitsExceeded") return failure_kind::invalid_config;
  return failure_kind::run_error;
}

const char* status_of(failure_kind kind) {
  switch (kind) {
  case failure_kind::wrong_output:
    return "ValidationFailed";
  case failure_kind::build_error:
  case failure_kind::build_timeout:
    return "CompilationFailed";
  case failure_kind::invalid_config:
    return "DeviceLimitsExceeded";
  default:
    return "ComputationFailed";
  }
}

const char* name_of_unit(int exponent) {
  return exponent == 0 ? "Seconds" : exponent == -3 ? "Milliseconds" : exponent == -6 ? "Microseconds" : "Nanoseconds";
}

class ktt_reader final : public element_format {
public:
  ktt_reader(source& from, const read_options& options) : element_format(from, "Results"), given_name_(options.task) {}

  std::string format() const override { return "ktt"; }
  std::string unit() const override { return unit_; }

private:
  /// The metadata, which stand before the results as KTT writes them, and are looked for behind them where not.
  bool begin() override {
    bool found = false;
    for (auto s = walk().next(); s != document_walker::step::end && !found; s = walk().next()) {
      if (s != document_walker::step::member || walk().key() != "Metadata") continue;
      const auto root = parse_piece();
      if (!root) continue;
      found = true;
      unit_ = canonical_unit(root.find("TimeUnit").text());
      device_ = root.find("Device").text();
      platform_ = root.find("Platform").text();
      api_ = root.find("ComputeApi").text();
      version_ = root.find("KttVersion").text();
    }
    if (!walk().error() || !rewind()) return false;
    if (!is_time_unit(unit_)) {
      warn("no unit of time is stated; nanoseconds are assumed");
      unit_ = "ns";
    }
    exponent_ = unit_exponent(unit_);
    return true;
  }

  const char* take(const json_ref& root, entry& out) override {
    const auto config = root.find("Configuration");
    if (!config.is_array() || config.size() == 0) return "the result has no configuration";
    names_.clear();
    std::vector<value> values;
    for (const auto pair : config) {
      const auto name = pair.find("Name"), v = pair.find("Value");
      auto typed = v ? to_value(v) : std::nullopt;
      if (!name.is_string() || !typed) return "a parameter has no name and value";
      if (std::find(names_.begin(), names_.end(), name.text()) != names_.end()) return "a parameter stands there twice";
      names_.emplace_back(name.text());
      values.push_back(std::move(*typed));
    }
    out.config = {pool_.of(names_), std::move(values)};
    auto& o = out.result;
    o.runner = ktt_runner;
    const auto time = [&](const char* key) {
      const auto t = root.find(key);
      return nanoseconds(
          std::max<std::int64_t>(0, t.is_number() ? parse_nanoseconds(t.text(), exponent_).value_or(0) : 0));
    };
    const auto status = root.find("Status").is_string() ? root.find("Status").text() : std::string_view("Ok");
    const auto total = root.find("TotalDuration");
    o.phases.build = time("CompilationOverhead");
    // KTT writes a meaningless number where it failed.
    o.phases.run = std::max(nanoseconds{0}, time("TotalOverhead") - o.phases.build);
    if (status != "Ok") {
      fail(o, ktt_failure(status), std::string(status));
    } else if (!total.is_number()) {
      fail(o, failure_kind::bad_metric, "no value is recorded");
    } else {
      measure(out, total.text(), exponent_);
      if (o.ok()) o.phases.run = added(o.phases.run, time("TotalDuration"));
    }
    const auto kernel = !given_name_.empty() ? std::string_view(given_name_) : root.find("KernelName").text();
    const auto& both = tasks_.of(kernel, [&] {
      target where;
      where.facts.emplace_back("device", value(device_));
      if (!platform_.empty()) where.facts.emplace_back("platform", value(platform_));
      if (!api_.empty()) where.facts.emplace_back("api", value(api_));
      return foreign({std::string(kernel), {}}, where, {"ktt", version_, {}}, "time", "s", goal::minimize);
    });
    out.task = both.stated;
    return nullptr;
  }

  const std::string given_name_;
  std::string unit_, device_, platform_, api_, version_;
  int exponent_ = -9;
  std::vector<std::string> names_;
  names_pool pool_;
  task_pool tasks_;
};

} // namespace

std::unique_ptr<reader> read_ktt(source& from, const read_options& options) {
  return std::make_unique<ktt_reader>(from, options);
}

status write_ktt(const selection& from, sink& to, losses& lost) {
  // Several kernels may stand in one file, on one device.
  constexpr int exponent = -6;
  task_entry_ptr head;
  bool other_target = false;
  auto read = from.records([&](const entry& e) {
    if (!head) head = e.task;
    other_target |= e.task->target != head->target;
    return !other_target;
  });
  if (!read) return read;
  if (!head) return error{errc::not_found, "there is no record to write", {}};
  if (other_target)
    return error{
        errc::invalid_spec, "a KTT file holds one target, and these are several; choose a task with --task", {}};
  auto& out = to.text();
  out += "{\n\"Metadata\": {";
  const auto& facts = head->target_facts;
  std::size_t known = 0;
  const auto fact = [&](const char* key, const char* name) {
    const auto* v = find(facts, name);
    if (v == nullptr) return;
    ++known;
    if (v->text().empty()) return;
    out += '"';
    out += key;
    out += "\": ";
    json_string(v->text(), out);
    out += ", ";
  };
  fact("ComputeApi", "api");
  fact("Platform", "platform");
  fact("Device", "device");
  if (facts.size() > known) lost.add("facts of the target");
  if (const auto made = origin_of(head->method_form); made && made->format == "ktt" && !made->tool.empty()) {
    out += "\"KttVersion\": ";
    json_string(made->tool, out);
    out += ", ";
  }
  out += "\"TimeUnit\": \"";
  out += name_of_unit(exponent);
  out += "\"},\n\"Results\": [";
  bool first = true;
  read = from.records([&](const entry& e) {
    const auto& o = e.result;
    if (o.bounded() != nullptr) {
      lost.leave_out("records of runs that were stopped early");
      return true;
    }
    if (e.task->unit != "s" || e.task->direction == goal::maximize) {
      lost.leave_out("records whose value is no time");
      return true;
    }
    count_losses(e, {.message = true, .build = true, .run = true}, ktt_runner, lost);
    if (!e.task->workload_args.empty()) lost.add("arguments of the workload");
    out += std::exchange(first, false) ? "\n" : ",\n";
    out += "{\"KernelName\": ";
    json_string(e.task->name, out);
    const auto* m = o.measured();
    const auto* f = o.failed();
    std::string word = "Ok";
    if (f != nullptr) {
      const bool own = !f->message.empty() && f->message.size() < 64 && f->message != "Ok" &&
                       ktt_failure(f->message) == f->kind && f->message.find_first_of(" \n") == f->message.npos;
      word = own ? f->message : status_of(f->kind);
      if (ktt_failure(word) != f->kind) lost.add("kinds of failures");
      if (!own && !f->message.empty()) lost.add("failure messages");
    }
    out += ", \"Status\": ";
    json_string(word, out);
    std::string duration = "0.0";
    auto overhead = added(o.phases.build, o.phases.run);
    if (m != nullptr) {
      duration.clear();
      write_scaled(stated_value(*m), exponent, duration);
      overhead -= nanoseconds(parse_nanoseconds(duration, exponent).value_or(0));
    }
    out += ", \"TotalDuration\": " + duration + ", \"TotalOverhead\": ";
    write_nanoseconds(std::max(overhead, o.phases.build).count(), exponent, out);
    out += ", \"CompilationOverhead\": ";
    write_nanoseconds(o.phases.build.count(), exponent, out);
    out += ", \"Configuration\": [";
    for (std::size_t i = 0; i < e.config.size(); ++i) {
      const auto& v = e.config[i];
      if (i > 0) out += ", ";
      out += "{\"Name\": ";
      json_string(e.config.name(i), out);
      out += ", \"Value\": ";
      if (!value_to_json(v, out)) lost.add("absent values, orderings and texts that look like JSON");
      const auto type = v.type();
      out += ", \"ValueType\": \"";
      out += type == value::kind::boolean                         ? "Bool"
             : type == value::kind::real                          ? "Double"
             : type == value::kind::integer && v.as_integer() < 0 ? "Int"
             : type == value::kind::integer                       ? "UnsignedInt"
                                                                  : "String";
      out += "\"}";
    }
    out += "]}";
    return to.pass();
  });
  if (!read) return read;
  out += "\n]\n}\n";
  return {};
}

} // namespace attune::storage::formats
