#include "cli/command_line.hpp"

#include "cli/completion.hpp"
#include "core/text.hpp"
#include "web/guard.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <limits>

#ifndef ATTUNE_VERSION
#define ATTUNE_VERSION "0"
#endif

namespace attune::cli {

namespace {

/// What is wrong with the command line, thrown to parse_command_line.
struct usage_fault {
  std::string message;
};

template <class Number>
Number read_count(const std::string& option, const std::string& text, Number least,
                  Number most = std::numeric_limits<Number>::max()) {
  Number n = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (ec != std::errc{} || end != text.data() + text.size() || n < least || n > most)
    throw usage_fault{option + " must be a whole number from " + std::to_string(least) +
                      (most == std::numeric_limits<Number>::max() ? " on" : " to " + std::to_string(most)) + ", not '" +
                      text.substr(0, 60) + "'"};
  return n;
}

how_many read_places(const std::string& option, const std::string& text) {
  if (text == "auto") return how_many::by_noise();
  return read_count<std::uint32_t>(option, text, 1, 4096);
}

/// The texts that options are read into before they are judged.
struct raw {
  std::string store, trials, time, strategy, seed, reuse, slots, builders, spec, task, sample, index, contains, top,
      format, target, hub, token_file, ca_file, certificate, key, attach, listen, name, device, cache, drain, undrain,
      ban, unban, cancel, user, recorded, seeds, workers, svg, policy, output, file, folder, source, older_than,
      keep_best, boundary, reservoir, dashboard, log_format, log_level, session, shell;
  std::vector<std::string> specs, targets, files, labels, sessions, limits;
  std::string token_role, token_name, token_id;
  bool unpinned = false;
  bool json = false, remeasure = false, offline = false, dry_run = false, quiet = false, all_targets = false,
       count = false, list = false, quick = false, imported = false, stated = false, best_only = false, nearest = false,
       cache_only = false, all = false, confine = false, systemd = false, plain = false, no_tokens = false;
};

constexpr const char* exit_codes = R"(Exit codes: 0 done and a best exists; 1 done and no valid result; 2 the spec or
the command line is wrong; 3 the store cannot be used; 4 some tasks or records
failed, the rest is good; 5 the network (no hub, refused, no device); 130
interrupted; 143 terminated.)";

void add_common(CLI::App& to, raw& r) {
  to.add_flag("--json", r.json, "Print one JSON document on standard output, and nothing else there");
  to.add_option("--store", r.store,
                "The folder of the store (else $ATTUNE_STORE, $XDG_DATA_HOME/attune, ~/.local/share/attune)")
      ->type_name("DIR");
}

/// How a hub is reached.
void add_hub(CLI::App& to, raw& r, const std::string& about, bool needed) {
  auto* hub = to.add_option("--hub", r.hub, about)->type_name("HOST:PORT");
  if (needed) hub->required();
  to.add_option("--token-file", r.token_file, "Who this is: a file with a token (attune token create)")
      ->type_name("FILE");
  to.add_option("--ca-file", r.ca_file, "Know the hub by this CA, in place of or beside the token's fingerprint")
      ->type_name("FILE");
  to.add_flag("--plain", r.plain, "Without TLS, also off this machine");
}

hub_access read_hub(const raw& r) {
  if (r.hub.empty())
    for (const auto& [option, given] : {std::pair{"--token-file", !r.token_file.empty()},
                                        std::pair{"--ca-file", !r.ca_file.empty()}, std::pair{"--plain", r.plain}})
      if (given) throw usage_fault{std::string(option) + " has no effect without --hub"};
  return {r.hub, r.token_file, r.ca_file, r.plain};
}

void add_spec(CLI::App& to, raw& r) {
  to.add_option("SPEC", r.spec, "The spec file (YAML, or T1 where it ends in .json)")->required()->type_name("");
  to.add_option("--task", r.task, "One task of a spec that holds several")->type_name("NAME");
}

struct parser {
  CLI::App app{"Finds the configuration that runs best on the hardware at hand, and remembers it.", "attune"};
  raw r;
  CLI::App *tune, *space, *best, *history, *replay, *db, *bundle, *doctor, *stats, *verify, *import_, *export_,
      *compact, *backup, *forget, *hub, *agent, *devices, *compare, *dashboard, *report, *trace, *completion;
  CLI::App *token, *token_create, *token_list, *token_revoke;

