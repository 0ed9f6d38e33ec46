// The persisted side of the cache, and the statistics.
#include "storage/cache.hpp"
#include "storage/store_impl.hpp"

#include <algorithm>
#include <set>

namespace attune::storage {

namespace {

/// When an entry was used last: by the write, and in it.
struct moment {
  std::uint64_t stamp = 0;
  std::uint32_t position = 0;
  friend auto operator<=>(const moment&, const moment&) = default;
};

struct place_of_entry {
  moment used;
  std::uint64_t record = 0;
  std::uint32_t task = 0;
  key128 key;
};

struct noted_uses {
  std::unordered_map<key128, moment> last;
  std::uint64_t count = 0;
};

/// The last use of each key that was noted. What cannot be read is another order.
noted_uses uses_of(const database& db) {
  noted_uses out;
  v1::Uses message;
  [[maybe_unused]] const auto read =
      db.scan(family::meta, keys::tagged(keys::uses), [&](std::string_view key, std::string_view value) {
        if (key.size() != 9 || !message.ParseFromArray(value.data(), static_cast<int>(value.size()))) return true;
        const std::string_view all = message.keys();
        moment at{keys::get<std::uint64_t>(key, 1), 0};
        for (std::size_t k = 0; k + 16 <= all.size(); k += 16, ++at.position)
          out.last[*key128::from_bytes(all.substr(k, 16))] = at;
        out.count += at.position;
        return true;
      });
  return out;
}

/// Notes uses in the write that is being made, a few thousand keys to a message.
void stage_uses(store::impl& i, std::span<const key128> used) {
  constexpr std::size_t together = 4096;
  v1::Uses message;
  for (std::size_t k = 0; k < used.size(); k += together) {
    const auto some = used.subspan(k, std::min(together, used.size() - k));
    message.set_keys(some.data(), some.size_bytes());
    i.put(family::meta, keys::of_uses(++i.stamp), message);
  }
}
static_assert(sizeof(key128) == 16);

} // namespace

result<std::optional<record>> store::cached_record(const key128& key) const {
  const auto& i = *impl_;
  std::string text;
  const auto got = i.db->get(family::cache, key.view(), text);
  if (!got) return got.err();
  v1::CacheEntry entry;
  // What cannot be read is a miss, and verify() tells.
  if (!*got || !entry.ParseFromString(text)) return std::optional<record>();
  const task_info* task = nullptr;
  {
    const std::shared_lock guard(i.state_lock);
    if (entry.task() < i.tasks.size() && i.tasks[entry.task()].stored) task = &i.tasks[entry.task()];
  }
  if (task == nullptr) return std::optional<record>();
  return i.record_at(*task, entry.record());
}

std::uint64_t store::load_cache(lru_cache& into) {
  auto& i = *impl_;
  std::vector<place_of_entry> all;
  v1::CacheEntry entry;
  v1::Recency recency;
  const auto read = i.db->scan(family::cache, {}, [&](std::string_view key, std::string_view value) {
    const auto k = key128::from_bytes(key.substr(0, 16));
    if (key.size() == 16 && entry.ParseFromArray(value.data(), static_cast<int>(value.size())))
      all.push_back({{entry.stamp(), 0}, entry.record(), entry.task(), *k});
    else if (key.size() == 17 && !all.empty() && all.back().key == *k &&
             recency.ParseFromArray(value.data(), static_cast<int>(value.size())))
      // An older use belongs to a result that has been replaced since.
      all.back().used = std::max(all.back().used, moment{recency.stamp(), 0});
    return true;
  });
  if (!read) return 0;
  const auto uses = uses_of(*i.db);
  for (auto& e : all)
    if (const auto at = uses.last.find(e.key); at != uses.last.end()) e.used = std::max(e.used, at->second);
  std::vector<key128> gone;
  const auto newest = [](const place_of_entry& a, const place_of_entry& b) { return a.used > b.used; };
  if (all.size() > into.limits().entries) {
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(into.limits().entries);
    std::nth_element(all.begin(), end, all.end(), newest);
    for (auto e = end; e != all.end(); ++e) gone.push_back(e->key);
    all.erase(end, all.end());
  }
  // Read in the order in which the records lie, given on in the order of use.
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.task != b.task ? a.task < b.task : a.record < b.record; });
  struct loaded {
    moment used;
    std::uint32_t task = 0;
    cached entry;
  };
  std::vector<loaded> ready;
  ready.reserve(all.size());
  std::unordered_map<std::uint32_t, task_entry> entries;
  v1::Record message;
  const auto it = i.db->iterate(family::records);
  std::string wanted;
  for (const auto& e : all) {
    const task_info* task = nullptr;
    {
      const std::shared_lock guard(i.state_lock);
      if (e.task < i.tasks.size() && i.tasks[e.task].stored) task = &i.tasks[e.task];
    }
    if (task == nullptr) continue;
    keys::record_key(wanted, e.task, e.record);
    if (it->Valid()) it->Next();
    if (!it->Valid() || it->key() != slice(wanted)) it->Seek(slice(wanted));
    if (!it->Valid() || it->key() != slice(wanted)) continue;
    auto r = i.read_record(*task, e.record, {it->value().data(), it->value().size()}, message);
    if (!r || r->key != e.key) continue;
    if (entries.find(e.task) == entries.end()) {
      auto of = i.entry_of_task(task->task);
      if (!of) continue;
      entries.emplace(e.task, *std::move(of));
    }
    ready.push_back(
        {e.used,
         e.task,
         {e.key, task->task, r->config.canonical(), e.record, std::make_shared<const outcome>(std::move(r->result))}});
  }
  std::sort(ready.begin(), ready.end(), [](const auto& a, const auto& b) { return a.used < b.used; });
  for (auto& l : ready)
    for (const auto& k : into.restore(entries.at(l.task), std::move(l.entry))) gone.push_back(k);
  drop_cached(gone);
  if (uses.count > use_bound(into.statistics().entries)) {
    std::vector<key128> order;
    into.visit([&](const cached& c) { order.push_back(c.key); });
    order_cache(order);
  }
  return into.statistics().entries;
}

