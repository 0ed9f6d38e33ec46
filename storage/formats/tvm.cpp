#include "storage/formats/tvm.hpp"

#include "core/text.hpp"

namespace attune::storage::formats {

target tvm_target(const json_ref& written) {
  std::string whole, kind, model, device;
  if (written.is_object()) {
    dump(written, whole);
    kind = written.find("kind").text();
    model = written.find("model").text();
    if (model.empty()) model = written.find("tag").text();
    device = written.find("device").text();
  } else {
    whole = written.text();
    const auto words = split(whole, ' ');
    kind = words[0];
    for (const auto w : words) {
      if (w.starts_with("-model=")) model = w.substr(7);
      if (w.starts_with("-device=")) device = w.substr(8);
    }
  }
  if (model.empty() || model == "unknown") model = device;
  if (model.empty()) model = kind;
  target out;
  out.facts = {{"device", value(model)}, {"kind", value(kind)}, {"target", value(std::move(whole))}};
  return out;
}

bool write_tvm_target(const task_entry& task, std::string& out) {
  const auto* whole = find(task.target_facts, "target");
  if (whole != nullptr && whole->type() == value::kind::text) {
    // An object is one again; text is a string.
    std::string copy = whole->as_text(), again;
    json_document parsed;
    if (copy.starts_with('{') && parsed.parse(copy.data(), copy.size())) {
      dump(parsed.root(), again);
      if (again == whole->as_text()) {
        out += again;
        return true;
      }
    }
    json_string(whole->as_text(), out);
    return true;
  }
  json_string(target{task.target_facts}.device(), out);
  return task.target_facts.size() <= 1;
}

void tvm_arguments(const json_ref& list, arguments& out) {
  std::size_t i = 0;
  for (const auto a : list)
    if (auto v = to_value(a)) {
      out.emplace_back("arg" + std::to_string(i++), std::move(*v));
    } else {
      out.emplace_back("arg" + std::to_string(i++), value("null"));
    }
}

failure_kind tvm_failure(std::int64_t number) {
  switch (number) {
  case 1:
    return failure_kind::invalid_config;
  case 2:
  case 3:
    return failure_kind::build_error;
  case 5:
    return failure_kind::wrong_output;
  case 6:
    return failure_kind::build_timeout;
  case 7:
    return failure_kind::run_timeout;
  default:
    return failure_kind::run_error;
  }
}

int tvm_number(const failure& f, std::string_view prefix) {
  const std::string_view message = f.message;
  if (message.starts_with(prefix)) {
    const auto n = parse_integer(message.substr(prefix.size()));
    if (n && *n >= 1 && *n <= 8 && tvm_failure(*n) == f.kind) return static_cast<int>(*n);
  }
  if (f.kind == failure_kind::bad_metric) return 4;
  for (const int n : {1, 2, 4, 5, 6, 7})
    if (tvm_failure(n) == f.kind) return n;
  return 8;
}

bool take_tvm_costs(entry& out, const json_ref& list, double most) {
  double sum = 0;
  std::size_t count = 0;
  std::string_view only;
  if (list.is_array())
    for (const auto c : list)
      if (c.is_number()) {
        sum += c.number().value_or(0);
        only = c.text();
        ++count;
      }
  if (count == 0) return false;
  const double mean = sum / static_cast<double>(count);
  if (!(mean < most)) return false;
  std::string text;
  if (count > 1) {
    json_real(mean, text);
    only = text;
  }
  measure(out, only, 0);
  take_samples(out, list, 0);
  return true;
}

bool take_tvm_result(entry& out, const json_ref& measured, std::string_view prefix) {
  const auto number = measured[1].integer();
  if (!measured.is_array() || measured.size() < 2 || !number || *number < 0) return false;
  auto& o = out.result;
  if (const auto t = measured[2]; t.is_number())
    o.phases.build = nanoseconds(parse_nanoseconds(t.text(), 0).value_or(0));
  if (const auto t = measured[3]; t.is_number()) o.at = nanoseconds(parse_nanoseconds(t.text(), 0).value_or(0));
  if (*number != 0)
    fail(o, tvm_failure(*number), std::string(prefix) + std::to_string(*number));
  else if (!take_tvm_costs(out, measured[0], 1e8)) // it is 1e9 or 1e10 where there was none
    fail(o, failure_kind::bad_metric, "no cost is recorded");
  return true;
}

void put_tvm_ending(const outcome& o, std::string_view prefix, std::string& out) {
  const auto* f = o.failed();
  out += ", " + std::to_string(f == nullptr ? 0 : tvm_number(*f, prefix)) + ", ";
  write_nanoseconds(added(o.phases.build, o.phases.run).count(), 0, out);
  out += ", ";
  write_nanoseconds(o.at.count(), 0, out);
}

} // namespace attune::storage::formats
