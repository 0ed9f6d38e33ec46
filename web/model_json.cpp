#include "storage/json_value.hpp"
#include "web/event_json.hpp"
#include "web/model.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <type_traits>

namespace attune::web {

static_assert(std::endian::native == std::endian::little, "rows() gives the page numbers as they are");

namespace {

using nlohmann::ordered_json;
using storage::number_json;

/// Columns are long: their numbers are written straight into the text, with as many digits as they are worth.
void put(std::string& out, double v, int digits) {
  if (!std::isfinite(v)) {
    out += "null";
    return;
  }
  char text[40];
  const auto [end, ec] = digits > 0 ? std::to_chars(text, text + sizeof text, v, std::chars_format::general, digits)
                                    : std::to_chars(text, text + sizeof text, v);
  out.append(text, end);
}
void put(std::string& out, std::uint64_t v) {
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof text, v).ptr);
}

template <class Items, class Put>
void column(std::string& out, const char* name, const Items& items, std::size_t from, const Put& put_one) {
  if (out.back() != '{') out += ',';
  out += '"';
  out += name;
  out += "\":[";
  for (std::size_t i = from; i < items.size(); ++i) {
    if (i > from) out += ',';
    put_one(items[i]);
  }
  out += ']';
}

void put_rows(std::string& out, const trial_columns& r, std::size_t from) {
  const auto whole = [&out](auto v) { put(out, static_cast<std::uint64_t>(v)); };
  const auto exact = [&out](double v) { put(out, v, 0); };
  const auto rough = [&out](double v) { put(out, v, 4); };
  const auto finer = [&out](double v) { put(out, v, 7); };
  out += '{';
  column(out, "n", r.number, from, whole);
  column(out, "t", r.at_s, from, finer);
  column(out, "v", r.value, from, exact);
  column(out, "e", r.ending, from, whole);
  column(out, "c", r.cached, from, whole);
  column(out, "q", r.queue_s, from, rough);
  column(out, "b", r.build_s, from, rough);
  column(out, "r", r.run_s, from, rough);
  column(out, "k", r.clean_s, from, rough);
  column(out, "s", r.spread, from, rough);
  column(out, "d", r.drift, from, rough);
  column(out, "m", r.expected, from, finer);
  column(out, "x", r.idea_of, from, whole);
  column(out, "w", r.place, from, [&out](std::uint16_t v) {
    if (v == 0xFFFF)
      out += "-1";
    else
      put(out, static_cast<std::uint64_t>(v));
  });
  out += ",\"p\":[";
  for (std::size_t p = 0; p < r.parameters.size(); ++p) {
    out += p == 0 ? "[" : ",[";
    for (std::size_t i = from; i < r.parameters[p].size(); ++i) {
      if (i > from) out += ',';
      put(out, static_cast<std::uint64_t>(r.parameters[p][i]));
    }
    out += ']';
  }
  out += "]}";
}

/// The configuration of the best: the report's, else that of the row with its value (which an amendment may have
/// moved).
ordered_json best_config_json(const session_view& s) {
  if (!s.report && s.best)
    for (std::size_t row = 0; row < s.rows.size(); ++row) {
      if (s.rows.ending[row] != 0 || s.rows.value[row] != *s.best) continue;
      ordered_json out = ordered_json::object();
      for (std::size_t i = 0; i < s.names.size(); ++i) {
        auto v = ordered_json::parse(s.values[i][s.rows.parameters[i][row]], nullptr, false);
        if (!v.is_null()) out[s.names[i]] = std::move(v);
      }
      return out;
    }
  return config_json(s.best_config);
}

