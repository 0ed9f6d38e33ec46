#include "storage/convert.hpp"

#include <cmath>

namespace attune::storage::convert {

error damaged(std::string what) { return error{errc::store_corrupt, std::move(what), {}}; }

void to(const value& from, v1::Value& out) {
  switch (from.type()) {
  case value::kind::absent:
    out.set_absent(true);
    return;
  case value::kind::boolean:
    out.set_boolean(from.as_bool());
    return;
  case value::kind::integer:
    out.set_integer(from.as_integer());
    return;
  case value::kind::real:
    out.set_real(from.as_real());
    return;
  case value::kind::text:
    out.set_text(from.as_text());
    return;
  case value::kind::order: {
    auto& order = *out.mutable_order()->mutable_order();
    order.Clear();
    for (const auto& item : from.as_order().order) *order.Add() = item;
    return;
  }
  }
}

status from(const v1::Value& in, value& out) {
  switch (in.kind_case()) {
  case v1::Value::kAbsent:
    out = value();
    return {};
  case v1::Value::kBoolean:
    out = value(in.boolean());
    return {};
  case v1::Value::kInteger:
    out = value(std::int64_t{in.integer()});
    return {};
  case v1::Value::kReal:
    if (std::isnan(in.real())) return damaged("a value is not a number");
    out = value(in.real());
    return {};
  case v1::Value::kText:
    out = value(in.text());
    return {};
  case v1::Value::kOrder:
    out = value(permutation{{in.order().order().begin(), in.order().order().end()}});
    return {};
  case v1::Value::KIND_NOT_SET:
    break;
  }
  return damaged("a value has no kind");
}

namespace {

/// A field of `in`, which keeps what it holds of memory: elements are reused one by one.
template <class Field>
auto& element(Field& field, int i) {
  return i < field.size() ? *field.Mutable(i) : *field.Add();
}

template <class Field>
void cut(Field& field, int size) {
  while (field.size() > size) field.RemoveLast();
}

} // namespace

void to(const arguments& from, google::protobuf::RepeatedPtrField<v1::NamedValue>& out) {
  int i = 0;
  for (const auto& [name, v] : from) {
    auto& e = element(out, i++);
    e.set_name(name);
    to(v, *e.mutable_value());
  }
  cut(out, i);
}

status from(const google::protobuf::RepeatedPtrField<v1::NamedValue>& in, arguments& out) {
  out.clear();
  out.reserve(static_cast<std::size_t>(in.size()));
  for (const auto& e : in) {
    auto& [name, v] = out.emplace_back(e.name(), value());
    if (auto good = from(e.value(), v); !good) return damaged(good.err().message + " ('" + name + "')");
  }
  return {};
}

void to(const configuration& from, v1::Configuration& out) {
  auto& values = *out.mutable_values();
  int i = 0;
  for (std::size_t k = 0; k < from.size(); ++k) {
    auto& e = element(values, i++);
    e.set_name(from.name(k));
    to(from[k], *e.mutable_value());
  }
  cut(values, i);
}

status from(const v1::Configuration& in, configuration& out) {
  arguments all;
  if (auto good = from(in.values(), all); !good) return good;
  out = configuration(all);
  return {};
}

void to(std::span<const value> from, google::protobuf::RepeatedPtrField<v1::Value>& out) {
  int i = 0;
  for (const auto& v : from) to(v, element(out, i++));
  cut(out, i);
}

status from(const google::protobuf::RepeatedPtrField<v1::Value>& in, const parameter_names& names, configuration& out) {
  if (static_cast<std::size_t>(in.size()) != names->size())
    return damaged("a record has " + std::to_string(in.size()) + " values for " + std::to_string(names->size()) +
                   " parameters");
  std::vector<value> values(names->size());
  for (int i = 0; i < in.size(); ++i)
    if (auto good = from(in[i], values[static_cast<std::size_t>(i)]); !good) return good;
  out = configuration(names, std::move(values));
  return {};
}

namespace {

// The numbers on the disk are the schema's, not those of the enumeration in core, which may be put in another order.
v1::FailureKind kind_to(failure_kind k) {
  switch (k) {
  case failure_kind::invalid_config:
    return v1::INVALID_CONFIG;
  case failure_kind::build_error:
    return v1::BUILD_ERROR;
  case failure_kind::build_timeout:
    return v1::BUILD_TIMEOUT;
  case failure_kind::run_error:
    return v1::RUN_ERROR;
  case failure_kind::run_timeout:
    return v1::RUN_TIMEOUT;
  case failure_kind::wrong_output:
    return v1::WRONG_OUTPUT;
  case failure_kind::bad_metric:
    return v1::BAD_METRIC;
  case failure_kind::device_lost:
    return v1::DEVICE_LOST;
  case failure_kind::cancelled:
    return v1::CANCELLED;
  case failure_kind::internal:
    return v1::INTERNAL;
  }
  return v1::INTERNAL;
}

std::optional<failure_kind> kind_from(v1::FailureKind k) {
  for (const auto kind : all_failure_kinds)
    if (kind_to(kind) == k) return kind;
  return std::nullopt;
}

void measured_to(const measurement& from, v1::Measurement& out) {
  out.set_value(from.value);
  out.set_spread(from.spread);
  out.mutable_samples()->Assign(from.samples.begin(), from.samples.end());
  out.set_rejected(from.rejected);
  int i = 0;
  for (const auto& [name, v] : from.metrics) {
    auto& m = element(*out.mutable_metrics(), i++);
    m.set_name(name);
    m.set_value(v);
  }
  cut(*out.mutable_metrics(), i);
}

} // namespace

void to(const outcome& from, v1::Outcome& out) {
  if (const auto* m = from.measured()) {
    measured_to(*m, *out.mutable_measured());
  } else if (const auto* b = from.bounded()) {
    auto& o = *out.mutable_bounded();
    o.set_value(b->value);
    o.set_against(b->against);
    o.mutable_samples()->Assign(b->samples.begin(), b->samples.end());
  } else {
    const auto& f = *from.failed();
    auto& o = *out.mutable_failed();
    o.set_kind(kind_to(f.kind));
    o.set_message(f.message);
    f.exit ? o.set_exit(*f.exit) : o.clear_exit();
    f.signal ? o.set_signal(*f.signal) : o.clear_signal();
  }
  out.set_queue_ns(from.phases.queue.count());
  out.set_build_ns(from.phases.build.count());
  out.set_run_ns(from.phases.run.count());
  out.set_search_ns(from.phases.search.count());
  out.set_clean_ns(from.phases.clean.count());
  out.set_cpu_ns(from.used.cpu.count());
  out.set_peak_bytes(from.used.peak_bytes);
  out.set_runner(from.runner);
  out.set_at_ns(from.at.count());
  int i = 0;
  for (const auto& note : from.notes) element(*out.mutable_notes(), i++) = note;
  cut(*out.mutable_notes(), i);
  if (from.around == conditions{}) {
    out.clear_around();
    return;
  }
  auto& around = *out.mutable_around();
  around.set_runs_beside(from.around.runs_beside);
  around.set_builds_beside(from.around.builds_beside);
  from.around.drift ? around.set_drift(*from.around.drift) : around.clear_drift();
  from.around.correction != 1 ? around.set_correction(from.around.correction) : around.clear_correction();
  around.set_disturbed(from.around.disturbed);
}

status from(const v1::Outcome& in, outcome& out) {
  switch (in.data_case()) {
  case v1::Outcome::kMeasured: {
    const auto& m = in.measured();
    measurement o;
    o.value = m.value();
    if (!std::isfinite(o.value)) return damaged("a measured value is not finite");
    o.spread = m.spread();
    o.samples.assign(m.samples().begin(), m.samples().end());
    o.rejected = m.rejected();
    o.metrics.reserve(static_cast<std::size_t>(m.metrics_size()));
    for (const auto& e : m.metrics()) o.metrics.emplace_back(e.name(), e.value());
    out.data = std::move(o);
    break;
  }
  case v1::Outcome::kFailed: {
    const auto& f = in.failed();
    const auto kind = kind_from(f.kind());
    if (!kind) return damaged("unknown failure kind " + std::to_string(f.kind()));
    failure o;
    o.kind = *kind;
    o.message = f.message();
    if (f.has_exit()) o.exit = f.exit();
    if (f.has_signal()) o.signal = f.signal();
    out.data = std::move(o);
    break;
  }
  case v1::Outcome::kBounded: {
    const auto& b = in.bounded();
    if (!std::isfinite(b.value()) || !std::isfinite(b.against())) return damaged("a bound is not finite");
    out.data = bound{b.value(), b.against(), {b.samples().begin(), b.samples().end()}};
    break;
  }
  case v1::Outcome::DATA_NOT_SET:
    return damaged("an outcome is neither measured nor failed nor stopped early");
  }
  out.phases = {nanoseconds(in.queue_ns()), nanoseconds(in.build_ns()), nanoseconds(in.run_ns()),
                nanoseconds(in.search_ns()), nanoseconds(in.clean_ns())};
  out.used = {nanoseconds(in.cpu_ns()), in.peak_bytes()};
  out.runner = in.runner();
  out.at = nanoseconds(in.at_ns());
  out.notes.assign(in.notes().begin(), in.notes().end());
  const auto& around = in.around();
  out.around = {around.runs_beside(), around.builds_beside(),
                around.has_drift() ? std::optional(double{around.drift()}) : std::nullopt,
                around.has_correction() ? around.correction() : 1, around.disturbed()};
  return {};
}

void to(const estimate& from, v1::Estimate& out) {
  out.set_value(from.value);
  out.set_below(from.below.bytes.data(), from.below.bytes.size());
  out.set_above(from.above.bytes.data(), from.above.bytes.size());
}

status from(const v1::Estimate& in, estimate& out) {
  out.value = in.value();
  if (!std::isfinite(out.value)) return damaged("an estimate is not finite");
  if (auto good = from(in.below(), out.below); !good) return good;
  return from(in.above(), out.above);
}

void to(const amendment& from, v1::Amendment& out) {
  out.set_side_by_side(from.why == amendment::cause::side_by_side);
  out.set_winner(from.winner);
  out.set_tied(from.tied);
  out.set_reference(from.reference);
  out.set_separated(from.separated);
  out.set_rounds(from.rounds);
}

amendment from(const v1::Amendment& in) {
  using cause = amendment::cause;
  return {in.side_by_side() ? cause::side_by_side : cause::repeated,
          in.winner(),
          in.tied(),
          in.reference(),
          in.separated(),
          in.rounds()};
}

void to(const task_entry& from, std::uint32_t number, v1::Task& out) {
  out.set_number(number);
  out.set_workload_form(from.workload_form);
  out.set_target_form(from.target_form);
  out.set_method_form(from.method_form);
  out.set_name(from.name);
  to(from.workload_args, *out.mutable_workload_args());
  to(from.target_facts, *out.mutable_target_facts());
  out.set_metric(from.metric);
  out.set_unit(from.unit);
  out.set_goal(from.direction == goal::minimize ? v1::MINIMIZE : v1::MAXIMIZE);
}

status from(const v1::Task& in, task_entry& out) {
  out.workload_form = in.workload_form();
  out.target_form = in.target_form();
  out.method_form = in.method_form();
  out.workload = sha256(out.workload_form);
  out.target = sha256(out.target_form);
  out.method = sha256(out.method_form);
  std::string all;
  for (const auto* part : {&out.workload, &out.target, &out.method}) all += part->view();
  out.task = sha256(all);
  out.name = in.name();
  if (auto good = from(in.workload_args(), out.workload_args); !good) return good;
  if (auto good = from(in.target_facts(), out.target_facts); !good) return good;
  out.metric = in.metric();
  out.unit = in.unit();
  if (in.goal() != v1::MINIMIZE && in.goal() != v1::MAXIMIZE) return damaged("a task has no goal");
  out.direction = in.goal() == v1::MINIMIZE ? goal::minimize : goal::maximize;
  return {};
}

void to(const session_entry& from, v1::Session& out) {
  out.set_task_name(from.task_name);
  out.set_strategy(from.strategy);
  out.set_seed(from.seed);
  from.budget ? out.set_budget(*from.budget) : out.clear_budget();
  out.set_started_ns(from.started.count());
  out.set_spent_ns(from.spent.count());
  out.set_records_before(from.records_before);
  out.set_estimates(from.estimates);
}

status from(const v1::Session& in, session_entry& out) {
  out.task_name = in.task_name();
  out.strategy = in.strategy();
  out.seed = in.seed();
  out.budget = in.has_budget() ? std::optional(std::uint64_t{in.budget()}) : std::nullopt;
  out.started = nanoseconds(in.started_ns());
  out.spent = nanoseconds(in.spent_ns());
  out.records_before = in.records_before();
  out.estimates = in.estimates();
  return {};
}

status from(const std::string& in, key128& out) {
  const auto k = key128::from_bytes(in);
  if (!k) return damaged("a key has " + std::to_string(in.size()) + " bytes instead of 16");
  out = *k;
  return {};
}

} // namespace attune::storage::convert
