// A hub and its agents as a user runs them: real processes over loopback.
#include "tests/scenarios/live_fleet.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/socket.h>

#include <algorithm>
#include <arpa/inet.h>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <unistd.h>

using namespace attune::testing;
using std::chrono::seconds;

namespace {

/// What the dashboard on a port answers, head and body; empty where nobody listens.
std::string page_answer(int port, const std::string& method, const std::string& path) {
  const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string out;
  if (::connect(s, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
    const auto ask =
        method + " " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    if (::send(s, ask.data(), ask.size(), MSG_NOSIGNAL) > 0) {
      char part[65536];
      for (ssize_t n; (n = ::recv(s, part, sizeof part, 0)) > 0;) out.append(part, static_cast<std::size_t>(n));
    }
  }
  ::close(s);
  return out;
}

json page_document(int port, const std::string& method, const std::string& path) {
  const auto answer = page_answer(port, method, path);
  const auto at = answer.find("\r\n\r\n");
  return at == std::string::npos ? json(nullptr) : json::parse(answer.substr(at + 4), nullptr, false);
}

constexpr const char* quick = R"(
task: quick
parameters: {x: {range: [1, 10]}}
run:
  command: "echo {x}"
  timeout: 20s
  metric: {name: cost, unit: c}
search: {strategy: grid, trials: 10}
)";

} // namespace

BOOST_AUTO_TEST_SUITE(fleet_suite)

BOOST_AUTO_TEST_CASE(a_hub_has_its_agents_measure_what_a_client_sends) {
  live_fleet f;
  auto a = f.agent("one"), b = f.agent("two");
  BOOST_REQUIRE(f.ready("one"));
  BOOST_REQUIRE(f.ready("two"));
  const auto spec = f.at.write("quick.yaml", quick);
  const auto e = f.tune(spec);
  BOOST_TEST_REQUIRE(e.exit == 0, e.told());
  const auto d = e.document();
  BOOST_TEST(d["best"]["config"]["x"] == 1);
  BOOST_TEST(d["trials"]["measured"] == 10);
  // The same again is answered by what is known.
  const auto again = f.tune(spec);
  BOOST_TEST_REQUIRE(again.exit == 0, again.told());
  BOOST_TEST(again.document()["trials"]["measured"] == 0);
  BOOST_TEST(again.document()["trials"]["cached"] == 10);
  // Who ends in order leaves nothing behind.
  a->signal(SIGTERM);
  BOOST_TEST(a->wait().exit == 143);
  b->signal(SIGINT);
  BOOST_TEST(b->wait().exit == 130);
  f.hub().signal(SIGTERM);
  BOOST_TEST(f.hub().wait().exit == 143);
  BOOST_TEST(f.at.survivors().empty());
}

// A bad candidate takes its board down; the board comes again under its old name.
BOOST_AUTO_TEST_CASE(an_agent_that_is_killed_in_mid_trial_costs_the_trial_a_second_try_and_the_session_nothing) {
  live_fleet f;
  auto one = f.agent("one"), two = f.agent("two");
  BOOST_REQUIRE(f.ready("one"));
  BOOST_REQUIRE(f.ready("two"));
  const auto spec = f.at.write("slow.yaml", R"(
task: slow
parameters: {x: {range: [1, 10]}}
run:
  command: "sleep 0.4; echo {x}"
  timeout: 20s
  metric: {name: cost, unit: c}
search: {strategy: grid, trials: 10}
)");
  auto client = f.at.start({"tune", spec, "--hub", f.address(), "--json"});
  BOOST_REQUIRE(client.wait_until([&] {
    const auto d = f.device("two");
    return d && (*d)["busy"] == 1;
  }));
  two->signal(SIGKILL);
  two->wait();
  BOOST_REQUIRE(f.hub().wait_until([&] {
    const auto d = f.device("two");
    return d && (*d)["state"] == "lost";
  }));
  // It boots.
  BOOST_TEST(!f.hub().gone_within(milliseconds(1000)));
  two = f.agent("two");
  BOOST_REQUIRE(f.ready("two"));
  const auto e = client.wait(seconds(60));
  BOOST_TEST_REQUIRE(e.exit == 0, e.told());
  const auto d = e.document();
  BOOST_TEST(d["trials"]["proposed"] == 10);
  BOOST_TEST(d["trials"]["measured"] == 10);
  BOOST_TEST(d["best"]["config"]["x"] == 1);
  const auto again = f.device("two");
  BOOST_REQUIRE(again);
  BOOST_TEST((*again)["leases_lost"] == 1);
  BOOST_TEST((*again)["runs"].get<int>() > 0); // in both of its lives
  BOOST_TEST(f.devices()["devices"].size() == 2u);
}

