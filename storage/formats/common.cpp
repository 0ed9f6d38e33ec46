#include "storage/formats/common.hpp"

#include "core/fields.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <cmath>

namespace attune::storage::formats {
namespace {

constexpr std::string_view method_begin = "import/1:";

} // namespace

void entry::clear() {
  task.reset();
  config = {};
  result = {};
  session.clear();
  by_samples = false;
  written = 0;
}

std::string method_form(const origin& from) {
  std::string out(method_begin);
  append_field(out, "format", from.format);
  append_field(out, "tool", from.tool);
  append_field(out, "statistic", from.statistic);
  return out;
}

std::optional<origin> origin_of(std::string_view form) {
  if (!form.starts_with(method_begin)) return std::nullopt;
  form.remove_prefix(method_begin.size());
  auto format = take_field(form, "format"), tool = take_field(form, "tool"), statistic = take_field(form, "statistic");
  if (!format || !tool || !statistic) return std::nullopt;
  return origin{std::move(*format), std::move(*tool), std::move(*statistic)};
}

task_entry_ptr imported_task(workload what, target where, const origin& from, std::string metric, std::string unit,
                             goal direction) {
  auto out = std::make_shared<task_entry>();
  out->workload_form = what.canonical();
  out->target_form = where.canonical();
  out->method_form = method_form(from);
  out->workload = sha256(out->workload_form);
  out->target = sha256(out->target_form);
  out->method = sha256(out->method_form);
  std::string all;
  for (const auto* part : {&out->workload, &out->target, &out->method}) all += part->view();
  out->task = sha256(all);
  out->name = std::move(what.name);
  out->workload_args = std::move(what.args);
  out->target_facts = std::move(where.facts);
  out->metric = std::move(metric);
  out->unit = std::move(unit);
  out->direction = direction;
  return out;
}

foreign_task foreign(const workload& what, const target& where, origin from, const std::string& metric,
                     const std::string& unit, goal direction) {
  // The metric is part of how it was measured.
  if (metric != "time") from.format += "/" + metric;
  foreign_task out;
  from.statistic = "stated";
  out.stated = imported_task(what, where, from, metric, unit, direction);
  from.statistic = "median";
  out.sampled = imported_task(what, where, from, metric, unit, direction);
  return out;
}

parameter_names names_pool::of(const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < known_.size(); ++i)
    if (*known_[i] == names) {
      auto out = known_[i];
      // What is used again is found sooner.
      if (i > 0) std::swap(known_[i], known_[i - 1]);
      return out;
    }
  auto sorted = names;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return nullptr;
  auto made = std::make_shared<const std::vector<std::string>>(names);
  if (known_.size() < bound)
    known_.push_back(made);
  else
    known_[next_++ % bound] = made;
  return made;
}

int unit_exponent(std::string_view unit) noexcept {
  if (unit == "ms") return -3;
  if (unit == "us") return -6;
  if (unit == "ns") return -9;
  return 0;
}

