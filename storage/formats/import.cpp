#include "storage/formats/import.hpp"

#include "core/task.hpp"
#include "storage/formats/common.hpp"

namespace attune::storage::formats {
namespace {

constexpr std::size_t together = 4096;

/// Fills in what the file's own value was, where the new one is another.
void restate(measurement& m, const std::function<void(measurement&)>& with) {
  const double stated = m.value;
  with(m);
  if (m.value != stated) m.metrics.emplace_back(stated_metric, stated);
}

} // namespace

result<import_report> import_records(store& into, source& from, const format& as, const import_options& options) {
  import_report report;
  auto read_as = options.read;
  read_as.stated |= !options.restate;
  const auto reading = as.read(from, read_as);
  std::vector<entry> group(together);
  std::vector<foreign_record> records;
  records.reserve(together);
  task_identity identity; // of which the key alone is asked
  damage what;
  const auto keep = [&] {
    if (auto done = into.append_new(records); !done) return done;
    for (const auto& r : records) ++(r.added ? report.added : report.duplicates);
    records.clear();
    return status();
  };
  const auto tell = [&] {
    ++report.damages;
    if (report.damaged.size() < import_report::most_damages) report.damaged.push_back(what);
    if (options.damaged) options.damaged(what);
  };
  for (auto step = reader::step::record; step != reader::step::end;) {
    auto& e = group[records.size()];
    step = reading->next(e, what);
    if (step == reader::step::damaged) tell();
    if (step != reader::step::record) continue;
    ++report.read;
    if (auto* m = std::get_if<measurement>(&e.result.data)) {
      if (e.by_samples) {
        restate(*m, options.restate);
        ++report.by_median;
      }
    } else if (e.result.failed() != nullptr) {
      ++report.failures;
    }
    identity.task_key = e.task->task;
    records.push_back({e.task.get(), measurement_key(identity, e.config.canonical()), &e.config, &e.result, e.session});
    if (records.size() == together)
      if (auto kept = keep(); !kept) return kept.err();
  }
  if (auto kept = keep(); !kept) return kept.err();
  if (const auto ended = reading->error(); !ended) {
    what = {0, ended.err().message};
    tell();
  }
  report.format = reading->format();
  report.comments = reading->comments();
  report.others = reading->others();
  report.warnings = reading->warnings();
  return report;
}

} // namespace attune::storage::formats