BOOST_AUTO_TEST_CASE(what_is_built_here_is_run_there_with_its_mode_and_its_name) {
  live_fleet f;
  auto a = f.agent("one");
  BOOST_REQUIRE(f.ready("one"));
  std::filesystem::create_directories(f.at.path("data"));
  f.at.write("data/input.txt", "40\n");
  f.at.write("kernel.sh", "#!/bin/sh\nread n < data/input.txt\nexpr $n + $1\n");
  const auto spec = f.at.write("mode.yaml", R"(
task: mode
parameters: {x: {range: [1, 3]}}
build:
  command: "mkdir '{workdir}/the bin' && cp kernel.sh '{workdir}/the bin/my kernel' && chmod 0755 '{workdir}/the bin/my kernel'"
  sources: [kernel.sh]
  timeout: 20s
run:
  command: "'{workdir}/the bin/my kernel' {x}"
  files: [data/input.txt]
  timeout: 20s
  metric: {name: cost, unit: c}
search: {strategy: grid, trials: 3}
)");
  const auto e = f.tune(spec);
  BOOST_TEST_REQUIRE(e.exit == 0, e.told());
  BOOST_TEST(e.document()["best"]["value"] == 41);
  BOOST_TEST(e.document()["trials"]["measured"] == 3);
}

BOOST_AUTO_TEST_CASE(a_build_in_place_is_made_where_it_runs) {
  live_fleet f;
  auto a = f.agent("one", {"--slots", "2"});
  BOOST_REQUIRE(f.ready("one"));
  f.at.write("kernel.in", "#!/bin/sh\necho X\n");
  const auto spec = f.at.write("place.yaml", R"(
task: place
parameters: {x: {range: [1, 6]}}
build:
  command: "sed s/X/{x}/ kernel.in > k && chmod 0755 k && sleep 0.05"
  sources: [kernel.in]
  timeout: 20s
run:
  command: "./k"
  timeout: 20s
  metric: {name: cost, unit: c}
search: {strategy: grid, trials: 6}
)");
  const auto e = f.tune(spec);
  BOOST_TEST_REQUIRE(e.exit == 0, e.told());
  BOOST_TEST(e.document()["best"]["value"] == 1);
  BOOST_TEST(e.document()["trials"]["measured"] == 6);
  BOOST_TEST(e.document()["trials"]["failed"].empty());
}

BOOST_AUTO_TEST_CASE(a_target_that_no_device_serves_is_refused_with_what_there_is) {
  live_fleet f;
  auto a = f.agent("board", {"--device", "arm", "--label", "site=prague"});
  BOOST_REQUIRE(f.ready("board"));
  const auto with = [&](const std::string& target) {
    return f.at.write("site.yaml", std::string(quick) + "target: " + target + "\n");
  };
  const auto begin = std::chrono::steady_clock::now();
  const auto e = f.tune(with("{site: praha}"));
  BOOST_TEST_REQUIRE(e.exit == 5, e.told());
  BOOST_TEST(e.err.find("no device serves the target site=praha") != std::string::npos, e.told());
  BOOST_TEST(e.err.find("board (device=arm site=prague)") != std::string::npos, e.told());
  BOOST_TEST((std::chrono::steady_clock::now() - begin < seconds(30)));
  BOOST_TEST(f.tune(with("{site: prague}")).exit == 0);
  BOOST_TEST(f.tune(with("{device: arm}")).exit == 0);
}