ordered_json head_json(const session_view& s) {
  const auto& h = s.head;
  ordered_json out{{"number", s.number},
                   {"id", h.id},
                   {"task", h.task},
                   {"key", h.key},
                   {"strategy", h.strategy},
                   {"seed", h.seed},
                   {"metric", h.metric},
                   {"unit", h.unit},
                   {"goal", to_string(h.direction)},
                   {"weight", h.weight},
                   {"workload", arguments_json(h.workload)},
                   {"target", arguments_json(h.target)},
                   {"started", seconds(h.started)},
                   {"budget", h.budget ? ordered_json(*h.budget) : ordered_json(nullptr)},
                   {"time_limit_s", h.time_limit ? ordered_json(seconds(*h.time_limit)) : ordered_json(nullptr)},
                   {"ended", s.ended},
                   {"reason", s.reason},
                   {"searched_s", seconds(s.searched)},
                   {"proposed", s.proposed},
                   {"cached", s.cached},
                   {"left_out", s.left_out},
                   {"build_s", s.built_s},
                   {"run_s", s.run_s},
                   {"in_flight", s.in_flight},
                   {"window", s.window},
                   {"best", s.best ? number_json(*s.best) : ordered_json(nullptr)},
                   {"best_config", best_config_json(s)}};
  auto& endings = out["endings"] = ordered_json::object();
  for (std::size_t i = 0; i < s.endings.size(); ++i)
    if (s.endings[i] > 0) endings[ending_name(static_cast<std::uint8_t>(i))] = s.endings[i];
  if (s.report) {
    const auto& r = *s.report;
    if (const auto times = actors::speedup(r)) out["speedup"] = number_json(*times);
    if (r.standard) out["default"] = number_json(r.standard->result->measured()->value);
    out["final_runs"] = r.final_runs;
    out["repeated"] = r.repeated;
    out["time_s"] = {{"queue", seconds(r.times.queue)},   {"build", seconds(r.times.build)},
                     {"run", seconds(r.times.run)},       {"clean", seconds(r.times.clean)},
                     {"store", seconds(r.times.store)},   {"search", seconds(r.times.search)},
                     {"trials", seconds(r.times.trials)}, {"wall", seconds(r.wall)}};
    auto& finals = out["side_by_side"] = ordered_json::array();
    for (const auto& one : r.side_by_side)
      finals.push_back({{"trial", one.which.number},
                        {"config", config_json(one.which.config)},
                        {"value", number_json(one.which.result->measured()->value)},
                        {"spread", number_json(one.which.result->measured()->spread)},
                        {"rounds", one.how.rounds},
                        {"winner", one.how.winner},
                        {"tied", one.how.tied},
                        {"default", one.how.reference}});
  }
  return out;
}

/// What is new of one session, as an object; empty where nothing is.
std::string session_json(const session_view& s, model_cursor::session& from, model::row_form form) {
  const bool changed = from.version != s.version;
  if (!changed && from.rows == s.rows.size() && from.amended == s.amended.size()) return {};
  std::string out = "{\"number\":";
  put(out, s.number);
  if (changed) out += ",\"head\":" + dump(head_json(s));
  if (!from.named && !s.names.empty()) out += ",\"names\":" + dump(s.names);
  from.named = from.named || !s.names.empty();
  from.values.resize(s.values.size());
  bool any = false;
  for (std::size_t i = 0; i < s.values.size(); ++i) any = any || from.values[i] < s.values[i].size();
  if (any) {
    out += ",\"values\":[";
    for (std::size_t i = 0; i < s.values.size(); ++i) {
      out += i == 0 ? "[" : ",[";
      for (std::size_t k = from.values[i]; k < s.values[i].size(); ++k) {
        if (k > from.values[i]) out += ',';
        out += s.values[i][k];
      }
      from.values[i] = s.values[i].size();
      out += ']';
    }
    out += ']';
  }
  if (form == model::row_form::apart && from.rows == 0 && s.rows.size() > 0) {
    out += ",\"count\":";
    put(out, static_cast<std::uint64_t>(s.rows.size()));
  } else if (from.rows < s.rows.size()) {
    out += ",\"from\":";
    put(out, static_cast<std::uint64_t>(from.rows));
    out += ",\"rows\":";
    put_rows(out, s.rows, from.rows);
  }
  if (from.amended < s.amended.size()) {
    out += ",\"amended\":[";
    for (std::size_t i = from.amended; i < s.amended.size(); ++i) {
      out += i == from.amended ? "[" : ",[";
      put(out, static_cast<std::uint64_t>(s.amended[i].row));
      out += ',';
      put(out, s.amended[i].value, 0);
      out += ']';
    }
    out += ']';
  }
  out += '}';
  from.rows = s.rows.size();
  from.amended = s.amended.size();
  from.version = s.version;
  return out;
}

ordered_json stage_json(const model::stage_view& v, const char* name, nanoseconds now) {
  ordered_json buckets = ordered_json::array();
  for (const auto n : v.took.buckets()) buckets.push_back(n);
  return {{"name", name},
          {"in", v.in},
          {"entered", v.entered},
          {"left", v.left},
          {"rate", v.rate.per_second(now)},
          {"p50_s", v.took.quantile_s(0.5)},
          {"p95_s", v.took.quantile_s(0.95)},
          {"mean_s", v.took.count() > 0 ? v.took.sum_s() / static_cast<double>(v.took.count()) : 0},
          {"buckets", std::move(buckets)}};
}

const char* to_text(place_view::work w) {
  return w == place_view::work::build ? "build" : w == place_view::work::run ? "run" : "idle";
}

} // namespace