  parser() {
    app.require_subcommand(1);
    app.set_version_flag("--version", "attune " ATTUNE_VERSION);
    app.set_help_flag("-h,--help", "Print this help, or that of a command: attune COMMAND --help");
    app.footer(std::string("Begin with: attune doctor; attune space SPEC; attune tune SPEC; attune best SPEC.\n\n") +
               exit_codes);
    app.get_formatter()->column_width(34);
    add_common(app, r);

    tune = command(app, "tune", "Tune what the spec files describe");
    tune->add_option("SPEC", r.specs, "The spec files; their tasks are tuned side by side")->type_name("");
    tune->add_option("--trials", r.trials,
                     "How many configurations to try for each task, or together where they share a budget")
        ->type_name("N");
    tune->add_option("--time", r.time, "How long to try in all, with a unit: 90s, 10m, 2h")->type_name("D");
    tune->add_option("--strategy", r.strategy, "How to search: auto, random, grid, annealing, genetic, ...")
        ->type_name("S");
    tune->add_option("--seed", r.seed, "The seed of the strategy; the same seed gives the same trials")->type_name("N");
    tune->add_option("--reuse", r.reuse,
                     "exact: nothing is measured twice; near: nor what lies between two equal results, which is "
                     "estimated")
        ->type_name("R");
    tune->add_option("--slots", r.slots, "Timed runs at once: a number, or auto")->type_name("N");
    tune->add_option("--builders", r.builders, "Builds at once: a number, or auto")->type_name("N");
    tune->add_option("--policy", r.policy,
                     "The tasks share --trials and --time: gradient, round_robin or sequential says who goes next")
        ->type_name("P");
    tune->add_option("--svg", r.svg, "Draw how the weighted total of tasks that share a budget fell")
        ->type_name("FILE");
    tune->add_flag("--remeasure", r.remeasure, "Measure anew what is already known, and begin the session anew");
    tune->add_flag("--offline", r.offline,
                   "Measure nothing: predict from what the store knows of this and similar tasks");
    tune->add_flag("--dry-run", r.dry_run, "Say what would be done; start nothing, write nothing");
    add_hub(*tune, r, "Let this hub have it measured, by the agents that it has", false);
    tune->add_option("--attach", r.attach, "Follow a job that the hub has under way, in place of a spec")
        ->type_name("JOB");
    tune->add_flag("-q,--quiet", r.quiet, "No progress display");
    tune->add_flag("--dashboard", r.dashboard,
                   "Show it in a browser meanwhile; --dashboard=ADDR:PORT says where it is served");
    tune->add_option("--log-format", r.log_format, "text, or json: messages and events as JSON lines")->type_name("F");
    tune->add_option("--log-level", r.log_level, "With --log-format json: debug, info, warning or error (info)")
        ->type_name("L");
    tune->footer(R"(The same command again goes on where it was stopped, and ends at once where it has
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
  attune tune --attach 3f2a9c014b7d --hub big:7410)");

    space = command(app, "space", "Show a spec's search space");
    add_spec(*space, r);
    space->add_flag("--count", r.count, "How many valid configurations there are, exactly");
    space->add_flag("--list", r.list, "Every valid configuration, in order");
    space->add_option("--sample", r.sample, "Draw N configurations uniformly, each draw by itself")->type_name("N");
    space->add_option("--seed", r.seed, "The seed of --sample (1)")->type_name("N");
    space->add_option("--index", r.index, "The I-th configuration of --list, from 0")->type_name("I");
    space->add_option("--contains", r.contains, "Whether a configuration is valid; exit code 1 where it is not")
        ->type_name("JSON");
    space->footer(R"(  attune space gemm.yaml --count --json
  attune space gemm.yaml --sample 5 --seed 7
  attune space gemm.yaml --contains '{"tile_m": 32, "unroll": 4}')");

    best = command(app, "best", "Print the best known configuration, without measuring");
    add_spec(*best, r);
    best->add_option("--top", r.top, "The K best, best first (1)")->type_name("K");
    best->add_option("--format", r.format, "text, json, env, args, header or cmake")->type_name("F");
    best->add_option("--target", r.target, "Of another target: a device's name, or facts as in device=board1,flags=-O2")
        ->type_name("T");
    best->add_flag("--imported", r.imported,
                   "Of what was imported for this workload, in place of what was measured here");
    best->add_flag("--nearest", r.nearest,
                   "Where nothing is known: the best of the most similar task, and which that is");
    best->footer(R"help(Similar are tasks of the same name, metric and goal; how much is the cosine of
their workloads' arguments and their targets' facts, from 0 to 1. A result of
--nearest was not measured for what you ask for, and says so.

Formats: env is lines for a shell's eval (ATTUNE_tile_m=32); args is one line of
--tile_m=32 words, quoted for a shell; header is C macros (ATTUNE_TILE_M); cmake
is set() lines.

  eval "$(attune best gemm.yaml --format env)"
  attune best gemm.yaml --format header > tuned.h

What was imported (attune db import) belongs to the same workload where its name and
arguments are the spec's, and counts with --imported alone: it was built and measured
by somebody else. --target names where: attune db stats and export show it.

  attune best gemm.yaml --imported --target "NVIDIA RTX A4000")help");

    add_token();

    history = command(app, "history", "List every record of a spec's task, failures and their messages too");
    add_spec(*history, r);

    replay = command(app, "replay", "Play strategies against a recorded space");
    replay
        ->add_option("RECORDED", r.recorded,
                     "A Kernel Tuner cache, T4, KTT output, an AutoTVM log or a history, also gzip")
        ->required()
        ->type_name("");
    replay->add_option("--strategy", r.strategy, "Strategies, separated by commas (auto)")->type_name("S[,S...]");
    replay->add_option("--trials", r.trials, "Trials of each run (200)")->type_name("N");
    replay->add_option("--seeds", r.seeds, "Runs of each strategy (20)")->type_name("N");
    replay->add_option("--seed", r.seed, "The first run's seed (1)")->type_name("N");
    replay->add_option("--workers", r.workers, "Trials in flight, in virtual time (1)")->type_name("W");
    replay->add_option("--svg", r.svg, "Draw the curves into this file")->type_name("FILE");
    replay->footer(R"(The score is the mean over trials 20 to N of (E[random] - found) / (E[random] -
optimum): 0 is random search, 1 the optimum at once.

  attune replay convolution-A100.json.gz --strategy auto,genetic --seeds 100)");

    db = command(app, "db", "Look after the store");
    db->require_subcommand(1);
    stats = command(*db, "stats", "How many records, tasks and targets there are, and how the cache does");
    stats->footer(R"(For the whole store, then by target and by task: records, failures, how often the
cache had the answer, the size of the records, the age of the newest. The speed-up is
that of the runs and builds: what hits saved, to what was spent; 1 / (1 - hit rate) is
what it would be if all took the same time.)");
    verify = command(*db, "verify", "Read everything and check that it fits together");
    verify->footer(R"(Checksums of all files, every message, every reference and count, and the best
against the records. Exit code 0: clean; 4: damaged, each damage on a line; 3: it
cannot be read at all. Nothing is changed.)");
    compact = command(*db, "compact", "Give back the space of what was overwritten or forgotten");
    compact->footer(R"(Nobody else may use the store meanwhile. Needs the space of its largest part once
more while it works.)");
    backup = command(*db, "backup", "Make a consistent copy of the store, also while it is tuned on");
    backup->add_option("DIR", r.folder, "The folder to make: a store like any other")->required()->type_name("");
    backup->footer(R"(A store that nobody uses is copied by hard links where DIR is on the same disk. One
that another process tunes on is read and copied as it is at that moment; that process
notices nothing. DIR must not be there yet, or be empty; to restore, use it.

  attune db backup /backups/monday
  attune best gemm.yaml --store /backups/monday)");
    forget = command(*db, "forget", "Take records out, by a policy of what stays");
    forget->add_option("--task", r.task, "Of tasks of this name, or with this key (as best --json shows it)")
        ->type_name("NAME");
    forget->add_option("--target", r.target, "Of this target: a device's name, or facts as in device=board1,flags=-O2")
        ->type_name("T");
    forget->add_option("--source", r.source, "Of tasks that are built from this source file, as the spec names it")
        ->type_name("FILE");
    forget->add_option("--older-than", r.older_than, "Only what ended longer ago, with a unit: 12h, 30d")
        ->type_name("D");
    forget->add_option("--keep-best", r.keep_best, "Of each task, the K best configurations stay")->type_name("K");
    forget
        ->add_option("--keep-boundary", r.boundary,
                     "As many failures next to a measured configuration stay, and as many of the slowest")
        ->type_name("B");
    forget->add_option("--reservoir", r.reservoir, "A sample of N of the rest stays")->type_name("N");
    forget->add_flag("--cache", r.cache_only, "Records stay; only the cache forgets, so that all is measured again");
    forget->add_flag("--all", r.all, "Of every task, without any of the choices above");
    forget->add_flag("--dry-run", r.dry_run, "Say what would go; change nothing");
    forget->footer(R"(All choices must hold. Without any of --keep-best, --keep-boundary and --reservoir
everything that was chosen goes. With them each task is thinned: for a configuration
its newest result counts, older ones of it go; of these the best, the boundary and the
sample stay. The best of what stays is exact. Sessions that rest on what goes begin
anew. Nobody else may use the store meanwhile. attune db compact gives back the space.

  attune db forget --older-than 90d --keep-best 64 --keep-boundary 32 --reservoir 1000
  attune db forget --task gemm --target board1 --dry-run
  attune db forget --source kernel.cpp --cache)");
    add_exchange();

