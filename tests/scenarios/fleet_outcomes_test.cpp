// What becomes of a fleet when clocks jump, names are doubled and benchmarks take all there is: real processes.
#include "tests/scenarios/live_fleet.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace attune::testing;
using std::chrono::seconds;

namespace {

std::string spec_of(const std::string& command, int trials) {
  return "task: t\nparameters: {x: {range: [1, " + std::to_string(trials) + "]}}\nrun:\n  command: \"" + command +
         "\"\n  timeout: 30s\n  metric: {name: cost, unit: c}\nsearch: {strategy: grid, trials: " +
         std::to_string(trials) + "}\n";
}

} // namespace

BOOST_AUTO_TEST_SUITE(fleet_outcomes_suite)

BOOST_AUTO_TEST_CASE(clocks_that_jump_on_hub_and_agent_cost_no_lease) {
  scenario clock;
  const auto file = clock.write("clock", "0");
  live_fleet f("127.0.0.1", {{"LD_PRELOAD", STEPPED_CLOCK}, {"STEPPED_CLOCK_SECONDS", file}});
  auto a = f.agent("one");
  BOOST_REQUIRE(f.let_in(*a));
  const auto spec = f.at.write("s.yaml", spec_of("echo run >> runs.log; sleep 0.3; echo {x}", 6));
  auto client = f.at.start({"tune", spec, "--hub", f.address(), "--json"});
  const auto ran = [&] {
    const auto d = f.device("one");
    return d ? (*d)["runs"].get<int>() : 0;
  };
  BOOST_REQUIRE(client.wait_until([&] { return ran() >= 1; }));
  clock.write("clock", "-7200");
  BOOST_REQUIRE(client.wait_until([&] { return ran() >= 3; }));
  clock.write("clock", "86400");
  const auto e = client.wait();
  BOOST_TEST_REQUIRE(e.exit == 0, e.told());
  BOOST_TEST(e.document()["trials"]["measured"] == 6, e.told());
  const auto d = f.device("one");
  BOOST_REQUIRE(d.has_value());
  BOOST_TEST((*d)["leases_lost"] == 0);
  BOOST_TEST((*d)["state"] == "ready");
  BOOST_TEST(a->err().find("trying again") == std::string::npos, a->err());
}

BOOST_AUTO_TEST_CASE(of_two_agents_under_one_name_the_first_stays_and_the_second_follows_it) {
  live_fleet f;
  auto first = f.agent("one");
  BOOST_REQUIRE(f.let_in(*first));
  auto second = f.agent("one");
  BOOST_REQUIRE(second->wait_until(
      [&] { return second->err().find("another agent is alive under the name 'one'") != std::string::npos; }));
  BOOST_TEST((*f.device("one"))["state"] == "ready");
  const auto e = f.at.attune({"tune", f.at.write("s.yaml", spec_of("echo {x}", 3)), "--hub", f.address(), "--json"});
  BOOST_TEST(e.exit == 0, e.told());
  BOOST_TEST(first->err().find("trying again") == std::string::npos, first->err());
  first->signal(SIGKILL);
  first->wait();
  BOOST_REQUIRE(f.let_in(*second));
  BOOST_REQUIRE(f.hub().wait_until([&] {
    const auto d = f.device("one");
    return d && (*d)["state"] == "ready";
  }));
}

BOOST_AUTO_TEST_CASE(a_job_that_the_next_hub_cannot_read_any_more_ends_and_its_client_hears_why) {
  live_fleet f;
  const auto spec = f.at.write("s.yaml", spec_of("echo {x}", 3));
  auto client = f.at.start({"tune", spec, "--hub", f.address(), "--json"});
  std::filesystem::path job;
  BOOST_REQUIRE(f.hub().wait_until([&] {
    std::error_code ec;
    for (const auto& there : std::filesystem::directory_iterator(f.at.store() + "/HUB/jobs", ec))
      if (std::filesystem::exists(there.path() / "job")) job = there.path();
    return !job.empty() && client.err().find(job.filename().string()) != std::string::npos;
  }));
  f.hub().signal(SIGKILL);
  f.hub().wait();
  std::ofstream(job / "files" / "s.yaml", std::ios::app) << "serch: {seed: 1}\n";
  f.start_hub();
  const auto e = client.wait();
  BOOST_TEST(e.exit == 2, e.told());
  BOOST_TEST(e.err.find("serch") != std::string::npos, e.told());
  const auto later = f.at.attune({"tune", "--attach", job.filename().string(), "--hub", f.address(), "--json"});
  BOOST_TEST(later.exit == 2, later.told());
  BOOST_TEST(later.err.find("serch") != std::string::npos, later.told());
  BOOST_TEST(f.hub().err().find("job " + job.filename().string() + " cannot go on") != std::string::npos,
             f.hub().err());
}

