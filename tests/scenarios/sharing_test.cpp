// Several `attune tune` at one time on one store: every result is there once, whoever ends and however.
#include "core/random.hpp"
#include "tests/scenarios/attune_process.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/socket.h>
#include <sys/un.h>

#include <csignal>
#include <map>
#include <unistd.h>

using namespace attune::testing;
using namespace std::chrono_literals;

namespace {

/// A task whose runs are counted from outside; `more` are further lines of the spec.
std::string spec(const std::string& name, int from, int to, const std::string& run = "echo {x} >>runs.log; echo {x}",
                 const std::string& more = "search: {strategy: grid}\n") {
  return "task: " + name + "\nparameters: {x: {range: [" + std::to_string(from) + ", " + std::to_string(to) +
         "]}}\nrun: {command: \"" + run + "\"}\n" + more;
}

std::map<std::string, int> runs_of(const scenario& s) {
  std::map<std::string, int> out;
  for (const auto& line : s.lines("runs.log")) ++out[line];
  return out;
}

std::uint64_t records_of(const scenario& s) {
  const auto e = s.attune({"db", "stats", "--json"});
  BOOST_REQUIRE_MESSAGE(e.exit == 0, e.told());
  return e.document()["records"].get<std::uint64_t>();
}

void check_clean(const scenario& s) {
  const auto e = s.attune({"db", "verify", "--json"});
  BOOST_TEST(e.exit == 0, e.told());
}

} // namespace

BOOST_AUTO_TEST_SUITE(sharing)

// A21: two tuners at the same moment on one store.
BOOST_AUTO_TEST_CASE(two_at_the_same_moment_on_one_new_store) {
  for (int round = 0; round < 3; ++round) {
    const scenario s;
    s.write("a.yaml", spec("t", 1, 20));
    s.write("b.yaml", spec("t", 21, 40));
    auto a = s.start({"tune", "a.yaml", "--json"}), b = s.start({"tune", "b.yaml", "--json"});
    for (auto* p : {&a, &b}) {
      const auto e = p->wait();
      BOOST_TEST(e.exit == 0, e.told());
      BOOST_TEST(e.document()["trials"]["proposed"] == 20);
    }
    BOOST_TEST(records_of(s) == 40u);
    check_clean(s);
    BOOST_TEST(s.survivors().empty());
  }
}

BOOST_AUTO_TEST_CASE(the_same_spec_twice_measures_each_configuration_once) {
  const scenario s;
  s.write("s.yaml", spec("t", 1, 40, "echo {x} >>runs.log; sleep 0.01; echo {x}"));
  auto a = s.start({"tune", "s.yaml", "--json"}), b = s.start({"tune", "s.yaml", "--json"});
  for (auto* p : {&a, &b}) {
    const auto e = p->wait();
    BOOST_TEST(e.exit == 0, e.told());
    BOOST_TEST(e.document()["trials"]["proposed"] == 40);
    BOOST_TEST(e.document()["best"]["config"]["x"] == 1);
  }
  const auto runs = runs_of(s);
  BOOST_TEST(runs.size() == 40u);
  for (const auto& [x, n] : runs) BOOST_TEST(n == 1, "x=" << x << " was run " << n << " times");
  BOOST_TEST(records_of(s) == 40u);
  // And the session is a whole one.
  const auto again = s.tune("s.yaml");
  BOOST_TEST(again.document()["trials"]["measured"] == 0);
  BOOST_TEST(again.document()["trials"]["proposed"] == 40);
  check_clean(s);
}

BOOST_AUTO_TEST_CASE(readers_need_nobodys_leave) {
  const scenario s;
  s.write("s.yaml", spec("t", 1, 4000));
  auto running = s.start({"tune", "s.yaml", "--json"});
  BOOST_REQUIRE(running.wait_until([&] { return s.lines("runs.log").size() >= 20; }));
  for (int i = 0; i < 5; ++i) {
    const auto best = s.attune({"best", "s.yaml", "--json"});
    BOOST_TEST(best.exit == 0, best.told());
    const auto history = s.history("s.yaml");
    BOOST_TEST(history.size() >= 15u);
    BOOST_TEST(records_of(s) >= 15u);
    check_clean(s);
  }
  running.signal(SIGINT);
  BOOST_TEST(running.wait().exit == 130);
}