    bundle = command(app, "bundle", "Write the best of each task into one file for applications");
    bundle->add_option("SPEC", r.specs, "Spec files")->required()->type_name("...");
    bundle->add_option("-o,--output", r.output, "The file to write; an older one is replaced when all is there")
        ->required()
        ->type_name("FILE");
    bundle->add_option("--format", r.format, "bundle, header or cmake (bundle)")->type_name("F");
    bundle
        ->add_option("--target", r.targets,
                     "Of another target: a device's name, or facts as in device=board1,flags=-O2; may be repeated")
        ->type_name("T")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    bundle->add_flag("--all-targets", r.all_targets, "Of every target on which the task was measured");
    bundle->footer(R"(A bundle is one file with a checksum that an application maps and asks by workload and
target; its reader is the header attune/bundle.hpp, which needs nothing else of Attune:

  std::string why;
  const auto tuned = attune::bundle::open("tuned.bundle", why);
  if (const auto best = tuned.find("gemm", {{"m", 512}, {"n", 512}}, "local"))
    tile = best.entry.integer("tile_m", 16);

Each configuration is verified before it is written: its record is in the store and is a
measurement (no failure, no estimate), it is of the spec's commands and sources as they are
now, and it fulfils the spec's constraints. Nothing is measured.

The format header is the same as constants of C++ (and as a bundle without a file, where
attune/bundle.hpp is found), cmake as variables.

  attune bundle gemm.yaml conv.yaml -o tuned.bundle
  attune bundle gemm.yaml --all-targets --format header -o tuned.hpp

Exit code 1: no task has a result, nothing is written; 4: some have none.)");

    add_fleet();

    doctor = command(app, "doctor", "Say what this machine is, what disturbs measurements on it, and what that costs");
    doctor->add_flag("--quick", r.quick, "Look only; else reference loops are timed to see what disturbances cost");
    doctor->add_option("--time", r.time, "How long they are timed (5s)")->type_name("D");
    add_looking();
  }

  void add_looking() {
    compare = command(app, "compare", "Run strategies against each other, over several seeds");
    compare->add_option("SPEC", r.spec, "A spec file, or a recorded space as attune replay takes it")
        ->required()
        ->type_name("");
    compare->add_option("--task", r.task, "One task of a spec that holds several")->type_name("NAME");
    compare->add_option("--strategies,--strategy", r.strategy, "Strategies, separated by commas")
        ->required()
        ->type_name("S,S[,S...]");
    compare->add_option("--seeds", r.seeds, "Runs of each strategy (10)")->type_name("N");
    compare->add_option("--seed", r.seed, "The first run's seed (1)")->type_name("N");
    compare->add_option("--trials", r.trials, "Trials of each run (the spec's; 200 of a recorded space)")
        ->type_name("N");
    compare->add_option("-o,--output", r.output, "Write the report of all sessions (of a spec)")->type_name("FILE");
    compare->footer(R"help(A spec is measured: each run is a session of the store as attune tune makes it, and what
one run has measured no other measures again. The same command goes on where it was
stopped. A recorded space is played: its numbers are those of attune replay.

Of each strategy: the mean of the runs' bests, with its 95 % interval (percentile
bootstrap; Efron, 1979). Of each two: whether the difference is real, by the two-sided
Mann-Whitney U test (1947), exact for up to 25 runs without ties.

  attune compare convolution-A100.json.gz --strategies auto,genetic --seeds 30
  attune compare gemm.yaml --strategies auto,random --seeds 5 --trials 100 -o out.html)help");

    dashboard = command(app, "dashboard", "Show the store's sessions in a browser, until Ctrl-C");
    dashboard->add_option("--listen", r.listen, "Where it is served: ADDR:PORT or PORT (a free port of 127.0.0.1)")
        ->type_name("ADDR:PORT");
    dashboard->footer(R"help(Nothing is tuned and nothing is changed. The page asks nothing of other hosts. Served at
an address that others can reach, it wants the token of the printed URL;
$ATTUNE_DASHBOARD_TOKEN, where it is set, is the token. Prometheus reads /metrics there
(with the token as its bearer).

  attune dashboard
  attune dashboard --listen 0.0.0.0:8080
  attune tune gemm.yaml --dashboard)help");

    report = command(app, "report", "Write sessions as one HTML file that needs nothing else");
    report->add_option("SESSION", r.sessions, "Sessions, by the beginning of their ids, or tasks by name")
        ->type_name("");
    report->add_option("-o,--output", r.output, "The file to write")->type_name("FILE");
    report->footer(R"(Without a session: lists those that there are. The file is the dashboard with its data in
it: it can be mailed, and opened without a network.

  attune report
  attune report gemm -o gemm.html
  attune report 3f2a91 77c0de -o compared.html)");

    completion = command(app, "completion", "Print a script that completes attune's commands for a shell");
    completion->add_option("SHELL", r.shell, "bash, zsh or fish")->required()->type_name("");
    completion->footer(R"(  source <(attune completion bash)
  attune completion fish > ~/.config/fish/completions/attune.fish)");

