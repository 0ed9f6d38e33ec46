#include "cli/render.hpp"

#include "actors/messages.hpp"
#include "cli/progress.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace attune::cli {

std::string c_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      // Three octal digits end by themselves; hexadecimal ones would take what follows.
      out += {'\\', static_cast<char>('0' + (byte >> 6)), static_cast<char>('0' + (byte >> 3 & 7)),
              static_cast<char>('0' + (byte & 7))};
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string cmake_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '$') out += '\\';
    if (c == ';') {
      out += "\\;";
      continue;
    }
    out += c;
  }
  return out + '"';
}

namespace {

/// At most `width` columns, the rest as `...`.
std::string shortened(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

std::string first_line(std::string_view text) {
  for (const auto line : split(text, '\n'))
    if (!trim(line).empty()) return std::string(trim(line));
  return {};
}

std::string last_line(std::string_view text) {
  std::string out;
  for (const auto line : split(text, '\n'))
    if (!trim(line).empty()) out = trim(line);
  return out;
}

std::string values_text(const search::space& space, std::size_t parameter, std::uint32_t size) {
  std::string out;
  for (std::uint32_t k = 0; k < size; ++k) {
    // The first ones and the last say what a long list is.
    if (size > 10 && k == 6) {
      out += " ...";
      k = size - 1;
    }
    const auto v = space.value_at(parameter, k);
    const auto text = v.type() == value::kind::text ? "\"" + v.text() + "\"" : v.text();
    out += (out.empty() ? "" : " ") + shortened(text, 40);
  }
  return out;
}

/// The further metrics: `cpu 12.3 ms, peak_mb 40.1 MB`.
std::string metrics_text(const measurement& m, std::span<const metric_spec> specs) {
  std::string out;
  for (const auto& [name, v] : m.metrics) {
    const auto at = std::find_if(specs.begin(), specs.end(), [&name = name](const auto& s) { return s.name == name; });
    // A count needs no word for what it counts: that is its name.
    const bool count = at != specs.end() && at->unit == "count";
    out += (out.empty() ? "" : ", ") + name + " " +
           (at == specs.end() ? shortest(v) : human_value(v, count ? "" : at->stored_unit()));
  }
  return out;
}

/// What the trials' time went into, the most first: ` (run 56.1 s, build 3.00 s)`. What took nothing is left out.
std::string phases_text(const search::tuning_times& t) {
  std::pair<const char*, nanoseconds> phases[] = {{"build", t.build}, {"run", t.run},     {"queue", t.queue},
                                                  {"clean", t.clean}, {"store", t.store}, {"search", t.search}};
  std::stable_sort(std::begin(phases), std::end(phases),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out;
  for (const auto& [name, d] : phases)
    if (d > nanoseconds(0)) out += (out.empty() ? " (" : ", ") + std::string(name) + " " + human_duration(d);
  return out.empty() ? out : out + ")";
}

/// `local/slot0 93 %`.
std::string devices_text(const search::tuning_times& t, nanoseconds wall) {
  std::string out;
  for (const auto& [name, busy] : t.devices)
    if (wall > nanoseconds(0))
      out += (out.empty() ? "" : ", ") + name + " " + shortest(std::round(seconds(busy) / seconds(wall) * 100)) + " %";
  return out;
}

std::string spread_text(double spread) {
  return spread > 0 ? " +-" + shortest(std::round(spread * 1000) / 10) + " %" : "";
}

/// A name as a macro: upper case where no other parameter has the same.
std::vector<std::string> macro_names(const configuration& c) {
  std::vector<std::string> upper;
  for (std::size_t i = 0; i < c.size(); ++i) {
    auto name = c.name(i);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char ch) { return ch >= 'a' && ch <= 'z' ? static_cast<char>(ch - 32) : ch; });
    upper.push_back(std::move(name));
  }
  std::vector<std::string> out;
  for (std::size_t i = 0; i < upper.size(); ++i)
    out.push_back("ATTUNE_" + (std::count(upper.begin(), upper.end(), upper[i]) > 1 ? c.name(i) : upper[i]));
  return out;
}

std::string env_text(const configuration& c) {
  std::string out;
  for (std::size_t i = 0; i < c.size(); ++i) out += "ATTUNE_" + c.name(i) + "=" + shell_word(c[i].text()) + "\n";
  return out;
}

std::string args_text(const configuration& c) {
  std::string out;
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (c[i].is_absent()) continue;
    out += (out.empty() ? "" : " ") + shell_word("--" + c.name(i) + "=" + c[i].text());
  }
  return out + "\n";
}

