#include "measure/validate.hpp"

#include "core/text.hpp"
#include "core/value.hpp"
#include "measure/counters.hpp"
#include "measure/energy.hpp"
#include "measure/metric.hpp"
#include "measure/substitution.hpp"
#include "measure/trial_process.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <unistd.h>

namespace attune::measure {

namespace fs = std::filesystem;

namespace {

error bad(const task_spec& spec, std::string message) {
  return error{errc::invalid_spec, std::move(message), spec.file};
}

/// The names that a command of this spec may hold.
substitution known_names(const task_spec& spec, bool artifact) {
  substitution out;
  for (const parameter& p : spec.parameters) out.set(p.name, "");
  for (const auto& [name, v] : spec.workload) out.set("workload." + name, "");
  for (const auto& [name, v] : spec.target) out.set("target." + name, "");
  if (artifact) out.set("artifact", "");
  out.set("workdir", "");
  out.set("specdir", "");
  return out;
}

status check_text(const task_spec& spec, const substitution& names, const std::string& text, const std::string& place,
                  bool list_element) {
  auto named = placeholders(text);
  if (!named) return bad(spec, place + ": " + named.err().message);
  for (const std::string& name : *named) {
    if (names.find(name)) continue;
    if (name == "artifact") return bad(spec, place + " names {artifact}, but nothing is built here: there is no build");
    auto wrong = names.expand("{" + name + "}");
    return bad(spec, place + ": " + wrong.err().message);
  }
  // `{name*}` beside other text in one element of a list has no meaning.
  if (list_element && text.find("*}") != std::string::npos) {
    auto line = names.command_line({{}, {"program", text}});
    if (!line) return bad(spec, place + ": " + line.err().message);
  }
  return {};
}

status check_command(const task_spec& spec, const command& what, const substitution& names, const std::string& place) {
  if (what.argv.empty()) {
    if (auto checked = check_text(spec, names, what.shell, place, false); !checked.ok()) return checked;
    if (access("/bin/sh", X_OK) != 0)
      return bad(spec, place + ": a string command needs /bin/sh, which is not there; write it as a list");
    return {};
  }
  for (std::size_t i = 0; i < what.argv.size(); ++i)
    if (auto checked = check_text(spec, names, what.argv[i], place + "[" + std::to_string(i) + "]", true);
        !checked.ok())
      return checked;
  if (trim(what.argv[0]).empty()) return bad(spec, place + "[0]: the program's name is empty");
  return {};
}

status check_limit(const task_spec& spec, nanoseconds limit, const std::string& place) {
  if (limit <= nanoseconds{0}) return bad(spec, place + ": the limit must be longer than 0");
  return {};
}

/// Whether this machine gives what the metric is taken from.
status check_source(const task_spec& spec, const metric_spec& metric) {
  const std::string place = "run.metric '" + metric.name + "': ";
  if (spec.run.run.empty() && metric.of_processes() && metric.source != metric_spec::from::cpu &&
      &metric != &spec.run.metrics[spec.run.objective])
    return bad(spec, place + "a callable runs no process of its own; beside its objective only cpu can be had");
  if (metric.source == metric_spec::from::counter && !spec.run.run.empty())
    if (auto can = can_count(metric.expression); !can.ok()) return bad(spec, place + can.err().message);
  if (metric.source == metric_spec::from::energy && !spec.run.run.empty()) {
    if (auto meter = energy_meter::open(metric.expression); !meter) return bad(spec, place + meter.err().message);
    if (spec.measure.slots.said() && spec.measure.slots != how_many(1))
      return bad(spec, place + "the energy is that of all runs at once where measure.slots is " +
                           to_string(spec.measure.slots) + "; give slots: 1");
  }
  return {};
}

status check_metrics(const task_spec& spec, const substitution& names) {
  const run_spec& run = spec.run;
  if (run.metrics.empty()) return bad(spec, "run.metric: there is none");
  if (run.objective >= run.metrics.size()) return bad(spec, "run.objective names no metric");
  std::set<std::string> seen;
  for (const metric_spec& metric : run.metrics) {
    if (!seen.insert(metric.name).second) return bad(spec, "run.metric: the name '" + metric.name + "' is given twice");
    if (metric.unit.empty()) return bad(spec, "run.metric: the unit of '" + metric.name + "' is empty");
    auto reader = metric_reader::make(metric);
    if (!reader) return bad(spec, "run.metric: " + reader.err().message);
    if (auto had = check_source(spec, metric); !had.ok()) return had;
    if (metric.source == metric_spec::from::file)
      if (auto checked = check_text(spec, names, metric.expression, "run.metric.file", false); !checked.ok())
        return checked;
  }
  return {};
}

status check_files(const task_spec& spec, const std::vector<std::string>& names, const std::string& key) {
  const bool laid_out = runs_in_private_folder(spec);
  for (const std::string& name : names) {
    fs::path path(name);
    fs::path whole = fs::path(spec.directory) / path;
    std::error_code code;
    if (name.empty() || !fs::exists(whole, code)) return bad(spec, key + ": '" + name + "' is not there");
    if (access(whole.c_str(), R_OK) != 0) return bad(spec, key + ": '" + name + "' cannot be read");
    if (!laid_out) continue;
    fs::path inside = path.lexically_normal();
    if (path.is_absolute() || inside.empty() || *inside.begin() == "..")
      return bad(spec, key + ": '" + name +
                           "' cannot be laid out in the trial's folder (cwd: workdir): name it "
                           "relative to the spec's folder and below it");
  }
  return {};
}

} // namespace

status validate(const task_spec& spec) {
  std::error_code code;
  bool has_build = spec.build && !spec.build->run.empty();
  bool has_commands = has_build || !spec.run.run.empty();
  if (has_commands && (spec.directory.empty() || !fs::is_directory(spec.directory, code)))
    return bad(spec, "the folder that commands run in is not there: '" + spec.directory + "'");
  if (has_commands)
    for (const parameter& p : spec.parameters) {
      static const std::set<std::string> own{"artifact", "workdir", "specdir"};
      if (own.contains(p.name))
        return bad(spec,
                   "the parameter '" + p.name + "' has the name of one of Attune's own values: call it something else");
      if (p.name == "TRIAL")
        return bad(
            spec,
            "the parameter 'TRIAL' would be ATTUNE_TRIAL, which marks a trial's processes: call it something else");
    }

  if (spec.build) {
    if (spec.build->run.empty()) return bad(spec, "build.command is missing");
    if (auto checked = check_command(spec, spec.build->run, known_names(spec, true), "build.command"); !checked.ok())
      return checked;
    if (auto checked = check_limit(spec, spec.build->timeout, "build.timeout"); !checked.ok()) return checked;
    if (auto checked = check_files(spec, spec.build->sources, "build.sources"); !checked.ok()) return checked;
  }

  const run_spec& run = spec.run;
  if (auto checked = check_files(spec, run.files, "run.files"); !checked.ok()) return checked;
  auto names = known_names(spec, has_build);
  if (!run.run.empty())
    if (auto checked = check_command(spec, run.run, names, "run.command"); !checked.ok()) return checked;
  if (auto checked = check_limit(spec, run.timeout, "run.timeout"); !checked.ok()) return checked;
  if (!run.check.run.empty()) {
    if (auto checked = check_command(spec, run.check.run, names, "run.check.command"); !checked.ok()) return checked;
    if (auto checked = check_limit(spec, run.check.timeout, "run.check.timeout"); !checked.ok()) return checked;
  }
  if (auto checked = check_metrics(spec, names); !checked.ok()) return checked;
  if (run.repeats.min < 1) return bad(spec, "run.repeats.min must be at least 1");
  if (run.repeats.max < run.repeats.min)
    return bad(spec, "run.repeats.max (" + std::to_string(run.repeats.max) + ") is less than min (" +
                         std::to_string(run.repeats.min) + ")");
  if (!std::isfinite(run.repeats.until) || run.repeats.until < 0 || run.repeats.until >= 1)
    return bad(spec,
               "run.repeats.until must be a fraction from 0 to below 1 (as 1%), not " + shortest(run.repeats.until));
  return {};
}

} // namespace attune::measure
