// What another user of the machine can see: files of every command under any umask, the list of processes, logs.
#include "tests/scenarios/fleet_process.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

using namespace attune::testing;
namespace fs = std::filesystem;

namespace {

/// Adds what of a folder's contents others than its owner could read, list, change or connect to: nothing that lies
/// below a closed folder.
void open_to_others_below(const fs::path& folder, std::vector<std::string>& out) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    struct stat s {};
    if (::lstat(entry.path().c_str(), &s) != 0 || S_ISLNK(s.st_mode)) continue;
    char mode[16];
    std::snprintf(mode, sizeof mode, " %o", static_cast<unsigned>(s.st_mode & 0777));
    if ((s.st_mode & 0066) != 0) out.push_back(entry.path().string() + mode);
    if (S_ISDIR(s.st_mode) && (s.st_mode & 0011) != 0) open_to_others_below(entry.path(), out);
  }
}

/// The same of the scenario's folder, without what the test itself has put there.
std::string open_to_others(const scenario& s, const std::vector<std::string>& but) {
  std::vector<std::string> all;
  open_to_others_below(s.folder(), all);
  std::string out;
  for (const auto& path : all) {
    const auto name = fs::path(path.substr(0, path.rfind(' '))).filename().string();
    if (std::find(but.begin(), but.end(), name) == but.end() && !name.starts_with(".out-") &&
        !name.starts_with(".err-"))
      out += path + "\n";
  }
  return out;
}

fleet_process::words with_umask(const std::string& mask) {
  return {"/bin/sh", "-c", "umask " + mask + "; exec \"$0\" \"$@\""};
}

constexpr const char* fleet_spec = R"(task: t
parameters: {x: {range: [1, 6]}}
build: {command: "cp kernel.sh {artifact}; chmod 755 {artifact}", sources: [kernel.sh]}
run: {command: "env >&2; {artifact} {x}"}
search: {strategy: grid, trials: 6}
)";

/// Every file below `folder` that has `text` in it.
std::string files_with(const std::string& folder, const std::string& text) {
  std::string out;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && read_file(entry.path()).find(text) != std::string::npos)
      out += entry.path().string() + "\n";
  return out;
}

/// Arguments and environment of every process of the machine that have `text` in them.
std::string processes_with(const std::string& text) {
  std::string out;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    for (const auto* what : {"/cmdline", "/environ"})
      if (read_file("/proc/" + name + what).find(text) != std::string::npos) out += name + what + "\n";
  }
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(secrets)

BOOST_DATA_TEST_CASE(nothing_that_the_program_makes_is_open_to_others,
                     boost::unit_test::data::make({"0", "022", "077"}), mask) {
  scenario s;
  s.write("kernel.sh", "#!/bin/sh\necho $1\n", true);
  s.write("s.yaml", "task: t\nparameters: {x: {range: [1, 6]}}\n"
                    "build: {command: \"cp kernel.sh {artifact}\"}\n"
                    "run: {command: \"stat -c '%a %n' $(dirname {workdir}) {workdir} >>folders.log; {artifact} {x}\"}\n"
                    "search: {strategy: grid, trials: 6}\n");
  // Of the scenario's own folder nothing is hidden, and one store lies in a folder that the user has made.
  fs::permissions(s.folder(), fs::perms(0755));
  fs::permissions(s.temporary(), fs::perms(0755));
  fs::create_directory(s.path("made"));
  fs::permissions(s.path("made"), fs::perms(0755));
  const auto run = [&](std::vector<std::string> words) {
    const auto e = s.start_behind(with_umask(mask), words)->wait();
    BOOST_TEST(e.exit == 0, e.told());
    return e;
  };
  const std::vector<std::string> ours{"kernel.sh", "s.yaml", "folders.log", "tmp", "export.json", "t.bundle", "r.html"};
  run({"tune", "s.yaml", "--json"});
  run({"tune", "s.yaml", "--json", "--store", s.path("made")});
  run({"token", "create", "--role", "agent", "--name", "a"});
  run({"db", "backup", "copy"});
  BOOST_TEST(open_to_others(s, ours) == "");
  // Those that the user has asked for have the modes that he has asked for.
  run({"db", "export", "export.json", "--format", "attune"});
  run({"bundle", "s.yaml", "-o", "t.bundle"});
  for (const auto* name : {"export.json", "t.bundle"}) {
    struct stat f {};
    BOOST_REQUIRE(::stat(s.path(name).c_str(), &f) == 0);
    const auto wanted = 0666U & ~static_cast<unsigned>(std::strtoul(mask, nullptr, 8));
    BOOST_TEST((f.st_mode & 0777) <= wanted, name);
  }
  const auto folders = s.lines("folders.log");
  BOOST_TEST(!folders.empty());
  for (const auto& line : folders) BOOST_TEST(line.starts_with("700 "), line);
}

BOOST_DATA_TEST_CASE(nothing_that_hub_and_agents_make_is_open_to_others, boost::unit_test::data::make({"0", "077"}),
                     mask) {
  scenario s;
  s.write("kernel.sh", "#!/bin/sh\necho $1\n", true);
  s.write("s.yaml", fleet_spec);
  fs::permissions(s.folder(), fs::perms(0755));
  fs::permissions(s.temporary(), fs::perms(0755));
  fleet_process fleet(s);
  fleet.run_as(with_umask(mask));
  fleet.launch_hub();
  BOOST_REQUIRE_MESSAGE(fleet.listens(), fleet.hub().err());
  auto agent = fleet.agent("one", {"--cache", s.path("kept")});
  BOOST_REQUIRE_MESSAGE(fleet.ready(1), agent->err());
  const std::vector<std::string> ours{"kernel.sh", "s.yaml", "tmp"};
  auto client = fleet.client({"s.yaml"});
  client->wait_until([&] { return !open_to_others(s, ours).empty(); }); // until it ends, or something is seen
  const auto during = open_to_others(s, ours);
  BOOST_TEST(during == "");
  const auto e = client->wait();
  BOOST_TEST(e.exit == 0, e.told());
  BOOST_TEST(open_to_others(s, ours) == "");
  for (auto* p : {agent.get(), &fleet.hub()}) {
    p->signal(SIGTERM);
    BOOST_TEST(p->wait().exit == 143);
  }
}

