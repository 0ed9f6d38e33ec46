// What the readers of recorded spaces have in common. Internal to storage.
#pragma once

#include "storage/recorded.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attune::storage::recorded_format {

/// A Kernel Tuner cache is one object of thousands of entries, for which the ordered form would be quadratic; the
/// others need the order, since it is the only place where that of the parameters stands.
using plain_json = nlohmann::json;
using ordered_json = nlohmann::ordered_json;

/// The index that stands for a parameter which a configuration does not have.
inline constexpr std::uint32_t absent = 0xffffffffu;

inline error bad(const std::string& name, std::string why) { return {errc::invalid_spec, std::move(why), name}; }

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
bool same(const value& a, const value& b);

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

/// Seconds in a unit of time, 1 for any other.
double time_scale(const std::string& unit);
/// The spellings of a unit of time that tools use; the text itself for anything else.
std::string canonical_unit(const std::string& u);
/// Rates are better when they are higher.
bool is_rate(const std::string& metric);

template <class Json>
double number_or(const Json& object, const char* key, double otherwise) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number() ? at->template get<double>() : otherwise;
}

nanoseconds milliseconds(double ms);

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

void fail(recorded_trial& t, failure_kind kind, std::string message);

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

/// Puts the values of numeric parameters in ascending order, where the file states no domains; the points follow.
void sort_numbers(recorded_space& out);

// The readers. Each takes what it is given as its own format and refuses what it cannot be.
result<recorded_space> ktt(const ordered_json& root, const std::string& name);
/// One JSON object a line; lines that begin with # are comments. AutoTVM (0.1 and 0.2), or records as `attune history
/// --json` prints them.
result<recorded_space> lines(std::string_view text, const std::string& name);
/// `attune history --json` as one document.
result<recorded_space> history(const ordered_json& root, const std::string& name);

} // namespace attune::storage::recorded_format
