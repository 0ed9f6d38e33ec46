// MetaSchedule databases (TVM, src/meta_schedule/database/json_database.cc), one JSON array a line, in two files:
//
//   database_workload.json        [hash, "the module, in base64"]          line n is workload n, from 0
//   database_tuning_record.json   [workload, [[instructions, decisions], [seconds…] or null, target or null,
//   arguments]]
//
// The second is what holds records; where the first is given too (before it), the workload's hash is known.
//
// Units: seconds; a value is the mean of one repeat. There is neither a time of day nor an error number: a failure is
// the number 1e10 (or no number at all), kept as run_error. All failures are written as 1e10.
//
// Workload: the name is `metaschedule`; `workload` is its number in the database, `hash` its hash where that is known
// (instead of the number), arg0, arg1, … are the arguments (["TENSOR","float32",[1,4,64,64]]).
// Target: as in autotvm.cpp (`target` is its JSON text); where it is null, `device` is empty.
// Configuration: `trace` is the instructions as JSON text; the decision of instruction N is N where it is an integer,
// N.0, N.1, … where it is a list of integers, else N as JSON text.
#include "core/text.hpp"
#include "storage/formats/tvm.hpp"

#include <algorithm>

namespace attune::storage::formats {
namespace {

constexpr const char* metaschedule_runner = "metaschedule";
constexpr const char* failed_message = "recorded as failed";

bool all_integers(const json_ref& list) {
  if (!list.is_array() || list.size() == 0) return false;
  for (const auto item : list)
    if (!item.is_integer()) return false;
  return true;
}

class metaschedule_reader final : public line_format {
public:
  metaschedule_reader(source& from, const read_options& options)
      : line_format(from), stated_(options.stated), hashes_(options.workloads != nullptr ? *options.workloads : own_) {}
  std::string format() const override { return "metaschedule"; }
  std::vector<std::string> warnings() const override {
    std::vector<std::string> out;
    if (!hashes_.empty())
      out.push_back(std::to_string(hashes_.size()) +
                    " workloads are known by their hashes; their modules are not kept");
    return out;
  }

protected:
  bool has_comments() const override { return false; }

  taken line(const json_ref& root, entry& out, std::string& why) override {
    const auto wrong = [&](const char* what) {
      why = what;
      return taken::damaged;
    };
    if (!root.is_array() || root.size() != 2) return wrong("is no list of a workload and a record");
    if (root[1].is_string()) {
      hashes_.emplace_back(root[0].text());
      return taken::nothing;
    }
    const auto number = root[0].integer();
    const auto body = root[1];
    const auto trace = body[0];
    if (!number || *number < 0) return wrong("it names no workload");
    if (!body.is_array() || body.size() < 2 || !trace.is_array() || trace.size() != 2 || !trace[0].is_array() ||
        !trace[1].is_array())
      return wrong("it has no trace");
    if (!configure(trace, out)) return wrong("a decision is no list of an instruction and what was decided");
    auto& o = out.result;
    o.runner = metaschedule_runner;
    if (!take_tvm_costs(out, body[1], 1e9)) fail(o, failure_kind::run_error, failed_message);
    out.by_samples = !stated_ && o.ok();
    key_ = root[0].text();
    key_ += ',';
    dump(body[2], key_);
    key_ += ',';
    dump(body[3], key_);
    const auto& both = tasks_.of(key_, [&] {
      workload what{"metaschedule", {}};
      if (static_cast<std::size_t>(*number) < hashes_.size())
        what.args.emplace_back("hash", value(hashes_[static_cast<std::size_t>(*number)]));
      else
        what.args.emplace_back("workload", value(*number));
      tvm_arguments(body[3], what.args);
      const auto target_of = body[2];
      return foreign(what, target_of && !target_of.is_null() ? tvm_target(target_of) : target{{{"device", value("")}}},
                     {"metaschedule", {}, {}}, "time", "s", goal::minimize);
    });
    out.task = stated_ ? both.stated : both.sampled;
    return taken::record;
  }

private:
  bool configure(const json_ref& trace, entry& out) {
    names_.assign(1, "trace");
    std::vector<value> values(1);
    std::string text;
    dump(trace[0], text);
    values[0] = value(std::move(text));
    for (const auto decision : trace[1]) {
      const auto n = decision[0].integer();
      const auto what = decision[1];
      if (!decision.is_array() || decision.size() != 2 || !n || *n < 0) return false;
      const auto name = std::to_string(*n);
      if (all_integers(what)) {
        for (std::size_t k = 0; const auto item : what) {
          names_.push_back(name + "." + std::to_string(k++));
          values.emplace_back(*item.integer());
        }
      } else {
        auto v = to_value(what);
        if (!v) return false;
        names_.push_back(name);
        values.push_back(std::move(*v));
      }
    }
    auto sorted = names_;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return false;
    out.config = {pool_.of(names_), std::move(values)};
    return true;
  }

