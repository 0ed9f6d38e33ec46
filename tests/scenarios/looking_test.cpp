#include "tests/scenarios/attune_process.hpp"
#include "tests/shared_data.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <csignal>
#include <map>
#include <sstream>
#include <unistd.h>

using namespace attune::testing;

namespace {

constexpr const char* spec = R"Y(task: looked-at
parameters: {x: {range: [1, 8]}, y: [1, 2]}
build: {command: "cp /dev/null {artifact}; test {x} -ne 3"}
run: {command: "echo $(({x} + {y}))", metric: {name: cost, unit: points, goal: minimize}}
search: {strategy: grid, trials: 16}
)Y";

/// What a GET answers, head and body; empty where nobody listens.
std::string get(int port, const std::string& path) {
  const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string out;
  if (::connect(s, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
    const auto ask = "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    if (::send(s, ask.data(), ask.size(), MSG_NOSIGNAL) > 0) {
      char part[65536];
      for (ssize_t n; (n = ::recv(s, part, sizeof part, 0)) > 0;) out.append(part, static_cast<std::size_t>(n));
    }
  }
  ::close(s);
  return out;
}

json body(const std::string& answer) {
  const auto at = answer.find("\r\n\r\n");
  return at == std::string::npos ? json(nullptr) : json::parse(answer.substr(at + 4), nullptr, false);
}

/// The port in `http://127.0.0.1:PORT/`; 0 where there is none.
int port_in(const std::string& text) {
  const auto at = text.find("http://127.0.0.1:");
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + 17);
}

} // namespace

BOOST_AUTO_TEST_SUITE(looking_at_searches)

BOOST_AUTO_TEST_CASE(a_tuned_session_is_listed_reported_and_traced) {
  const scenario s;
  const auto file = s.write("a.yaml", spec);
  BOOST_REQUIRE(s.tune(file).exit == 0);
  const auto listed = s.attune({"report", "--json"});
  BOOST_REQUIRE_MESSAGE(listed.exit == 0, listed.told());
  const auto session = listed.document()["sessions"][0];
  BOOST_TEST(session["task"] == "looked-at");
  BOOST_TEST(session["trials"] == 16);
  const auto id = session["session"].get<std::string>();

  const auto wrote = s.attune({"report", id.substr(0, 8), "-o", s.path("r.html"), "--json"});
  BOOST_REQUIRE_MESSAGE(wrote.exit == 0, wrote.told());
  BOOST_TEST(wrote.document()["trials"] == 16);
  const auto html = s.read("r.html");
  const auto begin = html.find("id=\"attune-view\">") + 17;
  const auto view = json::parse(html.substr(begin, html.find("</script>", begin) - begin));
  const auto& head = view["sessions"][0]["head"];
  BOOST_TEST(head["best"] == 2);
  BOOST_TEST(head["unit"] == "points");
  BOOST_TEST(head["endings"]["measured"] == 14);
  BOOST_TEST(head["endings"]["build_error"] == 2);

  const auto traced = s.attune({"trace", "looked-at"});
  BOOST_REQUIRE_MESSAGE(traced.exit == 0, traced.told());
  std::size_t runs = 0, builds = 0;
  const auto events = traced.document();
  for (const auto& e : events["traceEvents"]) {
    runs += e.value("cat", "") == "run";
    builds += e.value("cat", "") == "build";
  }
  BOOST_TEST(runs == 14u);
  BOOST_TEST(builds == 16u);

  BOOST_TEST(s.attune({"report", "nothing", "-o", s.path("n.html")}).exit == 2);
  BOOST_TEST(!std::filesystem::exists(s.path("n.html")));
  BOOST_TEST(s.attune({"trace", "ffffffff"}).exit == 2);
}

BOOST_AUTO_TEST_CASE(a_store_is_shown_until_ctrl_c) {
  const scenario s;
  BOOST_TEST(s.attune({"dashboard"}).exit == 3);
  BOOST_REQUIRE(s.tune(s.write("a.yaml", spec)).exit == 0);
  auto shown = s.start({"dashboard"});
  BOOST_REQUIRE(shown.wait_until([&] { return port_in(shown.out()) != 0; }));
  const int port = port_in(shown.out());
  const auto view = body(get(port, "/api/view"));
  BOOST_TEST(view["view"]["sessions"][0]["rows"]["n"].size() == 16u);
  BOOST_TEST(body(get(port, "/api/store"))["records"] == 16);
  BOOST_TEST(get(port, "/metrics").find("attune_trials_total{task=\"looked-at\",result=\"measured\"} 14") !=
             std::string::npos);
  shown.signal(SIGINT);
  BOOST_TEST(shown.wait().exit == 0);
}

