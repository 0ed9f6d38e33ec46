#include "cli/offline_command.hpp"

#include "actors/similar.hpp"
#include "cli/json.hpp"
#include "cli/store_access.hpp"
#include "core/text.hpp"
#include "search/offline.hpp"

#include <cstdio>
#include <ostream>

namespace attune::cli {

namespace {

constexpr std::size_t answers = 5;

struct prediction {
  task_ptr of;
  search::space_ptr over;
  std::optional<search::offline_answer> answer;
  std::size_t tasks = 0; ///< similar ones that had something to say
  nanoseconds took{0};
  double cost_sign = 1;
};

json predicted_json(const prediction& p, const search::predicted_configuration& b) {
  const auto& metric = p.of->metric();
  const auto value = [&](const std::optional<double>& cost) {
    return cost ? number_json(*cost * p.cost_sign) : json(nullptr);
  };
  const bool upwards = p.cost_sign > 0;
  return {{"config", config_json(p.over->to_configuration(b.at))},
          {"value", value(b.cost)},
          {"between", json::array({value(upwards ? b.low : b.high), value(upwards ? b.high : b.low)})},
          {"unit", metric.stored_unit()},
          {"goal", to_string(metric.direction)},
          {"success", number_json(b.success)},
          {"measured", false}};
}

json prediction_json(const prediction& p) {
  const json none = {{"proposed", 0}, {"measured", 0}, {"cached", 0}, {"failed", json::object()}};
  json out{{"task", p.of->spec.name},
           {"key", p.of->identity.task_key.hex()},
           {"target", arguments_json(p.of->where.facts)},
           {"offline", true},
           {"best", nullptr},
           {"predicted", nullptr},
           {"trials", none},
           {"time_s",
            {{"wall", seconds(p.took)}, {"build", 0.0}, {"run", 0.0}, {"queue", 0.0}, {"search", seconds(p.took)}}},
           {"stopped_because", p.answer ? "trials" : "no_valid"},
           {"session", nullptr}};
  if (!p.answer) return out;
  out["predicted"] = predicted_json(p, p.answer->best[0]);
  out["predicted_top"] = json::array();
  for (const auto& b : p.answer->best) out["predicted_top"].push_back(predicted_json(p, b));
  out["learned_from"] = {{"model", p.answer->model},
                         {"records", p.answer->own},
                         {"similar_tasks", p.tasks},
                         {"similar_records", p.answer->similar}};
  return out;
}

std::string render(const prediction& p) {
  std::string out = p.of->spec.name + "  predicted, not measured\n";
  const auto unit = p.of->metric().stored_unit();
  for (const auto& b : p.answer->best) {
    char value[64] = "of unknown value";
    if (b.cost) std::snprintf(value, sizeof value, "about %.4g %s", *b.cost * p.cost_sign, unit.c_str());
    out += "  " + std::string(value) + "  " + p.over->to_configuration(b.at).text() + "\n";
  }
  return out + "  learned from " + std::to_string(p.answer->own) + " records of the task and " +
         std::to_string(p.answer->similar) + " of " + std::to_string(p.tasks) + " similar tasks (" + p.answer->model +
         ")\n";
}

} // namespace

int run_offline(const plan& planned, const std::string& folder, output& io) {
  const auto store = open_to_read(folder);
  if (!store) return io.fail(store.err());
  json documents = json::array();
  std::size_t none = 0;
  for (const auto& t : planned.tasks) {
    prediction p;
    p.of = t.of;
    p.over = t.over;
    p.cost_sign = t.of->metric().direction == goal::maximize ? -1 : 1;
    const auto begin = system_time().monotonic();
    std::vector<search::prior_record> records;
    if (*store) {
      auto found = actors::find_similar(**store, *t.of, *t.over, {.own = true});
      if (!found) return io.fail(found.err());
      records = std::move(found->records);
      p.tasks = found->tasks;
    }
    auto answer = search::predict_best(t.over, records, answers, t.of->spec.search.seed);
    p.took = system_time().monotonic() - begin;
    if (answer) {
      p.answer = std::move(*answer);
      if (!io.json()) io.out() << render(p);
    } else {
      ++none;
      io.message(t.of->spec.name + ": nothing can be predicted: " + answer.err().message +
                 "; attune tune without --offline measures");
    }
    documents.push_back(prediction_json(p));
  }
  if (io.json()) io.document(documents.size() == 1 ? documents[0] : json{{"tasks", std::move(documents)}});
  return none == 0 ? exit_code::done : none == planned.tasks.size() ? exit_code::no_result : exit_code::partial;
}

} // namespace attune::cli