std::string header_text(const task& of, const ranked& best, const std::string& device) {
  const auto names = macro_names(best.config);
  std::string out = "// " + of.spec.name + ": " + human_value(best.measured.value, of.metric().stored_unit()) + " on " +
                    device + ". Written by attune best.\n#pragma once\n\n";
  for (std::size_t i = 0; i < best.config.size(); ++i) {
    const auto& v = best.config[i];
    if (v.is_absent()) continue;
    out += "#define " + names[i] + " ";
    if (v.type() == value::kind::boolean) {
      out += v.as_bool() ? "1" : "0";
    } else if (v.is_number()) {
      auto text = v.text();
      // `1` would be an int where the parameter is a real number.
      if (v.type() == value::kind::real && text.find_first_of(".en") == std::string::npos) text += ".0";
      out += text.starts_with('-') ? "(" + text + ")" : text;
    } else {
      out += c_string(v.text());
    }
    out += '\n';
  }
  return out;
}

std::string cmake_text(const task& of, const ranked& best, const std::string& device) {
  const auto names = macro_names(best.config);
  std::string out = "# " + of.spec.name + ": " + human_value(best.measured.value, of.metric().stored_unit()) + " on " +
                    device + ". Written by attune best.\n";
  for (std::size_t i = 0; i < best.config.size(); ++i) {
    const auto& v = best.config[i];
    if (v.is_absent()) continue;
    out += "set(" + names[i] + " ";
    if (v.type() == value::kind::boolean)
      out += v.as_bool() ? "ON" : "OFF";
    else
      out += v.is_number() ? v.text() : cmake_string(v.text());
    out += ")\n";
  }
  return out;
}

} // namespace

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line += std::string(widths[i] - columns(row[i]) + 2, ' ');
    }
    line.resize(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::string shell_word(const std::string& text) {
  const bool plain =
      !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                              "_-+=.,:/@%") == std::string::npos;
  if (plain) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

namespace {

/// A fraction for a person: `12 %`, `0.3 %`, `all`, `nothing`.
std::string share_text(double share) {
  if (share <= 0) return "nothing";
  if (share >= 1) return "everything";
  const double percent = share * 100;
  const double shown = percent >= 99.5 || percent < 1 ? std::round(percent * 100) / 100 : std::round(percent);
  return (shown == 100 ? "more than 99.99" : shown == 0 ? "less than 0.01" : shortest(shown)) + " %";
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i == 12 && names.size() > 13) return out + ", ... (" + std::to_string(names.size()) + " in all)";
    out += (i == 0 ? "" : ", ") + names[i];
  }
  return out;
}

} // namespace

std::string render_space(const task_spec& spec, const search::space& space) {
  std::string out = spec.name + "\n\n";
  const auto about = space.describe();
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < about.parameters.size(); ++i) {
    const auto& p = about.parameters[i];
    std::string when;
    for (const auto& declared : spec.parameters)
      if (declared.name == p.name && !declared.when.empty()) when = "  when " + declared.when;
    std::string size = std::to_string(p.size) + (p.size == 1 ? " value" : " values");
    if (p.used < p.size) size += ", " + std::to_string(p.used) + " used";
    rows.push_back({"  " + p.name, size, values_text(space, i, p.size) + when});
  }
  out += "Parameters\n" + table(rows);
  if (!about.constraints.empty()) {
    rows.clear();
    for (const auto& c : about.constraints) {
      std::string cuts, last;
      if (c.cuts) cuts = std::string("cuts ") + (c.estimated ? "about " : "") + share_text(*c.cuts);
      if (c.cuts_last) last = share_text(*c.cuts_last) + " of what the others leave";
      rows.push_back({"  " + shortened(c.text, 80), cuts, last});
    }
    out += "\nConstraints\n" + table(rows);
  }
  if (about.groups.size() > 1) {
    rows.clear();
    std::vector<std::string> free;
    for (const auto& g : about.groups) {
      if (g.parameters.size() == 1 && g.nodes == 0 && g.count) {
        free.push_back(g.parameters[0]);
        continue;
      }
      rows.push_back(
          {"  " + (g.count ? search::to_string(*g.count) + " valid" : "too big to count"), listed(g.parameters)});
    }
    if (!free.empty()) rows.push_back({"  free", listed(free)});
    out += "\nGroups that do not depend on each other\n" + table(rows);
  }
  const auto count = space.count();
  out += "\nConfigurations\n";
  rows.clear();
  rows.push_back({"  all", search::to_string(space.cartesian())});
  if (!count) {
    rows.push_back({"  valid", "unknown: the space is too big to be counted"});
  } else {
    const double share = static_cast<double>(*count) / static_cast<double>(space.cartesian()) * 100;
    std::string percent = share >= 0.01 ? shortest(std::round(share * 100) / 100) : "less than 0.01";
    rows.push_back({"  valid", search::to_string(*count) + " (" + percent + " %)"});
  }
  out += table(rows);
  if (!space.remarks().empty()) out += "\nRemarks\n";
  for (const auto& remark : space.remarks()) out += "  " + remark + "\n";
  return out;
}

