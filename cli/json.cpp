#include "cli/json.hpp"

#include "actors/messages.hpp"

#include <algorithm>
#include <map>

namespace attune::cli {

namespace {

json failures_json(const search::tuning_counts& counts) {
  json out = json::object();
  for (std::size_t i = 0; i < all_failure_kinds.size(); ++i)
    if (counts.failed[i] > 0) out[to_string(all_failure_kinds[i])] = count_json(counts.failed[i]);
  return out;
}

json trials_json(const search::tuning_counts& counts) {
  return {{"proposed", count_json(counts.proposed)},     {"measured", count_json(counts.measured)},
          {"stopped_early", count_json(counts.bounded)}, {"cached", count_json(counts.cached)},
          {"estimated", count_json(counts.estimated)},   {"failed", failures_json(counts)}};
}

/// Divided, not multiplied by 1e-9, so that 61 s is 61.0 and not 61.00000000000001.
json seconds_json(nanoseconds d) { return seconds(d); }

json times_json(nanoseconds wall, const search::tuning_times& t) {
  return {{"wall", seconds_json(wall)},     {"build", seconds_json(t.build)},   {"run", seconds_json(t.run)},
          {"queue", seconds_json(t.queue)}, {"search", seconds_json(t.search)}, {"clean", seconds_json(t.clean)},
          {"store", seconds_json(t.store)}, {"trials", seconds_json(t.trials)}};
}

/// Each slot that ran something, with the share of the wall time that it did.
json devices_json(nanoseconds wall, const search::tuning_times& t) {
  json out = json::object();
  for (const auto& [name, busy] : t.devices)
    out[name] = {{"run_s", seconds_json(busy)},
                 {"busy", wall > nanoseconds(0) ? number_json(seconds(busy) / seconds(wall)) : json(nullptr)}};
  return out;
}

json failure_message(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

} // namespace

json count_json(search::uint128 n) {
  constexpr std::uint64_t exact = std::uint64_t{1} << 53;
  if (n <= exact) return static_cast<std::uint64_t>(n);
  return search::to_string(n);
}

json error_json(const error& e) {
  return {{"error",
           {{"kind", to_string(e.code)},
            {"message", e.message.substr(0, e.message.find('\n'))},
            {"where", e.where.empty() ? json(nullptr) : json(e.where)}}}};
}

json best_json(const configuration& config, const measurement& m, const metric_spec& metric,
               const std::string& record) {
  json samples = json::array();
  for (const double s : m.samples) samples.push_back(number_json(s));
  json out{{"config", config_json(config)},
           {"value", number_json(m.value)},
           {"unit", metric.stored_unit()},
           {"goal", to_string(metric.direction)},
           {"spread", number_json(m.spread)},
           {"samples", std::move(samples)},
           {"record", record}};
  if (!m.metrics.empty()) out["metrics"] = storage::metrics_json(m);
  return out;
}

namespace {

/// What the default configuration comes to, beside the best.
json default_json(const actors::tuning_report& r) {
  const double value = r.standard->result->measured()->value;
  const auto times = actors::speedup(r);
  return {{"config", config_json(r.standard->config)},
          {"value", number_json(value)},
          {"unit", r.of->metric().stored_unit()},
          {"speedup", times ? number_json(*times) : json(nullptr)}};
}

json side_by_side_json(const actors::tuning_report& r) {
  json all = json::array();
  bool separated = false;
  for (const auto& s : r.side_by_side) {
    separated = separated || s.how.separated;
    all.push_back({{"config", config_json(s.which.config)},
                   {"value", number_json(s.which.result->measured()->value)},
                   {"rounds", s.how.rounds},
                   {"winner", s.how.winner},
                   {"tied", s.how.tied},
                   {"default", s.how.reference}});
  }
  return {{"verdict", separated ? "separated" : "tied"}, {"runs", r.final_runs}, {"configurations", std::move(all)}};
}

} // namespace

json report_json(const actors::tuning_report& r) {
  json out{{"task", r.of->spec.name},
           {"key", r.of->identity.task_key.hex()},
           {"target", arguments_json(r.of->where.facts)},
           {"best", nullptr},
           {"trials", trials_json(r.counts)},
           {"time_s", times_json(r.wall, r.times)},
           {"devices", devices_json(r.wall, r.times)},
           {"stopped_because", search::to_string(r.reason)},
           {"session", r.session}};
  if (r.best) out["best"] = best_json(r.best->config, *r.best->result->measured(), r.of->metric(), r.best->key.hex());
  if (r.standard && r.best) out["default"] = default_json(r);
  if (std::any_of(r.side_by_side.begin(), r.side_by_side.end(), [](const auto& s) { return s.how.rounds > 0; }))
    out["side_by_side"] = side_by_side_json(r);
  if (r.repeated > 0) out["repeated"] = r.repeated;
  if (r.first_failure)
    out["first_failure"] = {{"kind", to_string(r.first_failure->kind)}, {"message", r.first_failure->message}};
  if (r.trouble) out["trouble"] = {{"kind", to_string(r.trouble->code)}, {"message", r.trouble->text()}};
  return out;
}

namespace {

json asked_json(const actors::cache_statistics& asked) {
  json misses{{"new", 0}};
  for (std::size_t i = 0; i < asked.causes.size(); ++i)
    if (asked.causes[i] > 0)
      misses[storage::to_string(static_cast<storage::miss_cause>(i))] = count_json(asked.causes[i]);
  return {{"hits", count_json(asked.hits)}, {"misses", std::move(misses)}};
}

} // namespace

json reports_json(std::span<const std::shared_ptr<const actors::tuning_report>> reports,
                  const actors::cache_statistics* asked, bool as_list) {
  if (reports.size() == 1 && !as_list) {
    auto out = report_json(*reports[0]);
    if (asked != nullptr) out["cache"] = asked_json(*asked);
    return out;
  }
  json tasks = json::array();
  search::tuning_counts counts;
  search::tuning_times times;
  nanoseconds wall{0};
  std::uint64_t with_best = 0;
  for (const auto& r : reports) {
    tasks.push_back(report_json(*r));
    counts.proposed += r->counts.proposed;
    counts.measured += r->counts.measured;
    counts.bounded += r->counts.bounded;
    counts.cached += r->counts.cached;
    counts.estimated += r->counts.estimated;
    for (std::size_t i = 0; i < counts.failed.size(); ++i) counts.failed[i] += r->counts.failed[i];
    times.add(r->times);
    // They run at the same time: the longest is what a person waited for.
    wall = std::max(wall, r->wall);
    if (r->best) ++with_best;
  }
  json out{{"tasks", std::move(tasks)},
           {"total",
            {{"tasks", reports.size()},
             {"with_best", with_best},
             {"trials", trials_json(counts)},
             {"time_s", times_json(wall, times)},
             {"devices", devices_json(wall, times)}}}};
  if (asked != nullptr) out["total"]["cache"] = asked_json(*asked);
  return out;
}

json space_count_json(std::size_t parameters, search::uint128 cartesian, std::optional<search::uint128> valid,
                      double build_ms) {
  return {{"parameters", parameters},
          {"cartesian", count_json(cartesian)},
          {"valid", valid ? count_json(*valid) : json(nullptr)},
          {"build_ms", number_json(build_ms)}};
}

json estimate_json(const configuration& config, const estimate& guess, const std::string& unit) {
  return {{"config", config_json(config)},
          {"value", nullptr},
          {"estimate", number_json(guess.value)},
          {"unit", unit},
          {"between", {guess.below.hex(), guess.above.hex()}}};
}

json record_json(const configuration& config, const outcome& result, const std::string& unit, const std::string& record,
                 goal direction) {
  json out{{"config", config_json(config)},
           {"value", nullptr},
           {"unit", unit},
           {"failure", nullptr},
           {"message", nullptr},
           {"exit", nullptr},
           {"signal", nullptr},
           {"samples", json::array()},
           {"spread", nullptr},
           {"runner", result.runner},
           {"at", rfc3339(result.at)},
           {"record", record}};
  if (result.around != conditions{}) out["conditions"] = storage::conditions_json(result.around);
  if (const auto* m = result.measured()) {
    out["value"] = number_json(m->value);
    out["spread"] = number_json(m->spread);
    for (const double s : m->samples) out["samples"].push_back(number_json(s));
    out["rejected"] = m->rejected;
    if (!m->metrics.empty()) out["metrics"] = storage::metrics_json(*m);
  } else if (const auto* f = result.failed()) {
    out["failure"] = to_string(f->kind);
    out["message"] = failure_message(f->message);
    if (f->exit) out["exit"] = *f->exit;
    if (f->signal) out["signal"] = *f->signal;
  } else if (const auto* b = result.bounded()) {
    out[direction == goal::minimize ? "at_least" : "at_most"] = number_json(b->value);
    for (const double s : b->samples) out["samples"].push_back(number_json(s));
  }
  if (!result.notes.empty()) out["notes"] = result.notes;
  return out;
}

namespace {

json rate_json(std::uint64_t hits, std::uint64_t misses) {
  return hits + misses == 0 ? json(nullptr) : json(static_cast<double>(hits) / static_cast<double>(hits + misses));
}

} // namespace

json statistics_json(const storage::store_statistics& s) {
  json misses{{"new", 0}};
  std::uint64_t missed = 0;
  for (const auto& [cause, n] : s.misses) {
    misses[cause] = count_json(n);
    missed += n;
  }
  const auto seconds = [](nanoseconds t) { return std::chrono::duration<double>(t).count(); };
  const auto speedup = s.spent.count() > 0 ? json(1 + seconds(s.saved) / seconds(s.spent)) : json(nullptr);
  const auto formula = missed > 0 ? json(1 + static_cast<double>(s.hits) / static_cast<double>(missed)) : json(nullptr);
  return {{"records", count_json(s.records)},
          {"tasks", count_json(s.tasks)},
          {"targets", count_json(s.targets)},
          {"failures", count_json(s.failures)},
          {"cache",
           {{"entries", count_json(s.cache_entries)},
            {"hits", count_json(s.hits)},
            {"misses", std::move(misses)},
            {"evicted", count_json(s.evicted)},
            {"hit_rate", rate_json(s.hits, missed)},
            {"speedup", speedup},
            {"speedup_by_hit_rate", formula},
            {"saved_s", seconds(s.saved)},
            {"spent_s", seconds(s.spent)}}},
          {"bytes", count_json(s.bytes)},
          {"schema", s.schema}};
}

json statistics_by_task_json(std::span<const storage::task_statistics> tasks) {
  struct sums {
    const storage::task_entry* task = nullptr;
    std::uint64_t tasks = 0, records = 0, failures = 0, hits = 0, misses = 0, bytes = 0;
    nanoseconds newest{0};
  };
  const auto figures = [](json named, const sums& s) {
    named["records"] = count_json(s.records);
    named["failures"] = count_json(s.failures);
    named["hit_rate"] = rate_json(s.hits, s.misses);
    named["bytes"] = count_json(s.bytes);
    named["newest"] = rfc3339(s.newest);
    return named;
  };
  json by_task = json::array(), by_target = json::array();
  std::map<digest, sums> targets;
  for (const auto& t : tasks) {
    const sums one{&t.task, 1, t.counts.records, t.counts.failures, t.hits, t.misses, t.bytes, t.counts.last_at};
    by_task.push_back(figures({{"task", t.task.name},
                               {"key", t.task.task.hex()},
                               {"workload", arguments_json(t.task.workload_args)},
                               {"target", arguments_json(t.task.target_facts)}},
                              one));
    auto& at = targets[t.task.target];
    at.task = &t.task;
    ++at.tasks;
    at.records += one.records;
    at.failures += one.failures;
    at.hits += one.hits;
    at.misses += one.misses;
    at.bytes += one.bytes;
    at.newest = std::max(at.newest, one.newest);
  }
  for (const auto& [key, s] : targets)
    by_target.push_back(figures({{"target", arguments_json(s.task->target_facts)}, {"tasks", count_json(s.tasks)}}, s));
  return {{"by_target", std::move(by_target)}, {"by_task", std::move(by_task)}};
}

} // namespace attune::cli
