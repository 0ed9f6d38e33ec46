#include "web/stored.hpp"

#include "web/event_json.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace attune::web {

status steps_with_results(const storage::store& from, std::string_view session,
                          const std::function<void(const storage::session_step&)>& visit) {
  return from.session_steps(session, [&](const storage::session_step& s) {
    if (s.result) visit(s);
  });
}

using nlohmann::ordered_json;

namespace {

/// The task that a session searched: that of its results' records, else the only one of its name.
result<std::optional<storage::task_entry>> task_of(const storage::store& in, const storage::session_entry& session) {
  std::optional<digest> task;
  std::size_t looked = 0;
  auto read = steps_with_results(in, session.id, [&](const storage::session_step& s) {
    // Most steps lead there; one that was evicted from the cache does not.
    if (task || ++looked > 64) return;
    if (const auto known = in.cached_record(s.key); known && *known) task = (*known)->task;
  });
  if (!read) return read.err();
  if (task) return in.find_task(*task);
  std::optional<storage::task_entry> named;
  read = in.tasks([&](const storage::task_entry& t, const storage::task_counts&) {
    if (t.name == session.task_name) named = t;
  });
  if (!read) return read.err();
  return named;
}

ordered_json step_json(actors::session_number number, const storage::session_step& s, goal direction) {
  ordered_json out{{"session", number},      {"trial", s.number},
                   {"key", s.key.hex()},     {"config", config_json(s.config)},
                   {"cached", s.from_cache}, {"result", outcome_json(*s.result, direction)}};
  return out;
}

} // namespace

result<std::vector<storage::session_entry>> all_sessions(const storage::store& in) {
  std::vector<storage::session_entry> out;
  if (auto read = in.sessions([&](const storage::session_entry& s) { out.push_back(s); }); !read) return read.err();
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.started < b.started; });
  return out;
}

result<std::vector<storage::session_entry>> find_sessions(const storage::store& in, const std::string& word) {
  auto all = all_sessions(in);
  if (!all) return all;
  const bool id = word.size() >= 4 && word.find_first_not_of("0123456789abcdef") == std::string::npos;
  std::vector<storage::session_entry> out;
  for (auto& s : *all)
    if (s.task_name == word || (id && s.id.starts_with(word))) out.push_back(std::move(s));
  if (!out.empty()) return out;
  return error{errc::not_found, "no session is called '" + word + "', and no task of one; attune report lists them",
               in.path()};
}

status add_steps(model& to, actors::session_number number, const storage::store& from, const std::string& id,
                 nanoseconds started) {
  nanoseconds at{0};
  return steps_with_results(from, id, [&](const storage::session_step& s) {
    if (s.amends) {
      to.amend(number, s.number, s.config, *s.result);
      return;
    }
    // An answer from the cache was measured at another time: it came with those around it.
    if (!s.from_cache && s.result->at > started) at = std::max(at, s.result->at - started);
    to.add_trial(number, s.number, s.config, s.key, *s.result, s.from_cache, at);
  });
}

status add_stored(model& to, actors::session_number number, const storage::store& from,
                  const storage::session_entry& session) {
  auto task = task_of(from, session);
  if (!task) return task.err();
  session_head h;
  h.id = session.id;
  h.task = session.task_name;
  h.strategy = session.strategy;
  h.seed = session.seed;
  h.budget = session.budget;
  h.started = session.started;
  if (*task) {
    h.key = (*task)->task.hex();
    h.metric = (*task)->metric;
    h.unit = (*task)->unit;
    h.direction = (*task)->direction;
    h.workload = (*task)->workload_args;
    h.target = (*task)->target_facts;
  }
  if (!to.add_session(number, std::move(h))) return {};
  if (auto read = add_steps(to, number, from, session.id, session.started); !read) return read;
  to.end_session(number, "stored", session.spent);
  return {};
}