  const bool stated_;
  std::vector<std::string> own_;
  std::vector<std::string>& hashes_;
  task_pool tasks_;
  names_pool pool_;
  std::vector<std::string> names_;
  std::string key_;
};

/// The trace with its decisions. False where the configuration is none of ours.
bool write_trace(const configuration& config, json_document& parsed, std::string& out) {
  if (config.empty() || config.name(0) != "trace" || config[0].type() != value::kind::text) return false;
  std::string text = config[0].as_text();
  if (!parsed.parse(text.data(), text.size()) || !parsed.root().is_array()) return false;
  out += '[';
  dump(parsed.root(), out);
  out += ",[";
  bool first = true;
  for (std::size_t i = 1; i < config.size();) {
    const std::string_view name = config.name(i);
    const auto dot = name.find('.');
    const std::string number(name.substr(0, dot));
    if (!parse_integer(number)) return false;
    out += std::exchange(first, false) ? "[" : ",[";
    out += number + ",";
    if (dot == name.npos) {
      value_to_json(config[i++], out);
    } else {
      char open = '[';
      for (std::size_t k = 0; i < config.size() && config.name(i) == number + "." + std::to_string(k); ++i, ++k) {
        if (config[i].type() != value::kind::integer) return false;
        out += open;
        open = ',';
        json_integer(config[i].as_integer(), out);
      }
      if (open == '[') return false;
      out += ']';
    }
    out += ']';
  }
  out += "]]";
  return true;
}

} // namespace

bool is_metaschedule(const json_ref& line) {
  if (!line.is_array() || line.size() != 2) return false;
  if (line[0].is_string() && line[1].is_string()) return true;
  return line[0].is_integer() && line[1].is_array() && line[1].size() >= 2 && line[1][0].is_array() &&
         line[1][0].size() == 2;
}

std::unique_ptr<reader> read_metaschedule(source& from, const read_options& options) {
  return std::make_unique<metaschedule_reader>(from, options);
}

status write_metaschedule(const selection& from, sink& to, losses& lost) {
  json_document parsed;
  std::string trace;
  // Workloads that do not come from a database get the numbers behind those that do.
  std::map<digest, std::int64_t> numbers;
  std::int64_t next = 0;
  auto read = from.records([&](const entry& e) {
    const auto* n = find(e.task->workload_args, "workload");
    if (n != nullptr && n->type() == value::kind::integer) next = std::max(next, n->as_integer() + 1);
    return true;
  });
  if (!read) return read;
  return from.records([&](const entry& e) {
    const auto& o = e.result;
    if (o.bounded() != nullptr) {
      lost.leave_out("records of runs that were stopped early");
      return true;
    }
    trace.clear();
    if (e.task->unit != "s" || e.task->direction == goal::maximize || e.task->name != "metaschedule" ||
        !write_trace(e.config, parsed, trace)) {
      lost.leave_out("records that are no trace of MetaSchedule");
      return true;
    }
    count_losses(e, {.samples = true, .message = true}, metaschedule_runner, lost);
    if (const auto* f = o.failed()) {
      if (f->kind != failure_kind::run_error) lost.add("kinds of failures");
      if (f->message != failed_message) lost.add("failure messages");
    }
    const auto& args = e.task->workload_args;
    const auto* n = find(args, "workload");
    std::int64_t number = n != nullptr && n->type() == value::kind::integer ? n->as_integer() : -1;
    if (number < 0) {
      const auto [at, fresh] = numbers.emplace(e.task->workload, next);
      if (fresh) ++next;
      number = at->second;
      lost.add("hashes of workloads");
    }
    auto& out = to.text();
    out += '[';
    json_integer(number, out);
    out += ",[" + trace + ",[";
    if (const auto* m = o.measured()) {
      bool first = true;
      for (const double s : m->samples.empty() ? std::vector<double>{m->value} : m->samples) {
        if (!std::exchange(first, false)) out += ',';
        json_real(s, out);
      }
    } else {
      out += "1e10";
    }
    out += "],";
    if (find(e.task->target_facts, "target") == nullptr && target{e.task->target_facts}.device().empty())
      out += "null";
    else if (!write_tvm_target(*e.task, out))
      lost.add("facts of the target");
    out += ",[";
    bool first = true;
    for (const auto& [name, v] : args) {
      if (!name.starts_with("arg")) continue;
      if (!std::exchange(first, false)) out += ',';
      value_to_json(v, out);
    }
    out += "]]]\n";
    return to.pass();
  });
}

} // namespace attune::storage::formats
