// Our own JSON lines: everything that the store knows of a record, so that what is exported, imported into an empty
// store and exported again is the same to the byte. One JSON object a line, the first key says what it is:
//
//   {"attune": "records", "version": 1}                      first
//   {"task": KEY, "name": …, "workload": {…}, "target": {…}, "metric": …, "unit": …, "goal": …, "method": FORM}
//                                                            before the first record of each task
//   {"record": KEY, "config": {…}, HOW IT ENDED, "phases": […], "used": […], "around": […], "runner": …,
//    "at": …, "notes": […], "session": …}                     in the order in which they were written
//
// KEY is the task's digest in hex. How it ended is one of
//   "value": v, "spread": …, "samples": […], "rejected": n, "metrics": [[name, v], …]
//   "failure": kind, "message": …, "exit": n, "signal": n
//   "at_least": v, "against": v, "samples": […]
// Units: values as the task's `unit` has it, which is seconds for times; phases (queue, build, run, search, clean),
// used (CPU) and `at` (since the epoch) in nanoseconds; used (peak) in bytes; around (runs beside, builds beside, drift
// or null, correction, disturbed) as core/measurement.hpp has it. What is empty or zero is left out.
//
// Values are typed: an integer has neither point nor exponent, a real has one; an ordering is {"order": […]}, an absent
// value is null. Text that is not UTF-8 is {"hex": "…"}. Not finite numbers are the words "nan", "inf" and "-inf".
#include "core/text.hpp"
#include "storage/formats/common.hpp"

#include <cmath>
#include <unordered_set>

namespace attune::storage::formats {
namespace {

constexpr std::int64_t version = 1;

bool is_utf8(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x80) {
      ++i;
      continue;
    }
    const std::size_t more = c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : 0;
    if (more == 0 || i + more >= text.size()) return false;
    for (std::size_t k = 1; k <= more; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return false;
    // Neither overlong nor a surrogate nor beyond the last code point.
    const auto second = static_cast<unsigned char>(text[i + 1]);
    if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f) || (c == 0xf0 && second < 0x90) ||
        (c == 0xf4 && second > 0x8f))
      return false;
    i += more + 1;
  }
  return true;
}

void put_text(std::string_view text, std::string& out) {
  if (is_utf8(text)) return json_string(text, out);
  out += "{\"hex\": \"";
  for (const char ch : text) {
    const auto c = static_cast<unsigned char>(ch);
    out += "0123456789abcdef"[c >> 4];
    out += "0123456789abcdef"[c & 15];
  }
  out += "\"}";
}

bool take_text(const json_ref& from, std::string& out) {
  if (from.is_string()) {
    out = from.text();
    return true;
  }
  const auto hex = from.find("hex");
  if (!hex.is_string() || hex.text().size() % 2 != 0) return false;
  out.clear();
  const auto nibble = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  const auto digits = hex.text();
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const int high = nibble(digits[i]), low = nibble(digits[i + 1]);
    if (high < 0 || low < 0) return false;
    out += static_cast<char>(high * 16 + low);
  }
  return true;
}

void put_value(const value& v, std::string& out) {
  switch (v.type()) {
  case value::kind::absent:
    out += "null";
    return;
  case value::kind::boolean:
    out += v.as_bool() ? "true" : "false";
    return;
  case value::kind::integer:
    return json_integer(v.as_integer(), out);
  case value::kind::real:
    return json_real(v.as_real(), out);
  case value::kind::text:
    return put_text(v.as_text(), out);
  case value::kind::order: {
    out += "{\"order\": [";
    bool first = true;
    for (const auto& item : v.as_order().order) {
      if (!std::exchange(first, false)) out += ", ";
      put_text(item, out);
    }
    out += "]}";
  }
  }
}

bool take_value(const json_ref& from, value& out) {
  if (from.is_null()) {
    out = value();
  } else if (from.is_boolean()) {
    out = value(from.boolean());
  } else if (from.is_number()) {
    if (const auto i = from.integer()) {
      out = value(*i);
      return true;
    }
    const auto d = from.number();
    if (!d || std::isnan(*d)) return false;
    out = value(*d);
  } else if (const auto order = from.find("order"); order.is_array()) {
    permutation p;
    for (const auto item : order)
      if (!take_text(item, p.order.emplace_back())) return false;
    out = value(std::move(p));
  } else {
    std::string text;
    if (!take_text(from, text)) return false;
    out = value(std::move(text));
  }
  return true;
}

