#include "web/trace.hpp"

#include "web/event_json.hpp"
#include "web/model.hpp"
#include "web/stored.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <ostream>
#include <vector>

namespace attune::web {

using nlohmann::ordered_json;

namespace {

constexpr int runs = 1, builds = 2, waits = 3;

struct interval {
  nanoseconds begin{0}, end{0};
  trial_number number = 0;
};

/// Puts intervals into as few rows as they need, none over another: the row of each.
std::vector<std::size_t> rows_of(std::vector<interval>& all) {
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::vector<nanoseconds> ends;
  std::vector<std::size_t> out;
  out.reserve(all.size());
  for (const auto& one : all) {
    auto at = std::find_if(ends.begin(), ends.end(), [&](nanoseconds end) { return end <= one.begin; });
    if (at == ends.end()) at = ends.insert(ends.end(), nanoseconds(0));
    *at = one.end;
    out.push_back(static_cast<std::size_t>(at - ends.begin()));
  }
  return out;
}

double us(nanoseconds t) { return static_cast<double>(t.count()) / 1e3; }

class writer {
public:
  explicit writer(std::ostream& to) : to_(to) { to_ << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":["; }
  void put(const ordered_json& one) {
    to_ << (first_ ? "\n" : ",\n") << dump(one);
    first_ = false;
  }
  void name(int process, const char* text) {
    put({{"ph", "M"}, {"pid", process}, {"name", "process_name"}, {"args", {{"name", text}}}});
    put({{"ph", "M"}, {"pid", process}, {"name", "process_sort_index"}, {"args", {{"sort_index", process}}}});
  }
  void name(int process, std::size_t row, const std::string& text) {
    put({{"ph", "M"}, {"pid", process}, {"tid", row}, {"name", "thread_name"}, {"args", {{"name", text}}}});
  }
  void span(int process, std::size_t row, const interval& when, const char* category, ordered_json args) {
    put({{"ph", "X"},
         {"pid", process},
         {"tid", row},
         {"name", "trial " + std::to_string(when.number)},
         {"cat", category},
         {"ts", us(when.begin)},
         {"dur", us(when.end - when.begin)},
         {"args", std::move(args)}});
  }
  void end(const ordered_json& about) { to_ << "\n],\"otherData\":" << dump(about) << "}\n"; }

private:
  std::ostream& to_;
  bool first_ = true;
};

} // namespace

result<std::size_t> write_trace(std::ostream& to, const storage::store& from, const storage::session_entry& session) {
  writer out(to);
  out.name(runs, "runs");
  out.name(builds, "builds");
  out.name(waits, "waiting");
  std::map<std::string, std::size_t> places;
  std::vector<interval> built, waited;
  std::size_t count = 0;
  auto read = steps_with_results(from, session.id, [&](const storage::session_step& s) {
    const auto& o = *s.result;
    if (s.from_cache || s.amends || o.at <= session.started) return;
    ++count;
    const auto& p = o.phases;
    const nanoseconds end = o.at - session.started, run_end = end - p.clean, run_begin = run_end - p.run;
    if (p.run.count() > 0) {
      const auto [row, added] = places.emplace(o.runner, places.size() + 1);
      if (added) out.name(runs, row->second, o.runner.empty() ? "elsewhere" : o.runner);
      out.span(runs, row->second, {run_begin, run_end, s.number}, "run",
               {{"config", config_json(s.config)}, {"result", outcome_json(o, goal::minimize)}});
    }
    if (p.build.count() > 0) built.push_back({run_begin - p.build, run_begin, s.number});
    if (p.queue.count() > 0) {
      const auto until = run_begin - p.build;
      waited.push_back({until - p.queue, until, s.number});
    }
    if (const auto* m = o.measured(); m != nullptr) {
      // The records do not say which way is better; the counter shows every value.
      out.put({{"ph", "C"}, {"pid", runs}, {"name", "value"}, {"ts", us(end)}, {"args", {{"value", m->value}}}});
    }
  });
  if (!read) return read.err();
  const auto rows = [&](int process, std::vector<interval>& all, const char* what) {
    const auto at = rows_of(all);
    std::size_t named = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (; named <= at[i]; ++named) out.name(process, named + 1, std::string(what) + " " + std::to_string(named + 1));
      out.span(process, at[i] + 1, all[i], what, ordered_json::object());
    }
  };
  rows(builds, built, "build");
  rows(waits, waited, "waiting");
  out.end({{"session", session.id},
           {"task", session.task_name},
           {"strategy", session.strategy},
           {"seed", session.seed},
           {"started", rfc3339(session.started)},
           {"trials", count}});
  return count;
}

} // namespace attune::web