std::optional<std::string> stored_life(const storage::store& in, const std::string& session, trial_number trial,
                                       const std::optional<key128>& key) {
  if (key) {
    const auto known = in.cached_record(*key);
    if (known && *known) {
      const auto task = in.find_task((*known)->task);
      const auto direction = task && *task ? (*task)->direction : goal::minimize;
      return dump({{"trial", trial},
                   {"key", key->hex()},
                   {"config", config_json((*known)->config)},
                   {"result", outcome_json((*known)->result, direction)}});
    }
  }
  std::optional<std::string> out;
  if (session.empty()) return out;
  (void)steps_with_results(in, session, [&](const storage::session_step& s) {
    if (s.number == trial) out = dump(step_json(0, s, goal::minimize));
  });
  return out;
}

result<std::string> stored_lives(const storage::store& in, actors::session_number number,
                                 const storage::session_entry& session, std::size_t most) {
  auto task = task_of(in, session);
  if (!task) return task.err();
  const auto direction = *task ? (*task)->direction : goal::minimize;
  // Which: so many of the best, and failures of each kind, where not all.
  std::vector<std::pair<double, trial_number>> values;
  std::vector<trial_number> chosen;
  std::array<std::size_t, all_failure_kinds.size()> failed{};
  const bool all = session.steps <= most;
  if (!all) {
    auto read = steps_with_results(in, session.id, [&](const storage::session_step& s) {
      if (const auto* m = s.result->measured())
        values.emplace_back(direction == goal::minimize ? m->value : -m->value, s.number);
      else if (const auto* f = s.result->failed();
               f != nullptr && failed[static_cast<std::size_t>(f->kind)]++ < most / 10)
        chosen.push_back(s.number);
    });
    if (!read) return read.err();
    std::sort(values.begin(), values.end());
    for (std::size_t i = 0; i < values.size() && i < most / 2; ++i) chosen.push_back(values[i].second);
    std::sort(chosen.begin(), chosen.end());
  }
  std::string out;
  auto read = steps_with_results(in, session.id, [&](const storage::session_step& s) {
    if (!all && !std::binary_search(chosen.begin(), chosen.end(), s.number)) return;
    if (!out.empty()) out += ',';
    out +=
        "\"" + std::to_string(number) + "/" + std::to_string(s.number) + "\":" + dump(step_json(number, s, direction));
  });
  if (!read) return read.err();
  return out;
}

result<std::string> store_json(const storage::store& of) {
  const auto s = of.statistics();
  if (!s) return s.err();
  const auto tasks = of.statistics_by_task();
  if (!tasks) return tasks.err();
  ordered_json misses = ordered_json::object();
  for (const auto& [cause, n] : s->misses) misses[cause] = n;
  ordered_json out{{"path", of.path()},
                   {"records", s->records},
                   {"tasks", s->tasks},
                   {"targets", s->targets},
                   {"failures", s->failures},
                   {"bytes", s->bytes},
                   {"schema", s->schema},
                   {"cache",
                    {{"entries", s->cache_entries},
                     {"bytes", s->cache_bytes},
                     {"hits", s->hits},
                     {"misses", std::move(misses)},
                     {"evicted", s->evicted},
                     {"saved_s", seconds(s->saved)},
                     {"spent_s", seconds(s->spent)}}}};
  auto& by_task = out["by_task"] = ordered_json::array();
  for (const auto& t : *tasks) {
    if (by_task.size() >= 200) break;
    by_task.push_back({{"task", t.task.name},
                       {"key", t.task.task.hex()},
                       {"workload", arguments_json(t.task.workload_args)},
                       {"target", arguments_json(t.task.target_facts)},
                       {"records", t.counts.records},
                       {"failures", t.counts.failures},
                       {"hits", t.hits},
                       {"misses", t.misses},
                       {"bytes", t.bytes},
                       {"last", seconds(t.counts.last_at)}});
  }
  return dump(out);
}

} // namespace attune::web
