#include "actors/engine.hpp"
#include "actors/messages.hpp"
#include "cli/commands.hpp"
#include "cli/comparison.hpp"
#include "cli/interrupts.hpp"
#include "cli/json.hpp"
#include "cli/plan.hpp"
#include "cli/played_report.hpp"
#include "cli/recorded_table.hpp"
#include "cli/render.hpp"
#include "cli/replay_runs.hpp"
#include "core/text.hpp"
#include "net/shared_store.hpp"
#include "storage/store_port.hpp"

#include <cmath>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <ostream>

namespace attune::cli {

namespace {

/// The trials of a run against a recorded space where the line does not say: as attune replay's.
constexpr std::uint64_t recorded_trials = 200;

/// What the runs of one strategy came to: one figure each, lower is better.
struct contestant {
  std::string name;
  std::vector<double> figures;
  std::vector<double> scores; ///< of a recorded space
  std::uint64_t without = 0;  ///< runs that found nothing
};

std::string figure(double v, const char* form = "%.4g") {
  char text[32];
  std::snprintf(text, sizeof text, form, v);
  return text;
}

json interval_json(const interval& i) {
  return {{"mean", number_json(i.mean)}, {"low", number_json(i.low)}, {"high", number_json(i.high)}};
}

/// `goal`: which way the figures were turned; `unit`: how they are written.
int conclude(const std::vector<contestant>& all, const std::string& about, json document, goal direction,
             const std::string& unit, output& io) {
  const auto turned = [&](double v) { return direction == goal::minimize ? v : -v; };
  const auto written = [&](double v) { return unit.empty() ? figure(v) : human_value(v, unit); };
  json strategies = json::array(), tests = json::array();
  std::vector<std::vector<std::string>> rows{{"strategy", "runs", "best", "95 % interval"}}, pairs;
  const bool scored = !all.front().scores.empty();
  if (scored) rows.front().insert(rows.front().end(), {"score", "95 % interval"});
  std::size_t with = 0;
  for (const auto& c : all) {
    json one{{"name", c.name}, {"runs", c.figures.size() + c.without}, {"without_result", c.without}};
    std::vector<std::string> row{c.name, std::to_string(c.figures.size() + c.without), "none", ""};
    if (!c.figures.empty()) {
      ++with;
      auto i = bootstrap_mean(c.figures);
      if (direction == goal::maximize) i = {-i.mean, -i.high, -i.low};
      one["best"] = interval_json(i);
      row[2] = written(i.mean);
      row[3] = written(i.low) + " to " + written(i.high);
      one["runs_best"] = json::array();
      for (const double v : c.figures) one["runs_best"].push_back(number_json(turned(v)));
    } else {
      one["best"] = nullptr;
    }
    if (scored) {
      const auto i = bootstrap_mean(c.scores);
      one["score"] = interval_json(i);
      row.insert(row.end(), {figure(i.mean, "%+.3f"), figure(i.low, "%+.3f") + " to " + figure(i.high, "%+.3f")});
    }
    strategies.push_back(std::move(one));
    rows.push_back(std::move(row));
  }
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = a + 1; b < all.size(); ++b) {
      if (all[a].figures.empty() || all[b].figures.empty()) continue;
      const auto t = mann_whitney(all[a].figures, all[b].figures);
      const bool real = t.p < 0.05;
      const auto& better = t.first_lower > 0.5 ? all[a].name : all[b].name;
      tests.push_back({{"first", all[a].name},
                       {"second", all[b].name},
                       {"p", number_json(t.p)},
                       {"first_better", number_json(t.first_lower)},
                       {"better", real ? json(better) : json(nullptr)}});
      pairs.push_back({all[a].name + " against " + all[b].name + ":",
                       figure(100 * t.first_lower, "%.0f") + " % of pairs,",
                       t.p < 0.0001 ? "p < 0.0001:" : "p = " + figure(t.p, "%.2g") + ":",
                       real ? better + " is better" : "cannot be told apart"});
    }
  document["strategies"] = std::move(strategies);
  document["tests"] = std::move(tests);
  if (io.json()) {
    io.document(document);
  } else {
    io.out() << about << '\n' << table(rows);
    if (!pairs.empty()) io.out() << '\n' << table(pairs);
  }
  return with == 0 ? exit_code::no_result : with < all.size() ? exit_code::partial : exit_code::done;
}

int compare_recorded(const compare_options& options, const storage::recorded_space& recorded, output& io) {
  const auto space = table_of(recorded);
  if (!space) return io.fail({errc::invalid_spec, space.err().message, options.what});
  if (space->valid() == 0) {
    io.message(options.what + ": no configuration has a value");
    return exit_code::no_result;
  }
  const std::uint64_t trials = options.trials.value_or(recorded_trials);
  const double optimum = space->optimum();
  const auto random = search::expected_random(*space, trials);
  std::vector<contestant> all;
  std::vector<played_strategy> played;
  for (const auto& name : options.strategies) {
    auto runs = play_seeds(*space, name, options.seed, options.seeds, trials, 1);
    if (!runs) return io.fail(runs.err());
    contestant c{name, {}, {}, 0};
    for (const auto& r : *runs) {
      const double ratio = over_optimum(*space, best_after(r, trials), optimum);
      if (std::isfinite(ratio))
        c.figures.push_back(ratio);
      else
        ++c.without;
      c.scores.push_back(search::score(*space, r.best, random, trials));
    }
    all.push_back(std::move(c));
    played.push_back({name, options.seed, std::move(*runs)});
  }
  const auto name = options.what.substr(options.what.rfind('/') + 1);
  if (!options.output.empty())
    if (const auto wrote = write_played(options.output, name, recorded, *space, played); !wrote)
      return io.fail(wrote.err());
  return conclude(all, name + ": best ÷ optimum after " + std::to_string(trials) + " trials",
                  {{"space", name}, {"trials", trials}, {"seeds", options.seeds}, {"optimum", optimum}}, goal::minimize,
                  {}, io);
}

int compare_live(const compare_options& options, const std::string& store, const std::string& typed, output& io) {
  if (store.empty())
    return io.fail(
        {errc::store_unusable, "no folder for the store is known: give --store DIR or set ATTUNE_STORE", {}});
  // All is read and checked before the first trial.
  std::vector<plan> plans;
  for (const auto& name : options.strategies)
    for (std::uint64_t k = 0; k < options.seeds; ++k) {
      tune_options how;
      how.specs = {options.what};
      how.trials = options.trials;
      how.strategy = name;
      how.seed = options.seed + k;
      auto one = make_plan(how);
      if (!one) return io.fail(one.err());
      if (!options.task.empty())
        std::erase_if(one->tasks, [&](const auto& t) { return t.of->spec.name != options.task; });
      if (one->tasks.size() != 1)
        return io.fail(
            {errc::invalid_spec,
             one->tasks.empty() ? "there is no task '" + options.task + "'" : "name one of its tasks: --task NAME",
             options.what});
      if (plans.empty())
        for (const auto& m : one->messages) io.message(m);
      plans.push_back(std::move(*one));
    }
  std::mutex lock;
  std::optional<actors::session> running;
  bool cancelled = false;
  interrupts signals([&](int) {
    const std::lock_guard guard(lock);
    cancelled = true;
    if (running) running->cancel();
  });
  std::vector<contestant> all;
  std::vector<std::string> sessions;
  const auto& of = *plans.front().tasks.front().of;
  const auto direction = of.metric().direction;
  const auto unit = of.metric().stored_unit();
  {
    actors::engine_options how;
    how.store = store;
    how.open_store = [](const std::string& folder) { return net::open_shared(folder); };
    how.take_turns = true;
    how.slots = plans.front().slots;
    how.builders = plans.front().builders;
    how.cores_each = plans.front().cores;
    auto engine = actors::engine::start(how);
    if (!engine) return io.fail(engine.err());
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const auto& t = plans[i].tasks.front();
      const auto& name = t.of->spec.search.strategy;
      if (all.empty() || all.back().name != name) all.push_back({name, {}, {}, 0});
      auto begun = (*engine)->tune({t.of, t.over, false, false});
      if (!begun) return io.fail(begun.err());
      {
        const std::lock_guard guard(lock);
        running = *begun;
        if (cancelled) running->cancel();
      }
      const auto report = begun->wait();
      {
        const std::lock_guard guard(lock);
        running.reset();
        if (cancelled) break;
      }
      if (!report) return io.fail({errc::internal, "a session ended without a report", {}});
      if (report->trouble) return io.fail(*report->trouble);
      sessions.push_back(report->session);
      std::string line = name + ", seed " + std::to_string(t.of->spec.search.seed) + ": ";
      if (report->best) {
        const double v = report->best->result->measured()->value;
        all.back().figures.push_back(direction == goal::minimize ? v : -v);
        line += human_value(v, unit);
      } else {
        ++all.back().without;
        line += "no result";
      }
      io.message(line + " after " + std::to_string(report->counts.proposed) + " trials, " +
                 std::to_string(report->counts.cached) + " of them known");
    }
  }
  if (const int signal = signals.caught(); signal != 0) {
    io.message("stopped; what was measured is kept, and this goes on with the rest: " + typed);
    return signal == SIGINT ? exit_code::interrupted : exit_code::terminated;
  }
  if (!options.output.empty()) {
    output beside(io.err(), io.err(), false); // its own document is not this command's
    if (const int code = run_report({sessions, options.output}, store, beside); code != exit_code::done) return code;
  }
  return conclude(all, of.spec.name + ": the best of each run",
                  {{"task", of.spec.name}, {"unit", unit}, {"seeds", options.seeds}, {"sessions", sessions}}, direction,
                  unit, io);
}

} // namespace

