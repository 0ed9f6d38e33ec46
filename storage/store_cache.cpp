// The persisted side of the cache.
#include "storage/cache.hpp"
#include "storage/cache_migration.hpp"
#include "storage/store_impl.hpp"

#include <algorithm>
#include <unordered_set>

namespace attune::storage {

namespace {

/// How many other tasks of a workload are asked for a configuration, to tell the cause of a miss: the newest.
constexpr std::size_t most_relatives = 16;

/// Reads the records that cache entries name. They lie about as the entries follow each other: the next one is tried
/// before a search.
class entry_reader {
public:
  explicit entry_reader(const store::impl& of) : of_(of), records_(of.db->iterate(family::records)) {}
  std::optional<cached> read(const key128& key, std::uint32_t task_number, record_id id) {
    const auto* task = of_.task_of(task_number);
    if (task == nullptr) return std::nullopt;
    keys::record_key(wanted_, task_number, id);
    if (records_->Valid()) records_->Next();
    if (!records_->Valid() || records_->key() != slice(wanted_)) records_->Seek(slice(wanted_));
    if (!records_->Valid() || records_->key() != slice(wanted_)) return std::nullopt;
    auto r = of_.read_record(*task, id, {records_->value().data(), records_->value().size()}, message_);
    if (!r || r->key != key) return std::nullopt;
    return cached{key, task->task, r->config.canonical(), id, std::make_shared<const outcome>(std::move(r->result))};
  }

private:
  const store::impl& of_;
  std::unique_ptr<rocksdb::Iterator> records_;
  std::string wanted_;
  v1::Record message_;
};

/// Tells what a task that is asked about differs in from others of its workload.
class relatives {
public:
  explicit relatives(const store::impl& of) : of_(of) {}

  miss_cause cause_of(const trial& t) {
    const auto& id = t.of->identity;
    if (id.task_key != asked_) look_around(id);
    auto cause = miss_cause::unseen;
    task_identity other;
    for (const auto& [task, why] : around_) {
      if (cause != miss_cause::unseen && weight(why) >= weight(cause)) continue;
      other.task_key = task;
      if (const auto e = of_.book->find(measurement_key(other, t.canonical)); e && e->record != 0) cause = why;
    }
    return cause;
  }

private:
  /// The lesser difference is the cause.
  static int weight(miss_cause c) { return c == miss_cause::other_source ? 0 : c == miss_cause::other_method ? 1 : 2; }

  void look_around(const task_identity& id) {
    asked_ = id.task_key;
    around_.clear();
    std::vector<digest> found;
    {
      const std::shared_lock guard(of_.state_lock);
      const auto at = of_.by_workload.find(id.workload_key);
      if (at == of_.by_workload.end()) return;
      for (auto n = at->second.rbegin(); n != at->second.rend() && found.size() < most_relatives; ++n)
        if (const auto& t = of_.tasks[*n]; t.stored && t.counts.records > 0 && t.task != id.task_key)
          found.push_back(t.task);
    }
    for (const auto& d : found)
      if (const auto entry = of_.entry_of_task(d))
        around_.emplace_back(d, difference(entry->target == id.target_key, entry->method_form, id.method_form));
  }

