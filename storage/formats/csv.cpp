// CSV (RFC 4180: commas, cells in double quotes may hold commas, quotes doubled, and line ends), the first line names
// the columns. A semicolon or a tab separates instead where the header has no comma.
//
// Columns, in any order:
//   task                          the workload's name (else the file's, or --task)
//   workload.NAME, target.NAME    arguments and facts
//   config.NAME                   parameters; where no column has this form, every column that is none of the others is
//   one metric, unit, goal            of the value (time, s, minimize) value                         the value; also a
//   column `time`, and either with its unit: time_ms, time (us), value_s failure                       the kind; empty
//   where it was measured. A row with neither is bad_metric message, exit, signal, rejected, spread, runner, session
//   samples, notes                JSON lists
//   metrics                       a JSON object
//   build, run, queue, search, clean, cpu   seconds      peak   bytes      at   RFC 3339, or seconds since the epoch
//   around                        a JSON list: the conditions, as our own lines have them
//   method                        how it was measured, as the store has it: a record of our own is the same again
//
// Values: integers, reals (with a point or an exponent), true and false are typed; "…" in quotes (doubled by CSV) and
// […] are JSON: texts that look like something else, and orderings; an empty cell is absent; anything else is text.
// Numbers have a point whatever the locale. Units: times are seconds unless the column or `unit` says otherwise; the
// samples are in the unit of the value.
//
// Failures are our own kinds. Target: `device` is empty where no column says it.
#include "core/text.hpp"
#include "storage/formats/common.hpp"

#include <algorithm>
#include <cmath>

namespace attune::storage::formats {
namespace {

constexpr const char* csv_runner = "csv";

/// Reads rows; one may span several lines.
class rows {
public:
  explicit rows(source& from) : lines_(from) {}

  /// The next row that is not empty; false at the end. `why` where it is damaged.
  bool next(std::vector<std::string>& cells, std::string& why) {
    cells.clear();
    why.clear();
    while (lines_.next()) {
      began_ = lines_.number();
      if (lines_.too_long()) {
        why = "the line is longer than 32 MB";
        return true;
      }
      if (trim(lines_.text()).empty() || (lines_.text().front() == '#')) continue;
      if (separator_ == 0) {
        separator_ = ',';
        for (const char c : {',', ';', '\t'})
          if (lines_.text().find(c) != std::string_view::npos) {
            separator_ = c;
            break;
          }
      }
      parse(cells, why);
      return true;
    }
    return false;
  }
  std::uint64_t line() const noexcept { return began_; }
  const status& error() const noexcept { return lines_.error(); }

private:
  void parse(std::vector<std::string>& cells, std::string& why) {
    std::string_view rest = lines_.text();
    std::size_t size = 0;
    for (;;) {
      auto& cell = cells.emplace_back();
      if (!rest.starts_with('"')) {
        const auto end = rest.find(separator_);
        cell = rest.substr(0, end);
        if (cell.find('"') != cell.npos && cell.find('"') != 0)
          why = "a quote stands within a cell that has none around it";
        if (end == rest.npos) return;
        rest.remove_prefix(end + 1);
        continue;
      }
      rest.remove_prefix(1);
      for (;;) {
        const auto quote = rest.find('"');
        cell += rest.substr(0, quote);
        if (quote == rest.npos) {
          size += rest.size();
          if (size > line_reader::longest || !lines_.next()) {
            why = "a quote is not closed";
            return;
          }
          rest = lines_.text();
          cell += '\n';
          continue;
        }
        rest.remove_prefix(quote + 1);
        if (!rest.starts_with('"')) break;
        cell += '"';
        rest.remove_prefix(1);
      }
      if (rest.empty()) return;
      if (rest.front() != separator_) {
        why = "something stands behind a closed quote";
        return;
      }
      rest.remove_prefix(1);
    }
  }

