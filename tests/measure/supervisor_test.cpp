#include "measure/scratch.hpp"
#include "measure/supervisor.hpp"
#include "tests/measure/support.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <sys/resource.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string_view>
#include <thread>

using namespace attune;
using namespace attune::measure;
using namespace attune::measure::testing;
using namespace std::chrono_literals;
namespace data = boost::unit_test::data;

namespace {

using ending = process_result::ending;

/// Every rule holds with a cgroup and with the process tree alone.
supervisor_options contained(bool cgroups, bool adopt = true) {
  supervisor_options out;
  out.cgroups = cgroups;
  out.adopt_orphans = adopt;
  return out;
}

/// A child that the host starts without the supervisor.
pid_t start_own(std::string command, bool new_session) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (new_session) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::string program = "/bin/sh", option = "-c";
  char* words[] = {program.data(), option.data(), command.data(), nullptr};
  pid_t pid = -1;
  BOOST_REQUIRE(posix_spawn(&pid, program.c_str(), nullptr, &attributes, words, environ) == 0);
  posix_spawnattr_destroy(&attributes);
  return pid;
}

const auto both = data::make({true, false});

/// This process can open nothing more while it is there, or only so much.
class without_descriptors {
public:
  explicit without_descriptors(int spare = 0) {
    BOOST_REQUIRE(getrlimit(RLIMIT_NOFILE, &before_) == 0);
    rlimit few{0, before_.rlim_max};
    for (; spare > 0; ++few.rlim_cur)
      if (fcntl(static_cast<int>(few.rlim_cur), F_GETFD) < 0) --spare;
    BOOST_REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  }
  ~without_descriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  without_descriptors(const without_descriptors&) = delete;
  without_descriptors& operator=(const without_descriptors&) = delete;

private:
  rlimit before_{};
};

} // namespace

BOOST_DATA_TEST_CASE(a_process_that_ends_by_itself_is_reported_as_it_ended, both, cgroups) {
  auto s = make_supervisor(contained(cgroups));
  auto r = run_process(*s, shell("echo out; echo err >&2; exit 3"));
  BOOST_TEST((r.how == ending::exited));
  BOOST_TEST(r.exit.value() == 3);
  BOOST_TEST(!r.signal);
  BOOST_TEST(r.out.text() == "out\n");
  BOOST_TEST(r.err.text() == "err\n");
  BOOST_TEST(r.wall.count() > 0);
  BOOST_TEST(!r.left_running);
  BOOST_TEST(r.notes.empty());
  BOOST_TEST(zombies() == 0U);
}

BOOST_DATA_TEST_CASE(a_process_that_is_ended_by_a_signal_is_reported_with_it, both, cgroups) {
  auto s = make_supervisor(contained(cgroups));
  auto r = run_process(*s, shell("kill -SEGV $$"));
  BOOST_TEST((r.how == ending::signalled));
  BOOST_TEST(r.signal.value() == SIGSEGV);
  BOOST_TEST(!r.exit);
}

BOOST_DATA_TEST_CASE(what_follows_a_killed_process_lives, both, cgroups) {
  auto s = make_supervisor(contained(cgroups));
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(run_process(*s, shell("sleep 3000 & echo 1")).left_running);
    BOOST_TEST((run_process(*s, shell("echo 1")).how == ending::exited));
  }
}

BOOST_DATA_TEST_CASE(what_is_left_running_does_not_hold_the_pipe, both, cgroups) { // A09
  auto s = make_supervisor(contained(cgroups));
  auto r = run_process(*s, shell("sleep 3001 & echo 0.5", 100s));
  BOOST_TEST((r.how == ending::exited));
  BOOST_TEST(r.exit.value() == 0);
  BOOST_TEST(r.out.text() == "0.5\n");
  BOOST_TEST(r.left_running);
  BOOST_TEST(has_note(r.notes, "left running"));
  BOOST_TEST(processes_with("sleep 3001").empty());
  BOOST_TEST(zombies() == 0U);
}

BOOST_DATA_TEST_CASE(what_left_its_session_is_ended_too, both, cgroups) { // A09, the variant
  auto s = make_supervisor(contained(cgroups));
  auto r = run_process(*s, shell("setsid sleep 3002 & setsid sh -c 'sleep 3002 >/dev/null 2>&1 </dev/null & exit' & "
                                 "sleep 0.05; echo 0.5",
                                 100s));
  BOOST_TEST(r.out.text() == "0.5\n");
  BOOST_TEST(r.left_running);
  BOOST_TEST(processes_with("sleep 3002").empty());
  BOOST_TEST(zombies() == 0U);
}

