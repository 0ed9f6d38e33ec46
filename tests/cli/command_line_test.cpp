#include "cli/command_line.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <map>

using namespace attune;
using namespace attune::cli;

namespace {

environment env_of(std::map<std::string, std::string> names) {
  return [names = std::move(names)](const char* name) -> const char* {
    const auto at = names.find(name);
    return at == names.end() ? nullptr : at->second.c_str();
  };
}

command_line good(const std::vector<std::string>& arguments) {
  auto parsed = parse_command_line(arguments, env_of({{"HOME", "/home/u"}}));
  const auto* end = std::get_if<early_end>(&parsed);
  BOOST_REQUIRE_MESSAGE(end == nullptr, (end == nullptr ? "" : end->err + end->out));
  return std::get<command_line>(parsed);
}

std::string refusal(const std::vector<std::string>& arguments) {
  const auto parsed = parse_command_line(arguments, env_of({{"HOME", "/home/u"}}));
  const auto* end = std::get_if<early_end>(&parsed);
  BOOST_REQUIRE(end != nullptr);
  BOOST_TEST(end->code == 2);
  BOOST_TEST(end->out == "");
  return end->err;
}

} // namespace

BOOST_AUTO_TEST_SUITE(command_line_reading)

BOOST_AUTO_TEST_CASE(reads_how_an_agent_confines_what_it_runs) {
  const auto line = good({"agent", "--hub", "h:1", "--confine", "--user", "bench", "--limit", "memory=4G", "--limit",
                          "processes=256", "--limit", "files=99", "--limit", "filesize=512M", "--limit", "cpu=1500ms"});
  const auto& o = std::get<agent_options>(line.command);
  BOOST_TEST(o.confine);
  BOOST_TEST(o.user == "bench");
  const std::vector<std::pair<int, rlim_t>> expected{{RLIMIT_AS, rlim_t{4} << 30},
                                                     {RLIMIT_NPROC, 256},
                                                     {RLIMIT_NOFILE, 99},
                                                     {RLIMIT_FSIZE, rlim_t{512} << 20},
                                                     {RLIMIT_CPU, 2}};
  BOOST_TEST((o.limits == expected));
  const auto wrong = [](const std::vector<std::string>& more) {
    std::vector<std::string> words{"agent", "--hub", "h:1"};
    words.insert(words.end(), more.begin(), more.end());
    return refusal(words);
  };
  for (const auto* bad : {"memory=4X", "memory=", "memory", "memory=-1", "memory=0", "memory=99999999999G",
                          "processes=1.5", "cpu=10", "cpu=1ms", "disk=1G"})
    BOOST_TEST(wrong({"--confine", "--limit", bad}).find("--limit") != std::string::npos, bad);
  BOOST_TEST(wrong({"--confine", "--limit", "files=1", "--limit", "files=2"}).find("twice") != std::string::npos);
  BOOST_TEST(wrong({"--user", "bench"}).find("--confine") != std::string::npos);
  BOOST_TEST(wrong({"--limit", "files=9"}).find("--confine") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(reads_how_much_a_hub_may_remember) {
  const auto memory = [](const std::string& text) {
    return std::get<hub_options>(good({"hub", "--listen", "h:1", "--memory", text}).command).memory;
  };
  BOOST_TEST(!std::get<hub_options>(good({"hub", "--listen", "h:1"}).command).memory);
  BOOST_TEST(*memory("16M") == std::uint64_t{16} << 20);
  BOOST_TEST(*memory("2T") == std::uint64_t{2} << 40);
  BOOST_TEST(*memory("1") == 1u);
  for (const auto* bad : {"", "M", "16MB", "-1", "0", "1.5G", "99999999999T"})
    BOOST_TEST(
        refusal({"hub", "--listen", "h:1", std::string("--memory=") + bad}).find("--memory") != std::string::npos, bad);
}

BOOST_AUTO_TEST_CASE(reads_every_option_of_tune) {
  const auto line = good({"tune",
                          "a.yaml",
                          "b.yaml",
                          "--trials",
                          "200",
                          "--time",
                          "1.5h",
                          "--strategy",
                          "random",
                          "--seed",
                          "18446744073709551615",
                          "--slots",
                          "2",
                          "--builders",
                          "auto",
                          "--remeasure",
                          "--dry-run",
                          "--json",
                          "--store",
                          "/s",
                          "-q"});
  BOOST_TEST(line.json);
  BOOST_TEST(line.store == "/s");
  const auto& o = std::get<tune_options>(line.command);
  BOOST_TEST((o.specs == std::vector<std::string>{"a.yaml", "b.yaml"}));
  BOOST_TEST((o.trials == 200u && o.time == std::chrono::minutes(90) && o.strategy == "random"));
  BOOST_TEST((o.seed == 18446744073709551615u));
  BOOST_TEST((o.slots.has_value() && *o.slots == 2u));
  BOOST_TEST((o.builders.has_value() && o.builders->automatic));
  BOOST_TEST((o.remeasure && o.dry_run && o.quiet));
}

BOOST_AUTO_TEST_CASE(leaves_to_the_spec_what_is_not_given) {
  const auto o = std::get<tune_options>(good({"tune", "a.yaml"}).command);
  BOOST_TEST((!o.trials && !o.time && !o.strategy && !o.seed && !o.slots && !o.builders));
  BOOST_TEST((!o.remeasure && !o.dry_run && !o.quiet && !o.offline));
  BOOST_TEST(std::get<tune_options>(good({"tune", "a.yaml", "--offline", "--seed", "3"}).command).offline);
}

BOOST_AUTO_TEST_CASE(reads_the_forms_of_space) {
  using what = space_options::what;
  const auto space = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"space", "s.yaml"});
    return std::get<space_options>(good(more).command);
  };
  BOOST_TEST((space({}).show == what::summary));
  BOOST_TEST((space({"--count"}).show == what::count));
  BOOST_TEST((space({"--list"}).show == what::list));
  const auto sample = space({"--sample", "5", "--seed", "7"});
  BOOST_TEST((sample.show == what::sample && sample.sample == 5 && sample.seed == 7));
  BOOST_TEST(space({"--index", "340282366920938463463374607431768211455"}).index ==
             "340282366920938463463374607431768211455");
  BOOST_TEST(space({"--contains", "{\"x\": -1}"}).contains == "{\"x\": -1}");
}

