// AutoTVM logs (TVM, python/tvm/autotvm/record.py), one JSON object a line; lines that begin with # are comments.
//
//   0.2  {"input": [target, task, [args…], {kwargs}], "config": {"index": i, "code_hash": h, "entity": [knob…]},
//         "result": [[cost…], error, all_cost, timestamp], "version": 0.2, "tvm_version": "…"}
//   0.1  {"i": [target, task, [args…], {kwargs}, workload, {"i": i, "t": "", "c": h, "e": [knob…]}], "r": […], "v":
//   0.1}
//
// Units: costs and all_cost in seconds, the timestamp in seconds since the epoch. A cost is the mean of one repeat.
//
// Failures are `error`, whatever the cost says (it is 1e9 then), and stay told apart by their message:
//   1 instantiation -> invalid_config      2 compilation for the host, 3 for the device -> build_error
//   4 on the device -> run_error           5 -> wrong_output      6 -> build_timeout
//   7 -> run_timeout                       8 unknown -> run_error
//
// Workload: the task's name; its arguments are arg0, arg1, … (lists as their JSON text: ["TENSOR",[1,16],"float32"])
// and the keyword arguments under their names.
// Target: `device` (the target's -model, else -device, else its kind), `kind`, and the whole text as `target`.
// Configuration: of a split (sp) each factor is a parameter NAME.0, NAME.1, … (-1: follows from the others); an order
// (re) and an annotation (an) are their JSON text; another option (ot) its value, under NAME.ot where it could be taken
// for one of these. index and code_hash are notes of the record, tvm_version is part of how it was measured.
// all_cost (building and running) is kept as the build's time. (A spec's parameters have no points in their names:
// records with splits are ranked, replayed and exported, but no spec asks for them.)
#include "core/text.hpp"
#include "storage/formats/tvm.hpp"

namespace attune::storage::formats {
namespace {

constexpr const char* autotvm_runner = "autotvm";
constexpr std::string_view autotvm_message = "AutoTVM error ";

/// Whether a name could be that of a factor, or has our own mark.
bool is_marked(std::string_view name) {
  const auto dot = name.rfind('.');
  if (dot == name.npos || dot + 1 == name.size()) return false;
  const auto end = name.substr(dot + 1);
  return end == "ot" || end.find_first_not_of("0123456789") == end.npos;
}

std::string plain(const json_ref& r) {
  std::string out;
  dump(r, out);
  return out;
}

class autotvm_reader final : public line_format {
public:
  autotvm_reader(source& from, const read_options& options) : line_format(from), stated_(options.stated) {}
  std::string format() const override { return old_ && !recent_ ? "autotvm-0.1" : "autotvm-0.2"; }

protected:
  taken line(const json_ref& root, entry& out, std::string& why) override {
    const auto wrong = [&](const char* what) {
      why = what;
      return taken::damaged;
    };
    if (!root.is_object()) return wrong("is no JSON object");
    const auto i = root.find("i");
    const bool old = static_cast<bool>(i);
    const auto input = old ? i : root.find("input");
    const auto measured = root.find(old ? "r" : "result");
    const auto config = old ? input[5] : root.find("config");
    if (!input.is_array() || input.size() < 3 || !input[1].is_string())
      return wrong("its input names no target and task");
    if (!config.is_object()) return wrong("it has no configuration");
    const auto entity = config.find(old ? "e" : "entity");
    if (!entity.is_array()) return wrong("its configuration has no entity");
    if (!take_tvm_result(out, measured, autotvm_message)) return wrong("its result has no costs and error number");
    if (auto bad = knobs(entity); bad != nullptr) return wrong(bad);
    auto names = pool_names();
    if (!names) return wrong("two knobs have one name");
    out.config = {std::move(names), std::move(values_)};
    values_ = {};

    auto& o = out.result;
    o.runner = autotvm_runner;
    if (const auto index = config.find(old ? "i" : "index"); index.is_number()) note(o, "index", index.text());
    if (const auto hash = config.find(old ? "c" : "code_hash"); hash && !hash.is_null())
      note(o, "code_hash", hash.is_string() ? std::string(hash.text()) : plain(hash));
    (old ? old_ : recent_) = true;
    out.by_samples = !stated_ && out.result.ok();
    out.task = task_of(input, root);
    return taken::record;
  }

private:
  /// Into names_ and values_. Null, or what is wrong.
  const char* knobs(const json_ref& entity) {
    name_count_ = 0;
    values_.clear();
    values_.reserve(last_size_);
    for (const auto knob : entity) {
      auto part = knob.begin();
      if (!knob.is_array() || knob.size() < 3 || !(*part).is_string())
        return "a knob is no list of name, kind and value";
      const auto name = (*part).text();
      ++part;
      const auto kind = (*part).text();
      ++part;
      const auto v = *part;
      if (kind == "sp") {
        if (!v.is_array() || v.size() == 0) return "a split has no factors";
        char digits[24] = ".0";
        std::size_t k = 0;
        for (const auto factor : v) {
          const auto n = factor.integer();
          if (!n) return "a factor of a split is no integer";
          if (k < 10)
            digits[1] = static_cast<char>('0' + k);
          else
            digits[1 + std::to_string(k).copy(digits + 1, 20)] = '\0';
          ++k;
          add(name, digits, value(*n));
        }
        continue;
      }
      const bool list = kind == "re" || kind == "an";
      if (list && !v.is_array()) return "an order or annotation is no list";
      auto plain_value = to_value(v);
      if (!plain_value) return "an option is not a number";
      const bool mark = !list && (is_marked(name) || v.is_array());
      add(name, mark ? ".ot" : "", std::move(*plain_value));
    }
    last_size_ = values_.size();
    return nullptr;
  }