  const store::impl& of_;
  digest asked_;
  std::vector<std::pair<digest, miss_cause>> around_;
};

} // namespace

result<std::optional<record>> store::cached_record(const key128& key) const {
  const auto& i = *impl_;
  const auto at = i.book->find(key);
  const auto* task = at && at->record != 0 ? i.task_of(at->task) : nullptr;
  if (task == nullptr) return std::optional<record>();
  return i.record_at(*task, at->record);
}

std::optional<cached> store::impl::cached_at(const key128& key, const cache_book::entry& at,
                                             v1::Record& message) const {
  const auto* task = task_of(at.task);
  if (task == nullptr) return std::nullopt;
  std::string text;
  const auto got = db->get(family::records, keys::of_record(at.task, at.record), text);
  if (!got || !*got) return std::nullopt;
  auto r = read_record(*task, at.record, text, message);
  if (!r || r->key != key) return std::nullopt;
  return cached{key, task->task, r->config.canonical(), at.record,
                std::make_shared<const outcome>(std::move(r->result))};
}

std::vector<recalled> store::recall(std::span<const trial_ptr> asked) const {
  const auto& i = *impl_;
  std::vector<recalled> out(asked.size());
  v1::Record message;
  relatives others(i);
  for (std::size_t k = 0; k < asked.size(); ++k) {
    const auto& t = *asked[k];
    const auto at = i.book->find(t.key);
    if (at && at->record == 0) {
      out[k].cause = miss_cause::evicted_before;
      continue;
    }
    if (at) out[k].entry = i.cached_at(t.key, *at, message);
    if (out[k].entry && (out[k].entry->canonical != t.canonical || out[k].entry->task != t.of->identity.task_key))
      out[k].entry.reset();
    if (!out[k].entry) out[k].cause = others.cause_of(t);
  }
  return out;
}

bool store::knows_workload(const digest& workload) const {
  const std::shared_lock guard(impl_->state_lock);
  const auto at = impl_->by_workload.find(workload);
  return at != impl_->by_workload.end() && std::any_of(at->second.begin(), at->second.end(), [&](std::uint32_t n) {
           return impl_->tasks[n].counts.records > 0;
         });
}

void store::touch(std::span<const cache_use> used) {
  auto& i = *impl_;
  const std::lock_guard guard(i.write_lock);
  if (used.empty() || i.read_only) return;
  // The last use of each is what counts.
  std::vector<const cache_use*> last;
  std::unordered_set<key128> seen;
  for (auto u = used.rbegin(); u != used.rend(); ++u)
    if (seen.insert(u->key).second) last.push_back(&*u);
  if (!i.book->at_ease(i.limits)) i.fold_uses();
  i.begin_group();
  i.book->begin_uses(i.book->at_ease(i.limits));
  for (auto u = last.rbegin(); u != last.rend(); ++u) {
    const auto& [key, id, fresh] = **u;
    if (i.book->use(key, fresh) || id == 0) continue;
    // It has left the cache meanwhile.
    const auto r = find(id);
    if (!r || !*r || (*r)->key != key || !conclusive((*r)->result)) continue;
    const auto* task = i.known((*r)->task);
    i.book->put(key, task->number, id, cache_cost((*r)->config.canonical().size(), (*r)->result));
  }
  i.book->end_uses();
  [[maybe_unused]] const auto done = i.finish_group(false);
  i.evict_rest();
}

void store::impl::evict_rest() {
  if (!book->over(limits)) return;
  begin_group();
  [[maybe_unused]] const auto done = finish_group(false);
}

void store::impl::fold_uses() {
  if (!book->logged()) return;
  begin_group();
  book->fold();
  // Where it fails they stay in the log.
  [[maybe_unused]] const auto done = finish_group(false);
}

void store::drop_cached(std::span<const key128> gone) {
  auto& i = *impl_;
  const std::lock_guard guard(i.write_lock);
  if (gone.empty() || i.read_only) return;
  i.begin_group();
  for (const auto& k : gone) i.book->drop(k);
  [[maybe_unused]] const auto done = i.finish_group(false);
}

result<std::uint64_t> store::drop_cached(const digest& task) {
  auto& i = *impl_;
  const std::lock_guard guard(i.write_lock);
  if (i.read_only) return error{errc::store_unusable, "the store '" + path() + "' is open for reading only", {}};
  const std::uint64_t none = 0;
  const auto* info = i.known(task);
  if (info == nullptr) return none;
  std::uint64_t dropped = 0;
  v1::Record message;
  key128 key;
  i.begin_group();
  auto read = i.db->scan(family::records, keys::tagged(keys::record, info->number), [&](auto, std::string_view value) {
    if (message.ParseFromArray(value.data(), static_cast<int>(value.size())) &&
        convert::from(message.key(), key).ok() && i.book->drop(key))
      ++dropped;
    return true;
  });
  if (!read) return read.err();
  if (auto done = i.finish_group(true); !done) return done.err();
  return dropped;
}

status store::visit_cache(const std::function<bool(const cached&)>& visit) const {
  const auto& i = *impl_;
  entry_reader reader(i);
  if (i.place.schema().value_or(keys::schema) < 3) {
    const auto order = old_cache_order(*i.db);
    if (!order) return order.err();
    for (const auto& e : *order)
      if (const auto c = reader.read(e.key, e.task, e.record); c && !visit(*c)) break;
    return {};
  }
  v1::CachePlace place;
  key128 key;
  // Those whose last use is in the log stand where that says.
  const auto log = i.book->log();
  std::unordered_map<key128, std::uint64_t> later;
  for (const auto& [stamp, k] : log) later.emplace(k, stamp);
  auto next = log.begin();
  bool going = true;
  const auto visit_log = [&](std::uint64_t before) {
    for (; going && next != log.end() && next->first < before; ++next) {
      const auto e = i.book->find(next->second);
      if (!e || e->record == 0 || e->stamp >= next->first) continue;
      const auto c = reader.read(next->second, e->task, e->record);
      going = !c || visit(*c);
    }
    return going;
  };
  auto read = i.db->scan(family::cache, std::string(1, keys::order), [&](std::string_view row, std::string_view value) {
    if (row.size() != keys::place_size || !place.ParseFromArray(value.data(), static_cast<int>(value.size())) ||
        !convert::from(place.key(), key).ok())
      return true;
    const auto e = i.book->find(key);
    const auto stamp = keys::get<std::uint64_t>(row, 1);
    if (!e || e->record == 0 || e->stamp != stamp) return true;
    if (!visit_log(stamp)) return false;
    if (const auto at = later.find(key); at != later.end() && at->second > stamp) return true;
    const auto c = reader.read(key, e->task, e->record);
    going = !c || visit(*c);
    return going;
  });
  if (read && going) visit_log(~std::uint64_t{0});
  return read;
}

status store::impl::migrate_cache() {
  const auto order = old_cache_order(*db);
  if (!order) return order.err();
  entry_reader reader(*this);
  begin_group();
  book->clear_sums();
  auto* cache = db->handle(family::cache);
  batch.DeleteRange(db->handle(family::meta), slice(keys::of_uses(0)), slice(keys::of_uses(~std::uint64_t{0})));
  // Gone by what they are in this very write: an entry that cannot be read, and every note of a later use.
  if (auto read = db->scan(family::cache, {},
                           [&](std::string_view key, std::string_view) {
                             batch.Delete(cache, slice(key));
                             return true;
                           });
      !read)
    return read;
  for (const auto& e : *order)
    if (const auto c = reader.read(e.key, e.task, e.record)) book->adopt(e.key, e.task, e.record, c->bytes());
  return finish_group(true);
}

void store::impl::count_evicted(std::uint64_t n) {
  counters.set_evicted(counters.evicted() + n);
  put(family::meta, keys::tagged(keys::counters), counters);
}

void store::count(const cache_figures& since_last, std::span<const task_uses> by_task) {
  auto& i = *impl_;
  const std::lock_guard guard(i.write_lock);
  if (i.read_only) return;
  auto& all = i.counters;
  all.set_hits(all.hits() + since_last.hits);
  all.set_evicted(all.evicted() + since_last.evicted);
  all.set_saved_ns(all.saved_ns() + since_last.saved.count());
  all.set_spent_ns(all.spent_ns() + since_last.spent.count());
  for (std::size_t c = 0; c < miss_cause_count; ++c) {
    if (since_last.causes[c] == 0) continue;
    const std::string name = to_string(static_cast<miss_cause>(c));
    v1::Count* at = nullptr;
    for (auto& m : *all.mutable_misses())
      if (m.cause() == name) at = &m;
    if (at == nullptr) {
      at = all.add_misses();
      at->set_cause(name);
    }
    at->set_count(at->count() + since_last.causes[c]);
  }
  i.begin_group();
  i.put(family::meta, keys::tagged(keys::counters), all);
  std::string text;
  v1::TaskUses uses;
  for (const auto& u : by_task) {
    // Of a task without any record nobody asks.
    const auto* task = i.known(u.task);
    if (task == nullptr) continue;
    const auto key = keys::tagged(keys::task_uses, task->number);
    const auto got = i.db->get(family::meta, key, text);
    if (!got || !*got || !uses.ParseFromString(text)) uses.Clear();
    uses.set_hits(uses.hits() + u.hits);
    uses.set_misses(uses.misses() + u.misses);
    i.put(family::meta, key, uses);
  }
  [[maybe_unused]] const auto done = i.finish_group(false);
}

} // namespace attune::storage