BOOST_AUTO_TEST_CASE(an_owner_that_is_stopped_leaves_the_others_going) {
  const scenario s;
  s.write("a.yaml", spec("t", 1, 4000));
  s.write("b.yaml", spec("t", 4001, 4060));
  auto a = s.start({"tune", "a.yaml", "--json"});
  BOOST_REQUIRE(a.wait_until([&] { return s.lines("runs.log").size() >= 5; }));
  auto b = s.start({"tune", "b.yaml", "--json"});
  BOOST_REQUIRE(b.wait_until([&] {
    for (const auto& line : s.lines("runs.log"))
      if (std::atoi(line.c_str()) > 4002) return true;
    return false;
  }));
  a.signal(SIGINT);
  const auto stopped = a.wait();
  BOOST_TEST(stopped.exit == 130, stopped.told());
  const auto told = stopped.err + b.err();
  BOOST_TEST(told.find("take turns") != std::string::npos, told);
  const auto e = b.wait();
  BOOST_TEST(e.exit == 0, e.told());
  BOOST_TEST(e.document()["trials"]["measured"] == 60);
  const auto kept = stopped.document()["trials"]["measured"].get<std::uint64_t>();
  BOOST_TEST(records_of(s) == kept + 60);
  check_clean(s);
}

BOOST_AUTO_TEST_CASE(timed_runs_of_two_processes_are_never_at_one_time) {
  const scenario s;
  const std::string run = "mkdir busy 2>/dev/null || echo both >>overlap.log; sleep 0.01; rmdir busy 2>/dev/null; "
                          "echo {x} >>runs.log; echo {x}";
  s.write("a.yaml", spec("t", 1, 30, run));
  s.write("b.yaml", spec("t", 31, 60, run));
  auto a = s.start({"tune", "a.yaml", "--json", "--slots", "1"});
  auto b = s.start({"tune", "b.yaml", "--json", "--slots", "1"});
  BOOST_TEST(a.wait().exit == 0);
  BOOST_TEST(b.wait().exit == 0);
  BOOST_TEST(s.lines("overlap.log").size() == 0u);
  BOOST_TEST(s.lines("runs.log").size() == 60u);
}

BOOST_AUTO_TEST_CASE(rubbish_at_the_socket_harms_nobody) {
  const scenario s;
  s.write("a.yaml", spec("t", 1, 60));
  s.write("b.yaml", spec("t", 61, 120));
  auto a = s.start({"tune", "a.yaml", "--json"}), b = s.start({"tune", "b.yaml", "--json"});
  BOOST_REQUIRE(a.wait_until([&] { return s.lines("runs.log").size() >= 5; }));
  attune::random_engine rng(1);
  std::vector<int> open;
  for (int i = 0; i < 40; ++i) {
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    const auto path = s.store() + "/SOCKET";
    BOOST_REQUIRE(path.size() < sizeof where.sun_path);
    path.copy(where.sun_path, path.size());
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    open.push_back(fd);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0) continue;
    std::string text = i % 3 == 0 ? std::string("\xff\xff\xff\xff", 4) : std::string("\0\0\1\0half", 8);
    for (int k = 0; i % 3 == 2 && k < 4000; ++k) text += static_cast<char>(rng.below(256));
    [[maybe_unused]] const auto n = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
  }
  for (auto* p : {&a, &b}) {
    const auto e = p->wait();
    BOOST_TEST(e.exit == 0, e.told());
    BOOST_TEST(e.document()["trials"]["measured"] == 60);
  }
  for (const int fd : open) ::close(fd);
  BOOST_TEST(records_of(s) == 120u);
}

BOOST_AUTO_TEST_SUITE_END()