BOOST_AUTO_TEST_CASE(a_tokens_file_is_its_owners_alone_and_takes_no_others_place) {
  scenario s;
  const auto made =
      s.start_behind(with_umask("0"), {"token", "create", "--role", "agent", "--name", "a", "-o", "a.token"})->wait();
  BOOST_TEST(made.exit == 0, made.told());
  BOOST_TEST(made.out.empty());
  BOOST_TEST((fs::status(s.path("a.token")).permissions() == fs::perms(0600)));
  const auto text = read_file(s.path("a.token"));
  BOOST_TEST(text.starts_with("attune_"));
  // Nobody has seen the second: it does not count.
  const auto again = s.attune({"token", "create", "--role", "admin", "--name", "b", "-o", "a.token"});
  BOOST_TEST(again.exit == 2, again.told());
  BOOST_TEST(again.err.find("a.token") != std::string::npos, again.err);
  BOOST_TEST(read_file(s.path("a.token")) == text);
  const auto listed = s.attune({"token", "list", "--json"}).document()["tokens"];
  BOOST_REQUIRE_EQUAL(listed.size(), 2u);
  for (const auto& t : listed) BOOST_TEST(t["revoked"].is_null() == (t["name"] == "a"));
}

BOOST_AUTO_TEST_CASE(no_token_is_seen_in_processes_logs_and_files) {
  scenario s;
  s.write("kernel.sh", "#!/bin/sh\necho $1\n", true);
  s.write("s.yaml", fleet_spec);
  const auto token = [&](const std::string& role) {
    const auto e = s.attune({"token", "create", "--role", role, "--name", role});
    BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
    const auto text = e.out.substr(0, e.out.find('\n'));
    BOOST_TEST(e.err.find(text) == std::string::npos);
    fs::permissions(s.write(role + ".token", text + "\n"), fs::perms(0600));
    for (const auto& entry : fs::directory_iterator(s.folder())) // what the command printed
      if (entry.path().filename().string().starts_with(".out-")) fs::remove(entry.path());
    return text;
  };
  const auto agents = token("agent"), clients = token("client");
  fleet_process fleet(s);
  fleet.launch_hub();
  BOOST_REQUIRE_MESSAGE(fleet.listens(), fleet.hub().err());
  auto agent = fleet.agent("one", {"--token-file", "agent.token"});
  auto client = fleet.client({"s.yaml", "--token-file", "client.token"});
  std::string seen;
  client->wait_until([&] {
    seen += processes_with(agents) + processes_with(clients);
    return false;
  });
  const auto e = client->wait();
  BOOST_TEST(e.exit == 0, e.told());
  // One that is refused: wrong in one letter, and of another role.
  auto wrong = agents;
  wrong.back() = wrong.back() == 'a' ? 'b' : 'a';
  fs::permissions(s.write("wrong.token", wrong + "\n"), fs::perms(0600));
  const auto refused = s.attune({"devices", "--hub", fleet.address(), "--token-file", "wrong.token"});
  BOOST_TEST(refused.exit != 0, refused.told());
  BOOST_TEST(refused.told().find(wrong) == std::string::npos, refused.told());
  fs::permissions(s.path("wrong.token"), fs::perms(0644));
  const auto open = s.attune({"devices", "--hub", fleet.address(), "--token-file", "wrong.token"});
  BOOST_TEST(open.exit != 0, open.told());
  BOOST_TEST(open.told().find(wrong) == std::string::npos, open.told());
  for (auto* p : {agent.get(), &fleet.hub()}) {
    p->signal(SIGTERM);
    const auto end = p->wait();
    BOOST_TEST(end.exit == 143, end.told());
  }
  BOOST_TEST(seen == "");
  // The files with the tokens themselves are the user's.
  for (const auto* name : {"agent.token", "client.token", "wrong.token"}) fs::remove(s.path(name));
  // A token is an id, which lists and logs show, then the secret, then what the hub is known by.
  for (const auto& text : {agents, clients}) {
    BOOST_TEST(files_with(s.folder(), text) == "");
    BOOST_TEST(files_with(s.folder(), text.substr(text.size() / 3, 24)) == "");
  }
}

BOOST_AUTO_TEST_CASE(the_dashboards_token_is_no_candidates_business) {
  scenario s;
  s.write("s.yaml", "task: t\nparameters: {x: [1, 2]}\nrun: {command: \"env >>environment.log; echo {x}\"}\n");
  const std::string secret = "dashboard-token-of-the-test";
  const auto e = s.attune({"tune", "s.yaml", "--json", "--dashboard=127.0.0.1:0"}, std::chrono::seconds(60),
                          {{"ATTUNE_DASHBOARD_TOKEN", secret}});
  BOOST_TEST(e.exit == 0, e.told());
  const auto environment = s.read("environment.log");
  BOOST_TEST(environment.find("ATTUNE_") != std::string::npos);
  BOOST_TEST(environment.find(secret) == std::string::npos);
  BOOST_TEST(s.survivors().empty());
}

BOOST_AUTO_TEST_SUITE_END()