BOOST_DATA_TEST_CASE(what_hides_its_environment_and_its_parent_is_ended_too, both, cgroups) {
  auto s = make_supervisor(contained(cgroups));
  auto r = run_process(*s, shell("setsid env -i sh -c 'sleep 3003 >/dev/null 2>&1 & exit'; sleep 0.05; echo 1"));
  BOOST_TEST(r.left_running);
  BOOST_TEST(processes_with("sleep 3003").empty());
  BOOST_TEST(zombies() == 0U);
}

BOOST_DATA_TEST_CASE(at_its_limit_the_whole_tree_is_ended, both, cgroups) { // A10
  auto s = make_supervisor(contained(cgroups));
  for (int i = 0; i < 3; ++i) {
    auto r = run_process(*s, shell("sleep 3004 & sh -c 'setsid sleep 3004' & sleep 3004", 300ms));
    BOOST_TEST((r.how == ending::timed_out));
    BOOST_TEST(r.wall >= 300ms);
    BOOST_TEST(processes_with("sleep 3004").empty());
    BOOST_TEST(zombies() == 0U);
  }
}

BOOST_DATA_TEST_CASE(what_ignores_the_polite_signal_is_killed, both, cgroups) {
  auto s = make_supervisor(contained(cgroups));
  auto r = run_process(
      *s, shell("trap '' TERM HUP INT; (trap '' TERM; setsid sleep 3005) & while :; do sleep 3005; done", 200ms));
  BOOST_TEST((r.how == ending::timed_out));
  BOOST_TEST(r.signal.value() == SIGKILL);
  BOOST_TEST(processes_with("sleep 3005").empty());
}

BOOST_DATA_TEST_CASE(what_heeds_the_polite_signal_may_clean_up, both, cgroups) {
  folder f;
  auto options = contained(cgroups);
  options.grace = 20s;
  auto s = make_supervisor(options);
  auto r = run_process(
      *s,
      shell("trap 'echo cleaned > " + f.path() + "/mark; exit 0' TERM; echo up; while :; do sleep 0.02; done", 300ms));
  BOOST_TEST((r.how == ending::timed_out));
  BOOST_TEST(f.read("mark") == "cleaned\n");
}

BOOST_DATA_TEST_CASE(a_stopped_process_is_ended_at_its_limit, both, cgroups) {
  auto s = make_supervisor(contained(cgroups));
  auto r = run_process(*s, shell("kill -STOP $$; sleep 3006", 200ms));
  BOOST_TEST((r.how == ending::timed_out));
  BOOST_TEST(processes_with("sleep 3006").empty());
}

BOOST_DATA_TEST_CASE(a_fork_bomb_is_ended, both, cgroups) {
  auto s = make_supervisor(contained(cgroups));
  // Bounded by its depth: 2^9 processes in all, so that a failing test harms nobody.
  folder f;
  std::string bomb =
      f.write("bomb", "#!/bin/sh\n[ $1 -gt 0 ] || exec sleep 3007\n$0 $(($1-1)) & $0 $(($1-1)) & wait\n", true);
  auto r = run_process(*s, shell("setsid " + bomb + " 8", 700ms));
  BOOST_TEST((r.how == ending::timed_out));
  for (const auto& note : r.notes) BOOST_TEST_MESSAGE(note);
  for (pid_t pid : processes_with("3007"))
    if (auto e = read_process(pid))
      BOOST_TEST_MESSAGE("left " << pid << " parent " << e->parent << " session " << e->session << " state " << e->state
                                 << " start " << e->start << " mark " << mark_of(pid));
  BOOST_TEST(processes_with("sleep 3007").empty());
  BOOST_TEST(processes_with(bomb).empty());
  BOOST_TEST(zombies() == 0U);
}

BOOST_DATA_TEST_CASE(a_process_can_be_cancelled, both, cgroups) {
  auto s = make_supervisor(contained(cgroups));
  answer<process_result> wait;
  auto id = s->start(shell("sleep 3008 & sleep 3008"), wait.callback());
  s->cancel(id);
  auto r = wait.get();
  BOOST_TEST((r.how == ending::cancelled));
  BOOST_TEST(processes_with("sleep 3008").empty());
  s->cancel(id); // done already: nothing happens
}

