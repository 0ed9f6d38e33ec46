#include "storage/recorded.hpp"

#include "core/text.hpp"
#include "storage/recorded_format.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <zlib.h>

namespace attune::storage {
namespace {

using namespace recorded_format;

constexpr std::size_t max_bytes = std::size_t{1} << 30;

/// gzopen reads plain files as they are, so one way serves both.
result<std::string> slurp(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) return error{errc::io, std::string("cannot be read: ") + std::strerror(errno), path};
  gzbuffer(file.get(), 1 << 17);
  std::string out;
  std::vector<char> block(1 << 17);
  for (;;) {
    const int n = gzread(file.get(), block.data(), static_cast<unsigned>(block.size()));
    if (n < 0) return error{errc::io, "cannot be read, or is damaged where it is compressed", path};
    if (n == 0) break;
    out.append(block.data(), static_cast<std::size_t>(n));
    if (out.size() > max_bytes) return error{errc::io, "is larger than 1 GB when unpacked", path};
  }
  int code = Z_OK;
  gzerror(file.get(), &code);
  if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
    return error{errc::io, "cannot be read, or is damaged where it is compressed", path};
  return out;
}

/// What a scan over the text found: where the last entry of the list of results ended, and what was open there.
struct scan {
  bool complete = false;
  std::size_t last_entry_end = 0; ///< just behind the last value that was closed inside the second bracket
  std::string open_there;
};

/// Walks over brackets and strings only. Python's NaN and Infinity, which JSON does not have, become null in `text`.
scan walk(std::string& text) {
  scan out;
  std::string open;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i)
        if (text[i] == '\\') ++i;
    } else if (c == '{' || c == '[') {
      open += c;
    } else if (c == '}' || c == ']') {
      if (open.empty()) return out;
      open.pop_back();
      if (open.size() == 2 && c == '}') {
        out.last_entry_end = i + 1;
        out.open_there = open;
      }
      if (open.empty()) {
        out.complete = true;
        return out;
      }
    } else if (c == 'N' && text.compare(i, 3, "NaN") == 0) {
      text.replace(i, 3, "null");
    } else if (c == 'I' && text.compare(i, 8, "Infinity") == 0) {
      const bool negative = i > 0 && text[i - 1] == '-';
      text.replace(negative ? i - 1 : i, negative ? 9 : 8, "null");
    }
  }
  return out;
}

std::optional<failure_kind> failure_of_word(const std::string& word) {
  if (word.find("Compilation") != std::string::npos || word == "compile" || word == "compilation")
    return failure_kind::build_error;
  if (word.find("Runtime") != std::string::npos || word == "runtime") return failure_kind::run_error;
  if (word.find("InvalidConfig") != std::string::npos || word == "constraints" || word == "invalid")
    return failure_kind::invalid_config;
  if (word == "timeout") return failure_kind::run_timeout;
  if (word == "correctness" || word == "incorrect" || word.find("Verification") != std::string::npos)
    return failure_kind::wrong_output;
  return std::nullopt;
}

