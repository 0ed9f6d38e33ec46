#include "search/limits.hpp"

#include "core/value.hpp"

#include <algorithm>

namespace attune::search {

result<run_limits> run_limits::compile(const task_spec& spec) {
  run_limits out;
  out.literals_ = std::make_unique<pool>();
  out.objective_ = spec.run.objective;
  for (const auto& m : spec.run.metrics) out.metrics_.push_back(m.name);
  for (const auto& limit : spec.run.limits) {
    const auto wrong = [&](const std::string& message) {
      const auto where = limit.place.text();
      return error{errc::invalid_spec, "run.limits: " + message, where.empty() ? spec.file : where};
    };
    auto e = expression::read(limit.expression, {out.metrics_, &spec.workload, &spec.target}, *out.literals_);
    if (!e) return wrong(e.err().message);
    if (e->parameters_of(e->root()).empty()) return wrong("`" + limit.expression + "` reads no metric");
    out.limits_.push_back(std::move(*e));
  }
  return out;
}

std::optional<failure> run_limits::judge(const measurement& m) const {
  if (limits_.empty()) return std::nullopt;
  pool scratch(literals_.get());
  std::vector<cell> values(metrics_.size());
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    if (i == objective_) values[i] = cell::of(m.value);
    for (const auto& [name, v] : m.metrics)
      if (i != objective_ && name == metrics_[i]) values[i] = cell::of(v);
  }
  for (const auto& limit : limits_) {
    std::string read;
    for (const auto i : limit.parameters_of(limit.root())) {
      if (values[i].absent())
        return failure{failure_kind::bad_metric,
                       "the limit `" + limit.text() + "` cannot be judged: the run gave no '" + metrics_[i] + "'",
                       {},
                       {}};
      read += (read.empty() ? "" : ", ") + metrics_[i] + " = " + shortest(values[i].to_double());
    }
    scratch.rest();
    const auto kept = limit.evaluate(values, scratch);
    if (kept.present() && truth(kept, scratch)) continue;
    std::string why = "the limit `" + limit.text() + "` is not kept: " + read;
    if (kept.failed()) why += " (" + std::string(to_string(kept.why())) + ")";
    return failure{failure_kind::invalid_config, why, {}, {}};
  }
  return std::nullopt;
}

} // namespace attune::search