std::string render_doctor(const machine_facts& facts, std::span<const finding> findings,
                          std::span<const finding> measured) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, v] : facts.fingerprint) rows.push_back({"  " + name, v.text()});
  std::string out = "This machine\n" + table(rows);
  const auto add = [&](const char* heading, std::span<const finding> some) {
    rows.clear();
    for (const auto& f : some)
      rows.push_back({"  " + std::string(to_string(f.status)), f.name, f.value.empty() ? "-" : f.value, f.meaning});
    out += heading + table(rows);
  };
  add("\nWhat disturbs measurements\n", findings);
  if (!measured.empty()) add("\nWhat it costs, measured just now\n", measured);
  std::vector<finding> all(findings.begin(), findings.end());
  all.insert(all.end(), measured.begin(), measured.end());
  out += "\nWhat to do\n";
  bool any = false, urgent = false;
  for (const auto level : {finding::level::warning, finding::level::note, finding::level::absent})
    for (const auto& f : all) {
      urgent = urgent || f.status == finding::level::warning;
      if (f.status != level || f.remedy.empty()) continue;
      out += "  " + f.name + ": " + f.remedy + "\n";
      any = true;
    }
  if (!any)
    out += "  nothing: this machine measures well\n";
  else if (!urgent)
    out += "  (nothing of this is urgent)\n";
  return out;
}

std::string render_best(const task& of, std::span<const ranked> best, const std::string& device,
                        best_options::form form) {
  if (best.empty()) return {};
  switch (form) {
  case best_options::form::env:
    return env_text(best[0].config);
  case best_options::form::args:
    return args_text(best[0].config);
  case best_options::form::header:
    return header_text(of, best[0], device);
  case best_options::form::cmake:
    return cmake_text(of, best[0], device);
  case best_options::form::text:
  case best_options::form::json:
    break;
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& b : best)
    rows.push_back(
        {human_value(b.measured.value, of.metric().stored_unit()) + spread_text(b.measured.spread), b.config.text()});
  return table(rows);
}

std::string no_best_text(const actors::tuning_report& r) {
  // Where there is trouble with the store, that is told by itself.
  const bool stopped = r.reason == search::stop_reason::error && !r.trouble;
  if (r.best && !stopped) return {};
  std::string out =
      r.of->spec.name + (r.best ? ": stopped, for the machine failed too often in a row" : ": no valid result");
  if (const auto failed = r.counts.failures(); failed > 0) {
    out += " (" + std::to_string(failed) + " of " + std::to_string(r.counts.proposed) + " failed)";
    if (r.first_failure) {
      out += "; the first: " + std::string(to_string(r.first_failure->kind));
      if (const auto text = last_line(r.first_failure->message); !text.empty()) out += ": " + shortened(text, 300);
    }
  }
  return out;
}

namespace {

std::string times_text(double factor) { return shortest(std::round(factor * 100) / 100) + " x"; }

/// Whether the winner is one, in a line.
std::string verdict_text(const actors::tuning_report& r) {
  std::uint32_t rounds = 0;
  std::vector<std::string> tied;
  for (const auto& s : r.side_by_side) {
    rounds = std::max(rounds, s.how.rounds);
    if (s.how.tied) tied.push_back(s.which.config.text());
  }
  std::string out = std::to_string(r.side_by_side.size()) + " of the best side by side, up to " +
                    std::to_string(rounds) + " times each: ";
  if (tied.empty()) return out + "the best is better than every other";
  out += "the best cannot be told from ";
  if (tied.size() > 2) return out + std::to_string(tied.size()) + " others";
  return out + tied[0] + (tied.size() == 2 ? ", nor from " + tied[1] : "");
}

} // namespace