result<recorded_space> kernel_tuner(const plain_json& root, const std::string& name) {
  recorded_space out;
  out.format = "kernel-tuner";
  if (const auto at = root.find("kernel_name"); at != root.end() && at->is_string()) out.name = at->get<std::string>();
  if (const auto at = root.find("device_name"); at != root.end() && at->is_string())
    out.device = at->get<std::string>();
  if (const auto at = root.find("objective"); at != root.end() && at->is_string()) out.metric = at->get<std::string>();
  out.unit = is_rate(out.metric) ? out.metric : "ms";
  out.direction = is_rate(out.metric) ? goal::maximize : goal::minimize;
  const double scale = time_scale(out.unit);

  const auto keys = root.find("tune_params_keys");
  const auto domains = root.find("tune_params");
  const auto cache = root.find("cache");
  if (!cache->is_object()) return bad(name, "the cache is not an object");
  if (keys != root.end() && keys->is_array())
    for (const auto& k : *keys)
      if (k.is_string()) out.parameters.push_back({k.get<std::string>(), {}});
  if (out.parameters.empty()) return bad(name, "tune_params_keys names no parameter");
  for (auto& p : out.parameters) {
    if (domains == root.end() || !domains->is_object()) break;
    const auto list = domains->find(p.name);
    if (list == domains->end() || !list->is_array()) continue;
    for (const auto& v : *list) {
      const value typed = to_value(v);
      const bool known = std::any_of(p.values.begin(), p.values.end(), [&](const value& w) { return same(w, typed); });
      if (!known) p.values.push_back(typed);
    }
  }
  collector all(out);
  std::size_t grown = 0, incomplete = 0;
  for (const auto& [key, entry] : cache->items()) {
    if (!entry.is_object()) {
      ++incomplete;
      continue;
    }
    recorded_trial t;
    for (std::size_t d = 0; d < out.parameters.size(); ++d) {
      const auto v = entry.find(out.parameters[d].name);
      if (v == entry.end()) break;
      const auto before = out.parameters[d].values.size();
      t.at.push_back(*all.index(d, to_value(*v), true));
      grown += out.parameters[d].values.size() - before;
    }
    if (t.at.size() != out.parameters.size()) {
      ++incomplete;
      continue;
    }
    t.result.phases.build = milliseconds(number_or(entry, "compile_time", 0));
    t.result.phases.run =
        milliseconds(number_or(entry, "benchmark_time", 0) + number_or(entry, "verification_time", 0));
    const auto stated = entry.find("__error__");
    const auto measured = entry.find(out.metric);
    const plain_json* word = stated != entry.end() && stated->is_string()       ? &*stated
                             : measured != entry.end() && measured->is_string() ? &*measured
                                                                                : nullptr;
    if (word == nullptr) {
      // Where a rate is the objective, the failure still stands in `time`.
      const auto time = entry.find("time");
      if (time != entry.end() && time->is_string()) word = &*time;
    }
    if (word != nullptr) {
      const auto kind = failure_of_word(word->get<std::string>());
      fail(t, kind.value_or(failure_kind::run_error), word->get<std::string>());
    } else if (measured == entry.end() || !measured->is_number()) {
      fail(t, failure_kind::bad_metric, "no value is recorded");
    } else if (measured->get<double>() >= 1e20) {
      fail(t, failure_kind::run_error, "recorded as 1e20");
    } else {
      const auto samples = out.metric == "time" ? entry.find("times") : entry.end();
      measure(t, measured->get<double>(), samples == entry.end() ? nullptr : &*samples, scale);
    }
    all.add(std::move(t));
  }
  if (grown > 0) out.warnings.push_back(std::to_string(grown) + " values are not in the declared lists");
  if (incomplete > 0) out.warnings.push_back(std::to_string(incomplete) + " entries without all parameters left out");
  if (out.trials.empty()) return bad(name, "the cache has no entry");
  return out;
}

/// A configuration value of T4, which some tools write as text: numbers are numbers.
value t4_value(const ordered_json& j) {
  if (j.is_string()) {
    const std::string text = j.get<std::string>();
    if (const auto i = parse_integer(text)) return value(*i);
    if (const auto d = parse_double(text); d && std::isfinite(*d)) return value(*d);
  }
  return to_value(j);
}

