// Records from elsewhere, and all records in their order.
//
// What is already there is found by an index of contents, which only imports make and keep: a key for each record, of
// its task, the time at which it ended and a hash of the rest, so that what is imported in the order of time is looked
// up where it is written. Tuning pays nothing for it: an import begins by adding what was written since the last one.
// The index is a hint. A record that it names is read and compared as a whole; one that is gone is written again.
#include "core/hash.hpp"
#include "storage/store_impl.hpp"

#include <unordered_map>

namespace attune::storage {

namespace {

constexpr std::uint64_t indexed_together = 8192;

std::uint64_t hash_of(const key128& key, const outcome& o) {
  std::uint64_t kind = o.data.index();
  double v = 0;
  if (const auto* m = o.measured())
    v = m->value;
  else if (const auto* b = o.bounded())
    v = b->value;
  else
    kind += static_cast<std::uint64_t>(o.failed()->kind) << 8;
  std::uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof bits);
  return hash64(key.view(), bits ^ (kind << 1));
}

/// To the last bit: what is not a number is equal to itself here.
bool same(const outcome& a, const outcome& b) {
  v1::Outcome x, y;
  convert::to(a, x);
  convert::to(b, y);
  return x.SerializeAsString() == y.SerializeAsString();
}

} // namespace

/// Adds what is not in the index yet. Writes without a sync: it is made again from where it is known to be.
status store::impl::index_rest() {
  v1::Indexed message;
  if (indexed == 0) {
    std::string text;
    const auto got = db->get(family::meta, keys::tagged(keys::indexed), text);
    if (!got) return got.err();
    if (*got && message.ParseFromString(text)) indexed = std::min<record_id>(message.record(), next_record - 1);
  }
  if (indexed >= next_record - 1) return {};
  rocksdb::WriteBatch more;
  std::string key, value;
  v1::RecordReference reference;
  std::uint64_t in_batch = 0;
  const auto write = [&](record_id up_to) {
    message.set_record(up_to);
    more.Put(db->handle(family::meta), slice(keys::tagged(keys::indexed)), slice(message.SerializeAsString()));
    auto done = db->write(more, false);
    more.Clear();
    in_batch = 0;
    if (done) indexed = up_to;
    return done;
  };
  status good;
  // The records' own order within each task; the tasks one after the other would need all to be read each time.
  const auto read = visit_records(indexed, next_record - 1, [&](const task_info& task, const record& r) {
    keys::content_key(key, task.number, static_cast<std::uint64_t>(r.result.at.count()), hash_of(r.key, r.result));
    reference.set_task(task.number);
    reference.set_record(r.id);
    value.clear();
    reference.AppendToString(&value);
    more.Put(db->handle(family::records), slice(key), slice(value));
    if (++in_batch >= indexed_together) good = write(r.id);
    return good.ok();
  });
  if (!good) return good;
  if (!read) return read;
  return write(next_record - 1);
}

status store::impl::visit_records(record_id after, record_id up_to,
                                  const std::function<bool(const task_info&, const record&)>& visit) const {
  const auto spans = db->iterate(family::records), rows = db->iterate(family::records);
  const auto bad = [&](record_id id) {
    return convert::damaged("the index of record " + std::to_string(id) + " in '" + place.path() + "' is damaged");
  };
  // The run that begins at the first one or last before it.
  spans->SeekForPrev(slice(keys::of_run(after + 1)));
  if (!spans->Valid() || spans->key()[0] != keys::id_run) spans->Seek(slice(keys::of_run(0)));
  v1::IdRun span_message;
  v1::Record message;
  std::string key;
  for (; spans->Valid() && spans->key().size() == 9 && spans->key()[0] == keys::id_run; spans->Next()) {
    const auto first = keys::get<std::uint64_t>({spans->key().data(), spans->key().size()}, 1);
    if (first > up_to) break;
    if (!span_message.ParseFromArray(spans->value().data(), static_cast<int>(spans->value().size()))) return bad(first);
    const auto begin = std::max(first, after + 1);
    const auto last = std::min(first + span_message.count() - 1, up_to);
    if (span_message.count() == 0 || last < begin) continue;
    const task_info* task = nullptr;
    {
      const std::shared_lock guard(state_lock);
      if (span_message.task() != 0 && span_message.task() < tasks.size()) task = &tasks[span_message.task()];
    }
    if (task == nullptr) return bad(first);
    keys::record_key(key, task->number, begin);
    const bool there = rows->Valid() && rows->key() == slice(key);
    if (!there) rows->Seek(slice(key));
    for (; rows->Valid() && rows->key().size() == keys::record_key_size &&
           std::memcmp(rows->key().data(), key.data(), 5) == 0;
         rows->Next()) {
      const auto id = keys::get<std::uint64_t>({rows->key().data(), rows->key().size()}, 5);
      if (id > last) break;
      auto r = read_record(*task, id, {rows->value().data(), rows->value().size()}, message);
      if (!r) return r.err();
      if (!visit(*task, *r)) return {};
    }
    if (!rows->status().ok()) return db->error_of(rows->status(), "read");
  }
  if (!spans->status().ok()) return db->error_of(spans->status(), "read");
  return {};
}

