#include "net/store_messages.hpp"

#include "net/network_error.hpp"
#include "storage/convert.hpp"

#include <algorithm>
#include <cstring>

namespace attune::net {

namespace {

namespace convert = storage::convert;

status key_from(const std::string& in, key128& out) {
  const auto k = in.size() == 16 ? key128::from_bytes(in) : std::nullopt;
  if (!k) return network_error("a key is not one");
  out = *k;
  return {};
}

/// A limit that can be added to a time.
nanoseconds limit_from(std::int64_t ns) {
  constexpr nanoseconds most = std::chrono::hours(24 * 365);
  return std::clamp(nanoseconds(ns), nanoseconds(0), most);
}

} // namespace

abilities store_abilities() {
  abilities out;
  out.magic = "attune store";
  out.features = {"append", "sessions", "claims", changes_feature};
  out.program = "attune";
  return out;
}

claim_ask ask_of(const trial& what, bool anew, nanoseconds limit) {
  return {what.key, what.of->identity.task_key, what.canonical, anew, limit};
}

void to(const error& from, wire::v1::Failed& out) {
  out.set_kind(to_string(from.code));
  out.set_message(from.message);
  out.set_where(from.where);
}

error error_of(const wire::v1::Failed& in) {
  error out{errc::network, in.message(), in.where()};
  for (int n = 0; n <= static_cast<int>(errc::internal); ++n)
    if (in.kind() == to_string(static_cast<errc>(n))) out.code = static_cast<errc>(n);
  return out;
}

void to(const claim_ask& from, wire::v1::Claim::Item& out) {
  out.set_key(from.key.bytes.data(), from.key.bytes.size());
  out.set_task(from.task.bytes.data(), from.task.bytes.size());
  out.set_canonical(from.canonical);
  out.set_anew(from.anew);
  out.set_limit_ns(from.limit.count());
}

status from(const wire::v1::Claim::Item& in, claim_ask& out) {
  if (auto good = key_from(in.key(), out.key); !good) return good;
  if (in.task().size() != out.task.bytes.size()) return network_error("a task's digest is not one");
  std::memcpy(out.task.bytes.data(), in.task().data(), out.task.bytes.size());
  out.canonical = in.canonical();
  out.anew = in.anew();
  out.limit = limit_from(in.limit_ns());
  return {};
}

void to(const storage::claim_answer& from, wire::v1::Claimed::Item& out) {
  out.set_key(from.key.bytes.data(), from.key.bytes.size());
  if (!from.known) return;
  out.set_record(from.record);
  convert::to(*from.known, *out.mutable_outcome());
}

status from(const wire::v1::Claimed::Item& in, storage::claim_answer& out) {
  if (auto good = key_from(in.key(), out.key); !good) return good;
  out.record = in.record();
  out.known = nullptr;
  if (!in.has_outcome()) return {};
  auto known = std::make_shared<outcome>();
  if (auto good = convert::from(in.outcome(), *known); !good) return good;
  out.known = std::move(known);
  return {};
}

std::uint32_t named_tasks::number_of(const task_ptr& t, wire::v1::Append& with) {
  const auto [at, fresh] = numbers_.try_emplace(t, static_cast<std::uint32_t>(numbers_.size() + 1));
  if (fresh) convert::to(storage::entry_of(*t), at->second, *with.add_tasks());
  return at->second;
}

status known_tasks::take(const attune::v1::Task& in) {
  storage::task_entry entry;
  if (auto good = convert::from(in, entry); !good) return good;
  if (tasks_.size() >= most && !tasks_.contains(in.number())) return network_error("too many tasks");
  auto made = std::make_shared<task>();
  made->spec.name = entry.name;
  made->load = {entry.name, std::move(entry.workload_args)};
  made->where.facts = std::move(entry.target_facts);
  made->identity = {std::move(entry.workload_form),
                    std::move(entry.target_form),
                    std::move(entry.method_form),
                    entry.workload,
                    entry.target,
                    entry.method,
                    entry.task};
  metric_spec metric;
  metric.name = std::move(entry.metric);
  metric.unit = std::move(entry.unit);
  metric.direction = entry.direction;
  made->spec.run.metrics = {std::move(metric)};
  made->spec.run.objective = 0;
  tasks_[in.number()] = std::move(made);
  return {};
}

task_ptr known_tasks::find(std::uint32_t number) const {
  const auto at = tasks_.find(number);
  return at == tasks_.end() ? nullptr : at->second;
}

void to(std::span<const storage::foreign_record> from, wire::v1::Import& out) {
  std::unordered_map<const storage::task_entry*, std::uint32_t> numbers;
  for (const auto& r : from) {
    const auto [at, fresh] = numbers.try_emplace(r.task, static_cast<std::uint32_t>(numbers.size()));
    if (fresh) convert::to(*r.task, at->second, *out.add_tasks());
    auto& one = *out.add_records();
    one.set_task(at->second);
    one.set_key(r.key.bytes.data(), r.key.bytes.size());
    convert::to(*r.config, *one.mutable_configuration());
    convert::to(*r.result, *one.mutable_outcome());
    one.set_session(r.session.data(), r.session.size());
  }
}

status from(const wire::v1::Import& in, import_group& out) {
  const auto count = static_cast<std::size_t>(in.records_size());
  out.tasks.resize(static_cast<std::size_t>(in.tasks_size()));
  for (int i = 0; i < in.tasks_size(); ++i)
    if (auto good = convert::from(in.tasks(i), out.tasks[static_cast<std::size_t>(i)]); !good) return good;
  out.configurations.resize(count);
  out.results.resize(count);
  out.records.resize(count);
  task_identity of; // of which the key alone is asked
  for (std::size_t i = 0; i < count; ++i) {
    const auto& r = in.records(static_cast<int>(i));
    if (r.task() >= out.tasks.size()) return network_error("a record of a task that was not named");
    if (auto good = convert::from(r.configuration(), out.configurations[i]); !good) return good;
    if (auto good = convert::from(r.outcome(), out.results[i]); !good) return good;
    auto& one = out.records[i];
    one.task = &out.tasks[r.task()];
    one.config = &out.configurations[i];
    one.result = &out.results[i];
    one.session = r.session();
    if (auto good = key_from(r.key(), one.key); !good) return good;
    of.task_key = one.task->task;
    const auto canonical = one.config->canonical();
    one.canonical_size = canonical.size();
    if (one.key != measurement_key(of, canonical))
      return network_error("a record's key is not that of its configuration");
  }
  return {};
}

void to(const storage::retention& from, wire::v1::Forget& out) {
  out.set_keep_best(from.keep_best);
  out.set_boundary(from.boundary);
  out.set_reservoir(from.reservoir);
  if (from.newer_than) out.set_newer_than_ns(from.newer_than->count());
}

storage::retention retention_of(const wire::v1::Forget& in) {
  storage::retention out;
  out.keep_best = in.keep_best();
  out.boundary = in.boundary();
  out.reservoir = in.reservoir();
  if (in.has_newer_than_ns()) out.newer_than = nanoseconds(in.newer_than_ns());
  return out;
}

void to(const std::vector<storage::forgotten>& from, wire::v1::Forgotten& out) {
  for (const auto& f : from) {
    auto& t = *out.add_tasks();
    t.set_task(f.task.bytes.data(), f.task.bytes.size());
    t.set_records(f.records);
    t.set_folded(f.folded);
    t.set_kept(f.kept);
    t.set_best(f.best);
    t.set_boundary(f.boundary);
    t.set_reservoir(f.reservoir);
    t.set_newer(f.newer);
    t.set_cache_entries(f.cache_entries);
    t.set_sessions(f.sessions);
    t.set_held(f.held);
  }
}

status from(const wire::v1::Forgotten& in, std::vector<storage::forgotten>& out) {
  for (const auto& t : in.tasks()) {
    auto& f = out.emplace_back();
    if (t.task().size() != f.task.bytes.size()) return network_error("a task is not one");
    std::copy(t.task().begin(), t.task().end(), f.task.bytes.begin());
    f.records = t.records();
    f.folded = t.folded();
    f.kept = t.kept();
    f.best = t.best();
    f.boundary = t.boundary();
    f.reservoir = t.reservoir();
    f.newer = t.newer();
    f.cache_entries = t.cache_entries();
    f.sessions = t.sessions();
    f.held = t.held();
  }
  return {};
}

void to(std::span<const digest> from, google::protobuf::RepeatedPtrField<std::string>& out) {
  for (const auto& d : from) out.Add()->assign(d.view());
}

status from(const google::protobuf::RepeatedPtrField<std::string>& in, std::vector<digest>& out) {
  for (const auto& text : in) {
    auto& d = out.emplace_back();
    if (text.size() != d.bytes.size()) return network_error("a task is not one");
    std::copy(text.begin(), text.end(), d.bytes.begin());
  }
  return {};
}

void add(const storage::record_item& item, named_tasks& names, wire::v1::Append& out) {
  auto& r = *out.add_records();
  r.set_task(names.number_of(item.what->of, out));
  r.set_key(item.what->key.bytes.data(), item.what->key.bytes.size());
  convert::to(item.what->config, *r.mutable_configuration());
  convert::to(*item.result, *r.mutable_outcome());
  r.set_session(item.session.data(), item.session.size());
  r.set_cacheable(item.cacheable);
}

void add(const storage::step_item& item, named_tasks& names, wire::v1::Append& out) {
  auto& s = *out.add_steps();
  s.set_task(names.number_of(item.what->of, out));
  s.set_session(item.session.data(), item.session.size());
  s.set_number(item.what->number);
  s.set_asked_before(item.asked_before);
  s.set_from_cache(item.from_cache);
  s.set_record(item.record);
  if (item.amends) convert::to(*item.amends, *s.mutable_amends());
  if (item.record != 0) return;
  s.set_key(item.what->key.bytes.data(), item.what->key.bytes.size());
  convert::to(item.what->config, *s.mutable_configuration());
  if (item.guess)
    convert::to(*item.guess, *s.mutable_estimate());
  else
    convert::to(*item.result, *s.mutable_outcome());
}

status from(const wire::v1::AppendRecord& in, const known_tasks& tasks, storage::record_item& out) {
  auto t = std::make_shared<trial>();
  t->of = tasks.find(in.task());
  if (!t->of) return network_error("a record of a task that was not named");
  if (auto good = key_from(in.key(), t->key); !good) return good;
  if (auto good = convert::from(in.configuration(), t->config); !good) return good;
  t->canonical = t->config.canonical();
  if (t->key != measurement_key(t->of->identity, t->canonical))
    return network_error("a record's key is not that of its configuration");
  auto o = std::make_shared<outcome>();
  if (auto good = convert::from(in.outcome(), *o); !good) return good;
  out.what = std::move(t);
  out.result = std::move(o);
  out.session = in.session();
  out.cacheable = in.cacheable();
  return {};
}

status from(const wire::v1::AppendStep& in, const known_tasks& tasks, storage::step_item& out) {
  auto t = std::make_shared<trial>();
  t->of = tasks.find(in.task());
  if (!t->of) return network_error("a step of a task that was not named");
  t->number = in.number();
  if (in.record() == 0) {
    if (auto good = key_from(in.key(), t->key); !good) return good;
    if (auto good = convert::from(in.configuration(), t->config); !good) return good;
    if (in.has_estimate()) {
      out.guess.emplace();
      if (auto good = convert::from(in.estimate(), *out.guess); !good) return good;
    } else {
      auto o = std::make_shared<outcome>();
      if (auto good = convert::from(in.outcome(), *o); !good) return good;
      out.result = std::move(o);
    }
  }
  out.what = std::move(t);
  out.session = in.session();
  out.asked_before = in.asked_before();
  out.from_cache = in.from_cache();
  out.record = in.record();
  if (in.has_amends()) out.amends = convert::from(in.amends());
  return {};
}

} // namespace attune::net
