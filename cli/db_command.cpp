#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/store_access.hpp"
#include "core/clock.hpp"

#include <ostream>

namespace attune::cli {

namespace {

int show_statistics(const storage::store& store, const std::string& folder, output& io) {
  const auto s = store.statistics();
  if (!s) return io.fail(s.err());
  const auto tasks = store.statistics_by_task();
  if (!tasks) return io.fail(tasks.err());
  if (io.json()) {
    auto out = statistics_json(*s);
    out.update(statistics_by_task_json(*tasks));
    io.document(out);
  } else {
    io.out() << render_statistics(*s, folder) << render_statistics_by_task(*tasks, system_time().wall());
  }
  return exit_code::done;
}

int verify(const storage::store& store, output& io) {
  const auto report = store.verify();
  if (!report) return io.fail(report.err());
  if (io.json()) {
    io.document({{"ok", report->ok()},
                 {"records", count_json(report->records)},
                 {"failures", count_json(report->failures)},
                 {"tasks", count_json(report->tasks)},
                 {"cache_entries", count_json(report->cache_entries)},
                 {"sessions", count_json(report->sessions)},
                 {"steps", count_json(report->steps)},
                 {"problem_count", count_json(report->problem_count)},
                 {"problems", report->problems}});
  } else {
    io.out() << (report->ok() ? "clean: " : "damaged: ") << report->records << " records, " << report->tasks
             << " tasks, " << report->cache_entries << " cache entries, " << report->sessions << " sessions with "
             << report->steps << " steps\n";
    for (const auto& p : report->problems) io.out() << "  " << p << '\n';
    if (report->problem_count > report->problems.size())
      io.out() << "  and " << report->problem_count - report->problems.size() << " more\n";
  }
  return report->ok() ? exit_code::done : exit_code::partial;
}

result<storage::store_statistics> statistics_of(const storage::store_port& store) {
  const auto now = store.view();
  if (!now) return now.err();
  return (*now)->statistics();
}

int compact(const std::string& folder, output& io) {
  const auto store = open_to_change(folder);
  if (!store) return io.fail(store.err());
  for (const auto& notice : (*store)->notices()) io.message(notice);
  const auto before = statistics_of(**store);
  if (!before) return io.fail(before.err());
  if (const auto done = (*store)->compact(); !done) return io.fail(done.err());
  const auto after = statistics_of(**store);
  if (!after) return io.fail(after.err());
  if (io.json())
    io.document({{"bytes_before", count_json(before->bytes)}, {"bytes_after", count_json(after->bytes)}});
  else
    io.out() << human_bytes(before->bytes) << " before, " << human_bytes(after->bytes) << " after\n";
  return exit_code::done;
}

int back_up(const db_options& options, const std::string& folder, output& io) {
  // One that nobody uses is copied as its owner, which is quick. What is in use, cannot be written or has to stay as an
  // older version made it is only read.
  auto store = open_to_read(folder);
  if (!store) return io.fail(store.err());
  if (!*store) return io.fail({errc::store_unusable, "there is no store yet; attune tune makes one", folder});
  bool as_owner = false;
  if ((*store)->is_current()) {
    store->reset();
    store = open_as_owner(folder);
    as_owner = store.ok();
    if (!as_owner) store = open_to_read(folder);
    if (!store) return io.fail(store.err());
  }
  for (const auto& notice : (*store)->notices()) io.message(notice);
  if (const auto done = (*store)->backup(options.folder); !done) return io.fail(done.err());
  const auto copy = storage::store::open(options.folder, {.read_only = true, .create = false});
  if (!copy) return io.fail(copy.err());
  const auto s = (*copy)->statistics();
  if (!s) return io.fail(s.err());
  if (io.json())
    io.document({{"folder", options.folder},
                 {"records", count_json(s->records)},
                 {"bytes", count_json(s->bytes)},
                 {"how", as_owner ? "checkpoint" : "copy"}});
  else
    io.out() << s->records << " records, " << human_bytes(s->bytes) << " in " << options.folder
             << (as_owner ? "" : " (the store is in use, or cannot be written: as it was a moment ago)") << '\n';
  return exit_code::done;
}

} // namespace

int run_db(const db_options& options, const std::string& folder, output& io) {
  using what = db_options::what;
  if (options.action == what::backup) return back_up(options, folder, io);
  if (options.action == what::forget) return run_forget(options, folder, io);
  if (options.action == what::compact) return compact(folder, io);
  const auto store = open_to_read(folder);
  if (!store) return io.fail(store.err());
  if (!*store) return io.fail({errc::store_unusable, "there is no store yet; attune tune makes one", folder});
  for (const auto& notice : (*store)->notices()) io.message(notice);
  return options.action == what::verify ? verify(**store, io) : show_statistics(**store, folder, io);
}

namespace {

command_spec db_stats_command() {
  command_spec c{"stats", "How many records, tasks and targets there are, and how the cache does"};
  c.more = R"(For the whole store, then by target and by task: records, failures, how often the
cache had the answer, the size of the records, the age of the newest. The speed-up is
that of the runs and builds: what hits saved, to what was spent; 1 / (1 - hit rate) is
what it would be if all took the same time.)";
  c.read = [](const typed_line&) -> reading {
    db_options o;
    o.action = db_options::what::stats;
    return o;
  };
  return c;
}

command_spec db_verify_command() {
  command_spec c{"verify", "Read everything and check that it fits together"};
  c.more = R"(Checksums of all files, every message, every reference and count, and the best
against the records. Exit code 0: clean; 4: damaged, each damage on a line; 3: it
cannot be read at all. Nothing is changed.)";
  c.read = [](const typed_line&) -> reading {
    db_options o;
    o.action = db_options::what::verify;
    return o;
  };
  return c;
}

command_spec db_compact_command() {
  command_spec c{"compact", "Give back the space of what was overwritten or forgotten"};
  c.more = R"(Nobody else may use the store meanwhile. Needs the space of its largest part once
more while it works.)";
  c.read = [](const typed_line&) -> reading {
    db_options o;
    o.action = db_options::what::compact;
    return o;
  };
  return c;
}

command_spec db_backup_command() {
  struct words {
    std::string folder;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"backup", "Make a consistent copy of the store, also while it is tuned on"};
  c.place("DIR", w->folder, "The folder to make: a store like any other");
  c.more = R"(A store that nobody uses is copied by hard links where DIR is on the same disk. One
that another process tunes on is read and copied as it is at that moment; that process
notices nothing. DIR must not be there yet, or be empty; to restore, use it.

  attune db backup /backups/monday
  attune best gemm.yaml --store /backups/monday)";
  c.read = [w](const typed_line&) -> reading {
    db_options o;
    o.action = db_options::what::backup;
    if (w->folder.empty()) throw usage_fault{"DIR is empty"};
    o.folder = w->folder;
    return o;
  };
  return c;
}

} // namespace

command_spec db_command() {
  command_spec c{"db", "Look after the store"};
  c.below = {db_stats_command(), db_verify_command(), db_compact_command(), db_backup_command(),
             forget_command(),   import_command(),    export_command()};
  return c;
}

} // namespace attune::cli