std::string render_report(const actors::tuning_report& r) {
  std::string out = r.of->spec.name + "\n";
  std::vector<std::vector<std::string>> rows;
  if (r.best) {
    const auto& m = *r.best->result->measured();
    rows.push_back({"  best", human_value(m.value, r.of->metric().stored_unit()) + spread_text(m.spread)});
    if (const auto more = metrics_text(m, r.of->spec.run.metrics); !more.empty()) rows.push_back({"  metrics", more});
    rows.push_back({"  configuration", r.best->config.text()});
    if (r.standard) {
      const auto times = actors::speedup(r);
      rows.push_back({"  default", human_value(r.standard->result->measured()->value, r.of->metric().stored_unit()) +
                                       (times ? ", the best is " + times_text(*times) + " as good" : "")});
    }
    if (std::any_of(r.side_by_side.begin(), r.side_by_side.end(), [](const auto& s) { return s.how.rounds > 0; }))
      rows.push_back({"  measured again", verdict_text(r)});
    if (r.repeated > 0)
      rows.push_back({"  repeated", std::to_string(r.repeated) + " trials, because the machine was disturbed"});
  } else {
    rows.push_back({"  best", "n/a"});
  }
  std::string trials = std::to_string(r.counts.proposed) + ": " + std::to_string(r.counts.measured) + " measured";
  if (r.counts.bounded > 0) trials += " (" + std::to_string(r.counts.bounded) + " of them stopped early)";
  trials += ", " + std::to_string(r.counts.cached) + " cached";
  if (r.counts.estimated > 0) trials += ", " + std::to_string(r.counts.estimated) + " estimated (not measured)";
  if (const auto f = failures_text(r.counts.failed); !f.empty()) trials += ", " + f;
  rows.push_back({"  trials", trials});
  rows.push_back({"  time", human_duration(r.wall) + phases_text(r.times)});
  if (const auto busy = devices_text(r.times, r.wall); !busy.empty()) rows.push_back({"  busy", busy});
  rows.push_back({"  stopped because", search::to_string(r.reason)});
  return out + table(rows);
}

std::string render_misses(const actors::cache_statistics& asked) {
  std::string out;
  for (std::size_t i = 0; i < asked.causes.size(); ++i)
    if (asked.causes[i] > 0)
      out += (out.empty() ? "" : ", ") + std::string(storage::to_string(static_cast<storage::miss_cause>(i))) + " " +
             std::to_string(asked.causes[i]);
  return out.empty() ? out : "not in the cache: " + out + "\n";
}

std::string render_estimate(const configuration& config, const estimate& guess, const std::string& unit) {
  return "not measured          an estimate: " + human_value(guess.value, unit) + "  " + config.text() + "\n";
}

std::string render_record(const configuration& config, const outcome& result, const std::string& unit, goal direction) {
  std::string out = rfc3339(result.at) + "  ";
  if (const auto* m = result.measured()) {
    out += human_value(m->value, unit) + spread_text(m->spread) + "  " + config.text() + "\n";
  } else if (const auto* f = result.failed()) {
    out += to_string(f->kind);
    if (f->exit) out += " (exit " + std::to_string(*f->exit) + ")";
    if (f->signal) out += " (signal " + std::to_string(*f->signal) + ")";
    out += "  " + config.text() + "\n";
    if (const auto text = first_line(f->message); !text.empty()) out += "    " + shortened(text, 300) + "\n";
  } else if (const auto* b = result.bounded()) {
    out += direction == goal::minimize ? "at least " : "at most ";
    out += human_value(b->value, unit) + "  " + config.text() + "\n";
  }
  return out;
}

std::string human_bytes(std::uint64_t n) {
  constexpr const char* units[] = {"bytes", "kB", "MB", "GB", "TB"};
  auto d = static_cast<double>(n);
  std::size_t unit = 0;
  while (d >= 1000 && unit + 1 < std::size(units)) {
    d /= 1000;
    ++unit;
  }
  return unit == 0 ? std::to_string(n) + " bytes" : shortest(std::round(d * 10) / 10) + " " + units[unit];
}