BOOST_AUTO_TEST_CASE(an_agent_that_is_stopped_loses_its_lease_and_what_it_says_later_is_not_used_twice) {
  live_fleet f;
  auto one = f.agent("one"), two = f.agent("two");
  BOOST_REQUIRE(f.ready("one"));
  BOOST_REQUIRE(f.ready("two"));
  const auto spec = f.at.write("stop.yaml", R"(
task: stop
parameters: {x: {range: [1, 6]}}
run:
  command: "sleep 0.5; echo {x}"
  timeout: 20s
  metric: {name: cost, unit: c}
search: {strategy: grid, trials: 6}
)");
  auto client = f.at.start({"tune", spec, "--hub", f.address(), "--json"});
  BOOST_REQUIRE(client.wait_until([&] {
    const auto d = f.device("one");
    return d && (*d)["busy"] == 1;
  }));
  one->signal(SIGSTOP);
  BOOST_REQUIRE(f.hub().wait_until([&] {
    const auto d = f.device("one");
    return d && (*d)["state"] == "lost";
  }));
  one->signal(SIGCONT);
  BOOST_REQUIRE(f.ready("one")); // it comes again by itself
  const auto e = client.wait(seconds(60));
  BOOST_TEST_REQUIRE(e.exit == 0, e.told());
  BOOST_TEST(e.document()["trials"]["proposed"] == 6);
  BOOST_TEST(e.document()["trials"]["measured"] == 6);
}

BOOST_AUTO_TEST_CASE(a_hub_that_is_killed_goes_on_when_it_is_started_again_and_a_client_may_come_and_go) {
  live_fleet f;
  auto one = f.agent("one");
  BOOST_REQUIRE(f.ready("one"));
  const auto spec = f.at.write("long.yaml", R"(
task: long
parameters: {x: {range: [1, 12]}}
run:
  command: "sleep 0.25; echo {x}"
  timeout: 20s
  metric: {name: cost, unit: c}
search: {strategy: grid, trials: 12}
)");
  const std::string says = "the hub has the job ";
  auto first = f.at.start({"tune", spec, "--hub", f.address()});
  BOOST_REQUIRE(first.wait_until([&] { return first.err().find(says) != std::string::npos; }));
  BOOST_REQUIRE(first.wait_until([&] { return first.err().find('\n', first.err().find(says)) != std::string::npos; }));
  const auto job = first.err().substr(first.err().find(says) + says.size(), 12);
  first.signal(SIGINT);
  const auto detached = first.wait();
  BOOST_TEST(detached.exit == 130, detached.told());
  BOOST_TEST(detached.err.find("attune tune --attach " + job + " --hub " + f.address()) != std::string::npos,
             detached.told());
  auto second = f.at.start({"tune", "--attach", job, "--hub", f.address(), "--json"});
  BOOST_REQUIRE(f.hub().wait_until([&] {
    const auto d = f.device("one");
    return d && (*d)["runs"].get<int>() >= 3;
  }));
  f.hub().signal(SIGKILL);
  f.hub().wait();
  f.start_hub();
  const auto e = second.wait(seconds(90));
  BOOST_TEST_REQUIRE(e.exit == 0, e.told());
  const auto d = e.document();
  BOOST_TEST(d["trials"]["proposed"] == 12);
  BOOST_TEST(d["trials"]["measured"].get<int>() < 12); // the rest was measured in the first hub's life
  BOOST_TEST(d["best"]["config"]["x"] == 1);
  // It is told again to whoever asks later.
  const auto later = f.at.attune({"tune", "--attach", job, "--hub", f.address(), "--json"});
  BOOST_TEST(later.exit == 0, later.told());
  BOOST_TEST((later.document()["best"] == d["best"]));
  // What it was made of is gone.
  BOOST_TEST(std::filesystem::exists(f.at.store() + "/HUB/jobs/" + job + "/ended"));
  BOOST_TEST(!std::filesystem::exists(f.at.store() + "/HUB/jobs/" + job + "/files"));
  f.hub().signal(SIGTERM);
  f.hub().wait();
  const auto records = f.at.attune({"history", spec, "--json"});
  BOOST_TEST(records.exit == 0, records.told());
  const auto seen = configurations(records.document()["records"]);
  BOOST_TEST(seen.size() == std::set<std::string>(seen.begin(), seen.end()).size()); // none twice
}