status store::visit(record_id after, record_id up_to, const std::function<bool(const record&)>& visit) const {
  return impl_->visit_records(after, up_to, [&](const task_info&, const record& r) { return visit(r); });
}

status store::append_new(std::span<foreign_record> records) {
  auto& i = *impl_;
  const std::lock_guard guard(i.write_lock);
  if (i.read_only) return error{errc::store_unusable, "the store '" + path() + "' is open for reading only", {}};
  for (auto& r : records) r.added = false;
  if (records.empty()) return {};
  if (auto whole = i.index_rest(); !whole) return whole;
  i.begin_group();

  // What this write itself adds, by the keys of the index.
  std::unordered_map<std::string, std::size_t> here;
  std::string key, text;
  v1::RecordReference reference;
  auto id = i.next_record;
  const task_entry* last_entry = nullptr;
  task_info* task = nullptr;
  for (std::size_t k = 0; k < records.size(); ++k) {
    auto& r = records[k];
    if (r.task != last_entry) {
      task = &i.add_task(*r.task);
      last_entry = r.task;
    }
    const auto is_it = [&](const key128& other, const outcome& result, std::string_view session) {
      return other == r.key && session == r.session && same(result, *r.result);
    };
    keys::content_key(key, task->number, static_cast<std::uint64_t>(r.result->at.count()), hash_of(r.key, *r.result));
    const auto [at, fresh] = here.try_emplace(key, k);
    if (!fresh) {
      const auto& other = records[at->second];
      if (other.task->task == r.task->task && is_it(other.key, *other.result, other.session)) continue;
      at->second = k;
    }
    // A task that has no record yet has none of these.
    if (task->counts.records > 0) {
      const auto got = i.db->get(family::records, key, text);
      if (!got) return got.err();
      if (*got && reference.ParseFromString(text) && reference.task() == task->number) {
        const auto there = i.record_at(*task, reference.record());
        if (!there) return there.err();
        if (*there && is_it((*there)->key, (*there)->result, (*there)->session)) continue;
      }
    }
    if (auto ready = i.prepare(*task); !ready) return ready;
    // Not owned: the caller keeps it.
    i.stage(*task, r.key, *r.config, outcome_ptr(outcome_ptr(), r.result), r.session, conclusive(*r.result), id);
    reference.set_task(task->number);
    reference.set_record(id);
    i.put(family::records, key, reference);
    r.added = true;
    ++id;
  }
  if (id == i.next_record) {
    i.abandon_group();
    return {};
  }
  v1::Indexed up_to;
  up_to.set_record(id - 1);
  i.put(family::meta, keys::tagged(keys::indexed), up_to);
  if (auto done = i.finish_group(true); !done) {
    for (auto& r : records) r.added = false;
    return done;
  }
  i.indexed = id - 1;
  i.next_record = id;
  i.place.acknowledge({id - 1, id - 1});
  return {};
}

} // namespace attune::storage