/// A name as a key. JSON's keys are strings: bytes that are not UTF-8 stand there as they are.
void put_arguments(const arguments& args, std::string& out) {
  out += '{';
  bool first = true;
  for (const auto& [name, v] : args) {
    if (!std::exchange(first, false)) out += ", ";
    json_string(name, out);
    out += ": ";
    put_value(v, out);
  }
  out += '}';
}

bool take_arguments(const json_ref& from, arguments& out) {
  if (!from.is_object()) return false;
  for (auto it = from.begin(), stop = from.end(); it != stop; ++it) {
    auto& [name, v] = out.emplace_back(std::string(it.key()), value());
    if (!take_value(*it, v)) return false;
  }
  return true;
}

void put_number(double d, std::string& out) {
  if (std::isfinite(d)) return json_real(d, out);
  out += std::isnan(d) ? "\"nan\"" : d < 0 ? "\"-inf\"" : "\"inf\"";
}

std::optional<double> take_number(const json_ref& from) {
  if (from.is_number()) return from.number();
  const auto word = from.text();
  if (word == "nan" || word == "inf" || word == "-inf") return parse_double(word);
  return std::nullopt;
}

void put_numbers(const char* key, const std::vector<double>& numbers, std::string& out) {
  if (numbers.empty()) return;
  out += ", \"";
  out += key;
  out += "\": [";
  bool first = true;
  for (const double d : numbers) {
    if (!std::exchange(first, false)) out += ", ";
    put_number(d, out);
  }
  out += ']';
}

bool take_numbers(const json_ref& from, std::vector<double>& out) {
  if (!from) return true;
  if (!from.is_array()) return false;
  for (const auto item : from) {
    const auto d = take_number(item);
    if (!d) return false;
    out.push_back(*d);
  }
  return true;
}

void put_task(const task_entry& t, std::string& out) {
  out += "{\"task\": \"" + t.task.hex() + "\", \"name\": ";
  put_text(t.name, out);
  out += ", \"workload\": ";
  put_arguments(t.workload_args, out);
  out += ", \"target\": ";
  put_arguments(t.target_facts, out);
  out += ", \"metric\": ";
  put_text(t.metric, out);
  out += ", \"unit\": ";
  put_text(t.unit, out);
  out += ", \"goal\": \"";
  out += to_string(t.direction);
  out += "\", \"method\": ";
  put_text(t.method_form, out);
  // Where an older version encoded them differently, the digests need the forms themselves.
  if (workload{t.name, t.workload_args}.canonical() != t.workload_form) {
    out += ", \"workload_form\": ";
    put_text(t.workload_form, out);
  }
  if (target{t.target_facts}.canonical() != t.target_form) {
    out += ", \"target_form\": ";
    put_text(t.target_form, out);
  }
  out += "}\n";
}

void put_record(const entry& e, std::string& out) {
  const auto& o = e.result;
  out += "{\"record\": \"" + e.task->task.hex() + "\", \"config\": {";
  for (std::size_t i = 0; i < e.config.size(); ++i) {
    if (i > 0) out += ", ";
    json_string(e.config.name(i), out);
    out += ": ";
    put_value(e.config[i], out);
  }
  out += '}';
  const auto number = [&](const char* key, double d) {
    out += ", \"";
    out += key;
    out += "\": ";
    put_number(d, out);
  };
  const auto integer = [&](const char* key, std::int64_t n) {
    out += ", \"";
    out += key;
    out += "\": ";
    json_integer(n, out);
  };
  const auto text = [&](const char* key, std::string_view t) {
    if (t.empty()) return;
    out += ", \"";
    out += key;
    out += "\": ";
    put_text(t, out);
  };
  if (const auto* m = o.measured()) {
    number("value", m->value);
    if (m->spread != 0) number("spread", m->spread);
    put_numbers("samples", m->samples, out);
    if (m->rejected != 0) integer("rejected", m->rejected);
    if (!m->metrics.empty()) {
      out += ", \"metrics\": [";
      bool first = true;
      for (const auto& [name, v] : m->metrics) {
        out += std::exchange(first, false) ? "[" : ", [";
        put_text(name, out);
        out += ", ";
        put_number(v, out);
        out += ']';
      }
      out += ']';
    }
  } else if (const auto* b = o.bounded()) {
    number("at_least", b->value);
    number("against", b->against);
    put_numbers("samples", b->samples, out);
  } else {
    const auto& f = *o.failed();
    text("failure", to_string(f.kind));
    text("message", f.message);
    if (f.exit) integer("exit", *f.exit);
    if (f.signal) integer("signal", *f.signal);
  }
  if (o.phases != phase_times{}) {
    out += ", \"phases\": [";
    json_integer(o.phases.queue.count(), out);
    for (const auto d : {o.phases.build, o.phases.run, o.phases.search, o.phases.clean}) {
      out += ", ";
      json_integer(d.count(), out);
    }
    out += ']';
  }
  if (o.used != resource_use{}) {
    out += ", \"used\": [";
    json_integer(o.used.cpu.count(), out);
    out += ", " + std::to_string(o.used.peak_bytes) + "]";
  }
  if (o.around != conditions{}) {
    out += ", \"around\": ";
    put_conditions(o.around, out);
  }
  text("runner", o.runner);
  if (o.at.count() != 0) integer("at", o.at.count());
  if (!o.notes.empty()) {
    out += ", \"notes\": [";
    for (std::size_t i = 0; i < o.notes.size(); ++i) {
      if (i > 0) out += ", ";
      put_text(o.notes[i], out);
    }
    out += ']';
  }
  text("session", e.session);
  out += "}\n";
}