BOOST_AUTO_TEST_CASE(reads_how_long_doctor_measures) {
  const auto doctor = [](const std::vector<std::string>& words) {
    return std::get<doctor_options>(good(words).command);
  };
  BOOST_TEST((!doctor({"doctor"}).quick && doctor({"doctor"}).time == std::chrono::seconds(5)));
  BOOST_TEST(doctor({"doctor", "--quick"}).quick);
  BOOST_TEST((doctor({"doctor", "--time", "2m"}).time == std::chrono::minutes(2)));
  BOOST_TEST(refusal({"doctor", "--time", "1ms"}) == "attune doctor: --time must be from 100ms to 1h");
  BOOST_TEST(refusal({"doctor", "--time", "5"}).starts_with("attune doctor: --time: "));
  BOOST_TEST(refusal({"doctor", "--time", "5s", "--quick"}) ==
             "attune doctor: --time does nothing beside --quick, which measures nothing");
}

BOOST_AUTO_TEST_CASE(takes_global_options_before_and_behind_the_command) {
  BOOST_TEST(good({"--json", "doctor"}).json);
  BOOST_TEST(good({"doctor", "--json"}).json);
  BOOST_TEST(good({"--store", "/x", "db", "stats"}).store == "/x");
  BOOST_TEST(good({"db", "stats", "--store", "/x"}).store == "/x");
}

