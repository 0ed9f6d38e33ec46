#include "core/text.hpp"
#include "storage/recorded_format.hpp"

#include <set>

namespace attune::storage::recorded_format {
namespace {

/// One configuration before it is known of which parameters the space consists.
struct loose_trial {
  std::vector<std::pair<std::string, value>> config;
  recorded_trial trial;
};

/// A space of the trials' parameters, in the order in which they first appear. Who lacks one has it absent.
result<recorded_space> assemble(recorded_space out, std::vector<loose_trial> trials, const std::string& name) {
  std::map<std::string, std::size_t> places;
  for (const auto& t : trials)
    for (const auto& [parameter, v] : t.config)
      if (places.try_emplace(parameter, out.parameters.size()).second) out.parameters.push_back({parameter, {}});
  if (trials.empty() || out.parameters.empty()) return bad(name, "there is no configuration in it");
  collector all(out);
  for (auto& t : trials) {
    t.trial.at.assign(out.parameters.size(), absent);
    for (const auto& [parameter, v] : t.config) {
      const auto d = places.at(parameter);
      t.trial.at[d] = *all.index(d, v, true);
    }
    all.add(std::move(t.trial));
  }
  if (all.doubled() > 0)
    out.warnings.push_back(std::to_string(all.doubled()) +
                           " configurations stand there more than once; the last counts");
  sort_numbers(out);
  return out;
}

/// The knobs of an AutoTVM configuration. Of a split's factors the first follows from the others; an order and an
/// annotation are categories.
void knobs(const ordered_json& entity, std::vector<std::pair<std::string, value>>& out) {
  for (const auto& knob : entity) {
    if (!knob.is_array() || knob.size() < 3 || !knob[0].is_string()) continue;
    const std::string knob_name = knob[0].get<std::string>();
    const auto& v = knob[2];
    const bool split = knob[1] == "sp" && v.is_array() && v.size() > 1 &&
                       std::all_of(v.begin(), v.end(), [](const auto& f) { return f.is_number_integer(); });
    if (!split) {
      out.emplace_back(knob_name, to_value(v));
      continue;
    }
    for (std::size_t k = 1; k < v.size(); ++k) out.emplace_back(knob_name + "." + std::to_string(k), to_value(v[k]));
  }
}

/// The error numbers of AutoTVM's MeasureErrorNo.
failure_kind failure_of_number(std::int64_t number) {
  switch (number) {
  case 1:
    return failure_kind::invalid_config; // instantiation
  case 2:                                // compilation for the host
  case 3:                                // compilation for the device
    return failure_kind::build_error;
  case 5:
    return failure_kind::wrong_output;
  case 6:
    return failure_kind::build_timeout;
  case 7:
    return failure_kind::run_timeout;
  default: // 4: on the device; 8: unknown
    return failure_kind::run_error;
  }
}

struct autotvm_log {
  std::string task, target;
  std::vector<loose_trial> trials;
  std::set<std::string> distinct; ///< configurations
};

/// One record, in either version's keys. False: it is none.
bool read_autotvm(const ordered_json& j, std::map<std::string, autotvm_log>& logs) {
  const bool old = j.contains("i");
  const auto& input = old ? j["i"] : j["input"];
  const char* result_key = old ? "r" : "result";
  if (!input.is_array() || input.size() < 3 || !j.contains(result_key)) return false;
  const ordered_json* config = nullptr;
  if (!old) {
    if (const auto at = j.find("config"); at != j.end() && at->is_object()) config = &*at;
  } else if (input.size() > 5 && input[5].is_object())
    config = &input[5];
  const auto& measured = j[result_key];
  if (config == nullptr || !measured.is_array() || measured.size() < 2 || !measured[1].is_number_integer())
    return false;
  const auto entity = config->find(old ? "e" : "entity");
  if (entity == config->end() || !entity->is_array()) return false;
  loose_trial t;
  knobs(*entity, t.config);
  if (t.config.empty()) return false;
  const auto number = measured[1].get<std::int64_t>();
  if (measured.size() > 2 && measured[2].is_number())
    t.trial.result.phases.build = milliseconds(measured[2].get<double>() * 1e3);
  if (number != 0) {
    fail(t.trial, failure_of_number(number), "AutoTVM error " + std::to_string(number));
  } else {
    // The costs are the runs' means, in seconds.
    double sum = 0;
    std::size_t count = 0;
    if (measured[0].is_array())
      for (const auto& c : measured[0])
        if (c.is_number()) {
          sum += c.get<double>();
          ++count;
        }
    if (count == 0 || sum / static_cast<double>(count) >= 1e8)
      fail(t.trial, failure_kind::bad_metric, "no cost is recorded");
    else
      measure(t.trial, sum / static_cast<double>(count), &measured[0], 1.0);
  }
  // The whole input is what tells tasks apart: the target, the template and its arguments.
  ordered_json identity = ordered_json::array();
  for (std::size_t k = 0; k < std::min<std::size_t>(input.size(), 4); ++k) identity.push_back(input[k]);
  auto& log = logs[identity.dump()];
  if (log.trials.empty()) {
    log.target = input[0].is_string() ? input[0].get<std::string>() : input[0].dump();
    log.task = input[1].is_string() ? input[1].get<std::string>() : input[1].dump();
  }
  log.distinct.insert(entity->dump());
  log.trials.push_back(std::move(t));
  return true;
}

/// A record as `attune history --json` has it. False: it is none.
bool read_record(const ordered_json& j, recorded_space& into, std::vector<loose_trial>& trials) {
  const auto config = j.find("config");
  if (config == j.end() || !config->is_object() || !j.contains("value")) return false;
  loose_trial t;
  for (const auto& [key, v] : config->items())
    if (!v.is_null()) t.config.emplace_back(key, to_value(v));
  if (t.config.empty()) return false;
  if (const auto unit = j.find("unit"); unit != j.end() && unit->is_string()) into.unit = unit->get<std::string>();
  const auto& v = j["value"];
  if (v.is_number()) {
    const auto samples = j.find("samples");
    // Rates and the like may be negative: only what is no number is no value.
    measurement m;
    t.trial.written = m.value = v.get<double>();
    if (samples != j.end() && samples->is_array())
      for (const auto& s : *samples)
        if (s.is_number()) m.samples.push_back(s.get<double>());
    t.trial.result.data = std::move(m);
  } else {
    const auto failure = j.find("failure");
    const auto kind = failure != j.end() && failure->is_string() ? failure_kind_of(failure->get<std::string>())
                                                                 : std::optional<failure_kind>{};
    const auto message = j.find("message");
    fail(t.trial, kind.value_or(failure_kind::bad_metric),
         message != j.end() && message->is_string() ? message->get<std::string>() : "");
    // Whose fault it was decides: what the machine did says nothing about the configuration.
    if (kind && is_infrastructure(*kind)) return true;
  }
  trials.push_back(std::move(t));
  return true;
}

void settle(recorded_space& out) {
  out.format = "attune";
  if (is_rate(out.unit)) out.direction = goal::maximize;
}

} // namespace

result<recorded_space> history(const ordered_json& root, const std::string& name) {
  recorded_space out;
  std::vector<loose_trial> trials;
  std::size_t damaged = 0;
  for (const auto& j : root.at("records"))
    if (!j.is_object() || !read_record(j, out, trials)) ++damaged;
  settle(out);
  if (damaged > 0) out.warnings.push_back(std::to_string(damaged) + " records without a configuration left out");
  return assemble(std::move(out), std::move(trials), name);
}

result<recorded_space> lines(std::string_view text, const std::string& name) {
  recorded_space out;
  std::map<std::string, autotvm_log> logs;
  std::vector<loose_trial> own;
  std::size_t damaged = 0, comments = 0;
  for (const auto part : split(text, '\n')) {
    const auto line = trim(part);
    if (line.empty()) continue;
    if (line.front() == '#') {
      ++comments;
      continue;
    }
    const auto j = ordered_json::parse(line, nullptr, false);
    const bool good =
        j.is_object() && (j.contains("input") || j.contains("i") ? read_autotvm(j, logs) : read_record(j, out, own));
    if (!good) ++damaged;
  }
  if (damaged > 0) out.warnings.push_back(std::to_string(damaged) + " lines that are no record left out");
  if (!logs.empty() && !own.empty()) return bad(name, "mixes AutoTVM records with others");
  if (logs.empty()) {
    settle(out);
    return assemble(std::move(out), std::move(own), name);
  }
  // A log of many tasks is many spaces: the one of the most configurations is played.
  auto most = logs.begin();
  std::size_t records = 0;
  for (auto at = logs.begin(); at != logs.end(); ++at) {
    records += at->second.trials.size();
    if (at->second.distinct.size() > most->second.distinct.size()) most = at;
  }
  if (logs.size() > 1)
    out.warnings.push_back(std::to_string(logs.size()) + " tasks in " + std::to_string(records) +
                           " records; this is the one of the most configurations, " + most->second.task + " (" +
                           std::to_string(most->second.distinct.size()) + ")");
  out.format = "autotvm";
  out.name = most->second.task;
  out.device = most->second.target;
  return assemble(std::move(out), std::move(most->second.trials), name);
}

} // namespace attune::storage::recorded_format