BOOST_AUTO_TEST_CASE(a_search_is_shown_while_it_goes_on) {
  const scenario s;
  // The second trial waits for the test to have looked.
  const auto file = s.write("a.yaml", R"(task: slow
parameters: {x: {range: [1, 4]}}
run: {command: "if [ {x} -ge 2 ]; then while [ ! -e {specdir}/go ]; do sleep 0.02; done; fi; echo {x}", timeout: 60s}
search: {strategy: grid, trials: 4}
)");
  auto tuned = s.start({"tune", file, "--dashboard", "--json"});
  BOOST_REQUIRE(tuned.wait_until([&] { return port_in(tuned.err()) != 0; }));
  const int port = port_in(tuned.err());
  json view;
  BOOST_REQUIRE(tuned.wait_until([&] {
    view = body(get(port, "/api/view"))["view"];
    return view.is_object() && !view["sessions"].empty() && view["sessions"][0]["head"]["proposed"] == 1;
  }));
  BOOST_TEST(view["sessions"][0]["head"]["task"] == "slow");
  BOOST_TEST(view["sessions"][0]["head"]["ended"] == false);
  s.write("go", "");
  const auto ended = tuned.wait();
  BOOST_TEST(ended.exit == 0);
  BOOST_TEST(ended.document()["best"]["value"] == 1);
}

BOOST_AUTO_TEST_CASE(a_log_is_json_on_every_line) {
  const scenario s;
  const auto ran =
      s.attune({"tune", s.write("a.yaml", spec), "--log-format", "json", "--log-level", "debug", "--json"});
  BOOST_REQUIRE_MESSAGE(ran.exit == 0, ran.told());
  BOOST_TEST(ran.document()["best"]["value"] == 2);
  std::istringstream in(ran.err);
  std::map<std::string, int> kinds;
  for (std::string line; std::getline(in, line);) {
    const auto doc = json::parse(line, nullptr, false);
    BOOST_REQUIRE_MESSAGE(doc.is_object(), line);
    BOOST_TEST(doc.contains("time"), line);
    BOOST_TEST(doc.contains("level"), line);
    ++kinds[doc.value("event", "message")];
  }
  for (const auto* kind : {"proposed", "queued", "build_started", "built", "recorded", "told"})
    BOOST_TEST(kinds[kind] == 16, kind);
  BOOST_TEST(kinds["run_started"] == 14);
  BOOST_TEST(kinds["session_started"] == 1);
  BOOST_TEST(kinds["session_ended"] == 1);
}