BOOST_AUTO_TEST_CASE(reads_what_is_to_be_forgotten_and_what_stays) {
  const auto db = [](const std::vector<std::string>& words) {
    std::vector<std::string> all{"db"};
    all.insert(all.end(), words.begin(), words.end());
    return std::get<db_options>(good(all).command);
  };
  using what = db_options::what;
  BOOST_TEST((db({"stats"}).action == what::stats));
  BOOST_TEST((db({"compact"}).action == what::compact));
  const auto copy = db({"backup", "/b"});
  BOOST_TEST((copy.action == what::backup && copy.folder == "/b"));
  const auto all = db({"forget", "--task", "t", "--target", "board=1", "--source", "k.cpp", "--older-than", "2d",
                       "--keep-best", "5", "--keep-boundary", "3", "--reservoir", "7", "--dry-run"});
  BOOST_TEST((all.action == what::forget));
  BOOST_TEST(all.task == "t");
  BOOST_TEST(all.target == "board=1");
  BOOST_TEST(all.source == "k.cpp");
  BOOST_TEST(all.older_than->count() == 172'800'000'000'000);
  BOOST_TEST(all.keep_best == 5u);
  BOOST_TEST(all.boundary == 3u);
  BOOST_TEST(all.reservoir == 7u);
  BOOST_TEST(all.dry_run);
  BOOST_TEST(db({"forget", "--all"}).keep_best == 0u);
  BOOST_TEST(db({"forget", "--cache", "--all"}).cache_only);
  BOOST_TEST(refusal({"db", "forget"}).find("nothing says what is to be forgotten") != std::string::npos);
  BOOST_TEST(refusal({"db", "forget", "--all", "--reservoir", "5"}).find("--all") != std::string::npos);
  BOOST_TEST(refusal({"db", "forget", "--cache", "--older-than", "5d"}).find("--cache") != std::string::npos);
  BOOST_TEST(refusal({"db", "forget", "--older-than", "5"}).find("--older-than") != std::string::npos);
  BOOST_TEST(refusal({"db", "forget", "--keep-best", "0"}).find("--keep-best") != std::string::npos);
  BOOST_TEST(std::get<best_options>(good({"best", "a", "--nearest"}).command).nearest);
}

BOOST_AUTO_TEST_CASE(reads_what_is_to_become_of_tokens) {
  using what = token_options::what;
  const auto made = std::get<token_options>(
      good({"token", "create", "--role", "client", "--name", "me", "--unpinned", "--store", "/s"}).command);
  BOOST_TEST((made.action == what::create));
  BOOST_TEST((made.role == net::token_role::client));
  BOOST_TEST(made.name == "me");
  BOOST_TEST(made.unpinned);
  const auto listed = good({"token", "list", "--json"});
  BOOST_TEST(listed.json);
  BOOST_TEST((std::get<token_options>(listed.command).action == what::list));
  const auto revoked = std::get<token_options>(good({"token", "revoke", "0a1b2c3d4e5f"}).command);
  BOOST_TEST((revoked.action == what::revoke));
  BOOST_TEST(revoked.id == "0a1b2c3d4e5f");
  BOOST_TEST(refusal({"token", "create", "--role", "root", "--name", "me"}).find("agent, client or admin") !=
             std::string::npos);
  for (const auto& wrong : {std::vector<std::string>{"token"},
                            {"token", "create", "--role", "agent"},
                            {"token", "create", "--name", "me"},
                            {"token", "create", "--role", "agent", "--name", ""},
                            {"token", "revoke"},
                            {"token", "make"}})
    BOOST_TEST(!refusal(wrong).empty());
}

BOOST_AUTO_TEST_CASE(finds_the_store_as_the_contract_says) {
  BOOST_TEST(default_store(env_of({{"ATTUNE_STORE", "/a"}, {"XDG_DATA_HOME", "/x"}, {"HOME", "/h"}})) == "/a");
  BOOST_TEST(default_store(env_of({{"XDG_DATA_HOME", "/x"}, {"HOME", "/h"}})) == "/x/attune");
  BOOST_TEST(default_store(env_of({{"XDG_DATA_HOME", "relative"}, {"HOME", "/h"}})) == "/h/.local/share/attune");
  BOOST_TEST(default_store(env_of({{"ATTUNE_STORE", ""}, {"HOME", "/h"}})) == "/h/.local/share/attune");
  BOOST_TEST(default_store(env_of({})) == "");
}

