#include "library/access.hpp"
#include "measure/metric.hpp"
#include "measure/protocol.hpp"

namespace attune {

std::variant<std::vector<double>, failure> written(const answer& what, const metric_spec& metric) {
  if (const auto* why = what.why()) return *why;
  auto samples = *what.samples();
  if (what.is_time()) {
    if (metric.stored_unit() != "s")
      return failed(failure_kind::bad_metric,
                    "the objective gave a duration, but the unit `" + metric.unit + "` is no unit of time");
    for (auto& s : samples) s *= metric.divisor();
  }
  return samples;
}

std::variant<measurement, failure, bound> clean(const trial& what, const answer& got, std::vector<std::string>& notes) {
  const auto& metric = what.of->metric();
  auto samples = written(got, metric);
  if (auto* why = std::get_if<failure>(&samples)) return std::move(*why);
  auto checked = measure::check_samples(std::move(std::get<0>(samples)), metric, metric.divisor());
  notes.insert(notes.end(), checked.notes.begin(), checked.notes.end());
  const auto* good = checked.samples();
  if (!good) return failed(failure_kind::bad_metric, std::get<std::string>(checked.data));
  measure::protocol all(0, {});
  all.add(measure::without_warm_up(*good, what.of->spec.run.warmup));
  return all.result(notes);
}

} // namespace attune