class attune_reader final : public line_format {
public:
  explicit attune_reader(source& from) : line_format(from) {}
  std::string format() const override { return "attune"; }

protected:
  taken line(const json_ref& root, entry& out, std::string& why) override {
    if (root.find("record")) {
      why = record(root, out);
      return why.empty() ? taken::record : taken::damaged;
    }
    if (root.find("task")) {
      why = task(root);
      return why.empty() ? taken::nothing : taken::damaged;
    }
    if (!root.find("attune")) {
      why = "is neither a task nor a record";
      return taken::damaged;
    }
    const auto v = root.find("version").integer();
    if (v && *v >= 1 && *v <= version) return taken::nothing;
    why = "the file was written by a newer version";
    return taken::damaged;
  }

private:
  std::string task(const json_ref& root) {
    auto made = std::make_shared<task_entry>();
    auto& t = *made;
    const auto goal_word = root.find("goal").text();
    if (!take_text(root.find("name"), t.name) || !take_arguments(root.find("workload"), t.workload_args) ||
        !take_arguments(root.find("target"), t.target_facts) || !take_text(root.find("metric"), t.metric) ||
        !take_text(root.find("unit"), t.unit) || !take_text(root.find("method"), t.method_form) ||
        (goal_word != "minimize" && goal_word != "maximize"))
      return "the task is incomplete";
    t.direction = goal_word == "minimize" ? goal::minimize : goal::maximize;
    if (!take_text(root.find("workload_form"), t.workload_form))
      t.workload_form = workload{t.name, t.workload_args}.canonical();
    if (!take_text(root.find("target_form"), t.target_form)) t.target_form = target{t.target_facts}.canonical();
    t.workload = sha256(t.workload_form);
    t.target = sha256(t.target_form);
    t.method = sha256(t.method_form);
    std::string all;
    for (const auto* part : {&t.workload, &t.target, &t.method}) all += part->view();
    t.task = sha256(all);
    if (t.task.hex() != root.find("task").text()) return "the task is not what its key says";
    tasks_[t.task.hex()] = std::move(made);
    return {};
  }

  std::string record(const json_ref& root, entry& out) {
    const auto key = root.find("record").text();
    if (!last_ || key != last_key_) {
      const auto at = tasks_.find(std::string(key));
      if (at == tasks_.end()) return "its task is not in the file, or was damaged";
      last_ = at->second;
      last_key_ = key;
    }
    const auto config = root.find("config");
    if (!config.is_object()) return "it has no configuration";
    names_.clear();
    std::unordered_set<std::string_view> seen;
    std::vector<value> values;
    values.reserve(config.size());
    for (auto it = config.begin(), stop = config.end(); it != stop; ++it) {
      if (!seen.insert(it.key()).second) return "a parameter stands there twice";
      names_.emplace_back(it.key());
      if (!take_value(*it, values.emplace_back())) return "a value of the configuration is none";
    }
    auto& o = out.result;
    if (auto bad = ending(root, o); !bad.empty()) return bad;
    std::int64_t times[5] = {};
    if (const auto phases = root.find("phases"))
      for (std::size_t i = 0; i < 5; ++i) {
        const auto n = phases[i].integer();
        if (!n) return "its phases are no five times";
        times[i] = *n;
      }
    o.phases = {nanoseconds(times[0]), nanoseconds(times[1]), nanoseconds(times[2]), nanoseconds(times[3]),
                nanoseconds(times[4])};
    if (const auto around = root.find("around")) {
      const auto conditions_then = take_conditions(around);
      if (!conditions_then) return "its conditions are damaged";
      o.around = *conditions_then;
    }
    if (const auto used = root.find("used")) {
      const auto cpu = used[0].integer();
      const auto peak = used[1].integer();
      if (!cpu || !peak || *peak < 0) return "its use of resources is damaged";
      o.used = {nanoseconds(*cpu), static_cast<std::uint64_t>(*peak)};
    }
    if (const auto t = root.find("runner"); t && !take_text(t, o.runner)) return "its runner is no text";
    if (const auto t = root.find("session"); t && !take_text(t, out.session)) return "its session is no text";
    if (const auto at = root.find("at")) {
      if (!at.is_integer()) return "its time of day is no integer";
      o.at = nanoseconds(*at.integer());
    }
    for (const auto n : root.find("notes"))
      if (!take_text(n, o.notes.emplace_back())) return "a note is no text";
    out.config = {pool_.of(names_), std::move(values)};
    out.task = last_;
    if (const auto* m = o.measured()) out.written = m->value;
    return {};
  }