  line_reader lines_;
  char separator_ = 0;
  std::uint64_t began_ = 0;
};

/// Whether a text is read back as itself.
std::optional<value> plain_value(std::string_view cell) {
  if (cell.empty()) return value();
  if (cell == "true") return value(true);
  if (cell == "false") return value(false);
  const char c = cell.front();
  if (c == '-' || c == '+' || c == '.' || (c >= '0' && c <= '9')) {
    if (const auto i = parse_integer(cell)) return value(*i);
    if (const auto d = parse_double(cell); d && !std::isnan(*d)) return value(*d);
  }
  return std::nullopt;
}

value read_value(const std::string& cell, json_document& parsed) {
  if (auto v = plain_value(cell)) return *v;
  if (cell.front() != '"' && cell.front() != '[') return value(cell);
  std::string copy = cell;
  if (!parsed.parse(copy.data(), copy.size())) return value(cell);
  const auto root = parsed.root();
  if (root.is_string()) return value(root.text());
  permutation p;
  for (const auto item : root) {
    if (!item.is_string()) return value(cell);
    p.order.emplace_back(item.text());
  }
  return value(std::move(p));
}

void write_value(const value& v, std::string& out) {
  switch (v.type()) {
  case value::kind::absent:
    return;
  case value::kind::real:
    return json_real(v.as_real(), out);
  case value::kind::order:
    value_to_json(v, out);
    return;
  case value::kind::text: {
    const auto& text = v.as_text();
    const bool safe = !text.empty() && text.front() != '"' && text.front() != '[' && !plain_value(text) &&
                      text.find_first_of("\r\n") == text.npos && text.find('\0') == text.npos;
    safe ? void(out += text) : json_string(text, out);
    return;
  }
  default:
    out += v.text();
  }
}

void write_cell(std::string_view cell, std::string& out) {
  if (cell.find_first_of(",;\t\"\r\n#") == cell.npos && !cell.starts_with(' ') && !cell.ends_with(' ')) {
    out += cell;
    return;
  }
  out += '"';
  for (const char c : cell) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

enum class column : std::uint8_t {
  task,
  workload,
  where,
  config,
  metric,
  unit,
  goal_word,
  value_cell,
  failure_kind_cell,
  message,
  exit,
  signal,
  samples,
  spread,
  rejected,
  metrics,
  build,
  run,
  queue,
  search,
  clean,
  around,
  cpu,
  peak,
  runner,
  at,
  notes,
  session,
  method,
  other
};

struct named_column {
  const char* name;
  column is;
};
constexpr named_column plain_columns[] = {{"task", column::task},
                                          {"metric", column::metric},
                                          {"unit", column::unit},
                                          {"goal", column::goal_word},
                                          {"value", column::value_cell},
                                          {"failure", column::failure_kind_cell},
                                          {"message", column::message},
                                          {"exit", column::exit},
                                          {"signal", column::signal},
                                          {"samples", column::samples},
                                          {"spread", column::spread},
                                          {"rejected", column::rejected},
                                          {"metrics", column::metrics},
                                          {"build", column::build},
                                          {"run", column::run},
                                          {"queue", column::queue},
                                          {"search", column::search},
                                          {"clean", column::clean},
                                          {"around", column::around},
                                          {"cpu", column::cpu},
                                          {"peak", column::peak},
                                          {"runner", column::runner},
                                          {"at", column::at},
                                          {"notes", column::notes},
                                          {"session", column::session},
                                          {"method", column::method}};

struct heading {
  column is = column::other;
  std::string name; ///< behind the point; of a value the unit that stands with it
};

/// `time_ms`, `time (ms)`, `value_us`, `time`: a value with its unit.
std::optional<std::string> value_unit(std::string_view name) {
  for (const std::string_view begin : {"time", "value"}) {
    if (!name.starts_with(begin)) continue;
    auto rest = name.substr(begin.size());
    if (rest.empty()) return std::string();
    if (rest.front() == '_') rest.remove_prefix(1);
    rest = trim(rest);
    if (rest.size() > 2 && (rest.front() == '(' || rest.front() == '[')) rest = rest.substr(1, rest.size() - 2);
    auto unit = canonical_unit(rest);
    if (is_time_unit(unit)) return unit;
  }
  return std::nullopt;
}

std::vector<heading> read_header(const std::vector<std::string>& cells) {
  std::vector<heading> out;
  bool configured = false;
  for (const auto& cell : cells) {
    const auto name = trim(cell);
    auto& h = out.emplace_back();
    for (const auto& [begin, is] : {std::pair(std::string_view("workload."), column::workload),
                                    {std::string_view("target."), column::where},
                                    {std::string_view("config."), column::config}})
      if (name.size() > begin.size() && name.starts_with(begin)) h = {is, std::string(name.substr(begin.size()))};
    if (h.is != column::other) {
      configured |= h.is == column::config;
      continue;
    }
    for (const auto& known : plain_columns)
      if (name == known.name) h.is = known.is;
    if (const auto unit = value_unit(name); h.is == column::other && unit) h = {column::value_cell, *unit};
    if (h.is == column::other) h.name = name;
  }
  if (!configured)
    for (auto& h : out)
      if (h.is == column::other && !h.name.empty()) h.is = column::config;
  return out;
}

bool is_table(const std::vector<heading>& header) {
  const auto has = [&](column c) {
    return std::any_of(header.begin(), header.end(), [&](const heading& h) { return h.is == c; });
  };
  return has(column::config) && (has(column::value_cell) || has(column::failure_kind_cell));
}

class csv_reader final : public reader {
public:
  csv_reader(source& from, const read_options& options)
      : rows_(from), stated_(options.stated), name_(name_of_file(from, options)) {}

  std::string format() const override { return "csv"; }
  std::string unit() const override { return unit_; }
  status error() const override { return rows_.error(); }

  step next(entry& out, damage& what) override {
    std::string why;
    if (header_.empty()) {
      if (!rows_.next(cells_, why)) return step::end;
      header_ = read_header(cells_);
      if (!is_table(header_)) {
        while (rows_.next(cells_, why)) {
        }
        what = {1, "the header names no value and no parameter"};
        return step::damaged;
      }
    }
    if (!rows_.next(cells_, why)) return step::end;
    if (why.empty() && cells_.size() != header_.size())
      why = std::to_string(cells_.size()) + " cells for " + std::to_string(header_.size()) + " columns";
    out.clear();
    if (why.empty()) why = take(out);
    if (why.empty()) return step::record;
    what = {rows_.line(), std::move(why)};
    return step::damaged;
  }

private:
  const std::string* cell(column c) const {
    for (std::size_t i = 0; i < header_.size(); ++i)
      if (header_[i].is == c && !cells_[i].empty()) return &cells_[i];
    return nullptr;
  }

  std::string take(entry& out) {
    names_.clear();
    std::vector<value> values;
    workload what{name_, {}};
    target where;
    std::string unit, written, key;
    for (std::size_t i = 0; i < header_.size(); ++i) {
      const auto& h = header_[i];
      if (h.is == column::workload || h.is == column::where) {
        auto v = read_value(cells_[i], parsed_);
        if (!v.is_absent()) (h.is == column::workload ? what.args : where.facts).emplace_back(h.name, std::move(v));
      } else if (h.is == column::config) {
        if (std::find(names_.begin(), names_.end(), h.name) != names_.end()) return "a parameter stands there twice";
        auto v = read_value(cells_[i], parsed_);
        // A column of another task.
        if (v.is_absent()) continue;
        names_.push_back(h.name);
        values.push_back(std::move(v));
      } else if (h.is == column::value_cell && !cells_[i].empty() && written.empty()) {
        written = trim(cells_[i]);
        unit = h.name;
      }
    }
    if (const auto* c = cell(column::task)) what.name = *c;
    if (find(where.facts, "device") == nullptr) where.facts.emplace_back("device", value(""));
    out.config = {pool_.of(names_), std::move(values)};
    std::string metric = "time";
    if (const auto* c = cell(column::metric)) metric = *c;
    if (const auto* c = cell(column::unit); c != nullptr && unit.empty()) unit = canonical_unit(*c);
    if (unit.empty()) unit = is_rate(metric) ? metric : "s";
    const int exponent = unit_exponent(unit);
    const bool timed = is_time_unit(unit);
    auto direction = is_rate(metric) || is_rate(unit) ? goal::maximize : goal::minimize;
    if (const auto* c = cell(column::goal_word)) {
      if (*c != "minimize" && *c != "maximize") return "the goal is neither minimize nor maximize";
      direction = *c == "maximize" ? goal::maximize : goal::minimize;
    }
    if (auto bad = ending(out, written, exponent); !bad.empty()) return bad;
    if (out.result.ok()) unit_ = unit;
    if (auto bad = circumstances(out.result); !bad.empty()) return bad;
    if (const auto* c = cell(column::session)) out.session = *c;

    const auto* m = out.result.measured();
    const auto* method = cell(column::method);
    // What says how it was measured has its own statistic already.
    bool sampled = method == nullptr && m != nullptr && !m->samples.empty() && timed && !stated_;
    // A failure belongs to those with samples where the table has samples.
    if (method == nullptr && m == nullptr) sampled = !stated_ && timed && has_samples();
    for (const auto* part : {&what.args, &where.facts}) encode(*part, key);
    key += what.name + '\0' + metric + '\0' + unit + '\0' + (direction == goal::maximize ? '1' : '0');
    if (method != nullptr) key += *method;
    const auto& both = tasks_.of(key, [&] {
      if (method != nullptr) {
        auto same = std::make_shared<task_entry>(
            *imported_task(what, where, {"csv", {}, {}}, metric, timed ? "s" : unit, direction));
        same->method_form = *method;
        same->method = sha256(*method);
        std::string all;
        for (const auto* part : {&same->workload, &same->target, &same->method}) all += part->view();
        same->task = sha256(all);
        return foreign_task{same, same};
      }
      return foreign(what, where, {"csv", {}, {}}, metric, timed ? "s" : unit, direction);
    });
    out.by_samples = sampled && m != nullptr;
    out.task = sampled ? both.sampled : both.stated;
    return {};
  }

  bool has_samples() const {
    return std::any_of(header_.begin(), header_.end(), [](const heading& h) { return h.is == column::samples; });
  }

  std::string ending(entry& out, const std::string& written, int exponent) {
    auto& o = out.result;
    if (const auto* word = cell(column::failure_kind_cell)) {
      const auto kind = failure_kind_of(*word);
      if (!kind) return "'" + *word + "' is no kind of failure";
      failure f;
      f.kind = *kind;
      if (const auto* c = cell(column::message)) f.message = *c;
      for (const auto& [which, into] : {std::pair(column::exit, &f.exit), {column::signal, &f.signal}})
        if (const auto* c = cell(which)) {
          const auto n = parse_integer(*c);
          if (!n || *n < INT32_MIN || *n > INT32_MAX) return "how its process ended is no number";
          *into = static_cast<int>(*n);
        }
      o.data = std::move(f);
      return {};
    }
    const auto v = parse_scaled(written, exponent);
    if (written.empty()) {
      fail(o, failure_kind::bad_metric, "no value is recorded");
      return {};
    }
    if (!v) return "the value '" + written.substr(0, 40) + "' is no number";
    if (!std::isfinite(*v)) {
      fail(o, failure_kind::bad_metric, "no finite value is recorded");
      return {};
    }
    measurement m;
    m.value = *v;
    out.written = parse_double(written).value_or(*v);
    if (const auto* c = cell(column::spread)) {
      const auto d = parse_double(*c);
      if (!d) return "the spread is no number";
      m.spread = *d;
    }
    if (const auto* c = cell(column::rejected)) {
      const auto n = parse_integer(*c);
      if (!n || *n < 0 || *n > 0xffffffff) return "how many samples were rejected is no count";
      m.rejected = static_cast<std::uint32_t>(*n);
    }
    if (const auto* c = cell(column::metrics)) {
      std::string copy = *c;
      if (!parsed_.parse(copy.data(), copy.size()) || !parsed_.root().is_object())
        return "the metrics are no JSON object";
      const auto root = parsed_.root();
      for (auto it = root.begin(), stop = root.end(); it != stop; ++it) {
        const auto d = (*it).number();
        if (!d) return "a further metric is no number";
        m.metrics.emplace_back(it.key(), *d);
      }
    }
    o.data = std::move(m);
    if (const auto* c = cell(column::samples)) {
      std::string copy = *c;
      if (!parsed_.parse(copy.data(), copy.size()) || !parsed_.root().is_array()) return "the samples are no JSON list";
      take_samples(out, parsed_.root(), exponent);
    }
    return {};
  }

  std::string circumstances(outcome& o) {
    for (const auto& [which, into] : {std::pair(column::build, &o.phases.build),
                                      {column::run, &o.phases.run},
                                      {column::queue, &o.phases.queue},
                                      {column::search, &o.phases.search},
                                      {column::clean, &o.phases.clean},
                                      {column::cpu, &o.used.cpu}})
      if (const auto* c = cell(which)) {
        const auto ns = parse_nanoseconds(*c, 0);
        if (!ns) return "'" + c->substr(0, 40) + "' is no time in seconds";
        *into = nanoseconds(*ns);
      }
    if (const auto* c = cell(column::around)) {
      std::string copy = *c;
      if (!parsed_.parse(copy.data(), copy.size())) return "the conditions are no JSON list";
      const auto around = take_conditions(parsed_.root());
      if (!around) return "the conditions are damaged";
      o.around = *around;
    }
    if (const auto* c = cell(column::peak)) {
      const auto n = parse_integer(*c);
      if (!n || *n < 0) return "the peak is no count of bytes";
      o.used.peak_bytes = static_cast<std::uint64_t>(*n);
    }
    if (const auto* c = cell(column::at)) {
      auto ns = parse_time(*c);
      if (!ns) ns = parse_nanoseconds(*c, 0);
      if (!ns) return "'" + c->substr(0, 40) + "' is no time of day";
      o.at = nanoseconds(*ns);
    }
    if (const auto* c = cell(column::runner))
      o.runner = *c;
    else if (cell(column::method) == nullptr)
      o.runner = csv_runner;
    if (const auto* c = cell(column::notes)) {
      std::string copy = *c;
      if (!parsed_.parse(copy.data(), copy.size()) || !parsed_.root().is_array()) return "the notes are no JSON list";
      for (const auto n : parsed_.root()) o.notes.emplace_back(n.text());
    }
    return {};
  }

  rows rows_;
  const bool stated_;
  const std::string name_;
  std::vector<heading> header_;
  std::vector<std::string> cells_, names_;
  json_document parsed_;
  std::string unit_ = "s";
  names_pool pool_;
  task_pool tasks_;
};

} // namespace

bool is_csv_header(std::string_view line) {
  std::string text(line);
  text += '\n';
  const auto from = source::of(text, "");
  rows one(*from);
  std::vector<std::string> cells;
  std::string why;
  return one.next(cells, why) && why.empty() && cells.size() > 1 && is_table(read_header(cells));
}

std::unique_ptr<reader> read_csv(source& from, const read_options& options) {
  return std::make_unique<csv_reader>(from, options);
}

status write_csv(const selection& from, sink& to, losses& lost) {
  // The columns are those that any record needs.
  std::vector<std::string> args, facts, parameters;
  const auto add = [](std::vector<std::string>& to_list, const std::string& name) {
    if (std::find(to_list.begin(), to_list.end(), name) == to_list.end()) to_list.push_back(name);
  };
  task_entry_ptr last_task;
  parameter_names last_names;
  auto read = from.records([&](const entry& e) {
    if (e.task != last_task) {
      for (const auto& [name, v] : e.task->workload_args) add(args, name);
      for (const auto& [name, v] : e.task->target_facts) add(facts, name);
      last_task = e.task;
    }
    if (e.config.names() != last_names || !last_names) {
      for (std::size_t i = 0; i < e.config.size(); ++i) add(parameters, e.config.name(i));
      last_names = e.config.names();
    }
    return true;
  });
  if (!read) return read;
  auto& out = to.text();
  out += "task";
  const auto columns = [&](const char* begin, const std::vector<std::string>& names) {
    for (const auto& name : names) {
      out += ',';
      write_cell(begin + name, out);
    }
  };
  columns("workload.", args);
  columns("target.", facts);
  columns("config.", parameters);
  for (const auto& c : plain_columns)
    if (c.is != column::task) {
      out += ',';
      out += c.name;
    }
  out += '\n';
  std::string cell;
  const auto put = [&] {
    out += ',';
    write_cell(cell, out);
    cell.clear();
  };
  const auto put_value = [&](const value* v) {
    if (v != nullptr) write_value(*v, cell);
    put();
  };
  return from.records([&](const entry& e) {
    const auto& o = e.result;
    const auto& t = *e.task;
    if (o.bounded() != nullptr) {
      lost.leave_out("records of runs that were stopped early");
      return true;
    }
    const auto* m = o.measured();
    const auto* f = o.failed();
    write_cell(t.name, out);
    for (const auto& name : args) put_value(find(t.workload_args, name));
    for (const auto& name : facts) put_value(find(t.target_facts, name));
    for (const auto& name : parameters) put_value(e.config.find(name));
    const auto text = [&](std::string_view what) {
      cell = what;
      put();
    };
    const auto integer = [&](bool there, std::int64_t n) {
      if (there) json_integer(n, cell);
      put();
    };
    const auto real = [&](bool there, double d) {
      if (there && std::isnan(d)) lost.add("numbers that are not finite");
      if (there && !std::isnan(d)) json_real(d, cell);
      put();
    };
    const auto time = [&](nanoseconds d) {
      if (d.count() != 0) write_nanoseconds(d.count(), 0, cell);
      put();
    };
    text(t.metric);
    text(t.unit);
    text(to_string(t.direction));
    real(m != nullptr, m != nullptr ? m->value : 0);
    text(f != nullptr ? to_string(f->kind) : "");
    text(f != nullptr ? f->message : std::string());
    integer(f != nullptr && f->exit, f != nullptr ? f->exit.value_or(0) : 0);
    integer(f != nullptr && f->signal, f != nullptr ? f->signal.value_or(0) : 0);
    if (m != nullptr && !m->samples.empty()) {
      char before = '[';
      for (const double s : m->samples) {
        if (!std::isfinite(s)) {
          lost.add("numbers that are not finite");
          continue;
        }
        cell += std::exchange(before, ',');
        json_real(s, cell);
      }
      if (before == '[') cell += '[';
      cell += ']';
    }
    put();
    real(m != nullptr && m->spread != 0, m != nullptr ? m->spread : 0);
    integer(m != nullptr && m->rejected != 0, m != nullptr ? m->rejected : 0);
    if (m != nullptr && !m->metrics.empty()) {
      char before = '{';
      for (const auto& [name, v] : m->metrics) {
        if (!std::isfinite(v)) {
          lost.add("numbers that are not finite");
          continue;
        }
        cell += std::exchange(before, ',');
        json_string(name, cell);
        cell += ':';
        json_real(v, cell);
      }
      if (before == '{') cell += '{';
      cell += '}';
    }
    put();
    time(o.phases.build);
    time(o.phases.run);
    time(o.phases.queue);
    time(o.phases.search);
    time(o.phases.clean);
    if (o.around != conditions{}) put_conditions(o.around, cell);
    put();
    time(o.used.cpu);
    integer(o.used.peak_bytes != 0, static_cast<std::int64_t>(o.used.peak_bytes));
    text(o.runner);
    text(o.at.count() != 0 ? time_text(o.at.count()) : std::string());
    if (!o.notes.empty()) {
      char before = '[';
      for (const auto& n : o.notes) {
        cell += std::exchange(before, ',');
        json_string(n, cell);
      }
      cell += ']';
    }
    put();
    text(e.session);
    text(t.method_form);
    out += '\n';
    return to.pass();
  });
}

} // namespace attune::storage::formats