int run_compare(const compare_options& options, const std::string& store, const std::string& typed, output& io) {
  for (const auto& strategy : options.strategies)
    if (const auto known = known_strategy(strategy); !known) return io.fail(known.err());
  // What is a recorded space is known by its content; everything else is a spec.
  if (const auto recorded = storage::read_recorded(options.what)) {
    for (const auto& w : recorded->warnings) io.message(w);
    return compare_recorded(options, *recorded, io);
  }
  return compare_live(options, store, typed, io);
}

command_spec compare_command() {
  struct words {
    std::string spec, task, strategy, seeds, seed, trials, output;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"compare", "Run strategies against each other, over several seeds"};
  c.place("SPEC", w->spec, "A spec file, or a recorded space as attune replay takes it");
  c.value("--task", "NAME", w->task, "One task of a spec that holds several");
  c.value("--strategies,--strategy", "S,S[,S...]", w->strategy, "Strategies, separated by commas").required = true;
  c.value("--seeds", "N", w->seeds, "Runs of each strategy (10)");
  c.value("--seed", "N", w->seed, "The first run's seed (1)");
  c.value("--trials", "N", w->trials, "Trials of each run (the spec's; 200 of a recorded space)");
  c.value("-o,--output", "FILE", w->output, "Write the report of all runs as one HTML file");
  c.more = R"help(A spec is measured: each run is a session of the store as attune tune makes it, and what
one run has measured no other measures again. The same command goes on where it was
stopped. A recorded space is played: its numbers are those of attune replay.

Of each strategy: the mean of the runs' bests, with its 95 % interval (percentile
bootstrap; Efron, 1979). Of each two: whether the difference is real, by the two-sided
Mann-Whitney U test (1947), exact for up to 25 runs without ties.

  attune compare convolution-A100.json.gz --strategies auto,genetic --seeds 30
  attune compare gemm.yaml --strategies auto,random --seeds 5 --trials 100 -o out.html)help";
  c.read = [w](const typed_line&) -> reading {
    compare_options o;
    o.what = w->spec;
    o.task = w->task;
    for (const auto part : split(w->strategy, ',')) {
      const std::string name(trim(part));
      if (std::find(o.strategies.begin(), o.strategies.end(), name) != o.strategies.end())
        throw usage_fault{"--strategies names '" + name + "' twice"};
      o.strategies.push_back(name);
    }
    if (!w->trials.empty()) o.trials = read_count<std::uint64_t>("--trials", w->trials, 1, 1000000);
    if (!w->seeds.empty()) o.seeds = read_count<std::uint64_t>("--seeds", w->seeds, 1, 10000);
    if (!w->seed.empty()) o.seed = read_count<std::uint64_t>("--seed", w->seed, 0);
    o.output = w->output;
    return o;
  };
  return c;
}

} // namespace attune::cli
