#include "measure/guardian.hpp"
#include "measure/scratch.hpp"
#include "tests/measure/support.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <poll.h>
#include <spawn.h>

using namespace attune;
using namespace attune::measure;
using namespace attune::measure::testing;
namespace data = boost::unit_test::data;

namespace {

/// A tuner in a process of its own that has trials running when it is killed.
struct victim {
  pid_t pid = -1;
  int guardian = 0;
  std::string root;

  victim(bool cgroups, const std::string& command) {
    int ends[2];
    BOOST_REQUIRE(pipe(ends) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    std::string program = ATTUNE_VICTIM, how = cgroups ? "cgroup" : "tree", text = command;
    char* words[] = {program.data(), how.data(), text.data(), nullptr};
    BOOST_REQUIRE(posix_spawn(&pid, program.c_str(), &actions, nullptr, words, environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE* said = fdopen(ends[0], "r");
    char path[512] = {};
    BOOST_REQUIRE(std::fscanf(said, "%d %500s", &guardian, path) == 2);
    root = path;
    std::fclose(said);
  }

  void kill_it() const {
    kill(pid, SIGKILL);
    int status = 0;
    BOOST_REQUIRE(waitpid(pid, &status, 0) == pid);
  }
};

/// How many of them are sleeping: the shells that were told of them are not counted.
long sleeping(const std::string& text) {
  auto all = processes_with(text);
  return std::count_if(all.begin(), all.end(), [](pid_t pid) { return name_of(pid) == "sleep"; });
}

/// Waits for the end of a process that is not a child; at most a minute.
bool ended(const descriptor& pidfd) {
  pollfd wait{pidfd.get(), POLLIN, 0};
  return poll(&wait, 1, 60000) == 1;
}

const char* const tree =
    "sleep 3031 &\nsetsid sleep 3031 &\nsetsid sh -c 'trap \"\" TERM; sleep 3031 & exit' &\nsleep 0.2";

} // namespace

BOOST_DATA_TEST_CASE(nothing_outlives_a_tuner_that_is_killed, data::make({true, false}), cgroups) {
  victim v(cgroups, tree);
  BOOST_REQUIRE(v.guardian > 0);
  BOOST_TEST(sleeping("sleep 3031") == 3);
  BOOST_TEST(std::filesystem::exists(v.root));
  descriptor guardian(static_cast<int>(syscall(SYS_pidfd_open, v.guardian, 0)));
  v.kill_it();
  BOOST_TEST(ended(guardian));
  BOOST_TEST(processes_with("sleep 3031").empty());
  BOOST_TEST(processes_with("sleep 1000").empty());
  BOOST_TEST(!std::filesystem::exists(v.root));
}

BOOST_DATA_TEST_CASE(the_next_tuner_removes_what_a_guardian_could_not, data::make({true, false}), cgroups) {
  victim v(cgroups, tree);
  BOOST_REQUIRE(v.guardian > 0);
  kill(v.guardian, SIGKILL);
  v.kill_it();
  BOOST_TEST(std::filesystem::exists(v.root));
  {
    supervisor_options options;
    options.cgroups = cgroups;
    auto next = make_supervisor(options);
    BOOST_TEST(!std::filesystem::exists(v.root));
  }
  // They were killed by then; a process that is killed takes its moment to die.
  for (pid_t pid : processes_with("sleep 3031")) {
    descriptor left(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (left) BOOST_TEST(ended(left));
  }
  BOOST_TEST(processes_with("sleep 3031").empty());
}

BOOST_AUTO_TEST_CASE(a_living_tuners_folders_and_processes_are_left_alone) {
  victim v(true, "sleep 3032 &");
  { auto other = make_supervisor(); }
  BOOST_TEST(std::filesystem::exists(v.root));
  BOOST_TEST(sleeping("sleep 3032") == 1);
  descriptor guardian(static_cast<int>(syscall(SYS_pidfd_open, v.guardian, 0)));
  v.kill_it();
  BOOST_TEST(ended(guardian));
}

BOOST_AUTO_TEST_CASE(a_supervisor_whose_guardian_was_killed_works_on) {
  auto s = make_supervisor();
  kill(s->guardian(), SIGKILL);
  BOOST_TEST(run_process(*s, shell("echo 1")).out.text() == "1\n");
  s.reset();
  BOOST_TEST(zombies() == 0U);
}