BOOST_AUTO_TEST_CASE(says_in_one_line_what_is_wrong) {
  BOOST_TEST(refusal({"tune"}) == "attune tune: a spec file is needed (see attune tune --help)");
  BOOST_TEST(refusal({"tune", "a", "--trails", "5"}) ==
             "attune tune: unknown option '--trails'; did you mean '--trials'? (see attune tune --help)");
  BOOST_TEST(refusal({"tune", "a", "--hob", "h:1"}) ==
             "attune tune: unknown option '--hob'; did you mean '--hub'? (see attune tune --help)");
  BOOST_TEST(refusal({"tune", "a", "--offline", "--time", "5s"}).find("--time does nothing beside --offline") !=
             std::string::npos);
  BOOST_TEST(refusal({"tune", "a", "--remeasure", "--offline"}).find("--remeasure does nothing beside --offline") !=
             std::string::npos);
  BOOST_TEST(refusal({"tuen", "a"}) == "attune: unknown command 'tuen'; did you mean 'tune'? (see attune --help)");
  BOOST_TEST(refusal({"--json"}) == "attune: a command is needed (see attune --help)");
  BOOST_TEST(refusal({"db"}) == "attune db: a command is needed (see attune db --help)");
  BOOST_TEST(refusal({"db", "stat"}) ==
             "attune db: unknown command 'stat'; did you mean 'stats'? (see attune db --help)");
  BOOST_TEST(refusal({"space", "a", "b"}) == "attune space: unexpected argument 'b' (see attune space --help)");
  for (const auto* wrong : {"0", "-1", "1.5", "many", "1e3", " 1", "99999999999999999999"})
    BOOST_TEST(refusal({"tune", "a", "--trials", wrong}) ==
               "attune tune: --trials must be a whole number from 1 on, not '" + std::string(wrong) + "'");
  BOOST_TEST(
      refusal({"tune", "a", "--time", "60"}) ==
      "attune tune: --time: duration '60' has no unit: write ns, us, ms, s, m, h or d behind the number, as in 10s");
  BOOST_TEST(refusal({"tune", "a", "--time", "0s"}) == "attune tune: --time must be longer than nothing");
  BOOST_TEST(refusal({"tune", "a", "--slots", "0"}) ==
             "attune tune: --slots must be a whole number from 1 to 4096, not '0'");
  BOOST_TEST(refusal({"tune", "a", "--seed", "-1"}) ==
             "attune tune: --seed must be a whole number from 0 on, not '-1'");
  BOOST_TEST(refusal({"space", "a", "--count", "--list"}) == "attune space: --count and --list exclude each other");
  BOOST_TEST(refusal({"space", "a", "--seed", "1"}) == "attune space: --seed has no effect without --sample");
  BOOST_TEST(refusal({"space", "a", "--index", "-1"}) ==
             "attune space: --index must be a whole number from 0 on, not '-1'");
  BOOST_TEST(refusal({"best", "a", "--format", "xml"}) ==
             "attune best: --format must be text, json, env, args, header or cmake, not 'xml'");
  BOOST_TEST(refusal({"best", "a", "--format", "env", "--top", "2"}) ==
             "attune best: --top has no effect with --format env, which is of one configuration");
  BOOST_TEST(refusal({"best", "a", "--format", "env", "--json"}) ==
             "attune best: --json and --format env exclude each other");
  BOOST_TEST(refusal({"tune", "a", "--trials"}).find('\n') == std::string::npos);
  BOOST_TEST(refusal({"tune", "a", "--trials", "1", "--trials", "2"}).find('\n') == std::string::npos);
}

