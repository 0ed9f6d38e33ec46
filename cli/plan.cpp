#include "cli/plan.hpp"

#include "actors/engine.hpp"
#include "cli/json.hpp"
#include "cli/render.hpp"
#include "core/text.hpp"
#include "measure/substitution.hpp"
#include "measure/validate.hpp"
#include "schedulers/task_budget.hpp"
#include "search/limits.hpp"
#include "search/strategy.hpp"
#include "storage/spec_reader.hpp"

#include <algorithm>
#include <map>

namespace attune::cli {

namespace {

std::string command_text(const command& c) {
  if (!c.shell.empty()) return c.shell;
  std::string out;
  for (const auto& word : c.argv) out += (out.empty() ? "" : " ") + shell_word(word);
  return out;
}

/// What the budget comes to: the engine's own rules (actors/engine.hpp), for the display.
std::optional<std::uint64_t> trials_of(const task_spec& spec, const search::space& over, bool shared) {
  std::optional<std::uint64_t> trials = spec.search.trials;
  const auto count = over.count();
  if (spec.search.fraction && count) trials = trials_of_fraction(*spec.search.fraction, static_cast<double>(*count));
  if (!trials && !spec.search.time && !shared) trials = actors::default_trials;
  if (count && *count < (search::uint128{1} << 62)) {
    const auto all = static_cast<std::uint64_t>(*count);
    if (trials || all <= 1'000'000) trials = std::min(trials.value_or(all), all);
  }
  return trials;
}

/// All tasks of one command share this machine's places.
status agree(how_many& all, const how_many& one, const char* what, const task_spec& spec) {
  if (!one.said()) return {};
  if (all.said() && all != one)
    return error{errc::invalid_spec,
                 std::string("task '")
                     .append(spec.name)
                     .append("' asks for ")
                     .append(to_string(one) + " " + what + ", another one for " + to_string(all) +
                             "; give one number with --" + what),
                 spec.file};
  all = one;
  return {};
}

status check(const loaded_task& t) {
  const auto& spec = t.spec;
  if (spec.run.run.empty())
    return error{errc::invalid_spec, "has no run.command, so there is nothing to measure", spec.file};
  if (auto good = measure::validate(spec); !good) return good;
  if (const auto good = search::run_limits::compile(spec); !good) return good.err();
  if (spec.search.fraction && !t.space->count())
    return error{errc::invalid_spec, "search.fraction needs a space that can be counted; give search.trials",
                 spec.file};
  std::vector<std::string> names;
  for (const auto& s : search::strategies()) names.push_back(s.name);
  if (std::find(names.begin(), names.end(), spec.search.strategy) == names.end()) {
    std::string message = "unknown strategy '" + spec.search.strategy + "'";
    if (const auto near = nearest_word(spec.search.strategy, names)) {
      message += "; did you mean '" + *near + "'?";
    } else {
      message += "; known are";
      for (const auto& n : names) message += (n == names.front() ? " " : ", ") + n;
    }
    return error{errc::invalid_spec, message, spec.file};
  }
  return {};
}

/// What the files' tasks share, by the files and the command line.
result<std::optional<budget_spec>> shared_budget(const tune_options& options) {
  std::optional<budget_spec> out;
  std::string from;
  for (const auto& file : options.specs) {
    auto one = storage::read_shared_budget(file);
    if (!one) return one.err();
    if (!*one) continue;
    if (out && *out != **one)
      return error{errc::invalid_spec, "has another budget than " + from + ": one command has one budget", file};
    out = **one;
    from = file;
  }
  if (!out && options.policy) {
    if (!options.trials && !options.time)
      return error{errc::invalid_spec,
                   "--policy says who of the tasks goes next, and needs to know how much they share: give --trials or "
                   "--time, or write budget: into the spec",
                   {}};
    out.emplace();
  }
  if (!out) return out;
  if (options.policy) out->policy = *options.policy;
  if (options.trials) out->trials = options.trials;
  if (options.time) out->time = options.time;
  return out;
}

/// What can be said of a shared budget when the tasks are known.
status check_budget(const plan& p, const tune_options& options) {
  std::vector<schedulers::shared_task> tasks;
  for (const auto& t : p.tasks) {
    tasks.emplace_back();
    tasks.back().most = t.trials;
  }
  if (options.policy && tasks.size() < 2)
    return error{errc::invalid_spec, "--policy has no effect: there is one task", {}};
  schedulers::budget_options how;
  how.policy = p.budget->policy;
  how.trials = p.budget->trials;
  const auto made = schedulers::make_task_budget(std::move(tasks), how);
  if (!made) return made.err();
  return {};
}

} // namespace

void apply(const tune_options& options, task_spec& spec, bool shared) {
  if (options.trials && !shared) {
    spec.search.trials = options.trials;
    spec.search.fraction.reset();
  }
  if (options.time && !shared) spec.search.time = options.time;
  if (options.strategy) spec.search.strategy = *options.strategy;
  if (options.seed) spec.search.seed = *options.seed;
  if (options.near) spec.search.near = *options.near;
  if (options.slots) spec.measure.slots = *options.slots;
  if (options.builders) spec.measure.builders = *options.builders;
}

result<plan> make_plan(const tune_options& options) {
  plan out;
  const auto budget = shared_budget(options);
  if (!budget) return budget.err();
  out.budget = *budget;
  const bool shared = out.budget.has_value();
  if (!shared && !options.svg.empty())
    return error{errc::invalid_spec,
                 "--svg draws the total of tasks that share a budget: give --policy, or write budget: into the spec",
                 {}};
  how_many slots, builders;
  std::map<std::string, std::pair<std::string, std::size_t>> sessions;
  for (const auto& file : options.specs) {
    auto loaded = load(file);
    if (!loaded) return loaded.err();
    for (auto& t : *loaded) {
      apply(options, t.spec, shared);
      if (const auto good = check(t); !good) return good.err();
      if (const auto same = agree(slots, t.spec.measure.slots, "slots", t.spec); !same) return same.err();
      if (const auto same = agree(builders, t.spec.measure.builders, "builders", t.spec); !same) return same.err();
      if (t.spec.measure.cores != 1) out.cores = std::max(out.cores, t.spec.measure.cores);
      // Tasks of one file have their constraints in common: what is noticed of one is not said again for each.
      const auto say = [&out](std::string text) {
        if (std::find(out.messages.begin(), out.messages.end(), text) == out.messages.end())
          out.messages.push_back(std::move(text));
      };
      for (const auto& w : t.spec.warnings) say(w);
      for (const auto& r : t.space->remarks()) say(t.spec.name + ": " + r);
      if (measure::builds_in_place(t.spec))
        out.messages.push_back(t.spec.name + ": the build names neither {artifact} nor {workdir}, so it is taken to "
                                             "write in place: each trial builds and runs before the next one builds");
      const auto trials = trials_of(t.spec, *t.space, shared);
      const double weight = t.spec.weight;
      auto made = make_task(std::move(t.spec));
      if (!made) return made.err();
      const auto id = actors::session_id(**made, shared);
      const auto [at, fresh] = sessions.emplace(id, std::pair(file, out.tasks.size()));
      if (!fresh && shared) {
        auto& first = out.tasks[at->second.second];
        auto sum = std::make_shared<task>(*first.of);
        sum->spec.weight += weight;
        out.messages.push_back(sum->spec.name + ": is given again, and tuned once, with weight " +
                               shortest(sum->spec.weight));
        first.of = std::move(sum);
        continue;
      }
      if (!fresh)
        return error{errc::invalid_spec,
                     "task '" + (*made)->spec.name + "' is given twice" +
                         (at->second.first == file ? "" : ", first in " + at->second.first),
                     file};
      out.tasks.push_back({std::move(*made), t.space, trials});
    }
  }
  if (shared)
    if (const auto good = check_budget(out, options); !good) return good.err();
  out.slots = slots.said() ? slots : how_many(1);
  out.builders = builders;
  return out;
}

json plan_json(const plan& p, const std::string& store) {
  json tasks = json::array();
  for (const auto& t : p.tasks) {
    const auto& spec = t.of->spec;
    tasks.push_back({{"task", spec.name},
                     {"key", t.of->identity.task_key.hex()},
                     {"target", arguments_json(t.of->where.facts)},
                     {"valid", t.over->count() ? count_json(*t.over->count()) : json(nullptr)},
                     {"strategy", spec.search.strategy},
                     {"seed", count_json(spec.search.seed)},
                     {"reuse", spec.search.near ? "near" : "exact"},
                     {"trials", t.trials ? count_json(*t.trials) : json(nullptr)},
                     {"time_s", spec.search.time ? number_json(seconds(*spec.search.time)) : json(nullptr)},
                     {"build", spec.build ? json(command_text(spec.build->run)) : json(nullptr)},
                     {"run", command_text(spec.run.run)},
                     {"session", actors::session_id(*t.of, p.budget.has_value())}});
    if (p.budget) tasks.back()["weight"] = number_json(spec.weight);
  }
  json out{{"dry_run", true}};
  if (p.budget)
    out["budget"] = {{"trials", p.budget->trials ? count_json(*p.budget->trials) : json(nullptr)},
                     {"time_s", p.budget->time ? number_json(seconds(*p.budget->time)) : json(nullptr)},
                     {"policy", p.budget->policy}};
  out["tasks"] = std::move(tasks);
  out["slots"] = p.slots.count ? json(*p.slots.count) : json("auto");
  out["builders"] = p.builders.count ? json(*p.builders.count) : json("auto");
  out["store"] = store;
  return out;
}

std::string render_plan(const plan& p, const std::string& store) {
  std::string out;
  for (const auto& t : p.tasks) {
    const auto& spec = t.of->spec;
    std::vector<std::vector<std::string>> rows;
    rows.push_back({"  configurations", t.over->count() ? search::to_string(*t.over->count()) : "unknown, too many"});
    std::string budget = t.trials ? std::to_string(*t.trials) + " trials" : "";
    if (spec.search.time) budget += (budget.empty() ? "" : ", or ") + human_duration(*spec.search.time);
    if (p.budget) budget = (budget.empty() ? "" : "at most " + budget + ", ") + "its share of the whole";
    rows.push_back({"  budget", budget});
    rows.push_back({"  strategy", spec.search.strategy + ", seed " + std::to_string(spec.search.seed)});
    if (spec.search.near) rows.push_back({"  reuse", "near: what lies between equal results is estimated"});
    if (spec.build) rows.push_back({"  build", command_text(spec.build->run)});
    rows.push_back({"  run", command_text(spec.run.run)});
    rows.push_back({"  metric", spec.run.metrics[spec.run.objective].name + ", " +
                                    to_string(spec.run.metrics[spec.run.objective].direction)});
    rows.push_back({"  target", t.of->where.text()});
    rows.push_back({"  key", t.of->identity.task_key.hex()});
    out += spec.name + "\n" + table(rows) + "\n";
  }
  if (p.budget) {
    std::string whole = p.budget->trials ? std::to_string(*p.budget->trials) + " trials" : "";
    if (p.budget->time) whole += (whole.empty() ? "" : ", or ") + human_duration(*p.budget->time);
    out += table({{"budget of all", whole + ", " + p.budget->policy}});
  }
  out += table({{"slots", to_string(p.slots)},
                {"builders", p.builders.said() ? to_string(p.builders) : "one for each core"},
                {"store", store}});
  return out + "\nNothing was started and nothing was written (--dry-run).\n";
}

} // namespace attune::cli