    trace = command(app, "trace", "Write a session's builds and runs for Perfetto or Chrome's tracing");
    trace->add_option("SESSION", r.session, "The session, by the beginning of its id, or its task's name")
        ->required()
        ->type_name("");
    trace->add_option("-o,--output", r.output, "The file to write (standard output)")->type_name("FILE");
    trace->footer(R"(Of a task's sessions, the last. Open the file at ui.perfetto.dev or chrome://tracing.

  attune trace gemm -o gemm.trace.json)");
  }

  void add_token() {
    token = command(app, "token", "Make and revoke what agents and clients prove themselves to a hub with");
    token->require_subcommand(1);
    token_create = command(*token, "create", "Make a token and print it, this once");
    token_create->add_option("--role", r.token_role, "agent, client or admin")->required()->type_name("R");
    token_create->add_option("--name", r.token_name, "Whose it is; stands in lists and logs")
        ->required()
        ->type_name("N");
    token_create->add_flag("--unpinned", r.unpinned,
                           "Do not say by what the hub is known: for a hub with a certificate from a CA of yours");
    token_create->footer(R"(An agent offers devices, a client tunes, an admin also drains, bans and ends what others
began. The token says by what certificate the hub is known (made in the store's folder HUB
when there is none yet), so it is all that the other machine needs. The hub keeps only a
hash of it. Whoever has the token has its role: keep it in a file of mode 0600.

  attune token create --role agent --name board1 > board1.token
  attune agent --hub big:7410 --name board1 --token-file board1.token)");
    token_list = command(*token, "list", "The tokens: id, role, name, made, last used, revoked");
    token_revoke = command(*token, "revoke", "Let a token count no longer, also for those who are connected by it");
    token_revoke->add_option("ID", r.token_id, "As list shows it")->required()->type_name("");
  }

  void add_fleet() {
    hub = command(app, "hub", "Own a store, and have agents on other machines measure what clients send");
    hub->add_option("--listen", r.listen, "Where agents and clients come: 127.0.0.1:7410, [::]:7410")
        ->required()
        ->type_name("ADDR:PORT");
    hub->add_option("--certificate", r.certificate, "A certificate of your own (else one is made at the first start)")
        ->type_name("FILE");
    hub->add_option("--key", r.key, "Its key")->type_name("FILE");
    hub->add_flag("--plain", r.plain, "Let peers off this machine do without TLS too");
    hub->add_flag("--no-tokens", r.no_tokens, "Let everybody in");
    hub->add_option("--builders", r.builders, "Builds at once on this machine (one for each core)")->type_name("N");
    hub->footer(R"(Agents offer the slots, this machine builds. A job whose target no device serves ends
after ten seconds with what there is; one that has lost its devices, after two minutes.
Off this machine TLS and a token are needed (attune token create); on it, the same
user's processes do without. What clients have sent lies in the store's folder: a hub
that is started again goes on with it, and measures nothing twice.

  attune hub --listen 127.0.0.1:7410 --store /srv/attune)");

    agent = command(app, "agent", "Offer this machine's slots to a hub");
    add_hub(*agent, r, "Where the hub listens", true);
    agent->add_option("--name", r.name, "What this device is called (the host's name); one alive at a time")
        ->type_name("NAME");
    agent->add_option("--device", r.device, "Its class, as a spec's target names it (local)")->type_name("KIND");
    agent->add_option("--label", r.labels, "Something else that a target may ask for; may be repeated")
        ->type_name("K=V")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    agent->add_option("--slots", r.slots, "Timed runs at once (1)")->type_name("N");
    agent->add_option("--cache", r.cache, "Keep files that were sent in this folder (else for this process)")
        ->type_name("DIR");
    agent->add_flag("--confine", r.confine,
                    "What runs gains no privileges, writes no core, has a temporary folder of its own, and no "
                    "network where that can be had");
    agent->add_option("--user", r.user, "With --confine, as root: what runs is this user's (a name, or any number)")
        ->type_name("NAME");
    agent
        ->add_option("--limit", r.limits,
                     "With --confine, for each process: memory=4G, processes=256, files=1024 (open), "
                     "filesize=1G, cpu=10m; may be repeated")
        ->type_name("WHAT=MOST")
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    agent->add_flag("--systemd", r.systemd, "Print a unit file that starts this command, and end");
    agent->footer(R"(It dials the hub (again and again where it must), takes a lease for every run, and
ends what runs when the hub is lost. Devices with the same class and machine share
their results; a target's `device` may also be the name.

  attune agent --hub big:7410 --name board1 --device cortex-a72 --label site=prague)");

    devices = command(app, "devices", "List a hub's devices: slots, who holds them, heartbeat, noise, errors");
    add_hub(*devices, r, "Where the hub listens", true);
    devices->add_option("--drain", r.drain, "Give it nothing new; what it has in hand goes on")->type_name("NAME");
    devices->add_option("--undrain", r.undrain, "Give it work again")->type_name("NAME");
    devices->add_option("--ban", r.ban, "Hang up on it, and do not let it in again")->type_name("NAME");
    devices->add_option("--unban", r.unban, "Let it in again")->type_name("NAME");
    devices->add_option("--cancel", r.cancel, "Call a job back")->type_name("JOB");
  }

  void add_exchange() {
    import_ = command(*db, "import", "Take the records of other tools, or of another store");
    import_->add_option("FILE", r.files, "The files, also gzip; - is standard input")->required()->type_name("");
    import_->add_option("--format", r.format, "auto (by content), or one of those below")->type_name("F");
    import_->add_option("--task", r.task, "The workload's name where a format does not say it (the file's name)")
        ->type_name("NAME");
    import_->add_flag("--stated", r.stated, "Rank by the value that a file states even where it has samples");
    import_->footer(R"help(Formats: attune (our own JSON lines), autotvm-0.2, autotvm-0.1, ansor, metaschedule,
kernel-tuner, t4, ktt, csv. A MetaSchedule database is two files: give its workloads
first. CSV: a header names the columns; value (or time_ms, time_us ...) or failure, and
parameters as config.NAME, or simply every other column.

Values are kept in seconds. A value is the cleaned median of the file's own samples,
as what is measured here; where a file has none (or with --stated), it is what the
file states, and the two are never ranked against each other. A failure stays one, with
the tool's own code. What the store has already is not added again.

Each damaged line is told with its number, and the rest is taken: exit code 4. A file
that holds nothing that is known adds nothing: exit code 1.

  attune db import tuning.log cache.json.gz
  attune db import database_workload.json database_tuning_record.json
  zcat old.log.gz | attune db import -
  attune db import results.t4.json --task gemm && attune best gemm.yaml --imported)help");

    export_ = command(*db, "export", "Write records for other tools, or for another store");
    export_->add_option("FILE", r.file, "The file, packed where it ends in .gz; - is standard output")
        ->required()
        ->type_name("");
    export_->add_option("--format", r.format, "One of those below")->required()->type_name("F");
    export_->add_option("--task", r.task, "Of one task: its name, or the beginning of its key")->type_name("T");
    export_->add_flag("--best", r.best_only, "Only the best record of each task");
    export_->footer(R"help(Formats: attune keeps everything, and is the same to the byte when it is imported into
an empty store and exported again. The others are autotvm-0.2, autotvm-0.1, ansor,
metaschedule, kernel-tuner, t4, ktt and csv: what they cannot express is told with
how often. kernel-tuner and t4 hold one task in a file. Records that a format cannot
hold at all are left out: exit code 4.

  attune db export all.jsonl.gz --format attune
  attune db export best.log --format autotvm-0.2 --best
  attune db export - --format csv --task gemm)help");
  }

  CLI::App* command(CLI::App& under, const char* name, const char* about) {
    auto* made = under.add_subcommand(name, about);
    made->set_help_flag("-h,--help", "Print this help");
    made->get_formatter()->column_width(34);
    if (std::string_view(name) != "db" && std::string_view(name) != "token") add_common(*made, r);
    return made;
  }
};

