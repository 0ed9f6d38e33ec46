#include "testing/recorded.hpp"

#include "search/enumerated_space.hpp"

#include <algorithm>

namespace attune::testing {

result<std::shared_ptr<const recorded_runs>> recorded_runs::of(const storage::recorded_space& recorded) {
  std::vector<search::enumerated_space::axis> axes;
  for (const auto& p : recorded.parameters)
    axes.push_back({p.name, p.values,
                    std::all_of(p.values.begin(), p.values.end(), [](const value& v) { return v.is_number(); })});
  std::vector<search::point> points;
  points.reserve(recorded.trials.size());
  for (const auto& t : recorded.trials) points.push_back(t.at);
  auto over = search::enumerated_space::make(std::move(axes), std::move(points));
  if (!over) return over.err();
  auto out = std::make_shared<recorded_runs>();
  auto entries = std::make_shared<std::unordered_map<std::string, entry>>();
  for (const auto& t : recorded.trials) {
    entry e;
    e.takes = t.result.phases.build + t.result.phases.run;
    if (const auto* m = t.result.measured()) {
      e.answer = {std::make_shared<const measure::run_result>(measure::run_result{*m, e.takes, {}, {}})};
      const bool better = !out->optimum_ || (recorded.direction == goal::minimize ? m->value < *out->optimum_
                                                                                  : m->value > *out->optimum_);
      if (better) out->optimum_ = m->value;
    } else if (const auto* why = t.result.failed()) {
      e.answer = {std::make_shared<const measure::run_result>(measure::run_result{*why, e.takes, {}, {}})};
    } else {
      continue;
    }
    entries->insert_or_assign((*over)->to_configuration(t.at).canonical(), std::move(e));
  }
  out->over_ = std::move(*over);
  out->entries_ = std::move(entries);
  return std::shared_ptr<const recorded_runs>(std::move(out));
}

run_script recorded_runs::runs() const {
  return [entries = entries_](const actors::run_order& o) {
    act<actors::run_report> a;
    const auto at = entries->find(o.what->canonical);
    if (at == entries->end()) {
      a.report = run_failed(failure_kind::invalid_config, "it was not recorded");
      return a;
    }
    a.report = at->second.answer;
    a.after = at->second.takes;
    return a;
  };
}

} // namespace attune::testing
