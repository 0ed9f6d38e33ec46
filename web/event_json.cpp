#include "web/event_json.hpp"

#include "actors/messages.hpp"
#include "storage/json_value.hpp"

#include <nlohmann/json.hpp>

namespace attune::web {

using json = nlohmann::ordered_json;

namespace {

const char* to_text(purpose p) {
  switch (p) {
  case purpose::search:
    return "search";
  case purpose::finalist:
    return "finalist";
  case purpose::repeat:
    return "repeat";
  case purpose::reference:
    return "reference";
  }
  return "search";
}

using storage::number_json;

json samples_json(const std::vector<double>& samples) {
  json out = json::array();
  for (std::size_t i = 0; i < samples.size() && i < event_samples_most; ++i) out.push_back(number_json(samples[i]));
  return out;
}

void fill(json& out, const actors::event& e) {
  if (e.session != 0) out["session"] = e.session;
  if (e.what) {
    out["task"] = e.what->of->spec.name;
    out["trial"] = e.what->number;
    out["key"] = e.what->key.hex();
    if (e.what->why != purpose::search) out["for"] = to_text(e.what->why);
    out["config"] = config_json(e.what->config);
  }
  if (e.result) out["result"] = outcome_json(*e.result, e.what ? e.what->of->metric().direction : goal::minimize);
  if (e.report) {
    out["task"] = e.report->of->spec.name;
    out["session_id"] = e.report->session;
    out["best"] = e.report->best ? json{{"config", config_json(e.report->best->config)},
                                        {"value", number_json(e.report->best->result->measured()->value)},
                                        {"unit", e.report->of->metric().stored_unit()}}
                                 : json(nullptr);
  }
  if (e.expected) out["expected"] = {{"value", number_json(e.expected->value)}, {"explores", !e.expected->chosen}};
  if (!e.text.empty()) out["text"] = shortened(e.text);
}

} // namespace

const char* to_string(log_level l) noexcept {
  switch (l) {
  case log_level::debug:
    return "debug";
  case log_level::info:
    return "info";
  case log_level::warning:
    return "warning";
  case log_level::error:
    return "error";
  }
  return "info";
}

log_level level_of(const actors::event& e) noexcept {
  using kind = actors::event_kind;
  switch (e.kind) {
  case kind::store_trouble:
    return log_level::error;
  case kind::retried:
  case kind::quarantined:
  case kind::place_stuck:
    return log_level::warning;
  case kind::session_started:
  case kind::session_ended:
  case kind::told:
  case kind::place_came:
  case kind::place_went:
  case kind::store_recovered:
  case kind::decided:
  case kind::finals:
    return log_level::info;
  default:
    return log_level::debug;
  }
}

std::string shortened(std::string_view text, std::size_t most) { return storage::shortened(text, most); }
std::string dump(const json& what) { return storage::dump(what); }
json value_json(const value& v) { return storage::value_json(v, event_text_most); }
json config_json(const configuration& c) { return storage::config_json(c, event_text_most); }
json arguments_json(const arguments& a) { return storage::arguments_json(a, event_text_most); }

json outcome_json(const outcome& o, goal direction) {
  json out = json::object();
  if (const auto* m = o.measured()) {
    out["value"] = number_json(m->value);
    out["spread"] = number_json(m->spread);
    out["samples"] = samples_json(m->samples);
    if (m->rejected > 0) out["rejected"] = m->rejected;
    if (!m->metrics.empty()) out["metrics"] = storage::metrics_json(*m);
  } else if (const auto* b = o.bounded()) {
    out[direction == goal::minimize ? "at_least" : "at_most"] = number_json(b->value);
    out["against"] = number_json(b->against);
    out["samples"] = samples_json(b->samples);
  } else if (const auto* f = o.failed()) {
    out["failure"] = to_string(f->kind);
    out["message"] = shortened(f->message);
    if (f->exit) out["exit"] = *f->exit;
    if (f->signal) out["signal"] = *f->signal;
  }
  if (o.phases != phase_times{})
    out["phases_s"] = {{"queue", seconds(o.phases.queue)},
                       {"build", seconds(o.phases.build)},
                       {"run", seconds(o.phases.run)},
                       {"clean", seconds(o.phases.clean)}};
  if (o.used.cpu.count() > 0) out["cpu_s"] = seconds(o.used.cpu);
  if (o.used.peak_bytes > 0) out["peak_bytes"] = o.used.peak_bytes;
  if (!o.runner.empty()) out["place"] = o.runner;
  if (o.at.count() > 0) out["ended"] = rfc3339(o.at);
  if (o.around != conditions{}) out["conditions"] = storage::conditions_json(o.around);
  if (!o.notes.empty()) {
    auto& notes = out["notes"] = json::array();
    for (std::size_t i = 0; i < o.notes.size() && i < 16; ++i) notes.push_back(shortened(o.notes[i], 500));
  }
  return out;
}

std::string event_json(const actors::event& e, nanoseconds with_wall) {
  json out{{"v", event_version}, {"kind", actors::to_string(e.kind)}, {"at_s", seconds(e.at)}};
  if (with_wall.count() >= 0) out["time"] = rfc3339(with_wall);
  fill(out, e);
  return dump(out);
}

std::string event_log_line(const actors::event& e, nanoseconds wall) {
  json out{{"time", rfc3339(wall)},
           {"level", to_string(level_of(e))},
           {"event", actors::to_string(e.kind)},
           {"v", event_version},
           {"at_s", seconds(e.at)}};
  fill(out, e);
  return dump(out);
}

} // namespace attune::web