/// The parser's commands and options.
command_words words_of(const CLI::App& app) {
  command_words out{app.get_name(), app.get_description(), {}, {}};
  for (const auto* option : app.get_options())
    for (const auto& name : option->get_lnames())
      out.options.push_back({"--" + name, option->get_description(), option->get_expected_min() > 0});
  for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    out.commands.push_back(words_of(*sub));
  return out;
}

/// The command that a line names, for the message's beginning and the known options.
const CLI::App* named_command(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return at;
}

std::string full_name(const CLI::App* app) {
  std::string out = app->get_name();
  for (const auto* above = app->get_parent(); above != nullptr; above = above->get_parent())
    out.insert(0, above->get_name() + " ");
  return out;
}

std::string nearest_hint(const CLI::App& command, const std::string& word) {
  std::vector<std::string> known;
  if (word.starts_with('-')) {
    for (const auto* option : command.get_options())
      for (const auto& name : option->get_lnames()) known.push_back("--" + name);
  } else {
    for (const auto* sub : command.get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(sub->get_name());
  }
  const auto near = nearest_word(word.substr(0, word.find('=')), known);
  return near ? "; did you mean '" + *near + "'?" : "";
}

/// One line for what CLI11 found wrong.
std::string explain(const CLI::App& app, const CLI::ParseError& e) {
  const auto* command = named_command(app);
  std::string text;
  const auto left = app.remaining(true);
  if (dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr && !left.empty()) {
    const bool option = left.front().starts_with('-');
    const bool no_command =
        command->get_subcommands().empty() && !command->get_subcommands([](const CLI::App*) { return true; }).empty();
    text = (option       ? "unknown option '"
            : no_command ? "unknown command '"
                         : "unexpected argument '") +
           left.front() + "'" + nearest_hint(*command, left.front());
  } else if (dynamic_cast<const CLI::RequiredError*>(&e) != nullptr &&
             !command->get_subcommands([](const CLI::App*) { return true; }).empty()) {
    // The word in its place, where there is one, is what is wrong.
    text = left.empty() ? "a command is needed"
                        : "unknown command '" + left.front() + "'" + nearest_hint(*command, left.front());
  } else {
    text = e.what();
    text.resize(std::min(text.size(), text.find('\n')));
    if (dynamic_cast<const CLI::RequiredError*>(&e) != nullptr && text.find("SPEC") != std::string::npos)
      text = "a spec file is needed";
  }
  return full_name(command) + ": " + text + " (see " + full_name(command) + " --help)";
}

tune_options read_tune(const raw& r) {
  tune_options o;
  o.specs = r.specs;
  o.hub = read_hub(r);
  o.attach = r.attach;
  if (o.specs.empty() && o.attach.empty()) throw usage_fault{"a spec file is needed (see attune tune --help)"};
  if (!o.attach.empty() && o.hub.address.empty()) throw usage_fault{"--attach needs --hub"};
  if (!o.attach.empty() && !o.specs.empty()) throw usage_fault{"--attach follows a job: it goes without a spec"};
  if (!o.hub.address.empty()) {
    if (o.specs.size() > 1) throw usage_fault{"a job is one spec file (which may hold several tasks)"};
    const std::pair<const char*, bool> idle[] = {{"--slots", !r.slots.empty()},
                                                 {"--builders", !r.builders.empty()},
                                                 {"--offline", r.offline},
                                                 {"--dry-run", r.dry_run},
                                                 {"--store", !r.store.empty()}};
    for (const auto& [option, given] : idle)
      if (given) throw usage_fault{std::string(option) + " does nothing beside --hub: it is the hub's business"};
    const std::pair<const char*, bool> decided[] = {{"--trials", !r.trials.empty()},     {"--time", !r.time.empty()},
                                                    {"--strategy", !r.strategy.empty()}, {"--seed", !r.seed.empty()},
                                                    {"--reuse", !r.reuse.empty()},       {"--remeasure", r.remeasure}};
    for (const auto& [option, given] : decided)
      if (given && !o.attach.empty()) throw usage_fault{std::string(option) + " comes too late for --attach"};
  }
  if (!r.trials.empty()) o.trials = read_count<std::uint64_t>("--trials", r.trials, 1);
  if (!r.time.empty()) {
    const auto d = parse_duration(r.time);
    if (!d) throw usage_fault{"--time: " + d.err().message};
    if (d->count() == 0) throw usage_fault{"--time must be longer than nothing"};
    o.time = *d;
  }
  if (!r.strategy.empty()) o.strategy = r.strategy;
  if (!r.seed.empty()) o.seed = read_count<std::uint64_t>("--seed", r.seed, 0);
  if (!r.reuse.empty()) {
    if (r.reuse != "exact" && r.reuse != "near") throw usage_fault{"--reuse is exact or near, not '" + r.reuse + "'"};
    o.near = r.reuse == "near";
  }
  if (!r.slots.empty()) o.slots = read_places("--slots", r.slots);
  if (!r.builders.empty()) o.builders = read_places("--builders", r.builders);
  if (!r.policy.empty()) o.policy = r.policy;
  o.svg = r.svg;
  o.remeasure = r.remeasure;
  o.offline = r.offline;
  if (o.offline) {
    const std::pair<const char*, bool> idle[] = {
        {"--trials", o.trials.has_value()},     {"--time", o.time.has_value()},
        {"--strategy", o.strategy.has_value()}, {"--reuse", o.near.has_value()},
        {"--slots", o.slots.has_value()},       {"--builders", o.builders.has_value()},
        {"--policy", o.policy.has_value()},     {"--svg", !o.svg.empty()},
        {"--remeasure", o.remeasure},           {"--dry-run", r.dry_run}};
    for (const auto& [option, given] : idle)
      if (given) throw usage_fault{std::string(option) + " does nothing beside --offline, which measures nothing"};
  }
  o.dry_run = r.dry_run;
  o.quiet = r.quiet;
  if (!r.dashboard.empty()) {
    if (o.offline || o.dry_run) throw usage_fault{"--dashboard shows nothing where nothing is measured"};
    o.dashboard = r.dashboard == "true" ? std::string() : r.dashboard;
    if (const auto good = web::parse_listen(*o.dashboard); !good)
      throw usage_fault{"--dashboard: " + good.err().message};
  }
  if (!r.log_format.empty() && r.log_format != "text" && r.log_format != "json")
    throw usage_fault{"--log-format must be text or json, not '" + r.log_format.substr(0, 60) + "'"};
  o.json_log = r.log_format == "json";
  if (!r.log_level.empty()) {
    if (!o.json_log) throw usage_fault{"--log-level has no effect without --log-format json"};
    if (r.log_level != "debug" && r.log_level != "info" && r.log_level != "warning" && r.log_level != "error")
      throw usage_fault{"--log-level must be debug, info, warning or error, not '" + r.log_level.substr(0, 60) + "'"};
    o.log_level = r.log_level;
  }
  return o;
}

space_options read_space(const raw& r, const CLI::App& command) {
  space_options o;
  o.spec = r.spec;
  o.task = r.task;
  const std::pair<const char*, space_options::what> forms[] = {{"--count", space_options::what::count},
                                                               {"--list", space_options::what::list},
                                                               {"--sample", space_options::what::sample},
                                                               {"--index", space_options::what::index},
                                                               {"--contains", space_options::what::contains}};
  const char* given = nullptr;
  for (const auto& [option, form] : forms) {
    if (command.count(option) == 0) continue;
    if (given != nullptr) throw usage_fault{std::string(given) + " and " + option + " exclude each other"};
    given = option;
    o.show = form;
  }
  if (o.show == space_options::what::sample) o.sample = read_count<std::uint64_t>("--sample", r.sample, 1);
  if (!r.seed.empty()) {
    if (o.show != space_options::what::sample) throw usage_fault{"--seed has no effect without --sample"};
    o.seed = read_count<std::uint64_t>("--seed", r.seed, 0);
  }
  if (o.show == space_options::what::index &&
      (r.index.empty() || r.index.find_first_not_of("0123456789") != std::string::npos || r.index.size() > 39))
    throw usage_fault{"--index must be a whole number from 0 on, not '" + r.index.substr(0, 60) + "'"};
  o.index = r.index;
  o.contains = r.contains;
  return o;
}

token_options read_token(const raw& r, const parser& p) {
  token_options o;
  if (p.token_list->parsed()) return o;
  if (p.token_revoke->parsed()) {
    o.action = token_options::what::revoke;
    o.id = r.token_id;
    return o;
  }
  o.action = token_options::what::create;
  const auto role = net::parse_role(r.token_role);
  if (!role) throw usage_fault{"--role must be agent, client or admin, not '" + r.token_role.substr(0, 60) + "'"};
  o.role = *role;
  if (r.token_name.empty()) throw usage_fault{"--name is empty"};
  o.name = r.token_name;
  o.unpinned = r.unpinned;
  return o;
}

best_options read_best(const raw& r, const CLI::App& command) {
  best_options o;
  o.spec = r.spec;
  o.task = r.task;
  if (!r.top.empty()) o.top = read_count<std::uint64_t>("--top", r.top, 1, 1'000'000);
  if (command.count("--format") > 0) {
    const std::pair<const char*, best_options::form> forms[] = {
        {"text", best_options::form::text},     {"json", best_options::form::json},
        {"env", best_options::form::env},       {"args", best_options::form::args},
        {"header", best_options::form::header}, {"cmake", best_options::form::cmake}};
    for (const auto& [name, form] : forms)
      if (r.format == name) o.format = form;
    if (!o.format)
      throw usage_fault{"--format must be text, json, env, args, header or cmake, not '" + r.format.substr(0, 60) +
                        "'"};
    const bool one = *o.format != best_options::form::text && *o.format != best_options::form::json;
    if (one && o.top > 1)
      throw usage_fault{"--top has no effect with --format " + r.format + ", which is of one configuration"};
    if (r.json && *o.format != best_options::form::json)
      throw usage_fault{"--json and --format " + r.format + " exclude each other"};
  }
  if (command.count("--target") > 0) {
    if (r.target.empty()) throw usage_fault{"--target is empty"};
    o.target = r.target;
  }
  o.imported = r.imported;
  o.nearest = r.nearest;
  return o;
}

db_options read_db(const raw& r, const parser& p) {
  using what = db_options::what;
  db_options o;
  o.action = p.verify->parsed()    ? what::verify
             : p.compact->parsed() ? what::compact
             : p.backup->parsed()  ? what::backup
             : p.forget->parsed()  ? what::forget
                                   : what::stats;
  o.folder = r.folder;
  if (o.action == what::backup && o.folder.empty()) throw usage_fault{"DIR is empty"};
  if (o.action != what::forget) return o;
  o.task = r.task;
  o.target = r.target;
  o.source = r.source;
  if (!r.older_than.empty()) {
    const auto d = parse_duration(r.older_than);
    if (!d) throw usage_fault{"--older-than: " + d.err().message};
    o.older_than = *d;
  }
  if (!r.keep_best.empty()) o.keep_best = read_count<std::size_t>("--keep-best", r.keep_best, 1);
  if (!r.boundary.empty()) o.boundary = read_count<std::size_t>("--keep-boundary", r.boundary, 1);
  if (!r.reservoir.empty()) o.reservoir = read_count<std::size_t>("--reservoir", r.reservoir, 1);
  o.cache_only = r.cache_only;
  o.dry_run = r.dry_run;
  const bool keeps = o.keep_best > 0 || o.boundary > 0 || o.reservoir > 0;
  if (o.cache_only && (keeps || o.older_than))
    throw usage_fault{"--cache forgets whole tasks: it goes with --task, --target, --source and --all alone"};
  const bool chosen = keeps || o.older_than || !o.task.empty() || !o.target.empty() || !o.source.empty();
  if (!chosen && !r.all)
    throw usage_fault{"nothing says what is to be forgotten: --task, --target, --source, --older-than, --keep-best, "
                      "--keep-boundary, --reservoir, or --all"};
  if (chosen && r.all) throw usage_fault{"--all means every record of every task: it stands alone"};
  return o;
}

bundle_options read_bundle(const raw& r) {
  bundle_options o;
  o.specs = r.specs;
  if (r.output.empty()) throw usage_fault{"--output is empty"};
  o.output = r.output;
  if (r.format == "header")
    o.format = bundle_options::form::header;
  else if (r.format == "cmake")
    o.format = bundle_options::form::cmake;
  else if (!r.format.empty() && r.format != "bundle")
    throw usage_fault{"--format must be bundle, header or cmake, not '" + r.format.substr(0, 60) + "'"};
  o.targets = r.targets;
  for (const auto& t : o.targets)
    if (t.empty()) throw usage_fault{"--target is empty"};
  o.all_targets = r.all_targets;
  if (o.all_targets && !o.targets.empty()) throw usage_fault{"--target and --all-targets exclude each other"};
  return o;
}

import_command_options read_import(const raw& r, const CLI::App& command) {
  import_command_options o;
  o.files = r.files;
  if (std::count(o.files.begin(), o.files.end(), "-") > 1) throw usage_fault{"standard input can be read once"};
  if (command.count("--format") > 0) o.format = r.format;
  if (command.count("--task") > 0 && r.task.empty()) throw usage_fault{"--task is empty"};
  o.task = r.task;
  o.stated = r.stated;
  return o;
}

export_command_options read_export(const raw& r, const CLI::App& command) {
  if (r.json && r.file == "-") throw usage_fault{"--json and - exclude each other: both want standard output"};
  if (command.count("--task") > 0 && r.task.empty()) throw usage_fault{"--task is empty"};
  return {r.file, r.format, r.task, r.best_only};
}

replay_command_options read_replay(const raw& r) {
  replay_command_options o;
  o.recorded = r.recorded;
  if (!r.strategy.empty()) {
    o.strategies.clear();
    for (const auto part : split(r.strategy, ',')) o.strategies.emplace_back(trim(part));
  }
  if (!r.trials.empty()) o.trials = read_count<std::uint64_t>("--trials", r.trials, 1, 1000000);
  if (!r.seeds.empty()) o.seeds = read_count<std::uint64_t>("--seeds", r.seeds, 1, 100000);
  if (!r.seed.empty()) o.seed = read_count<std::uint64_t>("--seed", r.seed, 0);
  if (!r.workers.empty()) o.workers = read_count<std::uint32_t>("--workers", r.workers, 1, 4096);
  o.svg = r.svg;
  return o;
}

/// `memory=4G` and its like.
std::pair<int, rlim_t> read_limit(const std::string& text) {
  const auto equals = text.find('=');
  const auto name = text.substr(0, equals);
  const auto most = equals == std::string::npos ? std::string() : text.substr(equals + 1);
  const auto bad = [&](const std::string& want) {
    return usage_fault{"--limit " + name + " must be " + want + ", not '" + most + "'"};
  };
  const auto size = [&]() -> rlim_t {
    constexpr std::string_view units = "KMGT";
    std::string digits = most;
    unsigned shift = 0;
    if (const auto at = digits.empty() ? units.npos : units.find(digits.back()); at != units.npos) {
      shift = 10 * (static_cast<unsigned>(at) + 1);
      digits.pop_back();
    }
    const auto n = parse_integer(digits);
    if (!n || *n < 1 || *n > (std::int64_t{1} << (62 - shift))) throw bad("a size, such as 512M or 4G");
    return static_cast<rlim_t>(*n) << shift;
  };
  const auto count = [&]() -> rlim_t {
    const auto n = parse_integer(most);
    if (!n || *n < 1 || *n > 1'000'000'000) throw bad("a number");
    return static_cast<rlim_t>(*n);
  };
  if (name == "memory") return {RLIMIT_AS, size()};
  if (name == "filesize") return {RLIMIT_FSIZE, size()};
  if (name == "processes") return {RLIMIT_NPROC, count()};
  if (name == "files") return {RLIMIT_NOFILE, count()};
  if (name == "cpu") {
    const auto t = parse_duration(most);
    if (!t || *t < std::chrono::seconds(1)) throw bad("a time of at least a second, such as 90s or 10m");
    return {RLIMIT_CPU, static_cast<rlim_t>(std::chrono::ceil<std::chrono::seconds>(*t).count())};
  }
  throw usage_fault{"--limit has no '" + name + "': memory, processes, files, filesize, cpu"};
}

agent_options read_agent(const raw& r) {
  agent_options o;
  o.hub = read_hub(r);
  o.name = r.name;
  if (!r.slots.empty()) o.slots = read_count<std::uint32_t>("--slots", r.slots, 1, 4096);
  if (!r.device.empty()) o.labels.emplace_back("device", r.device);
  for (const auto& l : r.labels) {
    const auto equals = l.find('=');
    if (equals == std::string::npos || equals == 0) throw usage_fault{"--label must be K=V, not '" + l + "'"};
    auto name = l.substr(0, equals);
    for (const auto& [known, v] : o.labels)
      if (known == name) throw usage_fault{"the label '" + name + "' is given twice"};
    o.labels.emplace_back(std::move(name), l.substr(equals + 1));
  }
  o.cache = r.cache;
  o.confine = r.confine;
  o.user = r.user;
  for (const auto& l : r.limits) {
    const auto limit = read_limit(l);
    for (const auto& [known, most] : o.limits)
      if (known == limit.first) throw usage_fault{"--limit gives '" + l.substr(0, l.find('=')) + "' twice"};
    o.limits.push_back(limit);
  }
  if (!o.confine && (!o.user.empty() || !o.limits.empty())) throw usage_fault{"--user and --limit need --confine"};
  o.systemd = r.systemd;
  return o;
}

devices_options read_devices(const raw& r) {
  using what = devices_options::what;
  devices_options o;
  o.hub = read_hub(r);
  const std::pair<const std::string*, what> actions[] = {{&r.drain, what::drain},
                                                         {&r.undrain, what::undrain},
                                                         {&r.ban, what::ban},
                                                         {&r.unban, what::unban},
                                                         {&r.cancel, what::cancel}};
  for (const auto& [text, action] : actions) {
    if (text->empty()) continue;
    if (o.action != what::list) throw usage_fault{"one thing at a time: --drain, --undrain, --ban, --unban, --cancel"};
    o.action = action;
    o.name = *text;
  }
  return o;
}

compare_options read_compare(const raw& r) {
  compare_options o;
  o.what = r.spec;
  o.task = r.task;
  for (const auto part : split(r.strategy, ',')) {
    const std::string name(trim(part));
    if (std::find(o.strategies.begin(), o.strategies.end(), name) != o.strategies.end())
      throw usage_fault{"--strategies names '" + name + "' twice"};
    o.strategies.push_back(name);
  }
  if (!r.trials.empty()) o.trials = read_count<std::uint64_t>("--trials", r.trials, 1, 1000000);
  if (!r.seeds.empty()) o.seeds = read_count<std::uint64_t>("--seeds", r.seeds, 1, 10000);
  if (!r.seed.empty()) o.seed = read_count<std::uint64_t>("--seed", r.seed, 0);
  o.output = r.output;
  return o;
}

dashboard_options read_dashboard(const raw& r) {
  if (const auto good = web::parse_listen(r.listen); !good) throw usage_fault{"--listen: " + good.err().message};
  return {r.listen};
}

report_options read_report(const raw& r) {
  if (r.sessions.empty() != r.output.empty())
    throw usage_fault{r.output.empty() ? "--output FILE is needed, for the report of these sessions"
                                       : "which sessions? attune report lists them"};
  if (r.json && r.output == "-") throw usage_fault{"--json and - exclude each other: both want standard output"};
  return {r.sessions, r.output};
}

trace_options read_trace(const raw& r) {
  if (r.json && (r.output.empty() || r.output == "-"))
    throw usage_fault{"--json wants standard output, and so does the trace: give --output FILE"};
  return {r.session, r.output.empty() ? "-" : r.output};
}

doctor_options read_doctor(const raw& r) {
  doctor_options o;
  o.quick = r.quick;
  if (r.time.empty()) return o;
  if (o.quick) throw usage_fault{"--time does nothing beside --quick, which measures nothing"};
  const auto d = parse_duration(r.time);
  if (!d) throw usage_fault{"--time: " + d.err().message};
  if (*d < std::chrono::milliseconds(100) || *d > std::chrono::hours(1))
    throw usage_fault{"--time must be from 100ms to 1h"};
  o.time = *d;
  return o;
}

} // namespace

std::string default_store(const environment& env) {
  const auto get = [&](const char* name) {
    const char* text = env(name);
    return std::string(text == nullptr ? "" : text);
  };
  if (auto own = get("ATTUNE_STORE"); !own.empty()) return own;
  if (const auto data = get("XDG_DATA_HOME"); data.starts_with('/')) return data + "/attune";
  if (const auto home = get("HOME"); !home.empty()) return home + "/.local/share/attune";
  return {};
}

std::variant<command_line, early_end> parse_command_line(const std::vector<std::string>& arguments,
                                                         const environment& env) {
  const bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  parser p;
  try {
    // CLI11 takes the arguments from the back.
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    p.app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    return early_end{0, p.app.help(), "", json};
  } catch (const CLI::CallForVersion& e) {
    return early_end{0, std::string(e.what()) + "\n", "", json};
  } catch (const CLI::ParseError& e) {
    if (arguments.empty()) return early_end{2, "", p.app.help(), false};
    return early_end{2, "", explain(p.app, e), json};
  }
  command_line line;
  line.json = p.r.json;
  try {
    if (p.tune->parsed()) {
      line.command = read_tune(p.r);
    } else if (p.space->parsed()) {
      line.command = read_space(p.r, *p.space);
    } else if (p.token->parsed()) {
      line.command = read_token(p.r, p);
    } else if (p.best->parsed()) {
      line.command = read_best(p.r, *p.best);
    } else if (p.history->parsed()) {
      line.command = history_options{p.r.spec, p.r.task};
    } else if (p.replay->parsed()) {
      line.command = read_replay(p.r);
    } else if (p.completion->parsed()) {
      auto script = completion_script(p.r.shell, words_of(p.app));
      if (!script) throw usage_fault{"SHELL must be bash, zsh or fish, not '" + p.r.shell.substr(0, 60) + "'"};
      return early_end{0, *std::move(script), "", json};
    } else if (p.compare->parsed()) {
      line.command = read_compare(p.r);
    } else if (p.dashboard->parsed()) {
      line.command = read_dashboard(p.r);
    } else if (p.report->parsed()) {
      line.command = read_report(p.r);
    } else if (p.trace->parsed()) {
      line.command = read_trace(p.r);
    } else if (p.bundle->parsed()) {
      line.command = read_bundle(p.r);
    } else if (p.import_->parsed()) {
      line.command = read_import(p.r, *p.import_);
    } else if (p.export_->parsed()) {
      line.command = read_export(p.r, *p.export_);
    } else if (p.db->parsed()) {
      line.command = read_db(p.r, p);
    } else if (p.hub->parsed()) {
      hub_options o;
      o.listen = p.r.listen;
      o.certificate = p.r.certificate;
      o.key = p.r.key;
      if (o.certificate.empty() != o.key.empty()) throw usage_fault{"--certificate and --key belong together"};
      o.plain = p.r.plain;
      o.no_tokens = p.r.no_tokens;
      if (!p.r.builders.empty()) o.builders = read_count<std::uint32_t>("--builders", p.r.builders, 1, 4096);
      line.command = std::move(o);
    } else if (p.agent->parsed()) {
      line.command = read_agent(p.r);
    } else if (p.devices->parsed()) {
      line.command = read_devices(p.r);
    } else {
      line.command = read_doctor(p.r);
    }
  } catch (const usage_fault& f) {
    return early_end{2, "", full_name(named_command(p.app)) + ": " + f.message, json};
  }
  line.store = p.r.store.empty() ? default_store(env) : p.r.store;
  return line;
}

} // namespace attune::cli