BOOST_AUTO_TEST_CASE(helps) {
  const auto asked = [](const std::vector<std::string>& arguments) {
    const auto parsed = parse_command_line(arguments, env_of({}));
    const auto* end = std::get_if<early_end>(&parsed);
    BOOST_REQUIRE(end != nullptr);
    BOOST_TEST((end->code == 0 && end->err.empty()));
    return end->out;
  };
  const auto all = asked({"--help"});
  for (const auto* command : {"tune", "space", "best", "history", "db", "doctor", "--store", "--json", "Exit codes"})
    BOOST_TEST(all.find(command) != std::string::npos, command);
  BOOST_TEST(asked({"tune", "--help"}).find("--remeasure") != std::string::npos);
  BOOST_TEST(asked({"tune", "--help"}).find("Usage: attune tune [OPTIONS]") != std::string::npos);
  BOOST_TEST(asked({"db", "--help"}).find("verify") != std::string::npos);
  BOOST_TEST(asked({"db", "forget", "--help"}).find("--keep-boundary") != std::string::npos);
  for (const auto* command : {"stats", "verify", "compact", "backup"})
    BOOST_TEST(asked({"db", command, "--help"}).find("--json") != std::string::npos, command);
  BOOST_TEST(asked({"--version"}).starts_with("attune "));
  // Without anything at all: the help, but as an error.
  const auto parsed = parse_command_line({}, env_of({}));
  BOOST_TEST(std::get<early_end>(parsed).code == 2);
  BOOST_TEST(std::get<early_end>(parsed).err.find("tune") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(reads_what_looks_on) {
  const auto tune = [](const std::vector<std::string>& more) {
    std::vector<std::string> all{"tune"};
    all.insert(all.end(), more.begin(), more.end());
    return std::get<tune_options>(good(all).command);
  };
  BOOST_TEST(!tune({"a.yaml"}).dashboard.has_value());
  // The spec behind it is a spec, not its address.
  const auto plain = tune({"--dashboard", "a.yaml"});
  BOOST_TEST(plain.dashboard.value() == "");
  BOOST_TEST(plain.specs.size() == 1u);
  BOOST_TEST(tune({"a.yaml", "--dashboard=0.0.0.0:80"}).dashboard.value() == "0.0.0.0:80");
  const auto logged = tune({"a.yaml", "--log-format", "json", "--log-level", "debug"});
  BOOST_TEST(logged.json_log);
  BOOST_TEST(logged.log_level == "debug");
  for (const auto& bad :
       std::vector<std::vector<std::string>>{{"tune", "a.yaml", "--dashboard=::1"},
                                             {"tune", "a.yaml", "--dashboard", "--dry-run"},
                                             {"tune", "a.yaml", "--offline", "--dashboard"},
                                             {"tune", "a.yaml", "--log-format", "xml"},
                                             {"tune", "a.yaml", "--log-level", "debug"},
                                             {"tune", "a.yaml", "--log-format", "json", "--log-level", "loud"},
                                             {"dashboard", "--listen", "x:y"},
                                             {"report", "abcd"},
                                             {"report", "-o", "f.html"},
                                             {"trace"},
                                             {"trace", "gemm", "--json"},
                                             {"compare", "a.yaml"},
                                             {"compare", "a.yaml", "--strategies", "auto,auto"}})
    BOOST_TEST(!refusal(bad).empty());
  BOOST_TEST(std::get<dashboard_options>(good({"dashboard", "--listen", "8080"}).command).listen == "8080");
  const auto report = std::get<report_options>(good({"report", "ab12", "cd34", "-o", "f.html"}).command);
  BOOST_TEST(report.sessions.size() == 2u);
  BOOST_TEST(report.output == "f.html");
  BOOST_TEST(std::get<trace_options>(good({"trace", "gemm"}).command).output == "-");
  const auto compare = std::get<compare_options>(
      good({"compare", "a.yaml", "--strategies", "auto, random", "--seeds", "30", "--trials", "50"}).command);
  BOOST_TEST(compare.strategies.size() == 2u);
  BOOST_TEST(compare.strategies[1] == "random");
  BOOST_TEST(compare.seeds == 30u);
  BOOST_TEST(compare.trials.value() == 50u);
}

BOOST_AUTO_TEST_CASE(reads_a_clients_part_and_its_jobs_priority) {
  const auto made = std::get<token_options>(
      good({"token", "create", "--role", "client", "--name", "me", "--weight", "2.5", "--limit", "8"}).command);
  BOOST_TEST(made.share.weight == 2.5);
  BOOST_TEST(made.share.limit == 8u);
  BOOST_TEST(
      refusal({"token", "create", "--role", "agent", "--name", "b", "--weight", "2"}).find("an agent has none") !=
      std::string::npos);
  for (const auto* bad : {"0", "-1", "101", "x", "1x", "nan", "inf"})
    BOOST_TEST(refusal({"token", "create", "--role", "client", "--name", "me", "--weight", bad}).find("--weight") !=
                   std::string::npos,
               bad);
  const auto tune = [](std::vector<std::string> more) {
    std::vector<std::string> words{"tune", "a.yaml"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  BOOST_TEST(std::get<tune_options>(good(tune({"--hub", "h:1", "--priority", "-3"})).command).priority == -3);
  BOOST_TEST(std::get<tune_options>(good(tune({"--hub", "h:1", "--priority", "5", "--verbose"})).command).verbose);
  for (const auto* bad : {"6", "-6", "x", "1.5", "-"})
    BOOST_TEST(refusal(tune({"--hub", "h:1", "--priority", bad})).find("--priority") != std::string::npos, bad);
  BOOST_TEST(refusal(tune({"--priority", "1"})).find("no effect without --hub") != std::string::npos);
  BOOST_TEST(refusal(tune({"--verbose"})).find("no effect without --hub") != std::string::npos);
  for (const auto* idle : {"--svg", "--log-format"})
    BOOST_TEST(refusal(tune({"--hub", "h:1", idle, "json"})).find("does nothing beside --hub") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(reads_which_candidates_are_banned_and_how_agents_are_placed) {
  using what = devices_options::what;
  const auto ban =
      std::get<devices_options>(good({"devices", "--hub", "h:1", "--ban-config", "x=1", "--task", "gemm"}).command);
  BOOST_TEST((ban.action == what::ban_config));
  BOOST_TEST(ban.configuration == "x=1");
  BOOST_TEST(ban.name == "gemm");
  BOOST_TEST(refusal({"devices", "--hub", "h:1", "--ban", "b", "--task", "gemm"}).find("--task goes with") !=
             std::string::npos);
  BOOST_TEST(refusal({"devices", "--hub", "h:1", "--ban", "b", "--drain", "b"}).find("one thing at a time") !=
             std::string::npos);
  const auto up = std::get<agents_options>(good({"agents", "up", "--hub", "h:1", "--slurm", "-p tune", "--min", "2",
                                                 "--max", "5", "--idle", "30s", "--device", "node", "--label", "a=b"})
                                               .command);
  BOOST_TEST(up.slurm == "-p tune");
  BOOST_TEST(up.least == 2u);
  BOOST_TEST(up.most == 5u);
  BOOST_TEST((up.idle == std::chrono::seconds(30)));
  BOOST_TEST((up.agent == std::vector<std::string>{"--device", "node", "--label", "a=b"}));
  const std::vector<std::string> base{"agents", "up", "--hub", "h:1", "--slurm", "-p x"};
  const auto with = [&](std::vector<std::string> more) {
    auto words = base;
    words.insert(words.end(), more.begin(), more.end());
    return refusal(words);
  };
  BOOST_TEST(with({"--min", "3", "--max", "2"}).find("less than --min") != std::string::npos);
  BOOST_TEST(with({"--once"}).find("--min") != std::string::npos);
  BOOST_TEST(with({"--once", "--min", "1", "--max", "2"}).find("no effect with --once") != std::string::npos);
  BOOST_TEST(with({"--name", "a b"}).find("--name") != std::string::npos);
  refusal({"agents", "up", "--hub", "h:1"});
  refusal({"agents"});
  BOOST_TEST((std::get<agents_options>(good({"agents", "down"}).command).action == agents_options::what::down));
}

BOOST_AUTO_TEST_SUITE_END()
