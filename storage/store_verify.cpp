// The verification of a whole store.
#include "storage/store_impl.hpp"

#include <algorithm>
#include <limits>

namespace attune::storage {

namespace {

constexpr std::size_t most_problems = 100;

struct checker {
  verify_report& out;
  void say(std::string what) {
    if (++out.problem_count <= most_problems) out.problems.push_back(std::move(what));
  }
};

struct verification {
  store::impl& i;
  const store& s;
  verify_report& out;
  checker problems{out};
  std::uint64_t forgotten = 0;

  void records_of(const task_info& task, const task_entry& entry);
  void runs(std::uint64_t records);
  void cache();
  void sessions();
};

} // namespace

void verification::records_of(const task_info& task, const task_entry& entry) {
  const std::string name = "task '" + entry.name + "' (" + task.task.hex().substr(0, 12) + "): ";
  std::vector<best_table::entry> history;
  std::uint64_t records = 0, failures = 0;
  record_id last = 0;
  v1::Record message;
  task_identity id;
  id.task_key = task.task;
  const auto read = i.db->scan(
      family::records, keys::tagged(keys::record, task.number), [&](std::string_view key, std::string_view value) {
        ++records;
        if (key.size() != keys::record_key_size) {
          problems.say(name + "a record has a damaged key");
          return true;
        }
        last = keys::get<std::uint64_t>(key, 5);
        auto r = i.read_record(task, last, value, message);
        if (!r) {
          problems.say(r.err().message);
          return true;
        }
        failures += r->result.failed() == nullptr ? 0 : 1;
        if (measurement_key(id, r->config.canonical()) != r->key)
          problems.say("record " + std::to_string(last) + ": its key is not that of its configuration");
        if (!conclusive(r->result)) return true;
        const auto* m = r->result.measured();
        history.push_back(
            {r->key, last, m != nullptr ? m->value : std::numeric_limits<double>::quiet_NaN(), r->counts_from});
        return true;
      });
  if (!read) problems.say(name + read.err().message);
  out.records += records;
  out.failures += failures;
  const bool at_end = task.counts.forgotten == 0 ? last == task.counts.last : last <= task.counts.last;
  forgotten += task.counts.forgotten;
  if (records != task.counts.records || failures != task.counts.failures || !at_end)
    problems.say(name + std::to_string(records) + " records and " + std::to_string(failures) +
                 " failures are there, the counts say " + std::to_string(task.counts.records) + " and " +
                 std::to_string(task.counts.failures));
  // The list as it is on the disk, not what this process made of it.
  std::string text;
  v1::BestList list;
  const auto got = i.db->get(family::best, keys::of_best(task.workload, task.target, task.method), text);
  if (!got || (*got && !list.ParseFromString(text))) return problems.say(name + "its best list cannot be read");
  const auto kept = table_of(task.direction, list);
  if (!kept) return problems.say(name + kept.err().message);
  if (kept->incomplete()) return; // marked as to be rebuilt: it is never answered from
  const auto right = best_table::of(task.direction, history);
  const auto a = kept->entries(), b = right.entries();
  const auto n = std::min(best_answered, b.size());
  if (std::min(best_answered, a.size()) != n ||
      !std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(n), b.begin()))
    problems.say(name + "its best list is not that of its records");
}

void verification::runs(std::uint64_t records) {
  std::uint64_t covered = 0, behind = 0;
  v1::IdRun run;
  const auto read =
      i.db->scan(family::records, keys::tagged(keys::id_run), [&](std::string_view key, std::string_view value) {
        if (key.size() != 9 || !run.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
          problems.say("the index of records by number is damaged");
          return true;
        }
        const auto first = keys::get<std::uint64_t>(key, 1);
        if (first < behind) problems.say("two runs of records overlap at " + std::to_string(first));
        behind = first + run.count();
        covered += run.count();
        return true;
      });
  if (!read) problems.say(read.err().message);
  if (covered != records + forgotten)
    problems.say("the index names " + std::to_string(covered) + " records, " + std::to_string(records) +
                 " are there and " + std::to_string(forgotten) + " were forgotten");
}

void verification::cache() {
  v1::CacheEntry entry;
  v1::CachePlace place;
  v1::Record message;
  std::string text;
  // Schemas 1 and 2 kept no places and no sums.
  const bool placed = i.place.schema().value_or(keys::schema) >= 3;
  std::uint64_t places = 0, with_place = 0, bytes = 0;
  const auto read = i.db->scan(family::cache, {}, [&](std::string_view key, std::string_view value) {
    if (key.size() == 17) return true;
    if (key.size() == keys::place_size) {
      ++places;
      return true;
    }
    if (key.size() != 16 || !entry.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
      problems.say("a cache entry is damaged");
      return true;
    }
    const bool there = entry.record() != 0;
    if (placed) {
      ++with_place;
      const auto at = keys::of_place(there ? keys::order : keys::evicted, entry.stamp());
      const auto got = i.db->get(family::cache, at, text);
      if (!got || !*got || !place.ParseFromString(text) || place.key() != key)
        problems.say("a cache entry has no place in the order of use");
    }
    if (!there) return true;
    ++out.cache_entries;
    bytes += entry.bytes();
    const auto got = i.db->get(family::records, keys::of_record(entry.task(), entry.record()), text);
    if (!got || !*got || !message.ParseFromString(text) || message.key() != key)
      problems.say("a cache entry names record " + std::to_string(entry.record()) + ", which is not its own");
    return true;
  });
  if (!read) problems.say(read.err().message);
  if (!placed) return;
  if (places != with_place)
    problems.say("the cache's order of use has " + std::to_string(places) + " places for " +
                 std::to_string(with_place) + " entries");
  if (out.cache_entries != i.book->entries() || bytes != i.book->bytes())
    problems.say("the cache has " + std::to_string(out.cache_entries) + " entries of " + std::to_string(bytes) +
                 " bytes, its sums say " + std::to_string(i.book->entries()) + " and " +
                 std::to_string(i.book->bytes()));
}

void verification::sessions() {
  std::vector<std::string> ids;
  auto read = s.sessions([&](const session_entry& e) { ids.push_back(e.id); });
  if (!read) problems.say(read.err().message);
  out.sessions = ids.size();
  for (const auto& id : ids) {
    read = s.session_steps(id, [&](const session_step&) { ++out.steps; });
    if (!read) problems.say(read.err().message);
  }
}

result<verify_report> store::verify() const {
  auto& i = *impl_;
  verify_report out;
  // No write in between: what is compared belongs together.
  const std::lock_guard writer(i.write_lock);
  verification v{i, *this, out};
  for (const auto& n : i.losses) v.problems.say(n);
  if (auto sums = i.db->verify_checksums(); !sums) v.problems.say(sums.err().message);
  std::vector<const task_info*> all;
  {
    const std::shared_lock guard(i.state_lock);
    for (const auto& t : i.tasks)
      if (t.stored) all.push_back(&t);
  }
  out.tasks = all.size();
  for (const auto* t : all) {
    const auto entry = i.entry_of_task(t->task);
    if (!entry) {
      v.problems.say(entry.err().message);
      continue;
    }
    v.records_of(*t, *entry);
  }
  v.runs(out.records);
  v.cache();
  v.sessions();
  return out;
}

} // namespace attune::storage