namespace {

std::string percent_text(double part, double whole) {
  return whole > 0 ? shortest(std::round(1000 * part / whole) / 10) + " %" : "-";
}

std::string age_text(nanoseconds age) {
  const auto s = std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(age).count());
  if (s < 120) return std::to_string(s) + " s";
  if (s < 2 * 3600) return std::to_string(s / 60) + " min";
  if (s < 2 * 86400) return std::to_string(s / 3600) + " h";
  return std::to_string(s / 86400) + " days";
}

constexpr std::size_t most_lines = 30;

} // namespace

std::string render_statistics(const storage::store_statistics& s, const std::string& folder) {
  std::string misses;
  std::uint64_t missed = 0;
  for (const auto& [cause, n] : s.misses) {
    misses += (misses.empty() ? "" : ", ") + cause + " " + std::to_string(n);
    missed += n;
  }
  std::string speedup = "-";
  if (s.spent.count() > 0 && missed > 0) {
    const auto ratio = [](double part, double whole) { return shortest(std::round(100 * (1 + part / whole)) / 100); };
    speedup = ratio(static_cast<double>(s.saved.count()), static_cast<double>(s.spent.count())) +
              " (by the hit rate alone " + ratio(static_cast<double>(s.hits), static_cast<double>(missed)) + ")";
  }
  return table({{"store", folder},
                {"records", std::to_string(s.records) + " (" + std::to_string(s.failures) + " failures)"},
                {"tasks", std::to_string(s.tasks) + " on " + std::to_string(s.targets) +
                              (s.targets == 1 ? " target" : " targets")},
                {"cache", std::to_string(s.cache_entries) + " entries, " + std::to_string(s.hits) + " hits, " +
                              std::to_string(s.evicted) + " evicted"},
                {"misses", misses.empty() ? "none" : misses},
                {"hit rate", percent_text(static_cast<double>(s.hits), static_cast<double>(s.hits + missed))},
                {"speed-up", speedup},
                {"size", human_bytes(s.bytes)},
                {"schema", std::to_string(s.schema)}});
}

std::string render_statistics_by_task(std::span<const storage::task_statistics> tasks, nanoseconds now) {
  struct line {
    std::string name, device;
    std::uint64_t records = 0, failures = 0, hits = 0, misses = 0, bytes = 0;
    nanoseconds newest{0};
  };
  std::map<digest, line> targets;
  std::vector<line> all;
  for (const auto& t : tasks) {
    all.push_back({t.task.name, target{t.task.target_facts}.device(), t.counts.records, t.counts.failures, t.hits,
                   t.misses, t.bytes, t.counts.last_at});
    auto& sum = targets[t.task.target];
    sum.device = all.back().device;
    sum.records += t.counts.records;
    sum.failures += t.counts.failures;
    sum.hits += t.hits;
    sum.misses += t.misses;
    sum.bytes += t.bytes;
    sum.newest = std::max(sum.newest, t.counts.last_at);
  }
  const auto shown = [&](std::vector<line> lines, const char* first) {
    std::stable_sort(lines.begin(), lines.end(), [](const line& a, const line& b) { return a.records > b.records; });
    std::vector<std::vector<std::string>> rows{{first, "target", "records", "failures", "hit rate", "size", "newest"}};
    for (std::size_t i = 0; i < std::min(lines.size(), most_lines); ++i) {
      const auto& l = lines[i];
      rows.push_back({l.name, l.device, std::to_string(l.records), std::to_string(l.failures),
                      percent_text(static_cast<double>(l.hits), static_cast<double>(l.hits + l.misses)),
                      human_bytes(l.bytes), age_text(now - l.newest) + " ago"});
    }
    auto out = "\n" + table(rows);
    if (lines.size() > most_lines)
      out += "and " + std::to_string(lines.size() - most_lines) + " more (--json has them)\n";
    return out;
  };
  if (all.empty()) return {};
  std::vector<line> by_target;
  by_target.reserve(targets.size());
  for (const auto& [key, l] : targets) by_target.push_back(l);
  return (by_target.size() > 1 ? shown(std::move(by_target), "") : std::string()) + shown(std::move(all), "task");
}

} // namespace attune::cli
