// Ansor logs (TVM, src/auto_scheduler/measure_record.cc), one JSON object a line; lines that begin with # are comments.
//
//   {"i": [[workload_key, target, hardware, target_host, layout], [[stage…], [step…]]],
//    "r": [[cost…], error, all_cost, timestamp], "v": "v0.6"}
//
// Units: costs and all_cost in seconds, the timestamp in seconds since the epoch. A cost is the mean of one repeat.
// Failures are `error` as in AutoTVM's logs (1 to 8, see autotvm.cpp), whatever the cost says (it is 1e10 then), and
// stay told apart by their message.
//
// Workload: its key as it stands there is the name; it has no arguments.
// Target: as in autotvm.cpp, with `hardware`, `target_host` and `layout` as they stand there.
// Configuration: `sketch` is the state as JSON text in which every split's factors (SP) are null and every pragma (PR)
// is empty; the factors of step N are the parameters N.0, N.1, …, its pragma is N.pragma. all_cost is kept as the
// build's time; the version is part of how it was measured.
#include "storage/formats/tvm.hpp"

namespace attune::storage::formats {
namespace {

constexpr const char* ansor_runner = "ansor";
constexpr std::string_view ansor_message = "Ansor error ";

/// Whether a step is a split of which all factors are integers.
bool is_split(const json_ref& step) {
  const auto factors = step[4];
  if (step[0].text() != "SP" || !factors.is_array() || factors.size() == 0) return false;
  for (const auto f : factors)
    if (!f.is_integer()) return false;
  return true;
}
bool is_pragma(const json_ref& step) { return step[0].text() == "PR" && step[3].is_string(); }

class ansor_reader final : public line_format {
public:
  ansor_reader(source& from, const read_options& options) : line_format(from), stated_(options.stated) {}
  std::string format() const override { return "ansor"; }

protected:
  taken line(const json_ref& root, entry& out, std::string& why) override {
    const auto wrong = [&](const char* what) {
      why = what;
      return taken::damaged;
    };
    const auto input = root.find("i"), measured = root.find("r");
    const auto what = input[0], state = input[1];
    if (!input.is_array() || !what.is_array() || !what[0].is_string() || what.size() < 2)
      return wrong("its input names no workload and target");
    if (!state.is_array() || state.size() != 2 || !state[1].is_array()) return wrong("its state has no steps");
    if (!take_tvm_result(out, measured, ansor_message)) return wrong("its result has no costs and error number");
    configure(state, out);
    auto& o = out.result;
    o.runner = ansor_runner;
    out.by_samples = !stated_ && o.ok();
    key_.clear();
    dump(what, key_);
    key_ += root.find("v").text();
    const auto& both = tasks_.of(key_, [&] {
      auto where = tvm_target(what[1]);
      for (const auto& [name, place] : {std::pair("hardware", 2), {"target_host", 3}, {"layout", 4}})
        if (const auto part = what[static_cast<std::size_t>(place)])
          if (auto v = to_value(part)) where.facts.emplace_back(name, std::move(*v));
      return foreign({std::string(what[0].text()), {}}, where, {"ansor", std::string(root.find("v").text()), {}},
                     "time", "s", goal::minimize);
    });
    out.task = stated_ ? both.stated : both.sampled;
    return taken::record;
  }

private:
  void configure(const json_ref& state, entry& out) {
    names_.assign(1, "sketch");
    std::vector<value> values(1);
    std::string sketch = "[";
    dump(state[0], sketch);
    sketch += ",[";
    std::size_t n = 0;
    for (const auto one : state[1]) {
      if (n > 0) sketch += ',';
      const bool split = is_split(one), pragma = is_pragma(one);
      if (!split && !pragma) {
        dump(one, sketch);
        ++n;
        continue;
      }
      char before = '[';
      for (std::size_t k = 0; const auto part : one) {
        sketch += before;
        before = ',';
        if (split && k == 4)
          sketch += "null";
        else if (pragma && k == 3)
          sketch += "\"\"";
        else
          dump(part, sketch);
        ++k;
      }
      sketch += ']';
      const auto begin = std::to_string(n++);
      if (pragma) {
        names_.push_back(begin + ".pragma");
        values.emplace_back(one[3].text());
        continue;
      }
      for (std::size_t k = 0; const auto factor : one[4]) {
        names_.push_back(begin + "." + std::to_string(k++));
        values.emplace_back(*factor.integer());
      }
    }
    values[0] = value(sketch + "]]");
    out.config = {pool_.of(names_), std::move(values)};
  }

