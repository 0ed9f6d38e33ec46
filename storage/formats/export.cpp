#include "storage/formats/export.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <unordered_map>

namespace attune::storage::formats {
namespace {

struct hash {
  std::size_t operator()(const digest& d) const noexcept {
    std::size_t h = 0;
    std::memcpy(&h, d.bytes.data(), sizeof h);
    return h;
  }
};
using chosen_tasks = std::unordered_map<digest, task_entry_ptr, hash>;

bool is_meant(const task_entry& t, const std::string& word) {
  return word.empty() || t.name == word || (word.size() >= 8 && t.task.hex().starts_with(word));
}

error none_meant(const store& from, const std::string& word) {
  if (word.empty()) return {errc::not_found, "there is no record in the store", {}};
  std::vector<std::string> names;
  const auto read = from.tasks([&](const task_entry& t, const task_counts&) {
    if (names.size() < 1000) names.push_back(t.name);
  });
  const auto near = read ? nearest_word(word, names) : std::nullopt;
  return {
      errc::not_found, "the store knows no task '" + word + "'" + (near ? "; did you mean '" + *near + "'?" : ""), {}};
}

} // namespace

result<export_report> export_records(const store& from, sink& to, const format& as, const export_options& options) {
  export_report report;
  chosen_tasks chosen;
  // Up to here: what is written later is not seen, however often the records are gone through.
  const auto last = from.newest();
  record_id after = last;
  std::vector<record_id> best;
  status asked;
  auto read = from.tasks([&](const task_entry& t, const task_counts& counts) {
    if (counts.records == 0 || !is_meant(t, options.task)) return;
    chosen.emplace(t.task, std::make_shared<task_entry>(t));
    after = 0;
    if (!options.best || !asked) return;
    auto found = from.best(t.task);
    if (!found)
      asked = found.err();
    else if (!found->empty())
      best.push_back(found->front().id);
  });
  if (!read) return read.err();
  if (!asked) return asked.err();
  if (chosen.empty()) return none_meant(from, options.task);
  if (options.best && best.empty())
    return error{errc::not_found, "no task has a best: all of their records failed", {}};
  std::sort(best.begin(), best.end());

  const digest* only = chosen.size() == 1 ? &chosen.begin()->first : nullptr;
  std::unordered_map<digest, bool, hash> seen;
  const auto records = [&](const std::function<bool(const entry&)>& visit) -> status {
    entry e;
    report.records = 0;
    seen.clear();
    const auto give = [&](const record& r) {
      if (!e.task || e.task->task != r.task) {
        const auto at = chosen.find(r.task);
        if (at == chosen.end()) return true;
        e.task = at->second;
      }
      e.config = r.config;
      e.result = r.result;
      e.session = r.session;
      ++report.records;
      if (seen.size() < chosen.size()) seen.emplace(r.task, true);
      return visit(e);
    };
    if (options.best) {
      for (const auto id : best) {
        const auto r = from.find(id);
        if (!r) return r.err();
        if (*r && !give(**r)) return {};
      }
      return {};
    }
    if (only == nullptr) return from.visit(after, last, give);
    return from.records_of(*only, [&](const record& r) { return r.id <= last && give(r); });
  };
  const auto written = as.write({records}, to, report.lost);
  if (!written) return written.err();
  if (!to.flush()) return error{errc::io, "cannot be written", {}};
  report.tasks = seen.size();
  report.records -= std::min(report.records, report.lost.left_out());
  return report;
}

} // namespace attune::storage::formats
