#include "cli/commands.hpp"
#include "core/text.hpp"
#include "web/guard.hpp"

namespace attune::cli {

namespace {

how_many read_places(const std::string& option, const std::string& text) {
  if (text == "auto") return how_many::by_noise();
  return read_count<std::uint32_t>(option, text, 1, 4096);
}

} // namespace

command_spec tune_command() {
  struct words {
    hub_words hub;
    std::vector<std::string> specs;
    std::string trials, time, strategy, seed, reuse, slots, builders, policy, svg, attach, dashboard, log_format,
        log_level;
    std::string priority;
    bool remeasure = false, offline = false, dry_run = false, quiet = false, verbose = false;
  };
  const auto w = std::make_shared<words>();
  command_spec c{"tune", "Tune what the spec files describe"};
  c.places("SPEC", "", w->specs, "The spec files; their tasks are tuned side by side");
  c.value("--trials", "N", w->trials,
          "How many configurations to try for each task, or together where they share a budget");
  c.value("--time", "D", w->time, "How long to try in all, with a unit: 90s, 10m, 2h");
  c.value("--strategy", "S", w->strategy, "How to search: auto, random, grid, annealing, genetic, ...");
  c.value("--seed", "N", w->seed, "The seed of the strategy; the same seed gives the same trials");
  c.value("--reuse", "R", w->reuse,
          "exact: nothing is measured twice; near: nor what lies between two equal results, which is estimated");
  c.value("--slots", "N", w->slots, "Timed runs at once: a number, or auto");
  c.value("--builders", "N", w->builders, "Builds at once: a number, or auto");
  c.value("--policy", "P", w->policy,
          "The tasks share --trials and --time: gradient, round_robin or sequential says who goes next");
  c.value("--svg", "FILE", w->svg, "Draw how the weighted total of tasks that share a budget fell");
  c.flag("--remeasure", w->remeasure, "Measure anew what is already known, and begin the session anew");
  c.flag("--offline", w->offline, "Measure nothing: predict from what the store knows of this and similar tasks");
  c.flag("--dry-run", w->dry_run, "Say what would be done; start nothing, write nothing");
  w->hub.add(c, "Let this hub have it measured, by the agents that it has", false);
  c.value("--attach", "JOB", w->attach, "Follow a job that the hub has under way, in place of a spec");
  c.value("--priority", "P", w->priority,
          "Among this client's jobs at the hub, -5 to 5: each step doubles its part (0)");
  c.flag("--verbose", w->verbose, "With --hub: show what runs say, as they end");
  c.flag("-q,--quiet", w->quiet, "No progress display");
  c.flag("--dashboard", w->dashboard, "Show it in a browser meanwhile; --dashboard=ADDR:PORT says where it is served");
  c.value("--log-format", "F", w->log_format, "text, or json: messages and events as JSON lines");
  c.value("--log-level", "L", w->log_level, "With --log-format json: debug, info, warning or error (info)");
  c.more = R"(The same command again goes on where it was stopped, and ends at once where it has
had its trials or its time: with more of either it goes on. What was measured is
never measured twice. Ctrl-C stops within two seconds and keeps what was measured; a
second one ends at once.

  attune tune gemm.yaml                     until the spec's own budget is used up
  attune tune gemm.yaml --time 10m          for ten minutes
  attune tune a.yaml b.yaml --trials 500    two tasks, 500 trials each
  attune tune model.yaml --policy gradient --trials 500   500 trials for all its tasks
  attune tune gemm.yaml --json > out.json   for a script

With --hub the spec and the files that it names (build.sources, run.files) are sent;
where it runs is the spec's target. Ctrl-C leaves the job to the hub and says how to
come back to it.

  attune tune gemm.yaml --hub big:7410
  attune tune --attach 3f2a9c014b7d --hub big:7410)";
  c.read = [w](const typed_line& line) -> reading {
    tune_options o;
    o.specs = w->specs;
    o.hub = w->hub.read();
    o.attach = w->attach;
    if (o.specs.empty() && o.attach.empty()) throw usage_fault{"a spec file is needed (see attune tune --help)"};
    if (!o.attach.empty() && o.hub.address.empty()) throw usage_fault{"--attach needs --hub"};
    if (!o.attach.empty() && !o.specs.empty()) throw usage_fault{"--attach follows a job: it goes without a spec"};
    if (!o.hub.address.empty()) {
      if (o.specs.size() > 1) throw usage_fault{"a job is one spec file (which may hold several tasks)"};
      const std::pair<const char*, bool> idle[] = {{"--slots", !w->slots.empty()},
                                                   {"--builders", !w->builders.empty()},
                                                   {"--offline", w->offline},
                                                   {"--dry-run", w->dry_run},
                                                   {"--svg", !w->svg.empty()},
                                                   {"--dashboard", !w->dashboard.empty()},
                                                   {"--log-format", !w->log_format.empty()},
                                                   {"--store", !line.store.empty()}};
      for (const auto& [option, given] : idle)
        if (given) throw usage_fault{std::string(option) + " does nothing beside --hub: it is the hub's business"};
      const std::pair<const char*, bool> decided[] = {
          {"--trials", !w->trials.empty()},     {"--time", !w->time.empty()},   {"--strategy", !w->strategy.empty()},
          {"--seed", !w->seed.empty()},         {"--reuse", !w->reuse.empty()}, {"--policy", !w->policy.empty()},
          {"--priority", !w->priority.empty()}, {"--remeasure", w->remeasure}};
      for (const auto& [option, given] : decided)
        if (given && !o.attach.empty()) throw usage_fault{std::string(option) + " comes too late for --attach"};
    } else {
      for (const auto& [option, given] :
           {std::pair{"--priority", !w->priority.empty()}, std::pair{"--verbose", w->verbose}})
        if (given) throw usage_fault{std::string(option) + " has no effect without --hub"};
    }
    if (!w->priority.empty()) {
      const bool below = w->priority.front() == '-';
      o.priority = static_cast<int>(read_count<std::uint32_t>("--priority", w->priority.substr(below ? 1 : 0), 0, 5));
      if (below) o.priority = -o.priority;
    }
    o.verbose = w->verbose;
    if (!w->trials.empty()) o.trials = read_count<std::uint64_t>("--trials", w->trials, 1);
    if (!w->time.empty()) {
      const auto d = parse_duration(w->time);
      if (!d) throw usage_fault{"--time: " + d.err().message};
      if (d->count() == 0) throw usage_fault{"--time must be longer than nothing"};
      o.time = *d;
    }
    if (!w->strategy.empty()) o.strategy = w->strategy;
    if (!w->seed.empty()) o.seed = read_count<std::uint64_t>("--seed", w->seed, 0);
    if (!w->reuse.empty()) {
      if (w->reuse != "exact" && w->reuse != "near")
        throw usage_fault{"--reuse is exact or near, not '" + w->reuse + "'"};
      o.near = w->reuse == "near";
    }
    if (!w->slots.empty()) o.slots = read_places("--slots", w->slots);
    if (!w->builders.empty()) o.builders = read_places("--builders", w->builders);
    if (!w->policy.empty()) o.policy = w->policy;
    o.svg = w->svg;
    o.remeasure = w->remeasure;
    o.offline = w->offline;
    if (o.offline) {
      const std::pair<const char*, bool> idle[] = {
          {"--trials", o.trials.has_value()}, {"--time", o.time.has_value()},   {"--strategy", o.strategy.has_value()},
          {"--reuse", o.near.has_value()},    {"--slots", o.slots.has_value()}, {"--builders", o.builders.has_value()},
          {"--policy", o.policy.has_value()}, {"--svg", !o.svg.empty()},        {"--remeasure", o.remeasure},
          {"--dry-run", w->dry_run}};
      for (const auto& [option, given] : idle)
        if (given) throw usage_fault{std::string(option) + " does nothing beside --offline, which measures nothing"};
    }
    o.dry_run = w->dry_run;
    o.quiet = w->quiet;
    if (!w->dashboard.empty()) {
      if (o.offline || o.dry_run) throw usage_fault{"--dashboard shows nothing where nothing is measured"};
      o.dashboard = w->dashboard == "true" ? std::string() : w->dashboard;
      if (const auto good = web::parse_listen(*o.dashboard); !good)
        throw usage_fault{"--dashboard: " + good.err().message};
    }
    if (!w->log_format.empty() && w->log_format != "text" && w->log_format != "json")
      throw usage_fault{"--log-format must be text or json, not '" + w->log_format.substr(0, 60) + "'"};
    o.json_log = w->log_format == "json";
    if (!w->log_level.empty()) {
      if (!o.json_log) throw usage_fault{"--log-level has no effect without --log-format json"};
      if (w->log_level != "debug" && w->log_level != "info" && w->log_level != "warning" && w->log_level != "error")
        throw usage_fault{"--log-level must be debug, info, warning or error, not '" + w->log_level.substr(0, 60) +
                          "'"};
      o.log_level = w->log_level;
    }
    return o;
  };
  return c;
}

} // namespace attune::cli