std::string model::json(model_cursor& from, nanoseconds now, row_form form) const {
  const bool fresh = !from.begun;
  std::string sessions;
  for (const auto& [number, s] : sessions_) {
    const auto text = session_json(s, from.sessions[number], form);
    if (text.empty()) continue;
    if (!sessions.empty()) sessions += ',';
    sessions += text;
  }
  ordered_json out{{"v", event_version}, {"full", fresh}, {"now_s", since_begin(now)}, {"began", seconds(wall_)}};
  if (fresh) out["bounds_s"] = latency_histogram::bounds_s;
  out["counts"] = {{"events", events_},          {"lost", lost_},     {"hits", hits_},
                   {"joined", joined_},          {"misses", misses_}, {"retried", retried_},
                   {"quarantined", quarantined_}};
  out["trouble"] = trouble_;
  auto& stages = out["stages"] = ordered_json::array();
  for (std::size_t i = 0; i < stage_count; ++i)
    stages.push_back(stage_json(stages_[i], to_string(static_cast<stage>(i)), now));
  auto& places = out["places"] = ordered_json::array();
  for (const auto& p : places_)
    places.push_back({{"name", p.name},
                      {"here", p.here},
                      {"stuck", p.stuck},
                      {"doing", to_text(p.doing)},
                      {"session", p.session},
                      {"trial", p.trial},
                      {"since_s", p.since_s},
                      {"busy_s", p.busy_s},
                      {"runs", p.runs},
                      {"builds", p.builds}});
  auto& decisions = out["decisions"] = ordered_json::array();
  const std::uint64_t first_decision = decision_count_ - decisions_.size();
  for (std::uint64_t i = std::max(from.decisions, first_decision); i < decision_count_; ++i) {
    const auto& d = decisions_[static_cast<std::size_t>(i - first_decision)];
    decisions.push_back({{"at_s", d.at_s}, {"session", d.session}, {"kind", d.kind}, {"text", d.text}});
  }
  from.decisions = decision_count_;
  std::string text = dump(out);
  text.pop_back();
  text += ",\"spans\":[";
  const std::uint64_t first_span = span_count_ - spans_.size();
  bool comma = false;
  for (std::uint64_t i = std::max(from.spans, first_span); i < span_count_; ++i) {
    const auto& s = spans_[static_cast<std::size_t>(i - first_span)];
    text += comma ? ",[" : "[";
    comma = true;
    put(text, static_cast<std::uint64_t>(s.place));
    text += s.run ? ",1," : ",0,";
    put(text, static_cast<std::uint64_t>(s.why));
    text += ',';
    put(text, s.session);
    text += ',';
    put(text, s.trial);
    text += ',';
    put(text, s.begin_s, 9);
    text += ',';
    put(text, s.end_s, 9);
    text += ']';
  }
  from.spans = span_count_;
  text += "],\"sessions\":[";
  text += sessions;
  text += "]}";
  from.begun = true;
  return text;
}

std::optional<std::string> model::rows(actors::session_number session, std::size_t count) const {
  const auto at = sessions_.find(session);
  if (at == sessions_.end() || at->second.rows.size() < count) return std::nullopt;
  const auto& r = at->second.rows;
  std::string out;
  out.reserve(count * (51 + 2 * r.parameters.size()));
  const auto add = [&](const auto& column_of) {
    using item = typename std::remove_cvref_t<decltype(column_of)>::value_type;
    out.append(reinterpret_cast<const char*>(column_of.data()), count * sizeof(item));
  };
  // Wide numbers first, so that each column begins where its kind may stand.
  add(r.value);
  add(r.expected);
  for (const auto* floats : {&r.at_s, &r.queue_s, &r.build_s, &r.run_s, &r.clean_s, &r.spread, &r.drift}) add(*floats);
  add(r.number);
  add(r.place);
  for (const auto& p : r.parameters) add(p);
  add(r.ending);
  add(r.cached);
  add(r.idea_of);
  return out;
}

std::optional<std::string> model::life_json(actors::session_number session, trial_number trial,
                                            std::optional<key128>& key) const {
  const auto at = lives_.find({session, trial});
  if (at == lives_.end()) {
    if (const auto s = sessions_.find(session); s != sessions_.end()) {
      const auto& numbers = s->second.rows.number;
      const auto row = std::find(numbers.begin(), numbers.end(), static_cast<std::uint32_t>(trial));
      if (row != numbers.end()) key = s->second.rows.key[static_cast<std::size_t>(row - numbers.begin())];
    }
    return std::nullopt;
  }
  const auto& l = *at->second;
  key = l.what->key;
  ordered_json out{
      {"session", session},
      {"trial", trial},
      {"task", l.what->of->spec.name},
      {"key", l.what->key.hex()},
      {"config", config_json(l.what->config)},
      {"cached", l.cached},
      {"result", l.result ? outcome_json(*l.result, l.what->of->metric().direction) : ordered_json(nullptr)}};
  auto& steps = out["steps"] = ordered_json::array();
  for (const auto& s : l.steps)
    steps.push_back({{"kind", actors::to_string(s.kind)}, {"at_s", since_begin(s.at)}, {"text", s.text}});
  return dump(out);
}

} // namespace attune::web
