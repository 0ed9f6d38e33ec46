#include "storage/recorded.hpp"

#include "core/text.hpp"

#include <nlohmann/json.hpp>

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

/// A Kernel Tuner cache is one object of thousands of entries, for which the ordered form would be quadratic; T4 needs
/// the order, since it is the only place where that of the parameters stands.
using plain_json = nlohmann::json;
using ordered_json = nlohmann::ordered_json;

constexpr std::size_t max_bytes = std::size_t{1} << 30;

error bad(const std::string& name, std::string why) { return {errc::invalid_spec, std::move(why), name}; }

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

template <class Json>
value to_value(const Json& j) {
  if (j.is_boolean()) return value(j.template get<bool>());
  if (j.is_number_integer()) return value(j.template get<std::int64_t>());
  if (j.is_number_float()) return value(j.template get<double>());
  if (j.is_string()) return value(j.template get<std::string>());
  if (j.is_null()) return value{};
  // A list or an object as a value (Kernel Tuner allows tuples): by its text.
  return value(j.dump());
}

/// As people mean it: 64 and 64.0 are the same value of a parameter.
bool same(const value& a, const value& b) {
  if (a.is_number() && b.is_number()) return a.to_double() == b.to_double();
  return a == b;
}

/// Finds values in the domains fast: by text first.
class domain {
public:
  std::optional<std::uint32_t> find(const value& v, const std::vector<value>& values) {
    const auto [at, fresh] = by_text_.try_emplace(v.text(), 0);
    if (!fresh && at->second < values.size() && same(values[at->second], v)) return at->second;
    for (std::uint32_t i = 0; i < values.size(); ++i)
      if (same(values[i], v)) return at->second = i;
    by_text_.erase(at);
    return std::nullopt;
  }

private:
  std::map<std::string, std::uint32_t> by_text_;
};

double time_scale(const std::string& unit) {
  if (unit == "ms") return 1e-3;
  if (unit == "us") return 1e-6;
  if (unit == "ns") return 1e-9;
  return 1;
}

/// The spellings of a unit of time that tools use; the text itself for anything else.
std::string canonical_unit(std::string u) {
  static const std::map<std::string, std::string> names{
      {"s", "s"},     {"sec", "s"},          {"second", "s"},        {"seconds", "s"},       {"ms", "ms"},
      {"msec", "ms"}, {"millisecond", "ms"}, {"milliseconds", "ms"}, {"milisecond", "ms"},   {"miliseconds", "ms"},
      {"us", "us"},   {"usec", "us"},        {"microsecond", "us"},  {"microseconds", "us"}, {"ns", "ns"},
      {"nsec", "ns"}, {"nanosecond", "ns"},  {"nanoseconds", "ns"}};
  const auto found = names.find(u);
  return found == names.end() ? u : found->second;
}

/// Rates are better when they are higher.
bool is_rate(const std::string& metric) {
  return metric.find("/s") != std::string::npos || metric.find("FLOPS") != std::string::npos ||
         metric.find("flops") != std::string::npos || metric.find("throughput") != std::string::npos;
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

template <class Json>
double number_or(const Json& object, const char* key, double otherwise) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? at->template get<double>() : otherwise;
}

nanoseconds milliseconds(double ms) {
  return std::isfinite(ms) && ms > 0 && ms < 1e12 ? from_seconds(ms * 1e-3) : nanoseconds{0};
}

/// Builds the space; doubled configurations replace the earlier one.
class collector {
public:
  explicit collector(recorded_space& into) : into_(into), domains_(into.parameters.size()) {}

  /// None where a value is not in its domain (`grow`: it is added).
  std::optional<std::uint32_t> index(std::size_t parameter, const value& v, bool grow) {
    auto& values = into_.parameters[parameter].values;
    if (const auto i = domains_[parameter].find(v, values)) return i;
    if (!grow) return std::nullopt;
    values.push_back(v);
    return static_cast<std::uint32_t>(values.size() - 1);
  }
  void add(recorded_trial t) {
    const auto [at, fresh] = seen_.try_emplace(t.at, into_.trials.size());
    if (fresh)
      into_.trials.push_back(std::move(t));
    else {
      into_.trials[at->second] = std::move(t);
      ++doubled_;
    }
  }
  std::size_t doubled() const { return doubled_; }

private:
  recorded_space& into_;
  std::vector<domain> domains_;
  std::map<std::vector<std::uint32_t>, std::size_t> seen_;
  std::size_t doubled_ = 0;
};

void fail(recorded_trial& t, failure_kind kind, std::string message) {
  failure f;
  f.kind = kind;
  f.message = std::move(message);
  t.result.data = std::move(f);
}

/// A measured value, or bad_metric where it is none.
template <class Json>
void measure(recorded_trial& t, double written, const Json* samples, double scale) {
  if (!std::isfinite(written) || written < 0) return fail(t, failure_kind::bad_metric, "no finite value is recorded");
  measurement m;
  t.written = written;
  m.value = written * scale;
  if (samples != nullptr && samples->is_array())
    for (const auto& s : *samples)
      if (s.is_number() && std::isfinite(s.template get<double>()))
        m.samples.push_back(s.template get<double>() * scale);
  if (m.samples.empty()) m.samples.push_back(m.value);
  t.result.data = std::move(m);
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
  // T4 states no domains: numbers are put in order, and the points follow.
  for (std::size_t d = 0; d < out.parameters.size(); ++d) {
    auto& values = out.parameters[d].values;
    if (!std::all_of(values.begin(), values.end(), [](const value& v) { return v.is_number(); })) continue;
    std::vector<std::uint32_t> order(values.size()), rank(values.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return values[a].to_double() < values[b].to_double(); });
    std::vector<value> sorted;
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      rank[order[i]] = i;
      sorted.push_back(values[order[i]]);
    }
    values = std::move(sorted);
    for (auto& t : out.trials) t.at[d] = rank[t.at[d]];
  }
  return out;
}

} // namespace

result<recorded_space> parse_recorded(std::string_view text, const std::string& name) {
  std::string whole(text);
  const std::string_view begin = trim(whole);
  if (begin.empty()) return bad(name, "is empty");
  if (begin.front() != '{') return bad(name, "is no recorded space: neither a Kernel Tuner cache nor T4");
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
    }
    return bad(name, "is no recorded space: neither a Kernel Tuner cache nor T4");
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
