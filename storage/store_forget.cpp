// Taking records out on purpose.
#include "storage/retention.hpp"
#include "storage/store_impl.hpp"

#include <algorithm>

namespace attune::storage {

namespace {

/// Records that go in one write: a batch of some tens of megabytes.
constexpr std::size_t forgotten_together = 500'000;

struct doomed {
  task_info* task = nullptr;
  std::vector<record_id> gone;
};

bool names_one_of(const v1::SessionStep& step, const std::vector<doomed>& all) {
  const auto hit = [&](const v1::SessionStep& one) {
    if (!one.has_record()) return false;
    const auto at =
        std::find_if(all.begin(), all.end(), [&](const doomed& d) { return d.task->number == one.record().task(); });
    return at != all.end() && std::binary_search(at->gone.begin(), at->gone.end(), one.record().record());
  };
  return hit(step) || std::any_of(step.more().begin(), step.more().end(), hit);
}

/// Takes what these sessions' steps name out of what goes.
status hold_back(const database& db, std::span<const std::string> under_way, std::vector<doomed>& all,
                 std::vector<forgotten>& told) {
  v1::SessionStep step;
  const auto hold = [&](const v1::SessionStep& one) {
    if (!one.has_record()) return;
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (all[k].task->number != one.record().task()) continue;
      auto& gone = all[k].gone;
      const auto at = std::lower_bound(gone.begin(), gone.end(), one.record().record());
      if (at == gone.end() || *at != one.record().record()) continue;
      gone.erase(at);
      --told[k].records;
      ++told[k].kept;
      ++told[k].held;
    }
  };
  for (const auto& id : under_way) {
    auto read = db.scan(family::sessions, keys::steps_of(id), [&](std::string_view, std::string_view value) {
      if (!step.ParseFromArray(value.data(), static_cast<int>(value.size()))) return true;
      hold(step);
      for (const auto& one : step.more()) hold(one);
      return true;
    });
    if (!read) return read;
  }
  return {};
}

/// The sessions with steps that name records which go.
result<std::vector<std::string>> sessions_resting_on(const database& db, const std::vector<doomed>& all) {
  std::vector<std::string> out;
  v1::SessionStep step;
  auto read = db.scan(family::sessions, keys::tagged(keys::step), [&](std::string_view key, std::string_view value) {
    if (key.size() < 1 + 1 + 8) return true;
    const auto id = key.substr(1, key.size() - 1 - 1 - 8);
    if (!out.empty() && out.back() == id) return true;
    if (step.ParseFromArray(value.data(), static_cast<int>(value.size())) && names_one_of(step, all))
      out.emplace_back(id);
    return true;
  });
  if (!read) return read.err();
  return out;
}

status forget_sessions(store::impl& i, const std::vector<std::string>& ids) {
  if (ids.empty()) return {};
  i.begin_group();
  auto* sessions = i.db->handle(family::sessions);
  for (const auto& id : ids) {
    const std::string first = keys::steps_of(id);
    std::string behind = first;
    behind.back() = '\1';
    i.batch.Delete(sessions, slice(keys::tagged(keys::session, id)));
    i.batch.DeleteRange(sessions, slice(first), slice(behind));
  }
  if (auto done = i.finish_group(true); !done) return done;
  i.last_state = nullptr;
  for (const auto& id : ids) i.session_states.erase(id);
  return {};
}

/// Takes the records out, and what refers to them: the cache's entries, the counts. The best list is marked as one to
/// be made anew, which happens behind the write.
status forget_records(store::impl& i, const doomed& what, std::uint64_t& entries) {
  auto& task = *what.task;
  const best_table unknown(task.direction, {}, std::nullopt, false);
  v1::Record message;
  std::string text;
  for (std::size_t at = 0; at < what.gone.size(); at += forgotten_together) {
    i.begin_group();
    if (auto ready = i.prepare(task); !ready) return ready;
    auto& now = i.changed[task.at_group];
    now.best = unknown;
    task.rebuilt = 0;
    const auto end = std::min(what.gone.size(), at + forgotten_together);
    for (std::size_t k = at; k < end; ++k) {
      const auto key = keys::of_record(task.number, what.gone[k]);
      const auto got = i.db->get(family::records, key, text);
      if (!got) return got.err();
      if (!*got || !message.ParseFromString(text)) continue;
      i.batch.Delete(i.db->handle(family::records), slice(key));
      --now.counts.records;
      now.counts.failures -= message.outcome().has_failed() ? 1 : 0;
      ++now.counts.forgotten;
      key128 of;
      if (!convert::from(message.key(), of)) continue;
      if (const auto e = i.book->find(of); e && e->record == what.gone[k] && i.book->drop(of)) ++entries;
    }
    if (auto done = i.finish_group(true); !done) return done;
  }
  return {};
}

} // namespace

result<std::vector<forgotten>> store::forget(std::span<const digest> tasks, const retention& how, bool dry_run,
                                             std::span<const std::string> under_way) {
  auto& i = *impl_;
  const std::lock_guard guard(i.write_lock);
  if (i.read_only && !dry_run)
    return error{errc::store_unusable, "the store '" + path() + "' is open for reading only", {}};
  std::vector<forgotten> out;
  std::vector<doomed> all;
  for (const auto& key : tasks) {
    auto* task = i.known(key);
    if (task == nullptr || !task->stored) continue;
    retention_choice choice(how, task->direction);
    std::uint64_t records = 0;
    std::vector<record_id> made; // by sessions under way: their steps are perhaps not told yet
    auto read = records_of(key, [&](const record& r) {
      ++records;
      choice.add(r);
      if (!r.session.empty() && std::find(under_way.begin(), under_way.end(), r.session) != under_way.end())
        made.push_back(r.id);
      return true;
    });
    if (!read) return read.err();
    auto chosen = choice.choose();
    const auto held =
        std::erase_if(chosen.gone, [&](record_id id) { return std::binary_search(made.begin(), made.end(), id); });
    forgotten f;
    f.task = key;
    f.records = chosen.gone.size();
    f.kept = records - f.records;
    f.folded = chosen.folded;
    f.best = chosen.best;
    f.boundary = chosen.boundary;
    f.reservoir = chosen.reservoir;
    f.newer = chosen.newer;
    f.held = held;
    out.push_back(f);
    all.push_back({task, std::move(chosen.gone)});
  }
  if (auto held = hold_back(*i.db, under_way, all, out); !held) return held.err();
  const auto sessions = sessions_resting_on(*i.db, all);
  if (!sessions) return sessions.err();
  if (!out.empty()) out.front().sessions = sessions->size();
  if (dry_run) return out;
  i.forgot = true;
  // First what refers to the records, so that whatever is interrupted fits forgotten_together.
  if (auto done = forget_sessions(i, *sessions); !done) return done.err();
  for (std::size_t k = 0; k < all.size(); ++k)
    if (auto done = forget_records(i, all[k], out[k].cache_entries); !done) return done.err();
  return out;
}

} // namespace attune::storage
