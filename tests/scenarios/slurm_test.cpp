// Agents placed by a real Slurm: its daemons run in a folder of the test's, on loopback. Installs nothing; where they
// are not there, or cannot run here, it says so and skips (Debian: slurmctld slurmd slurm-client munge).
#include "tests/scenarios/fleet_process.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <netinet/in.h>
#include <unistd.h>

using namespace attune::testing;
using std::chrono::seconds;

namespace {

std::string find_program(const std::string& name) {
  for (const auto* folder : {"/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"})
    if (::access((folder + name).c_str(), X_OK) == 0) return folder + name;
  return {};
}

/// A port that nobody has just now.
std::string free_port() {
  const int s = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  BOOST_REQUIRE(::bind(s, reinterpret_cast<sockaddr*>(&at), size) == 0);
  BOOST_REQUIRE(::getsockname(s, reinterpret_cast<sockaddr*>(&at), &size) == 0);
  ::close(s);
  return std::to_string(ntohs(at.sin_port));
}

/// A cluster of one node in the scenario's folder.
struct cluster {
  explicit cluster(const scenario& s) : at(s) {
    for (const auto* name : {"munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo"})
      if (find_program(name).empty()) {
        missing = std::string(name) + " is not installed";
        return;
      }
    if (::geteuid() != 0) {
      missing = "slurmd wants to be root";
      return;
    }
    for (const auto* folder : {"slurm", "slurm/state", "slurm/spool", "slurm/munge"})
      std::filesystem::create_directories(at.path(folder));
    std::filesystem::permissions(at.path("slurm/munge"), std::filesystem::perms(0755));
    std::ifstream random("/dev/urandom", std::ios::binary);
    std::string key(1024, '\0');
    random.read(key.data(), static_cast<std::streamsize>(key.size()));
    at.write("slurm/munge/key", key);
    ::chmod(at.path("slurm/munge/key").c_str(), 0400);
    const auto socket = at.path("slurm/munge/socket");
    munged = run("munged", {"--foreground", "--force", "--key-file=" + at.path("slurm/munge/key"), "--socket=" + socket,
                            "--pid-file=" + at.path("slurm/munge/pid"), "--seed-file=" + at.path("slurm/munge/seed"),
                            "--log-file=" + at.path("slurm/munge/log")});
    if (!munged->wait_until([&] { return std::filesystem::exists(socket); }, seconds(20))) {
      missing = "munged does not start: " + munged->err();
      return;
    }
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    std::string name(host.data());
    name = name.substr(0, name.find('.'));
    config = at.write("slurm/slurm.conf",
                      "ClusterName=attune\nSlurmctldHost=" + name + "(127.0.0.1)\nSlurmctldPort=" + free_port() +
                          "\nSlurmdPort=" + free_port() + "\nAuthType=auth/munge\nAuthInfo=socket=" + socket +
                          "\nCredType=cred/munge\nSlurmUser=root\nSlurmdUser=root\n"
                          "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\n"
                          "ReturnToService=2\nSelectType=select/linear\nKillWait=10\n"
                          "JobAcctGatherType=jobacct_gather/none\n"
                          "AccountingStorageType=accounting_storage/none\n"
                          "StateSaveLocation=" +
                          at.path("slurm/state") + "\nSlurmdSpoolDir=" + at.path("slurm/spool") +
                          "\nSlurmctldPidFile=" + at.path("slurm/ctld.pid") +
                          "\nSlurmdPidFile=" + at.path("slurm/d.pid") + "\nNodeName=" + name +
                          " NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN\nPartitionName=all Nodes=" + name +
                          " Default=YES MaxTime=INFINITE State=UP\n");
    controller = run("slurmctld", {"-D", "-f", config});
    node = run("slurmd", {"-D", "-f", config});
    if (!controller->wait_until([&] { return node->gone_within(milliseconds(0)) || states() == "idle"; },
                                seconds(40)) ||
        states() != "idle")
      missing = "the cluster does not come up: " + controller->err() + node->err();
  }
  ~cluster() {
    for (auto* p : {&node, &controller, &munged})
      if (*p) {
        (*p)->signal(SIGTERM);
        (*p)->wait(seconds(20));
      }
  }