std::string canonical_unit(std::string_view unit) {
  std::string lower(trim(unit));
  for (auto& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  static const std::map<std::string, std::string, std::less<>> names{
      {"s", "s"},     {"sec", "s"},          {"second", "s"},        {"seconds", "s"},       {"ms", "ms"},
      {"msec", "ms"}, {"millisecond", "ms"}, {"milliseconds", "ms"}, {"milisecond", "ms"},   {"miliseconds", "ms"},
      {"us", "us"},   {"usec", "us"},        {"microsecond", "us"},  {"microseconds", "us"}, {"ns", "ns"},
      {"nsec", "ns"}, {"nanosecond", "ns"},  {"nanoseconds", "ns"}};
  const auto found = names.find(lower);
  return found == names.end() ? std::string(trim(unit)) : found->second;
}

bool is_rate(std::string_view metric) {
  return metric.find("/s") != metric.npos || metric.find("FLOP") != metric.npos || metric.find("flops") != metric.npos;
}

void fail(outcome& o, failure_kind kind, std::string message) {
  failure f;
  f.kind = kind;
  f.message = std::move(message);
  o.data = std::move(f);
}

void measure(entry& out, std::string_view text, int exponent) {
  const auto written = parse_double(text);
  const auto stored = parse_scaled(text, exponent);
  if (!written || !stored || !std::isfinite(*stored) || !std::isfinite(*written) || *stored < 0)
    return fail(out.result, failure_kind::bad_metric, "no finite value is recorded");
  out.written = *written;
  measurement m;
  m.value = *stored;
  out.result.data = std::move(m);
}

void take_samples(entry& out, const json_ref& list, int exponent) {
  auto* m = std::get_if<measurement>(&out.result.data);
  if (m == nullptr || !list.is_array()) return;
  m->samples.reserve(list.size());
  for (const auto s : list)
    if (const auto v = s.is_number() ? parse_scaled(s.text(), exponent) : std::nullopt; v && std::isfinite(*v))
      m->samples.push_back(*v);
}

std::optional<std::string_view> noted(const outcome& o, std::string_view name) {
  for (const std::string_view n : o.notes)
    if (n.size() > name.size() && n.starts_with(name) && n[name.size()] == '=') return n.substr(name.size() + 1);
  return std::nullopt;
}

void note(outcome& o, std::string_view name, std::string_view text) {
  std::string n(name);
  n += '=';
  n += text;
  o.notes.push_back(std::move(n));
}

double stated_value(const measurement& m) {
  for (const auto& [name, v] : m.metrics)
    if (name == stated_metric) return v;
  return m.value;
}

void count_losses(const entry& e, const capability& can, std::string_view own_runner, losses& lost) {
  const auto& o = e.result;
  const auto check = [&](bool able, bool there, const char* what) {
    if (!able && there) lost.add(what);
  };
  if (const auto* m = o.measured()) {
    const bool one = m->samples.size() <= 1;
    check(can.samples, !one || (!m->samples.empty() && m->samples[0] != stated_value(*m)), "samples");
    check(can.spread, m->spread != 0, "spread");
    const auto own =
        std::count_if(m->metrics.begin(), m->metrics.end(), [](const auto& x) { return x.first == stated_metric; });
    check(can.metrics, static_cast<std::ptrdiff_t>(m->metrics.size()) > own, "further metrics");
  } else if (const auto* f = o.failed()) {
    check(can.message, !f->message.empty(), "failure messages");
    check(can.exit, f->exit || f->signal, "exit statuses");
  }
  check(can.build, o.phases.build.count() != 0, "build times");
  check(can.run, o.phases.run.count() != 0, "run times");
  check(can.queue, o.phases.queue.count() != 0, "queue times");
  check(can.search, o.phases.search.count() != 0, "search times");
  check(can.resources, o.used.cpu.count() != 0 || o.used.peak_bytes != 0, "resource use");
  check(can.notes, !o.notes.empty(), "notes");
  check(can.session, !e.session.empty(), "sessions");
  check(can.runner, !o.runner.empty() && o.runner != own_runner, "runners");
  check(can.at, o.at.count() != 0, "times of day");
}

result<task_entry_ptr> only_task(const selection& from, const char* format) {
  task_entry_ptr first;
  std::vector<std::string> names;
  std::map<digest, bool> seen;
  const auto read = from.records([&](const entry& e) {
    if (!first) first = e.task;
    if (seen.size() < 1000 && seen.emplace(e.task->task, true).second) names.push_back(e.task->name);
    return true;
  });
  if (!read) return read.err();
  if (!first) return error{errc::not_found, "there is no record to write", {}};
  if (seen.size() > 1) {
    std::string text;
    for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 5); ++i) text += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > 5) text += ", ...";
    return error{errc::invalid_spec,
                 "a " + std::string(format) + " file holds one task, and these are " + std::to_string(seen.size()) +
                     " (" + text + "); choose one with --task, by its name or the beginning of its key",
                 {}};
  }
  return first;
}

reader::step line_format::next(entry& out, damage& what) {
  while (lines_.next()) {
    const auto damaged = [&](std::string why) {
      what = {lines_.number(), std::move(why)};
      return step::damaged;
    };
    if (lines_.too_long()) return damaged("the line is longer than 32 MB");
    const auto text = trim(lines_.text());
    if (text.empty()) continue;
    if (text.front() == '#' && has_comments()) {
      ++comments_;
      continue;
    }
    if (!parsed_.parse(lines_.data(), lines_.text().size())) return damaged(parsed_.why());
    out.clear();
    std::string why;
    switch (line(parsed_.root(), out, why)) {
    case taken::record:
      return step::record;
    case taken::nothing:
      ++others_;
      break;
    case taken::damaged:
      return damaged(std::move(why));
    }
  }
  return step::end;
}

std::string name_of_file(const source& from, const read_options& options) {
  if (!options.task.empty()) return options.task;
  auto name = from.name();
  name.erase(0, name.find_last_of('/') + 1);
  const auto dot = name.find('.', 1);
  if (dot != std::string::npos) name.resize(dot);
  return name;
}

void put_conditions(const conditions& from, std::string& out) {
  out += '[' + std::to_string(from.runs_beside) + ", " + std::to_string(from.builds_beside) + ", ";
  if (from.drift && std::isfinite(*from.drift))
    json_real(*from.drift, out);
  else
    out += "null";
  out += ", ";
  json_real(from.correction, out);
  out += from.disturbed ? ", true]" : ", false]";
}

std::optional<conditions> take_conditions(const json_ref& from) {
  if (!from.is_array()) return std::nullopt;
  const auto count = [](const json_ref& n) -> std::optional<std::uint32_t> {
    const auto i = n.integer();
    if (!i || *i < 0 || *i > 0xffffffff) return std::nullopt;
    return static_cast<std::uint32_t>(*i);
  };
  const auto runs = count(from[0]), builds = count(from[1]);
  const auto correction = from[3].number();
  if (!runs || !builds || !correction || !std::isfinite(*correction) || !(*correction > 0) || !from[4].is_boolean())
    return std::nullopt;
  return conditions{*runs, *builds, from[2].number(), *correction, from[4].boolean()};
}

} // namespace attune::storage::formats