void store::touch(std::span<const key128> used) {
  auto& i = *impl_;
  const std::lock_guard guard(i.write_lock);
  if (used.empty() || i.read_only) return;
  i.begin_group();
  stage_uses(i, used);
  [[maybe_unused]] const auto done = i.finish_group(false);
}

void store::order_cache(std::span<const key128> all) {
  auto& i = *impl_;
  const std::lock_guard guard(i.write_lock);
  if (i.read_only) return;
  i.begin_group();
  i.batch.DeleteRange(i.db->handle(family::meta), slice(keys::of_uses(0)), slice(keys::of_uses(i.stamp + 1)));
  stage_uses(i, all);
  [[maybe_unused]] const auto done = i.finish_group(false);
}

void store::drop_cached(std::span<const key128> gone) {
  auto& i = *impl_;
  const std::lock_guard guard(i.write_lock);
  if (gone.empty() || i.read_only) return;
  i.begin_group();
  for (const auto& k : gone) {
    i.batch.Delete(i.db->handle(family::cache), slice(k.view()));
    i.batch.Delete(i.db->handle(family::cache), slice(keys::of_recency(k)));
  }
  [[maybe_unused]] const auto done = i.finish_group(false);
}

namespace {

/// A damaged count is begun anew: it is a nicety.
v1::Counters counters_in(const database& db) {
  v1::Counters out;
  std::string text;
  const auto got = db.get(family::meta, keys::tagged(keys::counters), text);
  if (!got || !*got || !out.ParseFromString(text)) out.Clear();
  return out;
}

} // namespace

void store::count(const cache_figures& since_last) {
  auto& i = *impl_;
  const std::lock_guard guard(i.write_lock);
  if (i.read_only) return;
  auto message = counters_in(*i.db);
  message.set_hits(message.hits() + since_last.hits);
  message.set_evicted(message.evicted() + since_last.evicted);
  for (std::size_t c = 0; c < miss_cause_count; ++c) {
    if (since_last.causes[c] == 0) continue;
    const std::string name = to_string(static_cast<miss_cause>(c));
    v1::Count* at = nullptr;
    for (auto& m : *message.mutable_misses())
      if (m.cause() == name) at = &m;
    if (at == nullptr) {
      at = message.add_misses();
      at->set_cause(name);
    }
    at->set_count(at->count() + since_last.causes[c]);
  }
  i.begin_group();
  i.put(family::meta, keys::tagged(keys::counters), message);
  [[maybe_unused]] const auto done = i.finish_group(false);
}

result<store_statistics> store::statistics() const {
  auto& i = *impl_;
  store_statistics out;
  out.schema = keys::schema;
  {
    std::set<digest> targets;
    const std::shared_lock guard(i.state_lock);
    for (const auto& t : i.tasks) {
      if (!t.stored) continue;
      ++out.tasks;
      out.records += t.counts.records;
      out.failures += t.counts.failures;
      targets.insert(t.target);
    }
    out.targets = targets.size();
  }
  if (auto read = i.db->scan(family::cache, {},
                             [&](std::string_view key, std::string_view) {
                               out.cache_entries += key.size() == 16 ? 1 : 0;
                               return true;
                             });
      !read)
    return read.err();
  const auto counters = counters_in(*i.db);
  out.hits = counters.hits();
  out.evicted = counters.evicted();
  for (const auto& m : counters.misses()) out.misses.emplace_back(m.cause(), m.count());
  out.bytes = i.place.bytes();
  return out;
}

} // namespace attune::storage