BOOST_AUTO_TEST_CASE(a_hub_shows_its_fleet_in_a_browser_and_lets_nothing_be_changed_there) {
  const scenario s;
  auto hub = s.start({"hub", "--listen", "127.0.0.1:0", "--dashboard"});
  const std::string said = "listens on ", shown = "dashboard: http://127.0.0.1:";
  BOOST_REQUIRE(hub.wait_until([&] { return hub.err().find(said) != std::string::npos; }));
  const auto text = hub.err();
  BOOST_REQUIRE(text.find(shown) != std::string::npos);
  const int port = std::atoi(text.c_str() + text.find(shown) + shown.size());
  auto address = text.substr(text.find(said) + said.size());
  address = address.substr(0, address.find('\n'));
  auto agent = s.start({"agent", "--hub", address, "--name", "board1", "--label", "site=here"});
  json fleet;
  BOOST_REQUIRE(hub.wait_until([&] {
    fleet = page_document(port, "GET", "/api/fleet");
    return fleet.is_object() && fleet["devices"].size() == 1 && fleet["devices"][0]["state"] == "ready";
  }));
  BOOST_TEST(fleet["devices"][0]["name"] == "board1");
  BOOST_TEST(fleet["devices"][0]["slots"] == 1);
  const auto e = s.attune({"tune", s.write("q.yaml", quick), "--hub", address, "--json"}, seconds(90));
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  json view;
  BOOST_TEST(hub.wait_until([&] {
    view = page_document(port, "GET", "/api/view")["view"];
    return view.is_object() && !view["sessions"].empty() && view["sessions"][0]["head"]["ended"] == true;
  }));
  BOOST_TEST(view["sessions"][0]["head"]["task"] == "quick");
  BOOST_TEST(view["sessions"][0]["rows"]["n"].size() == 10u);
  for (const auto* method : {"POST", "PUT", "DELETE"})
    BOOST_TEST(page_answer(port, method, "/api/fleet").find(" 405 ") != std::string::npos);
  hub.signal(SIGTERM);
  BOOST_TEST(hub.wait().exit == 143);
}

BOOST_AUTO_TEST_CASE(no_hub_is_one_clear_line_and_its_own_exit_code) {
  scenario at;
  const auto spec = at.write("quick.yaml", quick);
  for (const auto& words : {std::vector<std::string>{"tune", spec, "--hub", "127.0.0.1:1"},
                            std::vector<std::string>{"devices", "--hub", "127.0.0.1:1"}}) {
    const auto e = at.attune(words);
    BOOST_TEST(e.exit == 5, e.told());
    BOOST_TEST(std::count(e.err.begin(), e.err.end(), '\n') == 1, e.told());
    BOOST_TEST(e.err.find("127.0.0.1:1") != std::string::npos, e.told());
  }
  BOOST_TEST(at.attune({"devices", "--hub", "nonsense"}).exit == 2);
  BOOST_TEST(!at.store_exists());
}