  process::environment environment() const { return {{"SLURM_CONF", config}}; }
  std::unique_ptr<process> run(const std::string& name, const std::vector<std::string>& words) const {
    std::vector<std::string> argv{find_program(name)};
    argv.insert(argv.end(), words.begin(), words.end());
    return std::make_unique<process>(argv, at.folder(), environment());
  }
  std::string said(const std::string& name, const std::vector<std::string>& words) const {
    auto out = run(name, words)->wait(seconds(20)).out;
    while (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
  }
  std::string states() const { return said("sinfo", {"-h", "-o", "%t"}); }
  /// One line for each array element that is there.
  std::size_t queued() const {
    const auto text = said("squeue", {"-h", "-r", "-o", "%i"});
    return text.empty() ? 0 : static_cast<std::size_t>(1 + std::count(text.begin(), text.end(), '\n'));
  }

  const scenario& at;
  std::string missing, config;
  std::unique_ptr<process> munged, controller, node;
};

} // namespace

BOOST_AUTO_TEST_SUITE(slurm_suite)

BOOST_AUTO_TEST_CASE(agents_come_as_jobs_when_there_is_work_and_are_given_back_when_there_is_none) {
  const scenario s;
  cluster slurm(s);
  if (!slurm.missing.empty()) {
    BOOST_TEST_MESSAGE("skipped: " << slurm.missing);
    std::printf("skipped: %s\n", slurm.missing.c_str());
    return;
  }
  fleet_process fleet(s);
  fleet.launch_hub();
  BOOST_REQUIRE(fleet.listens());
  auto& hub = fleet.hub();
  const auto& address = fleet.address();

  auto up = s.start({"agents", "up", "--hub", address, "--slurm", "--time 10", "--name", "here", "--max", "2", "--idle",
                     "2s", "--device", "node"},
                    slurm.environment());
  // Without work nobody is asked for.
  BOOST_TEST(!up.gone_within(milliseconds(2500)), up.err());
  BOOST_TEST(slurm.queued() == 0u);
  const auto spec = s.write("quick.yaml", R"(
task: quick
target: {device: node}
parameters: {x: {range: [1, 10]}}
run:
  command: "sleep 0.2; echo {x}"
  timeout: 20s
  metric: {name: cost, unit: c}
search: {strategy: grid, trials: 10}
)");
  const auto e = s.attune({"tune", spec, "--hub", address, "--json"}, seconds(60));
  BOOST_TEST_REQUIRE(e.exit == 0, e.told() << up.err());
  BOOST_TEST(e.document()["trials"]["measured"] == 10);
  const auto devices = s.attune({"devices", "--hub", address, "--json"}).document();
  BOOST_REQUIRE(!devices["devices"].empty());
  BOOST_TEST(devices["devices"][0]["name"].get<std::string>().starts_with("here-"));
  // Nothing is left to do: they are given back, those that never came as well.
  BOOST_TEST(up.wait_until([&] { return slurm.queued() == 0; }, seconds(60)), up.err());
  BOOST_TEST(up.err().find("given back") != std::string::npos, up.err());
  up.signal(SIGINT);
  BOOST_TEST(up.wait().exit == 130);

  // Placed once, and told to end.
  const auto once =
      s.attune({"agents", "up", "--hub", address, "--slurm", "--time 10", "--name", "here", "--min", "1", "--once"},
               seconds(30), slurm.environment());
  BOOST_TEST_REQUIRE(once.exit == 0, once.told());
  BOOST_REQUIRE(hub.wait_until([&] {
    const auto d = s.attune({"devices", "--hub", address, "--json"}).document();
    return std::any_of(d["devices"].begin(), d["devices"].end(),
                       [](const json& one) { return one["state"] == "ready"; });
  }));
  const auto down = s.attune({"agents", "down", "--name", "here", "--json"}, seconds(30), slurm.environment());
  BOOST_TEST(down.exit == 0, down.told());
  BOOST_TEST(down.document()["ended"] == 1);
  BOOST_TEST(hub.wait_until([&] { return slurm.queued() == 0; }, seconds(40)));
  hub.signal(SIGTERM);
  BOOST_TEST(hub.wait().exit == 143);
}

BOOST_AUTO_TEST_CASE(without_slurm_it_says_what_is_missing) {
  const scenario s;
  const auto nowhere = s.path("nothing");
  const auto e = s.attune({"agents", "down"}, seconds(20), {{"PATH", nowhere}});
  BOOST_TEST(e.exit != 0, e.told());
  BOOST_TEST(e.err.find("squeue") != std::string::npos, e.told());
}

BOOST_AUTO_TEST_SUITE_END()