BOOST_DATA_TEST_CASE(two_hundred_run_at_once, both, cgroups) {
  auto s = make_supervisor(contained(cgroups));
  std::vector<answer<process_result>> all(200);
  for (std::size_t i = 0; i < all.size(); ++i)
    s->start(shell("sleep 0.2; echo " + std::to_string(i)), all[i].callback());
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto r = all[i].get();
    BOOST_TEST((r.how == ending::exited));
    BOOST_TEST(r.out.text() == std::to_string(i) + "\n");
    BOOST_TEST(!r.left_running);
  }
  BOOST_TEST(s->running() == 0U);
  BOOST_TEST(zombies() == 0U);
}

BOOST_DATA_TEST_CASE(one_trials_end_leaves_the_others_alone, both, cgroups) {
  auto s = make_supervisor(contained(cgroups));
  answer<process_result> longer;
  s->start(shell("setsid sleep 3009 & sleep 0.6; echo still here"), longer.callback());
  auto r = run_process(*s, shell("setsid sleep 3010 & sleep 300", 200ms));
  BOOST_TEST((r.how == ending::timed_out));
  BOOST_TEST(processes_with("sleep 3010").empty());
  BOOST_TEST(!processes_with("sleep 3009").empty());
  auto last = longer.get();
  BOOST_TEST((last.how == ending::exited));
  BOOST_TEST(last.out.text() == "still here\n");
  BOOST_TEST(processes_with("sleep 3009").empty());
}

BOOST_DATA_TEST_CASE(closing_the_supervisor_ends_what_runs, both, cgroups) {
  auto s = make_supervisor(contained(cgroups));
  std::string root = s->scratch().root();
  std::atomic<int> cancelled{0};
  for (int i = 0; i < 5; ++i)
    s->start(shell("trap '' TERM; setsid sleep 3011 & sleep 3011"), [&](process_result r) {
      if (r.how == ending::cancelled) ++cancelled;
    });
  BOOST_TEST(std::filesystem::exists(root));
  int guardian = s->guardian();
  BOOST_TEST(guardian > 0);
  s.reset();
  BOOST_TEST(cancelled == 5);
  BOOST_TEST(processes_with("sleep 3011").empty());
  BOOST_TEST(!std::filesystem::exists(root));
  BOOST_TEST(!read_process(guardian));
  BOOST_TEST(zombies() == 0U);
}

BOOST_AUTO_TEST_CASE(a_callback_may_drop_the_last_owner) {
  auto s = make_supervisor();
  auto* raw = s.get();
  std::promise<void> dropped;
  raw->start(shell("exit 0"), [held = std::move(s), &dropped](process_result) mutable {
    held.reset();
    dropped.set_value();
  });
  dropped.get_future().get();
}

BOOST_AUTO_TEST_CASE(a_callback_may_start_the_next_process) {
  auto s = make_supervisor();
  answer<process_result> last;
  s->start(shell("echo 1"), [&, done = last.callback()](process_result) { s->start(shell("echo 2"), done); });
  BOOST_TEST(last.get().out.text() == "2\n");
}

BOOST_AUTO_TEST_CASE(output_is_capped_and_a_flood_blocks_nobody) {
  auto s = make_supervisor();
  auto request = shell("head -c 5000000 /dev/zero | tr '\\0' x; echo; echo end");
  request.out_cap = 1000;
  auto r = run_process(*s, request);
  BOOST_TEST((r.how == ending::exited));
  BOOST_TEST(r.out.total == 5000005U);
  BOOST_TEST(r.out.head.size() == 500U);
  BOOST_TEST(r.out.tail.size() == 500U);
  BOOST_TEST(r.out.tail.ends_with("x\nend\n"));
  BOOST_TEST(has_note(r.notes, "standard output was capped: 5000005 bytes"));
  auto endless = run_process(*s, shell("yes", 2s));
  BOOST_TEST((endless.how == ending::timed_out));
  BOOST_TEST(endless.out.capped());
}

BOOST_AUTO_TEST_CASE(what_is_left_running_and_floods_does_not_hold_the_trial) {
  auto s = make_supervisor();
  auto r = run_process(*s, shell("yes & echo 1", 60s));
  BOOST_TEST((r.how == ending::exited));
  BOOST_TEST(r.left_running);
}

BOOST_AUTO_TEST_CASE(binary_output_is_kept_as_it_is) {
  auto s = make_supervisor();
  auto r = run_process(*s, shell("printf '\\000\\377\\001a'"));
  BOOST_TEST(r.out.text() == std::string("\0\xff\1a", 4));
}