BOOST_AUTO_TEST_CASE(a_drained_device_gets_nothing_new_and_a_banned_one_is_out) {
  live_fleet f;
  auto a = f.agent("one");
  BOOST_REQUIRE(f.ready("one"));
  BOOST_TEST(f.at.attune({"devices", "--hub", f.address(), "--drain", "one"}).exit == 0);
  BOOST_TEST((*f.device("one"))["state"] == "draining");
  const auto spec = f.at.write("quick.yaml", quick);
  auto client = f.at.start({"tune", spec, "--hub", f.address(), "--json"});
  BOOST_TEST(!client.gone_within(milliseconds(300)));
  BOOST_TEST(f.at.attune({"devices", "--hub", f.address(), "--undrain", "one"}).exit == 0);
  const auto e = client.wait();
  BOOST_TEST(e.exit == 0, e.told());
  BOOST_TEST(f.at.attune({"devices", "--hub", f.address(), "--ban", "one"}).exit == 0);
  BOOST_REQUIRE(a->wait_until([&] { return a->err().find("banned") != std::string::npos; }));
  BOOST_TEST((*f.device("one"))["state"] == "banned");
  BOOST_TEST(f.at.attune({"devices", "--hub", f.address(), "--drain", "nobody"}).exit == 2);
}

BOOST_AUTO_TEST_CASE(a_banned_candidate_is_not_run_until_that_is_lifted_also_over_a_restart) {
  live_fleet f;
  auto a = f.agent("one");
  BOOST_REQUIRE(f.ready("one"));
  const auto ban = [&](const std::string& how, const std::string& what) {
    return f.at.attune({"devices", "--hub", f.address(), how, what, "--task", "quick"});
  };
  BOOST_TEST(ban("--ban-config", "{\"x\": 1}").exit == 0);
  f.hub().signal(SIGTERM);
  f.hub().wait();
  f.start_hub();
  BOOST_REQUIRE(f.ready("one"));
  const auto all = f.devices();
  BOOST_REQUIRE_EQUAL(all["banned"].size(), 1u);
  BOOST_TEST(all["banned"][0]["config"] == "x=1");
  BOOST_TEST(all["banned"][0]["quarantined"] == false);
  const auto spec = f.at.write("quick.yaml", quick);
  const auto e = f.tune(spec);
  BOOST_TEST(e.exit == 0, e.told());
  BOOST_TEST(e.document()["best"]["config"]["x"] == 2);
  BOOST_TEST(e.document()["trials"]["failed"]["device_lost"] == 1);
  BOOST_TEST(ban("--unban-config", "x=2").exit != 0);
  BOOST_TEST(ban("--unban-config", "x=1").exit == 0);
  BOOST_TEST(f.devices()["banned"].empty());
  // It was no result of its own: now it is measured.
  const auto again = f.tune(f.at.write("more.yaml", std::string(quick) + "\n"), {"--seed", "2"});
  BOOST_TEST(again.exit == 0, again.told());
  BOOST_TEST(again.document()["best"]["config"]["x"] == 1);
}

