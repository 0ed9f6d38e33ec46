// Records, tasks and the best: what is read.
#include "storage/store_impl.hpp"

#include <cmath>
#include <limits>

namespace attune::storage {

v1::BestList message_of(std::uint32_t task, const best_table& table) {
  v1::BestList out;
  out.set_task(task);
  for (const auto& e : table.entries()) {
    auto& m = *out.add_entries();
    m.set_key(e.key.bytes.data(), e.key.bytes.size());
    m.set_record(e.record);
    m.set_value(e.value);
    m.set_at_ns(e.at.count());
  }
  if (table.floor()) out.set_floor(*table.floor());
  out.set_by_time(table.known());
  return out;
}

result<best_table> table_of(goal direction, const v1::BestList& message) {
  std::vector<best_table::entry> entries;
  for (const auto& m : message.entries()) {
    auto& e = entries.emplace_back();
    if (auto good = convert::from(m.key(), e.key); !good) return good.err();
    if (!eligible(m.value())) return convert::damaged("a best list holds a value that cannot be the best");
    e.record = m.record();
    e.value = m.value();
    e.at = nanoseconds(m.at_ns());
  }
  return best_table(direction, std::move(entries),
                    message.has_floor() ? std::optional<double>(message.floor()) : std::nullopt, message.by_time());
}

record_id store::newest() const {
  const std::lock_guard guard(impl_->write_lock);
  return impl_->next_record - 1;
}

std::vector<parameter_names> store::name_lists() const {
  const std::shared_lock guard(impl_->state_lock);
  std::vector<parameter_names> out;
  for (const auto& n : impl_->names)
    if (n.names && !n.names->empty()) out.push_back(n.names);
  return out;
}

const task_info* store::impl::task_of(std::uint32_t number) const {
  const std::shared_lock guard(state_lock);
  return number < tasks.size() && tasks[number].stored ? &tasks[number] : nullptr;
}

task_info* store::impl::known(const digest& task) {
  const std::shared_lock guard(state_lock);
  const auto at = task_numbers.find(task);
  return at == task_numbers.end() ? nullptr : &tasks[at->second];
}

result<record> store::impl::read_record(const task_info& task, record_id id, std::string_view value,
                                        v1::Record& message) const {
  const auto where = [&](const std::string& what) {
    return convert::damaged("record " + std::to_string(id) + " in '" + place.path() + "': " + what);
  };
  if (!message.ParseFromArray(value.data(), static_cast<int>(value.size()))) return where("it cannot be read");
  record out;
  out.id = id;
  out.task = task.task;
  out.workload = task.workload;
  out.target = task.target;
  out.method = task.method;
  parameter_names list;
  {
    const std::shared_lock guard(state_lock);
    if (message.names() < names.size()) list = names[message.names()].names;
  }
  if (!list) return where("its parameter names are missing");
  if (auto good = convert::from(message.key(), out.key); !good) return where(good.err().message);
  if (auto good = convert::from(message.values(), list, out.config); !good) return where(good.err().message);
  if (auto good = convert::from(message.outcome(), out.result); !good) return where(good.err().message);
  if (!message.session().empty()) {
    key128 session;
    if (auto good = convert::from(message.session(), session); !good) return where(good.err().message);
    out.session = session.hex();
  } else {
    out.session = message.other_session();
  }
  out.counts_from = message.has_counts_from_ns() ? nanoseconds(message.counts_from_ns()) : out.result.at;
  return out;
}

result<std::optional<record>> store::impl::record_at(const task_info& task, record_id id) const {
  std::string text;
  const auto got = db->get(family::records, keys::of_record(task.number, id), text);
  if (!got) return got.err();
  if (!*got) return std::optional<record>();
  v1::Record message;
  auto out = read_record(task, id, text, message);
  if (!out) return out.err();
  return std::optional<record>(*std::move(out));
}

result<std::optional<record>> store::find(record_id id) const {
  auto& i = *impl_;
  std::uint32_t number = 0;
  bool damaged = false;
  // The run that begins at it or last before it.
  const auto it = i.db->iterate(family::records);
  it->SeekForPrev(slice(keys::of_run(id)));
  if (!it->status().ok()) return i.db->error_of(it->status(), "read");
  if (it->Valid() && it->key().size() == 9 && it->key()[0] == keys::id_run) {
    v1::IdRun run;
    damaged = !run.ParseFromArray(it->value().data(), static_cast<int>(it->value().size()));
    const auto first = keys::get<std::uint64_t>({it->key().data(), it->key().size()}, 1);
    if (!damaged && id - first < run.count()) number = run.task();
  }
  const task_info* task = nullptr;
  {
    const std::shared_lock guard(i.state_lock);
    if (number != 0 && number < i.tasks.size()) task = &i.tasks[number];
  }
  if (damaged || (number != 0 && task == nullptr))
    return convert::damaged("the index of record " + std::to_string(id) + " in '" + path() + "' is damaged");
  if (task == nullptr) return std::optional<record>();
  return i.record_at(*task, id);
}

status store::records_of(const digest& task, const std::function<bool(const record&)>& visit) const {
  auto& i = *impl_;
  const task_info* info = i.known(task);
  if (info == nullptr) return {};
  std::optional<error> bad;
  v1::Record message;
  auto read = i.db->scan(family::records, keys::tagged(keys::record, info->number),
                         [&](std::string_view key, std::string_view value) {
                           if (key.size() != keys::record_key_size) {
                             bad = convert::damaged("a record's key in '" + path() + "' is damaged");
                             return false;
                           }
                           auto r = i.read_record(*info, keys::get<std::uint64_t>(key, 5), value, message);
                           if (!r) bad = r.err();
                           return r.ok() && visit(*r);
                         });
  if (bad) return *bad;
  return read;
}

result<task_entry> store::impl::entry_of_task(const digest& task) const {
  std::string text;
  const auto got = db->get(family::meta, keys::of_task(task), text);
  if (!got) return got.err();
  v1::Task message;
  task_entry out;
  if (!*got || !message.ParseFromString(text))
    return convert::damaged("a task in '" + place.path() + "' is missing or cannot be read");
  if (auto good = convert::from(message, out); !good) return good.err();
  return out;
}

result<std::optional<task_entry>> store::find_task(const digest& task) const {
  auto& i = *impl_;
  const task_info* info = i.known(task);
  if (info == nullptr) return std::optional<task_entry>();
  {
    const std::shared_lock guard(i.state_lock);
    if (!info->stored) return std::optional<task_entry>();
  }
  auto out = i.entry_of_task(task);
  if (!out) return out.err();
  return std::optional<task_entry>(*std::move(out));
}

status store::impl::visit_task(std::size_t number, const task_visit& visit) const {
  digest key;
  task_counts counts;
  {
    const std::shared_lock guard(state_lock);
    const auto& info = tasks[number];
    if (!info.stored) return {};
    key = info.task;
    counts = info.counts;
  }
  const auto entry = entry_of_task(key);
  if (!entry) return entry.err();
  visit(*entry, counts);
  return {};
}

template <class Index, class Key>
status store::impl::visit_tasks(const Index& index, const Key& key, const task_visit& visit) const {
  std::vector<std::uint32_t> found;
  {
    const std::shared_lock guard(state_lock);
    if (const auto at = index.find(key); at != index.end()) found = at->second;
  }
  for (const auto n : found)
    if (auto good = visit_task(n, visit); !good) return good;
  return {};
}

status store::tasks(const task_visit& visit) const {
  auto& i = *impl_;
  for (std::size_t n = 1;; ++n) {
    {
      const std::shared_lock guard(i.state_lock);
      if (n >= i.tasks.size()) return {};
    }
    if (auto good = i.visit_task(n, visit); !good) return good;
  }
}

status store::tasks_of(const digest& workload, const task_visit& visit) const {
  return impl_->visit_tasks(impl_->by_workload, workload, visit);
}

status store::tasks_named(const std::string& name, const task_visit& visit) const {
  return impl_->visit_tasks(impl_->by_name, name, visit);
}

void store::impl::let_lists_go() {
  if (listed.size() <= lists_kept) return;
  for (const auto n : listed) {
    tasks[n].best.reset();
    tasks[n].top = nullptr;
  }
  listed.clear();
}

status store::impl::need_best(task_info& task) {
  {
    const std::shared_lock guard(state_lock);
    if (task.best) return {};
  }
  const std::unique_lock guard(state_lock);
  if (task.best) return {};
  // A writer does it between two writes.
  if (read_only) let_lists_go();
  std::string text;
  const auto got = db->get(family::best, keys::of_best(task.workload, task.target, task.method), text);
  if (!got) return got.err();
  if (!*got) {
    task.best.emplace(task.direction);
    listed.push_back(task.number);
    return {};
  }
  v1::BestList message;
  if (!message.ParseFromString(text)) return convert::damaged("a best list in '" + place.path() + "' cannot be read");
  auto table = table_of(task.direction, message);
  if (!table) return table.err();
  task.best = *std::move(table);
  listed.push_back(task.number);
  return {};
}

result<store::impl::recomputed> store::impl::recompute_best(const task_info& task) const {
  std::vector<best_table::entry> history;
  std::optional<nanoseconds> latest;
  std::optional<error> bad;
  v1::Record message;
  auto read = db->scan(
      family::records, keys::tagged(keys::record, task.number), [&](std::string_view key, std::string_view value) {
        const auto id = keys::get<std::uint64_t>(key, 5);
        auto r = read_record(task, id, value, message);
        if (!r) {
          bad = r.err();
          return false;
        }
        latest = std::max(latest.value_or(r->counts_from), r->counts_from);
        if (!conclusive(r->result)) return true;
        const auto* m = r->result.measured();
        history.push_back(
            {r->key, id, m != nullptr ? m->value : std::numeric_limits<double>::quiet_NaN(), r->counts_from});
        return true;
      });
  if (!read) return read.err();
  if (bad) return *bad;
  return recomputed{best_table::of(task.direction, history), latest};
}

status store::impl::rebuild_best(task_info& task) {
  const auto made = recompute_best(task);
  if (!made) return made.err();
  {
    const std::unique_lock guard(state_lock);
    if (!task.best) listed.push_back(task.number);
    task.best = made->table;
    task.top = nullptr;
    task.rebuilt = task.counts.records;
    if (!task.counts.latest) task.counts.latest = made->latest;
  }
  if (read_only) return {};
  rocksdb::WriteBatch one;
  one.Put(db->handle(family::best), slice(keys::of_best(task.workload, task.target, task.method)),
          slice(message_of(task.number, made->table).SerializeAsString()));
  return db->write(one, false);
}

result<std::shared_ptr<const std::vector<record>>> store::impl::top_of(task_info& task) {
  std::vector<best_table::entry> entries;
  for (bool tried = false;;) {
    if (auto ready = need_best(task); !ready) return ready.err();
    {
      const std::shared_lock guard(state_lock);
      if (!task.best) continue; // it was let go in between
      if (task.top) return task.top;
      const auto all = task.best->entries();
      entries.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), best_answered)));
      if (tried || !task.best->incomplete()) break;
    }
    tried = true;
    const std::lock_guard writer(write_lock);
    if (auto done = rebuild_best(task); !done && done.err().code == errc::store_corrupt) return done.err();
  }
  auto out = std::make_shared<std::vector<record>>();
  for (const auto& e : entries) {
    auto r = record_at(task, e.record);
    if (!r) return r.err();
    if (!*r) return convert::damaged("the best list of a task in '" + place.path() + "' names a missing record");
    out->push_back(std::move(**r));
  }
  const std::unique_lock guard(state_lock);
  // Only if it is still the table's: a better one may have come meanwhile.
  if (!task.best) return std::shared_ptr<const std::vector<record>>(std::move(out));
  const auto now = task.best->entries();
  bool same = std::min(now.size(), best_answered) == entries.size();
  for (std::size_t k = 0; same && k < entries.size(); ++k) same = now[k] == entries[k];
  if (same) task.top = out;
  return std::shared_ptr<const std::vector<record>>(std::move(out));
}

result<std::vector<record>> store::best(const digest& task, std::size_t count) const {
  auto& i = *impl_;
  task_info* info = i.known(task);
  if (info == nullptr || count == 0) return std::vector<record>();
  const auto top = i.top_of(*info);
  if (!top) return top.err();
  const auto& all = **top;
  return std::vector<record>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(count, all.size())));
}

result<std::vector<task_best>> store::best_for(const digest& workload, const digest& target, std::size_t count) const {
  auto& i = *impl_;
  std::vector<digest> found;
  {
    const std::shared_lock guard(i.state_lock);
    if (const auto at = i.by_workload.find(workload); at != i.by_workload.end())
      for (const auto n : at->second)
        if (const auto& t = i.tasks[n]; t.stored && t.target == target) found.push_back(t.task);
  }
  std::vector<task_best> out;
  for (const auto& d : found) {
    auto entry = i.entry_of_task(d);
    if (!entry) return entry.err();
    auto top = best(d, count);
    if (!top) return top.err();
    out.push_back({*std::move(entry), *std::move(top)});
  }
  return out;
}

} // namespace attune::storage