BOOST_AUTO_TEST_CASE(strategies_are_compared_with_replays_numbers) {
  const scenario s;
  std::string entries, values;
  for (int x = 0; x < 100; ++x) {
    entries += (x == 0 ? "\"" : ",\"") + std::to_string(x) + "\": {\"x\": " + std::to_string(x) +
               ", \"time\": " + std::to_string(x * 37 % 100 + 1) + ", \"compile_time\": 1}";
    values += (x == 0 ? "" : ",") + std::to_string(x);
  }
  const auto file = s.write("space.json", R"({"kernel_name": "k", "tune_params_keys": ["x"], "tune_params": {"x": [)" +
                                              values + R"(]}, "cache": {)" + entries + "}}");
  const std::vector<std::string> how{"--trials", "50", "--seeds", "6", "--json"};
  const std::string strategies = "grid,random,genetic,auto";
  std::vector<std::string> replay{"replay", file, "--strategy", strategies},
      compare{"compare", file, "--strategies", strategies};
  replay.insert(replay.end(), how.begin(), how.end());
  compare.insert(compare.end(), how.begin(), how.end());
  const auto played = s.attune(replay), compared = s.attune(compare);
  BOOST_REQUIRE_MESSAGE(compared.exit == 0, compared.told());
  const auto p = played.document()["strategies"], c = compared.document()["strategies"];
  for (std::size_t k = 0; k < 4; ++k) {
    // To the last digit.
    BOOST_TEST(c[k]["score"]["mean"] == p[k]["score"]);
    BOOST_TEST(c[k]["best"]["mean"] == p[k]["best_over_optimum"]["50"]);
    BOOST_TEST(c[k]["runs"] == 6);
    BOOST_TEST(c[k]["best"]["low"].get<double>() <= c[k]["best"]["mean"].get<double>());
  }
  BOOST_TEST(compared.document()["tests"].size() == 6u);

  // The same as a report: a session for each run, which ends with the run's best.
  const auto written = s.attune({"compare", file, "--strategies", "grid,random", "--trials", "50", "--seeds", "6", "-o",
                                 s.path("c.html"), "--json"});
  BOOST_REQUIRE_MESSAGE(written.exit == 0, written.told());
  BOOST_TEST(written.document()["strategies"][0] == c[0]);
  const auto html = s.read("c.html");
  const auto begin = html.find("id=\"attune-view\">") + 17;
  const auto sessions = json::parse(html.substr(begin, html.find("</script>", begin) - begin))["sessions"];
  BOOST_REQUIRE_EQUAL(sessions.size(), 12u);
  for (std::size_t k = 0; k < 12; ++k) {
    const auto& head = sessions[k]["head"];
    BOOST_TEST(head["strategy"] == (k < 6 ? "grid" : "random"));
    BOOST_TEST(head["seed"] == k % 6 + 1);
    BOOST_TEST(sessions[k]["count"] == 50);
    // The file's numbers are milliseconds, and its optimum is 1.
    BOOST_TEST(head["best"].get<double>() * 1000 == c[k / 6]["runs_best"][k % 6].get<double>(),
               boost::test_tools::tolerance(1e-12));
  }
  BOOST_TEST(s.attune({"compare", file, "--strategies", "grid", "--seeds", "1", "-o", s.path("no/c.html")}).exit == 3);
}

BOOST_AUTO_TEST_CASE(a_comparison_of_a_recorded_kernel_has_replays_numbers) {
  const auto found = shared_data("recorded/convolution_milo-A100.json.gz");
  if (!found) return;
  const auto& file = *found;
  const scenario s;
  const std::vector<std::string> how{"--trials", "30", "--seeds", "2", "--seed", "7", "--json"};
  std::vector<std::string> replay{"replay", file, "--strategy", "auto,genetic"},
      compare{"compare", file, "--strategies", "auto,genetic"};
  replay.insert(replay.end(), how.begin(), how.end());
  compare.insert(compare.end(), how.begin(), how.end());
  const auto played = s.attune(replay), compared = s.attune(compare);
  BOOST_REQUIRE_MESSAGE(compared.exit == 0, compared.told());
  const auto p = played.document(), c = compared.document();
  BOOST_TEST(c["optimum"] == p["optimum"]);
  for (const std::size_t k : {0u, 1u}) {
    BOOST_TEST(c["strategies"][k]["score"]["mean"] == p["strategies"][k]["score"]);
    BOOST_TEST(c["strategies"][k]["best"]["mean"] == p["strategies"][k]["best_over_optimum"]["30"]);
    BOOST_TEST(c["strategies"][k]["runs_best"].size() == 2u);
  }
}

BOOST_AUTO_TEST_CASE(a_comparison_of_a_spec_measures_what_is_new_and_goes_on) {
  const scenario s;
  const auto file = s.write("a.yaml", spec);
  const std::vector<std::string> line{"compare",  file, "--strategies", "grid,random",    "--seeds", "2",
                                      "--trials", "16", "-o",           s.path("c.html"), "--json"};
  const auto first = s.attune(line);
  BOOST_REQUIRE_MESSAGE(first.exit == 0, first.told());
  const auto d = first.document();
  BOOST_TEST(d["sessions"].size() == 4u);
  for (const auto& one : d["strategies"]) BOOST_TEST(one["best"]["mean"] == 2);
  BOOST_TEST(d["tests"][0]["p"] == 1);
  BOOST_TEST(s.history(file).size() == 16u);
  BOOST_TEST(s.read("c.html").find("attune-view") != std::string::npos);
  const auto again = s.attune(line);
  BOOST_TEST(again.document()["strategies"] == d["strategies"]);
  BOOST_TEST(s.history(file).size() == 16u);
}

