#include "cli/recorded_table.hpp"

#include <algorithm>

namespace attune::cli {

result<search::replay_table> table_of(const storage::recorded_space& recorded) {
  std::vector<search::enumerated_space::axis> axes;
  for (const auto& p : recorded.parameters) {
    const bool numbers = std::all_of(p.values.begin(), p.values.end(), [](const value& v) { return v.is_number(); });
    axes.push_back({p.name, p.values, numbers});
  }
  std::vector<search::point> points;
  for (const auto& t : recorded.trials) points.push_back(t.at);
  auto space = search::enumerated_space::make(std::move(axes), std::move(points));
  if (!space) return space.err();
  search::replay_table out;
  out.over = *space;
  out.direction = recorded.direction;
  out.results.resize(out.over->size());
  for (const auto& t : recorded.trials) {
    auto& r = out.results[static_cast<std::size_t>(*out.over->index_of(t.at))];
    if (t.result.ok()) r.value = t.written;
    r.build_s = seconds(t.result.phases.build);
    r.run_s = seconds(t.result.phases.run);
  }
  return out;
}

} // namespace attune::cli
