#include "net/store_messages.hpp"

#include "storage/convert.hpp"

#include <algorithm>
#include <cstring>

namespace attune::net {

namespace {

namespace convert = storage::convert;

error bad(std::string what) { return error{errc::network, std::move(what), {}}; }

status key_from(const std::string& in, key128& out) {
  const auto k = in.size() == 16 ? key128::from_bytes(in) : std::nullopt;
  if (!k) return bad("a key is not one");
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
  out.features = {"append", "sessions", "claims"};
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
  if (in.task().size() != out.task.bytes.size()) return bad("a task's digest is not one");
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
  if (tasks_.size() >= most && !tasks_.contains(in.number())) return bad("too many tasks");
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
  convert::to(*item.result, *s.mutable_outcome());
}

status from(const wire::v1::AppendRecord& in, const known_tasks& tasks, storage::record_item& out) {
  auto t = std::make_shared<trial>();
  t->of = tasks.find(in.task());
  if (!t->of) return bad("a record of a task that was not named");
  if (auto good = key_from(in.key(), t->key); !good) return good;
  if (auto good = convert::from(in.configuration(), t->config); !good) return good;
  t->canonical = t->config.canonical();
  if (t->key != measurement_key(t->of->identity, t->canonical))
    return bad("a record's key is not that of its configuration");
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
  if (!t->of) return bad("a step of a task that was not named");
  t->number = in.number();
  if (in.record() == 0) {
    if (auto good = key_from(in.key(), t->key); !good) return good;
    if (auto good = convert::from(in.configuration(), t->config); !good) return good;
    auto o = std::make_shared<outcome>();
    if (auto good = convert::from(in.outcome(), *o); !good) return good;
    out.result = std::move(o);
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
