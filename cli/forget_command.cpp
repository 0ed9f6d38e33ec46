#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/store_access.hpp"
#include "core/clock.hpp"
#include "core/text.hpp"

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

command_spec forget_command() {
  struct words {
    std::string task, target, source, older_than, keep_best, boundary, reservoir;
    bool cache_only = false, all = false, dry_run = false;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"forget", "Take records out, by a policy of what stays"};
  c.value("--task", "NAME", w->task, "Of tasks of this name, or with this key (as best --json shows it)");
  c.value("--target", "T", w->target, "Of this target: a device's name, or facts as in device=board1,flags=-O2");
  c.value("--source", "FILE", w->source, "Of tasks that are built from this source file, as the spec names it");
  c.value("--older-than", "D", w->older_than, "Only what ended longer ago, with a unit: 12h, 30d");
  c.value("--keep-best", "K", w->keep_best, "Of each task, the K best configurations stay");
  c.value("--keep-boundary", "B", w->boundary,
          "As many failures next to a measured configuration stay, and as many of the slowest");
  c.value("--reservoir", "N", w->reservoir, "A sample of N of the rest stays");
  c.flag("--cache", w->cache_only, "Records stay; only the cache forgets, so that all is measured again");
  c.flag("--all", w->all, "Of every task, without any of the choices above");
  c.flag("--dry-run", w->dry_run, "Say what would go; change nothing");
  c.more = R"(All choices must hold. Without any of --keep-best, --keep-boundary and --reservoir
everything that was chosen goes. With them each task is thinned: for a configuration
its newest result counts, older ones of it go; of these the best, the boundary and the
sample stay. The best of what stays is exact. Sessions that rest on what goes begin
anew. Nobody else may use the store meanwhile. attune db compact gives back the space.

  attune db forget --older-than 90d --keep-best 64 --keep-boundary 32 --reservoir 1000
  attune db forget --task gemm --target board1 --dry-run
  attune db forget --source kernel.cpp --cache)";
  c.read = [w](const typed_line&) -> reading {
    db_options o;
    o.action = db_options::what::forget;
    o.task = w->task;
    o.target = w->target;
    o.source = w->source;
    if (!w->older_than.empty()) {
      const auto d = parse_duration(w->older_than);
      if (!d) throw usage_fault{"--older-than: " + d.err().message};
      o.older_than = *d;
    }
    if (!w->keep_best.empty()) o.keep_best = read_count<std::size_t>("--keep-best", w->keep_best, 1);
    if (!w->boundary.empty()) o.boundary = read_count<std::size_t>("--keep-boundary", w->boundary, 1);
    if (!w->reservoir.empty()) o.reservoir = read_count<std::size_t>("--reservoir", w->reservoir, 1);
    o.cache_only = w->cache_only;
    o.dry_run = w->dry_run;
    const bool keeps = o.keep_best > 0 || o.boundary > 0 || o.reservoir > 0;
    if (o.cache_only && (keeps || o.older_than))
      throw usage_fault{"--cache forgets whole tasks: it goes with --task, --target, --source and --all alone"};
    const bool chosen = keeps || o.older_than || !o.task.empty() || !o.target.empty() || !o.source.empty();
    if (!chosen && !w->all)
      throw usage_fault{"nothing says what is to be forgotten: --task, --target, --source, --older-than, --keep-best, "
                        "--keep-boundary, --reservoir, or --all"};
    if (chosen && w->all) throw usage_fault{"--all means every record of every task: it stands alone"};
    return o;
  };
  return c;
}

} // namespace attune::cli