BOOST_AUTO_TEST_CASE(standard_input_is_empty_and_there) {
  auto s = make_supervisor();
  auto r = run_process(*s, shell("cat; echo $?; ls /proc/self/fd | wc -l"));
  // 0, 1, 2 and the folder that ls reads: nothing of the host's is handed on.
  BOOST_TEST(r.out.text() == "0\n4\n");
}

BOOST_AUTO_TEST_CASE(a_program_that_is_not_there_is_said_clearly) {
  supervisor_options options;
  options.launch_patience = 0s; // for the folder, which might come again
  auto s = make_supervisor(options);
  process_request request;
  request.argv = {"attune-no-such-program"};
  auto r = run_process(*s, request);
  BOOST_TEST((r.how == ending::not_started));
  BOOST_TEST(!r.infrastructure);
  BOOST_TEST(r.message == "cannot run 'attune-no-such-program': No such file or directory (looked for in PATH)");
  request.argv = {"/etc/passwd"};
  r = run_process(*s, request);
  BOOST_TEST(r.message == "cannot run '/etc/passwd': Permission denied");
  request.argv = {"true"};
  request.directory = "/no/such/folder";
  r = run_process(*s, request);
  BOOST_TEST(r.message == "cannot run in the folder '/no/such/folder': No such file or directory");
  BOOST_TEST(r.infrastructure);
  BOOST_TEST(zombies() == 0U);
}

BOOST_AUTO_TEST_CASE(the_environment_is_added_to_the_tuners_own) {
  setenv("ATTUNE_TEST_KEPT", "kept", 1);
  setenv("ATTUNE_TEST_TAKEN", "old", 1);
  auto s = make_supervisor();
  auto request = shell("echo $ATTUNE_TEST_KEPT $ATTUNE_TEST_TAKEN");
  request.environment = {"ATTUNE_TEST_TAKEN=new"};
  BOOST_TEST(run_process(*s, request).out.text() == "kept new\n");
}

