#include "actors/similar.hpp"

#include "search/offline.hpp"
#include "search/similarity.hpp"

#include <algorithm>
#include <set>

namespace attune::actors {

namespace {

search::observation observed(const outcome& o, goal direction) {
  const double sign = direction == goal::maximize ? -1 : 1;
  if (const auto* m = o.measured()) return {search::observation::status::measured, sign * m->value};
  if (const auto* b = o.bounded()) return {search::observation::status::censored, sign * b->value};
  return {conclusive(o) ? search::observation::status::failed : search::observation::status::dropped, 0};
}

status add_records(const storage::store& from, const storage::task_entry& of, const search::space& over,
                   std::uint32_t source, double similarity, storage::record_id up_to,
                   std::vector<search::prior_record>& to) {
  struct found {
    key128 key;
    nanoseconds at{0};
    search::prior_record record;
  };
  std::vector<found> all;
  auto read = from.records_of(of.task, [&](const storage::record& r) {
    if (r.id > up_to) return false;
    auto p = over.to_point(r.config);
    if (!p || !over.contains(*p)) return true;
    const auto what = observed(r.result, of.direction);
    if (what.what == search::observation::status::dropped) return true;
    all.push_back({r.key, r.counts_from, {std::move(*p), what, source, similarity}});
    return true;
  });
  if (!read) return read;
  // The newest of each, the last in front; they come in the order of writing.
  std::stable_sort(all.begin(), all.end(), [](const found& a, const found& b) { return a.at < b.at; });
  std::set<key128> seen;
  for (auto it = all.rbegin(); it != all.rend(); ++it)
    if (seen.insert(it->key).second) to.push_back(std::move(it->record));
  return {};
}

} // namespace

result<similar_results> find_similar(const storage::store& from, const task& of, const search::space& over,
                                     const similar_options& options) {
  std::vector<std::pair<double, storage::task_entry>> similar;
  std::optional<storage::task_entry> own;
  const auto& metric = of.metric();
  const auto read =
      from.tasks_named(of.spec.name, [&](const storage::task_entry& t, const storage::task_counts& counts) {
        if (t.task == of.identity.task_key) {
          own = t;
          return;
        }
        if (counts.records == 0 || t.metric != metric.name || t.direction != metric.direction) return;
        const double s = search::task_similarity(of.load.args, of.where.facts, t.workload_args, t.target_facts);
        if (s >= options.least_similarity) similar.emplace_back(s, t);
      });
  if (!read) return read.err();
  std::stable_sort(similar.begin(), similar.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  similar_results out;
  std::uint32_t source = search::own_source;
  if (own && options.own)
    if (const auto added = add_records(from, *own, over, source, 1, options.up_to, out.records); !added)
      return added.err();
  for (const auto& [similarity, entry] : similar) {
    if (out.tasks == options.most_tasks) break;
    const auto before = out.records.size();
    if (const auto added = add_records(from, entry, over, source + 1, similarity, options.up_to, out.records); !added)
      return added.err();
    if (out.records.size() == before) continue;
    ++source;
    ++out.tasks;
  }
  return out;
}

} // namespace attune::actors