  const bool stated_;
  task_pool tasks_;
  names_pool pool_;
  std::vector<std::string> names_;
  std::string key_;
};

/// The state with its factors and pragmas put back. False where the configuration is none of ours.
bool write_state(const configuration& config, json_document& parsed, std::string& out) {
  const auto* sketch = config.find("sketch");
  if (sketch == nullptr || sketch->type() != value::kind::text) return false;
  std::string text = sketch->as_text();
  if (!parsed.parse(text.data(), text.size())) return false;
  const auto state = parsed.root();
  if (!state.is_array() || state.size() != 2 || !state[1].is_array()) return false;
  out += '[';
  dump(state[0], out);
  out += ", [";
  std::size_t n = 0, used = 1;
  for (const auto step : state[1]) {
    if (n > 0) out += ", ";
    const auto begin = std::to_string(n++);
    const auto* pragma = config.find(begin + ".pragma");
    const auto* factor = config.find(begin + ".0");
    if (pragma == nullptr && factor == nullptr) {
      dump(step, out);
      continue;
    }
    if (!step.is_array()) return false;
    char before = '[';
    for (std::size_t k = 0; const auto part : step) {
      out += before;
      before = ',';
      if (pragma != nullptr && k == 3) {
        json_string(pragma->text(), out);
        ++used;
      } else if (factor != nullptr && k == 4) {
        char open = '[';
        for (std::size_t f = 0; factor != nullptr; factor = config.find(begin + "." + std::to_string(++f))) {
          if (factor->type() != value::kind::integer) return false;
          out += open;
          open = ',';
          json_integer(factor->as_integer(), out);
          ++used;
        }
        out += ']';
      } else {
        dump(part, out);
      }
      ++k;
    }
    out += ']';
  }
  out += "]]";
  return used == config.size();
}

} // namespace

bool is_ansor(const json_ref& line) {
  const auto input = line.find("i");
  return input.is_array() && input[0].is_array() && input[0][0].is_string() && line.find("r").is_array();
}

std::unique_ptr<reader> read_ansor(source& from, const read_options& options) {
  return std::make_unique<ansor_reader>(from, options);
}

status write_ansor(const selection& from, sink& to, losses& lost) {
  json_document parsed;
  std::string state;
  return from.records([&](const entry& e) {
    const auto& o = e.result;
    if (o.bounded() != nullptr) {
      lost.leave_out("records of runs that were stopped early");
      return true;
    }
    state.clear();
    if (e.task->unit != "s" || e.task->direction == goal::maximize || !write_state(e.config, parsed, state)) {
      lost.leave_out("records that are no state of Ansor");
      return true;
    }
    count_losses(e, {.samples = true, .message = true, .build = true, .at = true}, ansor_runner, lost);
    if (const auto* f = o.failed(); f != nullptr && !f->message.empty() && !f->message.starts_with(ansor_message))
      lost.add("failure messages");
    auto& out = to.text();
    out += "{\"i\": [[";
    json_string(e.task->name, out);
    out += ", ";
    if (!write_tvm_target(*e.task, out)) lost.add("facts of the target");
    if (!e.task->workload_args.empty()) lost.add("arguments of the workload");
    for (const auto* name : {"hardware", "target_host", "layout"})
      if (const auto* v = find(e.task->target_facts, name)) {
        out += ", ";
        value_to_json(*v, out);
      }
    out += "], " + state + "], \"r\": [";
    if (const auto* m = o.measured()) {
      char open = '[';
      for (const double s : m->samples.empty() ? std::vector<double>{m->value} : m->samples) {
        out += open;
        open = ',';
        json_real(s, out);
      }
      out += ']';
    } else {
      out += "[1e+10]";
    }
    put_tvm_ending(o, ansor_message, out);
    out += "], \"v\": ";
    const auto made = origin_of(e.task->method_form);
    json_string(made && !made->tool.empty() ? made->tool : "v0.6", out);
    out += "}\n";
    return to.pass();
  });
}

} // namespace attune::storage::formats
