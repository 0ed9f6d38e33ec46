#include "cli/played_report.hpp"

#include "web/model.hpp"
#include "web/report.hpp"

#include <fstream>
#include <memory>

namespace attune::cli {

namespace {

/// The recorded trials by their index in the table.
std::vector<const storage::recorded_trial*> by_index(const storage::recorded_space& recorded,
                                                     const search::replay_table& table) {
  std::vector<const storage::recorded_trial*> out(table.results.size());
  for (const auto& t : recorded.trials) out[static_cast<std::size_t>(*table.over->index_of(t.at))] = &t;
  return out;
}

} // namespace

status write_played(const std::string& file, const std::string& name, const storage::recorded_space& recorded,
                    const search::replay_table& table, const std::vector<played_strategy>& all) {
  std::vector<std::string> names;
  for (const auto& p : recorded.parameters) names.push_back(p.name);
  const auto shared = std::make_shared<const std::vector<std::string>>(std::move(names));
  const auto config_of = [&](const storage::recorded_trial& t) {
    std::vector<value> values;
    for (std::size_t i = 0; i < t.at.size(); ++i) {
      const auto& list = recorded.parameters[i].values;
      values.push_back(t.at[i] < list.size() ? list[t.at[i]] : value());
    }
    return configuration(shared, std::move(values));
  };
  metric_spec metric;
  metric.unit = recorded.unit;
  const auto trials = by_index(recorded, table);
  web::model shown(nanoseconds(0), nanoseconds(0));
  actors::session_number number = 0;
  for (const auto& s : all)
    for (std::size_t k = 0; k < s.runs.size(); ++k) {
      web::session_head head;
      head.task = name;
      head.strategy = s.name;
      head.seed = s.seed + k;
      head.metric = recorded.metric;
      head.unit = metric.stored_unit();
      head.direction = recorded.direction;
      if (!recorded.device.empty()) head.target.emplace_back("device", value(recorded.device));
      head.budget = s.runs[k].steps.size();
      shown.add_session(++number, std::move(head));
      trial_number next = 0;
      for (const auto& step : s.runs[k].steps) {
        const auto& t = *trials[step.at];
        shown.add_trial(number, next++, config_of(t), {}, t.result, false, from_seconds(step.ended_s));
      }
      shown.end_session(number, "recorded", from_seconds(s.runs[k].virtual_s));
    }
  std::ofstream to(file, std::ios::binary);
  if (to) web::write_report(to, "Attune: " + name, shown, R"({"store":null,"lives":{}})");
  to.flush();
  if (!to) return error{errc::io, "cannot be written", file};
  return {};
}

} // namespace attune::cli
