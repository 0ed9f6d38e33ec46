#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/store_access.hpp"
#include "core/clock.hpp"

#include <ostream>

namespace attune::cli {

namespace {

/// Whether the method's canonical form (core/task.cpp) names this source file.
bool built_from(const std::string& method_form, const std::string& file) {
  return method_form.find("source.name=" + std::to_string(file.size()) + ":" + file + ";") != std::string::npos;
}

bool chosen(const storage::task_entry& t, const db_options& o) {
  if (!o.task.empty() && t.name != o.task && t.task.hex() != o.task) return false;
  if (!o.target.empty() && !matches_target(t.target_facts, o.target)) return false;
  return o.source.empty() || built_from(t.method_form, o.source);
}

std::string plural(std::uint64_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

int forget_in_cache(const storage::store& store, storage::store_port* change,
                    const std::vector<storage::task_entry>& tasks, output& io) {
  std::uint64_t entries = 0;
  const bool dry_run = change == nullptr;
  if (dry_run) {
    const auto read = store.visit_cache([&](const storage::cached& c) {
      for (const auto& t : tasks) entries += t.task == c.task ? 1 : 0;
      return true;
    });
    if (!read) return io.fail(read.err());
  } else {
    for (const auto& t : tasks) {
      const auto dropped = change->drop_cached(t.task);
      if (!dropped) return io.fail(dropped.err());
      entries += *dropped;
    }
  }
  if (io.json())
    io.document({{"dry_run", dry_run}, {"tasks", tasks.size()}, {"cache_entries", count_json(entries)}});
  else
    io.out() << (dry_run ? "would forget " : "forgot ") << entries << " cache entries of " << tasks.size()
             << (tasks.size() == 1 ? " task" : " tasks") << "; the records stay\n";
  return exit_code::done;
}

} // namespace

int run_forget(const db_options& options, const std::string& folder, output& io) {
  // What is there is read as it is; changes go through whoever owns the store.
  std::unique_ptr<storage::store_port> change;
  std::shared_ptr<storage::store> looked_at;
  std::shared_ptr<const storage::store> store;
  if (options.dry_run) {
    auto opened = open_to_read(folder);
    if (!opened) return io.fail(opened.err());
    if (!*opened) return io.fail({errc::store_unusable, "there is no store yet; attune tune makes one", folder});
    store = looked_at = std::move(*opened);
    for (const auto& notice : store->notices()) io.message(notice);
  } else {
    auto opened = open_to_change(folder);
    if (!opened) return io.fail(opened.err());
    change = std::move(*opened);
    for (const auto& notice : change->notices()) io.message(notice);
    auto now = change->view();
    if (!now) return io.fail(now.err());
    store = *std::move(now);
  }
  std::vector<storage::task_entry> tasks;
  std::vector<digest> keys;
  const auto read = store->tasks([&](const storage::task_entry& t, const storage::task_counts& counts) {
    if (counts.records == 0 || !chosen(t, options)) return;
    tasks.push_back(t);
    keys.push_back(t.task);
  });
  if (!read) return io.fail(read.err());
  if (tasks.empty()) io.message("no task in the store is one of these");
  if (options.cache_only) return forget_in_cache(*store, change.get(), tasks, io);

  storage::retention how;
  how.keep_best = options.keep_best;
  how.boundary = options.boundary;
  how.reservoir = options.reservoir;
  if (options.older_than) how.newer_than = system_time().wall() - *options.older_than;
  const auto done = change ? change->forget(keys, how) : looked_at->forget(keys, how, true);
  if (!done) return io.fail(done.err());

  storage::forgotten sum;
  json by_task = json::array();
  std::vector<std::vector<std::string>> rows{
      {"task", "target", options.dry_run ? "would go" : "gone", "stay", "best", "boundary", "sample", "newer"}};
  for (std::size_t k = 0; k < done->size(); ++k) {
    const auto& f = (*done)[k];
    const auto& t = tasks[k];
    sum.records += f.records;
    sum.kept += f.kept;
    sum.folded += f.folded;
    sum.cache_entries += f.cache_entries;
    sum.sessions += f.sessions;
    sum.held += f.held;
    by_task.push_back({{"task", t.name},
                       {"key", t.task.hex()},
                       {"target", arguments_json(t.target_facts)},
                       {"removed", count_json(f.records)},
                       {"folded", count_json(f.folded)},
                       {"kept", count_json(f.kept)},
                       {"best", count_json(f.best)},
                       {"boundary", count_json(f.boundary)},
                       {"reservoir", count_json(f.reservoir)},
                       {"newer", count_json(f.newer)},
                       {"held", count_json(f.held)}});
    rows.push_back({t.name, target{t.target_facts}.device(), std::to_string(f.records), std::to_string(f.kept),
                    std::to_string(f.best), std::to_string(f.boundary), std::to_string(f.reservoir),
                    std::to_string(f.newer)});
  }
  if (io.json()) {
    io.document({{"dry_run", options.dry_run},
                 {"removed", count_json(sum.records)},
                 {"folded", count_json(sum.folded)},
                 {"kept", count_json(sum.kept)},
                 {"cache_entries", count_json(sum.cache_entries)},
                 {"sessions", count_json(sum.sessions)},
                 {"tasks", std::move(by_task)}});
  } else {
    if (rows.size() > 1) io.out() << table(rows);
    io.out() << (options.dry_run ? "would forget " : "forgot ") << plural(sum.records, "record") << " ("
             << plural(sum.folded, "duplicate") << " among them) and " << plural(sum.sessions, "session") << "; "
             << plural(sum.kept, "record") << (sum.kept == 1 ? " stays" : " stay") << '\n';
    if (sum.held > 0)
      io.message(plural(sum.held, "record") +
                 " of searches that are under way stayed: forget them when these have ended");
    if (!options.dry_run && sum.records > 0) io.message("attune db compact gives back the space");
  }
  return exit_code::done;
}

} // namespace attune::cli
