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

template <class Number>
std::uint64_t mix(Number n, std::uint64_t seed) noexcept {
  std::uint64_t bits = 0;
  static_assert(sizeof n <= sizeof bits);
  std::memcpy(&bits, &n, sizeof n);
  bits = (bits ^ seed) * 0x9e3779b97f4a7c15u;
  return bits ^ (bits >> 29);
}

/// Of all that two records may differ in.
std::uint64_t hash_of(const key128& key, const outcome& o, std::string_view session) {
  std::uint64_t h = hash64(key.view(), o.data.index());
  if (const auto* m = o.measured()) {
    h = mix(m->spread, mix(m->value, h));
    for (const double s : m->samples) h = mix(s, h);
    for (const auto& [name, v] : m->metrics) h = mix(v, hash64(name, h));
  } else if (const auto* b = o.bounded()) {
    h = mix(b->against, mix(b->value, h));
  } else {
    const auto& f = *o.failed();
    h = hash64(f.message, mix(f.kind, h));
  }
  for (const auto d : {o.phases.queue, o.phases.build, o.phases.run, o.phases.search, o.used.cpu})
    h = mix(d.count(), h);
  for (const auto& n : o.notes) h = hash64(n, h);
  return session.empty() ? h : hash64(session, h);
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
  auto read = visit_records(indexed, next_record - 1, [&](const task_info& task, const record& r) {
    keys::content_key(key, task.number, static_cast<std::uint64_t>(r.result.at.count()),
                      hash_of(r.key, r.result, r.session));
    reference.set_task(task.number);
    reference.set_record(r.id);
    value.clear();
    reference.AppendToString(&value);
    more.Put(db->handle(family::records), slice(key), slice(value));
    latest_contents.erase(task.number);
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

/// The latest time in the index of a task; later than that there is nothing. What a failed write has raised stays
/// raised, which costs a look and is never wrong.
std::optional<std::uint64_t>& store::impl::latest_content(const task_info& task) {
  const auto [at, fresh] = latest_contents.try_emplace(task.number);
  if (!fresh || task.counts.records == 0) return at->second;
  std::string last;
  keys::content_key(last, task.number, ~std::uint64_t{0}, ~std::uint64_t{0});
  const auto it = db->iterate(family::records);
  it->SeekForPrev(slice(last));
  // Where that cannot be read, everything is looked up, and the look-up says so.
  if (!it->status().ok()) at->second = ~std::uint64_t{0};
  if (it->Valid() && it->key().size() == last.size() && std::memcmp(it->key().data(), last.data(), 5) == 0)
    at->second = keys::get<std::uint64_t>({it->key().data(), it->key().size()}, 5);
  return at->second;
}

status store::append_new(std::span<foreign_record> records) {
  auto& i = *impl_;
  const std::lock_guard guard(i.write_lock);
  if (i.read_only) return error{errc::store_unusable, "the store '" + path() + "' is open for reading only", {}};
  for (auto& r : records) r.added = false;
  if (records.empty()) return {};
  if (auto whole = i.index_rest(); !whole) return whole;
  i.begin_group();

  // What this write itself adds, by what their keys in the index are made of.
  struct addition {
    std::size_t which = 0;
    task_info* task = nullptr;
    std::uint64_t time = 0, hash = 0;
  };
  std::vector<addition> additions;
  additions.reserve(records.size());
  std::vector<key128> cacheable;
  cacheable.reserve(records.size());
  std::unordered_map<std::uint64_t, std::size_t> here;
  std::string key, text;
  v1::RecordReference reference;
  const task_entry* last_entry = nullptr;
  task_info* task = nullptr;
  std::optional<std::uint64_t>* latest = nullptr;
  std::size_t indexed_here = 0; // so many of the additions are in `here`
  for (std::size_t k = 0; k < records.size(); ++k) {
    auto& r = records[k];
    if (r.task != last_entry) {
      task = &i.add_task(*r.task);
      latest = &i.latest_content(*task);
      last_entry = r.task;
    }
    const auto is_it = [&](const key128& other, const outcome& result, std::string_view session) {
      return other == r.key && session == r.session && same(result, *r.result);
    };
    const auto time = static_cast<std::uint64_t>(r.result->at.count());
    const auto hash = hash_of(r.key, *r.result, r.session);
    const auto mixed = [](const addition& a) { return a.hash ^ (a.time * 0x9e3779b97f4a7c15u) ^ a.task->number; };
    const addition one{k, task, time, hash};
    if (*latest && time <= **latest) {
      // Only then may it be there already.
      for (; indexed_here < additions.size(); ++indexed_here)
        here[mixed(additions[indexed_here])] = additions[indexed_here].which;
      if (const auto at = here.find(mixed(one)); at != here.end()) {
        const auto& other = records[at->second];
        if (other.task->task == r.task->task && is_it(other.key, *other.result, other.session)) continue;
      }
      keys::content_key(key, task->number, time, hash);
      const auto got = i.db->get(family::records, key, text);
      if (!got) return got.err();
      if (*got && reference.ParseFromString(text) && reference.task() == task->number) {
        const auto there = i.record_at(*task, reference.record());
        if (!there) return there.err();
        if (*there && is_it((*there)->key, (*there)->result, (*there)->session)) continue;
      }
    } else {
      *latest = time;
    }
    additions.push_back(one);
    if (conclusive(*r.result)) cacheable.push_back(r.key);
  }
  const auto in_book = i.book->find(cacheable);
  auto next_in_book = in_book.begin();
  auto id = i.next_record;
  for (const auto& a : additions) {
    auto& r = records[a.which];
    if (auto ready = i.prepare(*a.task); !ready) return ready;
    const bool kept = conclusive(*r.result);
    // Not owned: the caller keeps it.
    i.stage(*a.task, r.key, *r.config, outcome_ptr(outcome_ptr(), r.result), r.session, kept,
            r.canonical_size != 0 ? r.canonical_size : r.config->canonical().size(), id, false,
            kept ? &*next_in_book++ : nullptr);
    keys::content_key(key, a.task->number, a.time, a.hash);
    reference.set_task(a.task->number);
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