result<recorded_space> t4(const ordered_json& root, const std::string& name) {
  recorded_space out;
  out.format = "t4";
  const auto& results = root.at("results");
  std::string unit;
  if (const auto meta = root.find("metadata"); meta != root.end() && meta->is_object()) {
    if (const auto at = meta->find("timeunit"); at != meta->end() && at->is_string()) unit = at->get<std::string>();
    if (const auto at = meta->find("device"); at != meta->end() && at->is_string()) out.device = at->get<std::string>();
  }
  std::optional<collector> all;
  std::size_t incomplete = 0;
  for (const auto& r : results) {
    const auto config = r.is_object() ? r.find("configuration") : r.end();
    if (!r.is_object() || config == r.end() || !config->is_object()) {
      ++incomplete;
      continue;
    }
    if (!all) {
      for (const auto& [k, v] : config->items()) out.parameters.push_back({k, {}});
      if (const auto o = r.find("objectives"); o != r.end() && o->is_array() && !o->empty() && (*o)[0].is_string())
        out.metric = (*o)[0].get<std::string>();
      if (out.parameters.empty()) return bad(name, "the first configuration has no parameter");
      all.emplace(out);
    }
    recorded_trial t;
    for (std::size_t d = 0; d < out.parameters.size(); ++d) {
      const auto v = config->find(out.parameters[d].name);
      if (v == config->end()) break;
      t.at.push_back(*all->index(d, t4_value(*v), true));
    }
    if (t.at.size() != out.parameters.size()) {
      ++incomplete;
      continue;
    }
    const ordered_json* objective = nullptr;
    if (const auto list = r.find("measurements"); list != r.end() && list->is_array())
      for (const auto& m : *list)
        if (m.is_object() && m.value("name", "") == out.metric) objective = &m;
    if (objective != nullptr && unit.empty()) unit = objective->value("unit", "");
    const double times_scale = time_scale(canonical_unit(unit.empty() ? "s" : unit));
    const auto times = r.find("times");
    const ordered_json none = ordered_json::object();
    const ordered_json& phase = times != r.end() && times->is_object() ? *times : none;
    const double build = number_or(phase, "compilation_time", number_or(phase, "compilation", 0)) * times_scale;
    t.result.phases.build = milliseconds(build * 1e3);
    const auto runtimes = phase.find("runtimes");
    double run = number_or(phase, "validation", 0);
    if (runtimes != phase.end() && runtimes->is_array())
      for (const auto& s : *runtimes) run += s.is_number() ? s.get<double>() : 0;
    t.result.phases.run = milliseconds(run * times_scale * 1e3);

    const std::string invalidity = r.value("invalidity", "correct");
    if (invalidity != "correct" && !invalidity.empty()) {
      fail(t, failure_of_word(invalidity).value_or(failure_kind::run_error), invalidity);
    } else if (objective != nullptr && objective->contains("value") && (*objective)["value"].is_number()) {
      std::string own = canonical_unit(objective->value("unit", ""));
      if (own.empty()) own = is_rate(out.metric) ? out.metric : canonical_unit(unit);
      out.unit = own;
      const bool of_time = out.metric == "time" && runtimes != phase.end();
      measure(t, (*objective)["value"].get<double>(), of_time ? &*runtimes : nullptr, time_scale(own));
    } else {
      fail(t, failure_kind::bad_metric, "no value is recorded");
    }
    all->add(std::move(t));
  }
  if (incomplete > 0) out.warnings.push_back(std::to_string(incomplete) + " results without all parameters left out");
  if (out.trials.empty()) return bad(name, "there is no result in it");
  if (is_rate(out.metric)) out.direction = goal::maximize;
  sort_numbers(out);
  return out;
}

constexpr const char* neither = "is no recorded space: no Kernel Tuner cache, T4, KTT output, AutoTVM log or history";

/// Whether a line is a whole JSON object that a log could consist of.
bool is_record(std::string_view line) {
  const auto j = plain_json::parse(line, nullptr, false);
  return j.is_object() && (j.contains("input") || j.contains("i") || (j.contains("config") && j.contains("value")));
}

} // namespace

result<recorded_space> parse_recorded(std::string_view text, const std::string& name) {
  const std::string_view begin = trim(text);
  if (begin.empty()) return bad(name, "is empty");
  // A log has one object a line, the first of which is whole; a document of one line is no log.
  const auto line_end = begin.find('\n');
  const bool log = begin.front() == '#' || is_record(begin.substr(0, line_end));
  if (log) return lines(text, name);
  if (begin.front() != '{') return bad(name, neither);
  std::string whole(text);
  const scan seen = walk(whole);
  std::vector<std::string> warnings;
  if (!seen.complete) {
    if (seen.last_entry_end == 0) return bad(name, "is cut off before its first entry, or is no JSON");
    whole.resize(seen.last_entry_end);
    for (auto it = seen.open_there.rbegin(); it != seen.open_there.rend(); ++it) whole += *it == '{' ? '}' : ']';
    warnings.push_back("the file is unterminated (its writer was cut off); what is complete was read");
  }
  const auto out_of = [&]() -> result<recorded_space> {
    if (whole.find("\"tune_params_keys\"") != std::string::npos) {
      const auto root = plain_json::parse(whole, nullptr, false);
      if (root.is_discarded()) return bad(name, "is no JSON object");
      if (root.contains("cache") && root.contains("tune_params_keys")) return kernel_tuner(root, name);
    } else {
      const auto root = ordered_json::parse(whole, nullptr, false);
      if (root.is_discarded()) return bad(name, "is no JSON object");
      if (root.contains("results") && root["results"].is_array()) return t4(root, name);
      if (root.contains("Results") && root["Results"].is_array()) return ktt(root, name);
      if (root.contains("records") && root["records"].is_array()) return history(root, name);
    }
    return bad(name, neither);
  };
  auto out = out_of();
  if (out) out->warnings.insert(out->warnings.begin(), warnings.begin(), warnings.end());
  return out;
}

result<recorded_space> read_recorded(const std::string& path) {
  auto text = slurp(path);
  if (!text) return text.err();
  return parse_recorded(*text, path);
}

} // namespace attune::storage
