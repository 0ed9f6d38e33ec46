// What the store counts.
#include "storage/cache.hpp"
#include "storage/store_impl.hpp"

#include <set>

namespace attune::storage {

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

void store::impl::load_counters() { counters = counters_in(*db); }

result<store_statistics> store::statistics() const {
  auto& i = *impl_;
  store_statistics out;
  out.schema = i.place.schema().value_or(keys::schema);
  {
    std::set<digest> targets;
    const std::shared_lock guard(i.state_lock);
    for (const auto& t : i.tasks) {
      if (!t.stored || t.counts.records == 0) continue;
      ++out.tasks;
      out.records += t.counts.records;
      out.failures += t.counts.failures;
      targets.insert(t.target);
    }
    out.targets = targets.size();
  }
  out.cache_entries = i.book->entries();
  out.cache_bytes = i.book->bytes();
  if (out.schema < 3) {
    // No sums yet.
    out.cache_entries = 0;
    auto read = i.db->scan(family::cache, {}, [&](std::string_view key, std::string_view) {
      out.cache_entries += key.size() == 16 ? 1 : 0;
      return true;
    });
    if (!read) return read.err();
  }
  const auto counters = counters_in(*i.db);
  out.hits = counters.hits();
  out.evicted = counters.evicted();
  out.saved = nanoseconds(counters.saved_ns());
  out.spent = nanoseconds(counters.spent_ns());
  for (const auto& m : counters.misses()) out.misses.emplace_back(m.cause(), m.count());
  out.bytes = i.place.bytes();
  return out;
}

result<std::vector<task_statistics>> store::statistics_by_task() const {
  auto& i = *impl_;
  std::vector<task_statistics> out;
  auto read = tasks([&](const task_entry& t, const task_counts& counts) {
    if (counts.records > 0) out.push_back({t, counts, 0, 0, 0});
  });
  if (!read) return read.err();
  std::string text;
  v1::TaskUses uses;
  for (auto& s : out) {
    const auto* task = i.known(s.task.task);
    const auto got = i.db->get(family::meta, keys::tagged(keys::task_uses, task->number), text);
    if (got && *got && uses.ParseFromString(text)) {
      s.hits = uses.hits();
      s.misses = uses.misses();
    }
    s.bytes = i.db->approximate_bytes(family::records, keys::tagged(keys::record, task->number),
                                      keys::tagged(keys::record, task->number + 1));
  }
  return out;
}

} // namespace attune::storage