BOOST_AUTO_TEST_CASE(a_benchmark_that_takes_every_core_keeps_no_heartbeat_back) {
  live_fleet f;
  auto a = f.agent("one");
  BOOST_REQUIRE(f.let_in(*a));
  // Longer than a lease lasts (5 s), on every core several times over.
  const auto spec = f.at.write(
      "busy.yaml", spec_of("for i in 1 2 3 4 5 6 7 8; do (while :; do :; done) & done; sleep 6; echo {x}", 1));
  const auto e = f.at.attune({"tune", spec, "--hub", f.address(), "--json"}, seconds(60));
  BOOST_TEST_REQUIRE(e.exit == 0, e.told());
  const auto d = f.device("one");
  BOOST_REQUIRE(d.has_value());
  BOOST_TEST((*d)["leases_lost"] == 0);
  BOOST_TEST((*d)["runs"] == 1);
  for (const auto& left : f.at.survivors()) BOOST_TEST(left.find("while :") == std::string::npos, left);
}

BOOST_AUTO_TEST_CASE(what_a_confined_agent_runs_is_another_user_with_no_network) {
  live_fleet f;
  const bool root = ::geteuid() == 0;
  std::vector<std::string> words{"--confine", "--limit", "files=99", "--cache", f.at.path("cache")};
  if (root) words.insert(words.end(), {"--user", "54321"});
  if (root) std::filesystem::permissions(f.at.folder(), std::filesystem::perms(0711));
  if (root) std::filesystem::permissions(f.at.temporary(), std::filesystem::perms(0711));
  auto a = f.agent("one", words);
  BOOST_REQUIRE(f.let_in(*a));
  f.at.write("data.txt", "5\n");
  // Where the kernel gives this user no namespace, the agent says so and there is a network.
  const bool network = std::system("{ unshare --net -- true || unshare --user --map-current-user --net -- true; } "
                                   "2>/dev/null") != 0;
  BOOST_TEST((a->err().find("the network cannot be taken away here") != std::string::npos) == network, a->err());
  f.at.write("offline.sh", network ? "#!/bin/sh\n"
                                   : "#!/bin/sh\ntest $(readlink /proc/self/ns/net) != '" +
                                         std::filesystem::read_symlink("/proc/self/ns/net").string() +
                                         "' && ! grep -v Iface /proc/self/net/route\n");
  f.at.write("k.sh", "#!/bin/sh\nread n < data.txt\necho $((n + $1)) > $TMPDIR/out && cat $TMPDIR/out\n");
  const auto spec = f.at.write("c.yaml", R"spec(
task: confined
parameters: {x: {range: [1, 2]}}
build:
  on: runner
  command: "sh offline.sh && id -u > {workdir}/user && cp k.sh {artifact} && chmod 0700 {artifact}"
  sources: [k.sh, offline.sh]
  timeout: 20s
run:
  command: "sh offline.sh && test $(ulimit -n) = 99 && grep -q 'NoNewPrivs:.1' /proc/self/status && cat {workdir}/user 1>&2 && {artifact} {x}"
  files: [data.txt, offline.sh]
  timeout: 20s
  metric: {name: cost, unit: c}
  check: {command: "sh offline.sh && test $(id -u) = $(cat {workdir}/user)", timeout: 20s}
search: {strategy: grid, trials: 2}
)spec");
  const auto e = f.at.attune({"tune", spec, "--hub", f.address(), "--json"});
  BOOST_TEST_REQUIRE(e.exit == 0, e.told());
  BOOST_TEST(e.document()["best"]["value"] == 6, e.told());
  // Each run's own $TMPDIR has gone with it.
  for (const auto& left : std::filesystem::recursive_directory_iterator(f.at.temporary()))
    BOOST_TEST(left.path().filename() != "out", left.path().string());
  if (root) {
    // Whoever it is, root it was not.
    const auto probe = f.at.write("p.yaml", spec_of("id -u", 1));
    const auto p = f.at.attune({"tune", probe, "--hub", f.address(), "--json"});
    BOOST_TEST_REQUIRE(p.exit == 0, p.told());
    BOOST_TEST(p.document()["best"]["value"] == 54321, p.told());
    struct stat s {};
    BOOST_REQUIRE(::stat(f.at.path("cache").c_str(), &s) == 0);
    BOOST_TEST((s.st_mode & 0777) == 0700u);
  }
  a->signal(SIGTERM);
  BOOST_TEST(a->wait().exit == 143);
  f.hub().signal(SIGTERM);
  BOOST_TEST(f.hub().wait().exit == 143);
  BOOST_TEST(f.at.survivors().empty());
  BOOST_TEST(std::filesystem::is_empty(f.at.temporary()));
  // Without the right to it, and without --confine, it is said before anything begins.
  BOOST_TEST(f.at.attune({"agent", "--hub", f.address(), "--user", "nobody"}).exit == 2);
  BOOST_TEST(f.at.attune({"agent", "--hub", f.address(), "--confine", "--limit", "files=many"}).exit == 2);
  BOOST_TEST(f.at.attune({"agent", "--hub", f.address(), "--confine", "--user", "no such user"}).exit == 2);
}

BOOST_AUTO_TEST_SUITE_END()
