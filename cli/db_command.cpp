#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/store_access.hpp"

#include <ostream>

namespace attune::cli {

int run_db(const db_options& options, const std::string& folder, output& io) {
  const auto store = open_to_read(folder);
  if (!store) return io.fail(store.err());
  if (!*store) return io.fail({errc::store_unusable, "there is no store yet; attune tune makes one", folder});
  for (const auto& notice : (*store)->notices()) io.message(notice);
  if (options.action == db_options::what::stats) {
    const auto s = (*store)->statistics();
    if (!s) return io.fail(s.err());
    if (io.json())
      io.document(statistics_json(*s));
    else
      io.out() << render_statistics(*s, folder);
    return exit_code::done;
  }
  const auto report = (*store)->verify();
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

} // namespace attune::cli