BOOST_AUTO_TEST_CASE(signals_that_the_host_ignores_or_blocks_are_the_childs_again) {
  auto before = std::signal(SIGPIPE, SIG_IGN);
  auto s = make_supervisor();
  auto r = run_process(*s, shell("grep -E 'Sig(Blk|Ign)' /proc/self/status"));
  std::signal(SIGPIPE, before);
  BOOST_TEST(r.out.text() == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

BOOST_AUTO_TEST_CASE(a_start_waits_for_descriptors_for_a_while) {
  auto s = make_supervisor();
  answer<process_result> wait;
  {
    const without_descriptors none;
    s->start(shell("echo late"), wait.callback());
    poll(nullptr, 0, 30); // it has tried by then, most likely
  }
  BOOST_TEST(wait.get().out.text() == "late\n");
}

BOOST_AUTO_TEST_CASE(a_start_that_waits_can_be_cancelled) {
  auto s = make_supervisor();
  answer<process_result> wait;
  const without_descriptors none;
  s->cancel(s->start(shell("echo never"), wait.callback()));
  const auto r = wait.get();
  BOOST_TEST((r.how == ending::cancelled));
  BOOST_TEST(r.message.empty());
}

BOOST_AUTO_TEST_CASE(a_start_that_waits_is_answered_with_its_supervisor) {
  supervisor_options options;
  options.launch_patience = 1h;
  auto s = make_supervisor(options);
  answer<process_result> wait;
  auto request = shell("echo never");
  request.directory = "/nowhere/at/all";
  s->start(std::move(request), wait.callback());
  s.reset();
  BOOST_TEST((wait.get().how == ending::cancelled));
}

BOOST_AUTO_TEST_CASE(a_start_without_patience_says_what_is_missing_and_blames_the_machine) {
  supervisor_options options;
  options.launch_patience = 0s;
  auto s = make_supervisor(options);
  answer<process_result> wait;
  const without_descriptors none;
  s->start(shell("echo never"), wait.callback());
  const auto r = wait.get();
  BOOST_TEST((r.how == ending::not_started));
  BOOST_TEST(r.infrastructure);
  BOOST_TEST(r.message.find("Too many open files") != std::string::npos, r.message);
}

// Whatever is missing at a start: pipes, a cgroup, the process's own descriptor.
BOOST_DATA_TEST_CASE(what_runs_ends_well_while_a_start_waits_for_descriptors, both, cgroups) {
  for (int spare = 0; spare < 10; ++spare) {
    folder at;
    auto s = make_supervisor(contained(cgroups));
    const std::string held_by = s->containment();
    answer<process_result> runs, waits;
    at.write("wait", "");
    auto request = shell(": > runs; while [ -e wait ]; do sleep 0.01; done; echo $$");
    request.directory = at.path();
    s->start(std::move(request), runs.callback());
    while (access((at.path() + "/runs").c_str(), F_OK) != 0) std::this_thread::yield();
    {
      const without_descriptors few(spare);
      s->start(shell("echo late"), waits.callback());
      poll(nullptr, 0, 10); // it has tried by then, most likely
      unlink((at.path() + "/wait").c_str());
    }
    const auto r = runs.get();
    BOOST_TEST((r.how == ending::exited), spare);
    BOOST_TEST(r.exit.value_or(-1) == 0, spare);
    BOOST_TEST(waits.get().out.text() == "late\n", spare);
    BOOST_TEST(s->containment() == held_by, spare);
  }
}

// Without a descriptor to spare nobody can be looked for, which is not the same as that there is nobody.
BOOST_DATA_TEST_CASE(what_is_left_running_while_there_are_no_descriptors_is_ended_all_the_same, both, cgroups) {
  folder at;
  auto s = make_supervisor(contained(cgroups));
  answer<process_result> wait;
  auto request = shell("(setsid sleep 7313 >/dev/null 2>&1 &); until [ -e go ]; do sleep 0.01; done; echo $$");
  request.directory = at.path();
  s->start(std::move(request), wait.callback());
  while (processes_with("sleep 7313").empty()) std::this_thread::yield();
  // The shell's own state can be read without another descriptor.
  const auto shells = processes_with("sleep 7313 >/dev/null");
  BOOST_REQUIRE(!shells.empty());
  const descriptor state(open(("/proc/" + std::to_string(shells.front()) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  at.write("go", "");
  {
    const without_descriptors none;
    const auto ended = [&] {
      std::array<char, 512> text{};
      const auto n = pread(state.get(), text.data(), text.size(), 0);
      const std::string_view line(text.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
      return n <= 0 || line.find(") Z ") != std::string_view::npos;
    };
    while (!ended()) std::this_thread::yield();
    // It may look more than once by now; a wrong answer would be there.
    poll(nullptr, 0, 50);
  }
  const auto r = wait.get();
  BOOST_TEST((r.how == ending::exited));
  BOOST_TEST(r.exit.value() == 0);
  BOOST_TEST(processes_with("sleep 7313").empty());
}

BOOST_AUTO_TEST_CASE(cpu_time_is_counted) {
  auto s = make_supervisor();
  auto r = run_process(*s, shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"));
  BOOST_TEST(r.used.cpu.count() > 0);
  BOOST_TEST(r.used.cpu <= r.wall + 50ms);
}

BOOST_AUTO_TEST_CASE(peak_memory_is_told_where_it_is_over_the_tuners_own) {
  auto s = make_supervisor();
  rusage own{};
  getrusage(RUSAGE_SELF, &own);
  if (own.ru_maxrss > 40000) {
    BOOST_TEST_MESSAGE("this test program is larger than what it would see (a sanitizer's memory): not looked at");
    return;
  }
  auto r = run_process(*s, shell("head -c 80000000 /dev/zero | tail -c 60000000 | wc -c"));
  BOOST_TEST(r.used.peak_bytes > 50000000U);
}

BOOST_AUTO_TEST_CASE(children_of_the_host_are_left_to_the_host) {
  auto s = make_supervisor();
  pid_t own = start_own("exit 7", false);
  // The supervisor looks for what it may reap at each process's end, and meets this one.
  for (int i = 0; i < 3; ++i) run_process(*s, shell("(setsid sleep 0.01 &)"));
  int status = 0;
  BOOST_TEST(waitpid(own, &status, 0) == own);
  BOOST_TEST(WEXITSTATUS(status) == 7);
}

BOOST_AUTO_TEST_CASE(a_host_with_children_of_its_own_is_no_reaper) {
  auto s = make_supervisor(contained(false, false));
  auto r = run_process(*s, shell("setsid sleep 3012 & sh -c 'setsid sleep 3012 & exit'; sleep 0.05; echo 1"));
  BOOST_TEST(r.left_running);
  BOOST_TEST(processes_with("sleep 3012").empty());
  // A daemon that this host starts itself is nobody's business.
  pid_t daemon = start_own("exec sleep 3013", true);
  run_process(*s, shell("sleep 300 & exit 0"));
  BOOST_TEST(kill(daemon, 0) == 0);
  kill(daemon, SIGKILL);
  int status = 0;
  BOOST_TEST(waitpid(daemon, &status, 0) == daemon);
}