  static std::string ending(const json_ref& root, outcome& o) {
    if (const auto v = root.find("value")) {
      measurement m;
      const auto number = take_number(v);
      if (!number || !std::isfinite(*number)) return "its value is no finite number";
      m.value = *number;
      if (const auto s = root.find("spread")) {
        const auto spread = take_number(s);
        if (!spread) return "its spread is no number";
        m.spread = *spread;
      }
      if (!take_numbers(root.find("samples"), m.samples)) return "its samples are no numbers";
      if (const auto r = root.find("rejected")) {
        const auto n = r.integer();
        if (!n || *n < 0 || *n > 0xffffffff) return "how many samples were rejected is no count";
        m.rejected = static_cast<std::uint32_t>(*n);
      }
      for (const auto item : root.find("metrics")) {
        auto& [name, d] = m.metrics.emplace_back();
        const auto metric = take_number(item[1]);
        if (!take_text(item[0], name) || !metric) return "a further metric is damaged";
        d = *metric;
      }
      o.data = std::move(m);
      return {};
    }
    if (const auto v = root.find("at_least")) {
      bound b;
      const auto number = take_number(v), against = take_number(root.find("against"));
      if (!number || !against || !std::isfinite(*number) || !std::isfinite(*against))
        return "its bound is no finite number";
      b.value = *number;
      b.against = *against;
      if (!take_numbers(root.find("samples"), b.samples)) return "its samples are no numbers";
      o.data = std::move(b);
      return {};
    }
    const auto kind = failure_kind_of(root.find("failure").text());
    if (!kind) return "it has neither a value nor a failure";
    failure f;
    f.kind = *kind;
    if (const auto m = root.find("message"); m && !take_text(m, f.message)) return "its message is no text";
    for (const auto& [name, into] : {std::pair("exit", &f.exit), std::pair("signal", &f.signal)})
      if (const auto n = root.find(name)) {
        const auto i = n.integer();
        if (!i || *i < INT32_MIN || *i > INT32_MAX) return "how its process ended is no number";
        *into = static_cast<int>(*i);
      }
    o.data = std::move(f);
    return {};
  }

  std::unordered_map<std::string, task_entry_ptr> tasks_;
  task_entry_ptr last_;
  std::string last_key_;
  names_pool pool_;
  std::vector<std::string> names_;
};

} // namespace

bool is_attune(const json_ref& line) {
  if (line.find("attune").text() == "records") return true;
  // A history's lines name the key of the measurement there, which is half as long.
  if (line.find("record").text().size() == 64 && line.find("config").is_object()) return true;
  return line.find("task").is_string() && line.find("method") && line.find("workload").is_object();
}

std::unique_ptr<reader> read_attune(source& from, const read_options&) { return std::make_unique<attune_reader>(from); }

status write_attune(const selection& from, sink& to, losses&) {
  to.text() += "{\"attune\": \"records\", \"version\": " + std::to_string(version) + "}\n";
  std::unordered_set<std::string> told;
  task_entry_ptr last;
  return from.records([&](const entry& e) {
    if (e.task != last) {
      if (told.emplace(e.task->task.view()).second) put_task(*e.task, to.text());
      last = e.task;
    }
    put_record(e, to.text());
    return to.pass();
  });
}

} // namespace attune::storage::formats