BOOST_AUTO_TEST_CASE(what_runs_say_is_shown_to_who_wants_it_and_is_capped) {
  live_fleet f;
  auto a = f.agent("one");
  BOOST_REQUIRE(f.ready("one"));
  const auto spec = f.at.write("loud.yaml", R"(
task: loud
parameters: {x: {range: [1, 3]}}
run:
  command: "echo hello from {x}; head -c 100000 /dev/zero | tr '\\0' 'y' >&2; echo {x}"
  timeout: 20s
  metric: {name: cost, unit: c}
search: {strategy: grid, trials: 3}
)");
  const auto e = f.tune(spec, {"--verbose"});
  BOOST_TEST_REQUIRE(e.exit == 0, e.told());
  for (const auto* x : {"1", "2", "3"})
    BOOST_TEST(e.err.find("one/slot0: x=" + std::string(x) + ": hello from " + x) != std::string::npos, e.told());
  BOOST_TEST(e.err.find("bytes are left out") != std::string::npos);
  BOOST_TEST(e.err.size() < 250'000u);
  const auto quiet = f.tune(f.at.write("other.yaml", std::string(quick)));
  BOOST_TEST(quiet.err.find("one/slot0") == std::string::npos, quiet.told());
}

BOOST_AUTO_TEST_CASE(tasks_share_a_budget_at_the_hub_as_they_do_at_home) {
  live_fleet f;
  auto a = f.agent("one", {"--device", "fast"}), b = f.agent("two", {"--device", "slow"});
  BOOST_REQUIRE(f.ready("one"));
  BOOST_REQUIRE(f.ready("two"));
  const auto spec = f.at.write("both.yaml", R"(
tasks:
  - {task: left, target: {device: fast}}
  - {task: right, target: {device: slow}}
budget: {trials: 10, policy: round_robin}
parameters: {x: {range: [1, 20]}}
run:
  command: "echo {x}"
  timeout: 20s
  metric: {name: cost, unit: c}
search: {strategy: grid}
)");
  const auto e = f.tune(spec);
  BOOST_TEST_REQUIRE(e.exit == 0, e.told());
  const auto d = e.document();
  BOOST_REQUIRE_EQUAL(d["tasks"].size(), 2u);
  const auto of = [](const json& all, int i) { return all["tasks"][i]["trials"]["proposed"].get<int>(); };
  BOOST_TEST(of(d, 0) == 5);
  BOOST_TEST(of(d, 1) == 5);
  // The whole of it ends, and so it goes on with a larger one.
  const auto more = f.tune(spec, {"--trials", "14"});
  BOOST_TEST_REQUIRE(more.exit == 0, more.told());
  BOOST_TEST(of(more.document(), 0) == 7);
  BOOST_TEST(of(more.document(), 1) == 7);
}

BOOST_AUTO_TEST_CASE(a_device_that_is_there_but_not_in_service_is_named_where_nothing_serves) {
  live_fleet f;
  auto a = f.agent("one", {"--device", "arm"});
  BOOST_REQUIRE(f.ready("one"));
  BOOST_TEST(f.at.attune({"devices", "--hub", f.address(), "--drain", "one"}).exit == 0);
  const auto e = f.tune(f.at.write("arm.yaml", std::string(quick) + "target: {device: arm}\n"));
  BOOST_TEST_REQUIRE(e.exit == 5, e.told());
  BOOST_TEST(e.err.find("not in service: one (draining)") != std::string::npos, e.told());
}

BOOST_AUTO_TEST_CASE(clients_share_a_slot_by_the_weights_of_their_tokens) {
  live_fleet f;
  auto a = f.agent("one");
  BOOST_REQUIRE(f.ready("one"));
  // Both are there before the first run begins.
  BOOST_REQUIRE(f.at.attune({"devices", "--hub", f.address(), "--drain", "one"}).exit == 0);
  const auto begin = [&](const std::string& name, const std::string& weight, const std::string& trials) {
    const auto made = f.at.attune({"token", "create", "--role", "client", "--name", name, "--weight", weight});
    BOOST_REQUIRE_MESSAGE(made.exit == 0, made.told());
    const auto token = f.at.write(name + ".token", made.out);
    std::filesystem::permissions(token, std::filesystem::perms(0600));
    const auto spec =
        f.at.write(name + ".yaml", "task: " + name + "\nparameters: {x: {range: [1, " + trials +
                                       "]}}\nrun:\n  command: \"echo " + name + " >> " + f.at.path("runs.log") +
                                       "; sleep 0.05; echo {x}\"\n  timeout: 20s\n  metric: {name: cost, unit: c}\n"
                                       "search: {strategy: grid, trials: " +
                                       trials + "}\n");
    auto client = f.processes.client({spec, "--token-file", token});
    BOOST_REQUIRE(client->wait_until([&] { return client->err().find("has the job") != std::string::npos; }));
    return client;
  };
  auto heavy = begin("heavy", "3", "30"), light = begin("light", "1", "30");
  BOOST_REQUIRE(f.at.attune({"devices", "--hub", f.address(), "--undrain", "one"}).exit == 0);
  const auto e = heavy->wait();
  BOOST_TEST_REQUIRE(e.exit == 0, e.told());
  const auto lines = f.at.lines("runs.log");
  const auto others = std::count(lines.begin(), lines.end(), "light");
  BOOST_TEST(others >= 5); // a third of thirty, when the first has had all of its own
  BOOST_TEST(others <= 16);
  BOOST_TEST(light->wait().exit == 0);
}

BOOST_AUTO_TEST_SUITE_END()