BOOST_AUTO_TEST_CASE(a_shell_completes_what_the_program_knows) {
  const scenario s;
  const auto script = s.attune({"completion", "bash"});
  BOOST_REQUIRE(script.exit == 0);
  const auto file = s.write("completion.bash", script.out);
  const auto completed = [&](const std::string& words, int at) {
    process shell({"/bin/bash", "-c",
                   "source " + file + "; COMP_WORDS=(" + words + "); COMP_CWORD=" + std::to_string(at) +
                       "; _attune; echo \"${COMPREPLY[*]}\""},
                  s.folder());
    const auto ended = shell.wait();
    BOOST_TEST(ended.err == "");
    return ended.out;
  };
  BOOST_TEST(completed("attune tu", 1) == "tune\n");
  BOOST_TEST(completed("attune tune a.yaml --tr", 3) == "--trials\n");
  BOOST_TEST(completed("attune db ver", 2) == "verify\n");
  BOOST_TEST(completed("attune db forget --keep-be", 3) == "--keep-best\n");
  BOOST_TEST(completed("attune token cre", 2) == "create\n");
  BOOST_TEST(completed("attune token create --ro", 3) == "--role\n");
  BOOST_TEST(completed("attune tune a.y", 2) == "\n"); // files are the shell's
  BOOST_TEST(s.attune({"completion", "fish"}).out.find("-l trials -r") != std::string::npos);
  BOOST_TEST(s.attune({"completion", "tcsh"}).exit == 2);
}

/// zsh as it is, its completion system played: what the function offers.
BOOST_AUTO_TEST_CASE(zsh_completes_what_the_program_knows) {
  if (!std::filesystem::exists("/usr/bin/zsh")) {
    BOOST_TEST_MESSAGE("no zsh here: its completion is not tested");
    return;
  }
  const scenario s;
  const auto script = s.attune({"completion", "zsh"});
  BOOST_REQUIRE(script.exit == 0);
  const auto file = s.write("_attune", script.out);
  const auto offered = [&](const std::string& words, int at, bool by_name = false) {
    const auto play =
        "_describe() { print -l -- ${(P)@[-1]} }; _files() { print a file }; compdef() { print $2 by $1 }; "
        "words=(" +
        words + "); CURRENT=" + std::to_string(at) + "; PREFIX=${words[CURRENT]}; ";
    // As zsh finds it in $fpath, or as it is sourced.
    const auto call =
        by_name ? "fpath=(" + s.folder() + " $fpath); autoload -U _attune; _attune" : "source " + file + "; _attune";
    process shell({"/usr/bin/zsh", "-f", "-c", play + call}, s.folder());
    const auto ended = shell.wait();
    BOOST_TEST(ended.err == "");
    return ended.out;
  };
  const auto has = [](const std::string& text, const std::string& line) {
    return ("\n" + text).find("\n" + line) != std::string::npos;
  };
  for (const bool by_name : {true, false}) {
    BOOST_TEST(has(offered("attune tu", 2, by_name), "tune:"), by_name);
    BOOST_TEST(has(offered("attune db ver", 3, by_name), "verify:"));
    BOOST_TEST(has(offered("attune tune a.yaml --tr", 4, by_name), "--trials:"));
    BOOST_TEST(has(offered("attune token create --ro", 4, by_name), "--role:"));
    BOOST_TEST(has(offered("attune tune a.y", 3, by_name), "a file\n"));
  }
  BOOST_TEST(has(offered("attune tu", 2), "attune by _attune\n"));
}

BOOST_AUTO_TEST_CASE(fish_completes_what_the_program_knows) {
  if (!std::filesystem::exists("/usr/bin/fish")) {
    BOOST_TEST_MESSAGE("no fish here: its completion is not tested");
    return;
  }
  const scenario s;
  const auto script = s.attune({"completion", "fish"});
  BOOST_REQUIRE(script.exit == 0);
  const auto file = s.write("attune.fish", script.out);
  const auto offered = [&](const std::string& line) {
    process shell({"/usr/bin/fish", "--no-config", "-c", "source " + file + "; complete -C '" + line + "'"}, s.folder(),
                  {{"HOME", s.folder()}, {"PATH", "/usr/bin:/bin"}});
    const auto ended = shell.wait();
    BOOST_TEST(ended.err == "");
    return ended.out;
  };
  BOOST_TEST(offered("attune tun").starts_with("tune\t"));
  BOOST_TEST(offered("attune db ver").starts_with("verify\t"));
  BOOST_TEST(offered("attune tune --trial").starts_with("--trials\t"));
  BOOST_TEST(offered("attune token create --ro").starts_with("--role\t"));
}

BOOST_AUTO_TEST_SUITE_END()