  void add(std::string_view name, std::string_view suffix, value v) {
    if (name_count_ == names_.size()) names_.emplace_back();
    auto& n = names_[name_count_++];
    n.assign(name);
    n += suffix;
    values_.push_back(std::move(v));
  }

  parameter_names pool_names() {
    names_.resize(name_count_);
    return pool_.of(names_);
  }

  task_entry_ptr task_of(const json_ref& input, const json_ref& root) {
    key_.clear();
    for (std::size_t k = 0; const auto part : input) {
      if (k++ == 4) break;
      dump(part, key_);
      key_ += ',';
    }
    const auto tool = root.find("tvm_version");
    key_ += tool.text();
    const auto& both = tasks_.of(key_, [&] {
      workload what;
      what.name = input[1].text();
      tvm_arguments(input[2], what.args);
      if (const auto named = input[3]; named.is_object())
        for (auto it = named.begin(), stop = named.end(); it != stop; ++it)
          if (auto v = to_value(*it)) what.args.emplace_back(std::string(it.key()), std::move(*v));
      return foreign(what, tvm_target(input[0]), {"autotvm", std::string(tool.text()), {}}, "time", "s",
                     goal::minimize);
    });
    return stated_ ? both.stated : both.sampled;
  }

  const bool stated_;
  task_pool tasks_;
  names_pool pool_;
  std::vector<std::string> names_;
  std::size_t name_count_ = 0, last_size_ = 8;
  std::vector<value> values_;
  std::string key_;
  bool old_ = false, recent_ = false;
};

/// The knobs as they were read.
void write_knobs(const configuration& config, std::string& out, losses& lost) {
  out += '[';
  bool first = true;
  const auto begin = [&](std::string_view name, const char* kind) {
    if (!std::exchange(first, false)) out += ", ";
    out += '[';
    json_string(name, out);
    out += ", \"";
    out += kind;
    out += "\", ";
  };
  for (std::size_t i = 0; i < config.size();) {
    const std::string_view name = config.name(i);
    const auto& v = config[i];
    if (v.is_absent()) {
      ++i;
      continue;
    }
    if (name.ends_with(".0") && v.type() == value::kind::integer) {
      const auto base = name.substr(0, name.size() - 2);
      begin(base, "sp");
      char open = '[';
      for (std::size_t k = 0; i < config.size(); ++i, ++k) {
        std::string wanted(base);
        wanted += '.';
        wanted += std::to_string(k);
        if (config.name(i) != wanted || config[i].type() != value::kind::integer) break;
        out += open;
        if (open == ',') out += ' ';
        open = ',';
        json_integer(config[i].as_integer(), out);
      }
      out += "]]";
      continue;
    }
    std::string text;
    if (!value_to_json(v, text)) lost.add("orderings and texts that look like JSON");
    const bool marked = name.ends_with(".ot");
    const bool list = text.starts_with('[') && !marked;
    begin(marked ? name.substr(0, name.size() - 3) : name, !list ? "ot" : text.find('"') != text.npos ? "an" : "re");
    out += text;
    out += ']';
    ++i;
  }
  out += ']';
}

void write_input(const task_entry& task, std::string& out, losses& lost) {
  if (!write_tvm_target(task, out)) lost.add("facts of the target");
  out += ", ";
  json_string(task.name, out);
  out += ", [";
  std::size_t positional = 0;
  std::string named;
  for (const auto& [name, v] : task.workload_args) {
    const bool is_positional = named.empty() && name == "arg" + std::to_string(positional);
    auto& into = is_positional ? out : named;
    if (is_positional ? positional++ > 0 : !named.empty()) into += ", ";
    if (!is_positional) {
      json_string(name, into);
      into += ": ";
    }
    value_to_json(v, into);
  }
  out += "], {" + named + "}";
}

void write_result(const entry& e, std::string& out) {
  const auto& o = e.result;
  out += '[';
  if (const auto* m = o.measured()) {
    char open = '[';
    for (const double s : m->samples) {
      out += open;
      if (open == ',') out += ' ';
      open = ',';
      json_real(s, out);
    }
    if (m->samples.empty()) {
      out += '[';
      json_real(m->value, out);
    }
    out += ']';
  } else {
    out += "[1000000000.0]";
  }
  put_tvm_ending(o, autotvm_message, out);
  out += ']';
}

status write_log(const selection& from, sink& to, losses& lost, bool old) {
  return from.records([&](const entry& e) {
    if (e.result.bounded() != nullptr) {
      lost.leave_out("records of runs that were stopped early");
      return true;
    }
    if (e.task->direction == goal::maximize || e.task->unit != "s") {
      lost.leave_out("records whose value is no time");
      return true;
    }
    count_losses(e, {.samples = true, .message = true, .exit = false, .build = true, .notes = true, .at = true},
                 autotvm_runner, lost);
    const auto& o = e.result;
    if (const auto* f = o.failed(); f != nullptr && !f->message.empty() && !f->message.starts_with(autotvm_message))
      lost.add("failure messages");
    const auto index = noted(o, "index"), hash = noted(o, "code_hash");
    if (o.notes.size() > static_cast<std::size_t>(index.has_value()) + static_cast<std::size_t>(hash.has_value()))
      lost.add("notes");
    auto& out = to.text();
    const auto made = origin_of(e.task->method_form);
    out += old ? "{\"i\": [" : "{\"input\": [";
    write_input(*e.task, out, lost);
    out += old ? ", null, {\"i\": " : "], \"config\": {\"index\": ";
    const auto whole = index ? parse_integer(*index) : std::nullopt;
    json_integer(whole.value_or(0), out);
    out += old ? ", \"t\": \"\", \"c\": " : ", \"code_hash\": ";
    hash ? json_string(*hash, out) : void(out += "null");
    out += old ? ", \"e\": " : ", \"entity\": ";
    write_knobs(e.config, out, lost);
    out += old ? "}], \"r\": " : "}, \"result\": ";
    write_result(e, out);
    out += old ? ", \"v\": 0.1" : ", \"version\": 0.2";
    if (made && !made->tool.empty()) {
      out += ", \"tvm_version\": ";
      json_string(made->tool, out);
    }
    out += "}\n";
    return to.pass();
  });
}

} // namespace

bool is_autotvm(const json_ref& line) {
  const auto recent = line.find("input");
  if (recent.is_array() && line.find("config").is_object() && line.find("result").is_array()) return true;
  const auto old = line.find("i");
  return old.is_array() && old[0].is_string() && old[5].is_object() && line.find("r").is_array();
}

std::unique_ptr<reader> read_autotvm(source& from, const read_options& options) {
  return std::make_unique<autotvm_reader>(from, options);
}

status write_autotvm_0_1(const selection& from, sink& to, losses& lost) { return write_log(from, to, lost, true); }
status write_autotvm_0_2(const selection& from, sink& to, losses& lost) { return write_log(from, to, lost, false); }

} // namespace attune::storage::formats
