#include "core/task.hpp"

#include "core/fields.hpp"
#include "core/file.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace attune {

namespace {

void field(std::string& out, std::string_view name, std::string_view text) { append_field(out, name, text); }

void field(std::string& out, std::string_view name, const command& c) {
  std::string form = c.shell.empty() ? "argv" : "shell:" + c.shell;
  if (c.shell.empty())
    for (const auto& word : c.argv) field(form, "", word);
  field(out, name, form);
}

void field(std::string& out, std::string_view name, std::int64_t n) { field(out, name, std::to_string(n)); }

void field(std::string& out, std::string_view name, double d) {
  std::string form;
  encode(value(d), form);
  field(out, name, form);
}

const char* name_of(metric_spec::from source) noexcept {
  switch (source) {
  case metric_spec::from::last_number:
    return "last_number";
  case metric_spec::from::pattern:
    return "pattern";
  case metric_spec::from::json:
    return "json";
  case metric_spec::from::file:
    return "file";
  case metric_spec::from::wall:
    return "wall";
  case metric_spec::from::cpu:
    return "cpu";
  case metric_spec::from::memory:
    return "memory";
  case metric_spec::from::counter:
    return "counter";
  case metric_spec::from::energy:
    return "energy";
  }
  return "";
}

/// Appends the names and contents of files, in the order of their names.
status add_contents(std::string& out, const task_spec& spec, std::vector<std::string> names, const std::string& what,
                    const std::string& key) {
  std::sort(names.begin(), names.end());
  for (const auto& name : names) {
    const std::string path = name.starts_with('/') || spec.directory.empty() ? name : spec.directory + "/" + name;
    const auto contents = file_contents(path, std::numeric_limits<std::uint64_t>::max());
    if (!contents)
      return error{errc::invalid_spec, "cannot read the file '" + path + "' named under " + key, spec.file};
    field(out, what + ".name", name);
    field(out, what + ".sha256", sha256(*contents).hex());
  }
  return {};
}

} // namespace

result<std::string> method_form(const task_spec& spec) {
  std::string out = "method/2:";
  if (spec.build) {
    field(out, "build", spec.build->run);
    field(out, "build.timeout", spec.build->timeout.count());
    field(out, "build.cwd", static_cast<std::int64_t>(spec.build->cwd));
    if (spec.build->on == building_place::runner) field(out, "build.on", "runner");
    if (auto added = add_contents(out, spec, spec.build->sources, "source", "build.sources"); !added)
      return added.err();
  }
  field(out, "callable", spec.callable);
  field(out, "run", spec.run.run);
  field(out, "run.timeout", spec.run.timeout.count());
  field(out, "run.cwd", static_cast<std::int64_t>(spec.run.cwd));
  field(out, "warmup", static_cast<std::int64_t>(spec.run.warmup));
  field(out, "repeats.min", static_cast<std::int64_t>(spec.run.repeats.min));
  field(out, "repeats.max", static_cast<std::int64_t>(spec.run.repeats.max));
  field(out, "repeats.until", spec.run.repeats.until);
  if (auto added = add_contents(out, spec, spec.run.files, "file", "run.files"); !added) return added.err();
  field(out, "check", spec.run.check.run);
  field(out, "check.timeout", spec.run.check.timeout.count());
  field(out, "objective", static_cast<std::int64_t>(spec.run.objective));
  for (const auto& m : spec.run.metrics) {
    field(out, "metric", m.name);
    field(out, "metric.from", name_of(m.source));
    field(out, "metric.expression", m.expression);
    field(out, "metric.unit", m.unit);
    field(out, "metric.goal", to_string(m.direction));
  }
  for (const auto& limit : spec.run.limits) field(out, "limit", limit.expression);
  return out;
}

namespace {

std::string domain_form(const parameter_domain& domain) {
  std::string out = std::to_string(domain.index()) + "|";
  const auto add = [&out](const value& v) { encode(v, out); };
  struct visitor {
    decltype(add)& put;
    void operator()(const value_list& d) const {
      for (const auto& v : d.values) put(v);
    }
    void operator()(const integer_range& d) const {
      for (const value& v : {value(d.first), value(d.last), value(d.step), value(d.log)}) put(v);
    }
    void operator()(const real_range& d) const {
      for (const double v : {d.first, d.last, d.step}) put(value(v));
    }
    void operator()(const real_grid& d) const {
      for (const value& v : {value(d.first), value(d.last), value(std::int64_t{d.count}), value(d.log)}) put(v);
    }
    void operator()(const power_range& d) const {
      put(value(d.first));
      put(value(d.last));
    }
    void operator()(const permutation_of& d) const { put(value(permutation{d.items})); }
    void operator()(const value_expression& d) const { put(value(d.text)); }
  };
  std::visit(visitor{add}, domain);
  return out;
}

} // namespace

std::string space_form(const task_spec& spec) {
  std::vector<const parameter*> sorted;
  for (const auto& p : spec.parameters) sorted.push_back(&p);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  std::string out = "space/1:";
  for (const auto* p : sorted) {
    field(out, "name", p->name);
    field(out, "domain", domain_form(p->domain));
    field(out, "when", p->when);
  }
  for (const auto& c : spec.constraints)
    field(out, "constraint", c.callable ? "callable:" + c.callable->name : c.expression);
  return out;
}

result<task_ptr> make_task(task_spec spec, objective_function objective) {
  auto where = local_target(spec.target);
  return make_task(std::move(spec), std::move(where), std::move(objective));
}

result<task_ptr> make_task(task_spec spec, target where, objective_function objective) {
  auto method = method_form(spec);
  if (!method) return method.err();
  if (spec.run.metrics.empty() || spec.run.objective >= spec.run.metrics.size())
    return error{errc::invalid_spec, "the objective is none of the metrics", spec.file};
  auto out = std::make_shared<task>();
  out->load = {spec.name, spec.workload};
  out->where = std::move(where);
  out->spec = std::move(spec);
  out->objective = std::move(objective);
  auto& id = out->identity;
  id.workload_form = out->load.canonical();
  id.target_form = out->where.canonical();
  id.method_form = std::move(*method);
  id.workload_key = sha256(id.workload_form);
  id.target_key = sha256(id.target_form);
  id.method_key = sha256(id.method_form);
  std::string all;
  for (const auto* part : {&id.workload_key, &id.target_key, &id.method_key}) all += part->view();
  id.task_key = sha256(all);
  return task_ptr(std::move(out));
}

key128 measurement_key(const task_identity& task, std::string_view canonical_configuration) {
  std::string input;
  input.reserve(task.task_key.bytes.size() + canonical_configuration.size());
  input += task.task_key.view();
  input += canonical_configuration;
  return truncate(sha256(input));
}

bool answers(const outcome& known, const trial& asked) noexcept {
  const auto* b = known.bounded();
  return b == nullptr || (asked.rival && !asked.of->better(b->against, *asked.rival));
}

} // namespace attune
