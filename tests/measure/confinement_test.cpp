// What is taken from processes, seen by real ones.
#include "measure/confinement.hpp"
#include "measure/scratch.hpp"
#include "measure/supervisor.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <netinet/in.h>
#include <unistd.h>

using namespace attune;
using namespace attune::measure;
namespace fs = std::filesystem;

namespace {

/// An account of nobody's: numbers need none.
constexpr uid_t stranger = 54321;

struct confined {
  explicit confined(confinement how) {
    supervisor_options o;
    o.confine = std::move(how);
    auto made = supervisor::create(std::move(o));
    BOOST_REQUIRE_MESSAGE(made.ok(), (made.ok() ? "" : made.err().message));
    processes = *made;
  }
  process_result run(const std::string& shell, const std::string& directory = {}, nanoseconds timeout = {}) {
    std::promise<process_result> ended;
    process_request r;
    r.argv = {"/bin/sh", "-c", shell};
    r.directory = directory;
    r.timeout = timeout;
    processes->start(std::move(r), [&](process_result e) { ended.set_value(std::move(e)); });
    return ended.get_future().get();
  }
  std::string says(const std::string& shell, const std::string& directory = {}) {
    const auto e = run(shell, directory);
    auto out = std::string(e.out.text());
    while (!out.empty() && out.back() == '\n') out.pop_back();
    BOOST_TEST_INFO(e.message + std::string(e.err.text()));
    BOOST_TEST((e.how == process_result::ending::exited));
    return out;
  }
  std::shared_ptr<supervisor> processes;
};

confinement another_user() {
  confinement c;
  c.no_new_privileges = c.own_temporary = true;
  c.who = confinement::identity{stranger, stranger};
  return c;
}

bool root() {
  if (::geteuid() == 0) return true;
  BOOST_TEST_MESSAGE("not root: nobody can be made another user here");
  return false;
}

} // namespace

BOOST_AUTO_TEST_SUITE(confinement_suite)

BOOST_AUTO_TEST_CASE(without_confinement_nothing_is_taken) {
  confined c({});
  BOOST_TEST(c.says("id -u") == std::to_string(::geteuid()));
  BOOST_TEST(c.says("sed -n 's/^NoNewPrivs:\\t//p' /proc/self/status") == "0");
  BOOST_TEST(!c.processes->network_taken());
}

BOOST_AUTO_TEST_CASE(no_privileges_are_gained_and_limits_hold) {
  confinement how;
  how.no_new_privileges = true;
  how.limits = {{RLIMIT_AS, rlim_t{2} << 30}, {RLIMIT_NOFILE, 77}, {RLIMIT_FSIZE, 1 << 20}, {RLIMIT_CPU, 5}};
  confined c(how);
  BOOST_TEST(c.says("sed -n 's/^NoNewPrivs:\\t//p' /proc/self/status") == "1");
  BOOST_TEST(c.says("ulimit -v; ulimit -n; ulimit -t") == "2097152\n77\n5");
  // Soft and hard: it cannot be taken back.
  if (!root()) BOOST_TEST(c.says("ulimit -n 100 2>&1 || echo no").find("no") != std::string::npos);
  // What is beyond fails where it happens.
  const auto full = c.run("trap '' XFSZ; head -c 2000000 /dev/zero > big; echo $?; stat -c %s big",
                          *c.processes->scratch().make_folder());
  BOOST_TEST(std::string(full.out.text()).find("1048576") != std::string::npos, std::string(full.out.text()));
  const auto spins = c.run("ulimit -t 1; while :; do :; done");
  BOOST_TEST((spins.how == process_result::ending::signalled));
}

BOOST_AUTO_TEST_CASE(another_user_runs_it_in_no_other_group_and_sees_what_was_given_to_him) {
  if (!root()) return;
  confined c(another_user());
  const auto who = std::to_string(stranger);
  BOOST_TEST(c.says("id -u; id -g; id -G") == who + "\n" + who + "\n" + who);
  BOOST_TEST(c.says("sed -n 's/^CapEff:\\t//p' /proc/self/status") == "0000000000000000");
  auto& scratch = c.processes->scratch();
  const auto mine = *scratch.make_folder(), his = *scratch.make_folder();
  std::ofstream(mine + "/secret") << "secret";
  ::chmod((mine + "/secret").c_str(), 0644);
  std::ofstream(his + "/given") << "given";
  ::chmod((his + "/given").c_str(), 0600);
  fs::create_directories(his + "/sub");
  fs::create_symlink(mine + "/secret", his + "/link");
  BOOST_REQUIRE(scratch.hand_over(his).ok());
  BOOST_TEST(c.says("cat given; echo more > sub/made; cat sub/made", his) == "givenmore");
  BOOST_TEST(c.says("cat " + mine + "/secret 2> /dev/null || echo no") == "no");
  BOOST_TEST(c.says("ls " + scratch.root() + " 2> /dev/null || echo no") == "no");
  // Only the link was given, not what it leads to.
  struct stat s {};
  BOOST_REQUIRE(::stat((mine + "/secret").c_str(), &s) == 0);
  BOOST_TEST(s.st_uid == ::geteuid());
  // A folder that is not his is told as what it is: the machine's fault.
  const auto none = c.run("true", mine);
  BOOST_TEST((none.how == process_result::ending::not_started));
  BOOST_TEST(none.message.find(mine) != std::string::npos, none.message);
}

BOOST_AUTO_TEST_CASE(all_that_another_user_leaves_behind_is_ended) {
  if (!root()) return;
  confined c(another_user());
  const auto e = c.run("setsid sleep 987 & sleep 987", {}, std::chrono::milliseconds(300));
  BOOST_TEST((e.how == process_result::ending::timed_out));
  BOOST_TEST(e.notes.empty(), (e.notes.empty() ? "" : e.notes.front()));
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream in(entry.path() / "cmdline");
    std::string text;
    std::getline(in, text, '\0');
    if (text == "sleep") {
      std::getline(in, text, '\0');
      BOOST_TEST(text != "987");
    }
  }
#ifdef __x86_64__
  // A change of identity clears it; it must be there again.
  const auto perl = "exec perl -e 'my $s = pack(\"i\", 0); syscall(" + std::to_string(SYS_prctl) +
                    ", 2, $s, 0, 0, 0); print unpack(\"i\", $s)'";
  BOOST_TEST(c.says(perl) == "9");
#endif
}

BOOST_AUTO_TEST_CASE(each_process_has_a_temporary_folder_of_its_own_that_goes_with_it) {
  confinement how;
  how.own_temporary = true;
  confined c(how);
  const auto first = c.says("touch $TMPDIR/left; mkdir $TMPDIR/sub; stat -c %a $TMPDIR; echo $TMPDIR");
  BOOST_REQUIRE(first.starts_with("700\n"));
  const auto folder = first.substr(4);
  BOOST_TEST(folder.starts_with(c.processes->scratch().root()));
  BOOST_TEST(!fs::exists(folder));
  BOOST_TEST(c.says("echo $TMPDIR; ls -A $TMPDIR") != folder);
  if (!root()) return;
  confined other(another_user());
  BOOST_TEST(other.says("mktemp -d > /dev/null && stat -c %u $TMPDIR; [ $HOME = $TMPDIR ] && echo home") ==
             std::to_string(stranger) + "\nhome");
}

BOOST_AUTO_TEST_CASE(there_is_no_network_where_the_kernel_can_take_it) {
  confinement how;
  how.no_network = true;
  confined c(how);
  if (!c.processes->network_taken()) {
    BOOST_TEST_MESSAGE("the kernel permits no network namespace here");
    return;
  }
  // Somebody listens here, and this process itself still reaches him.
  const descriptor door(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), here(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  auto* const where = reinterpret_cast<sockaddr*>(&at);
  BOOST_REQUIRE(::bind(door.get(), where, sizeof at) == 0);
  BOOST_REQUIRE(::listen(door.get(), 8) == 0);
  BOOST_REQUIRE(::getsockname(door.get(), where, &size) == 0);
  BOOST_REQUIRE(::connect(here.get(), where, sizeof at) == 0);
  const auto call =
      "bash -c ': < /dev/tcp/127.0.0.1/" + std::to_string(ntohs(at.sin_port)) + "' 2> /dev/null && echo in || echo out";
  BOOST_TEST(c.says(call) == "out");
  BOOST_TEST(c.says("sed 1,2d /proc/net/dev | cut -d: -f1 | tr -d ' '") == "lo");
  confined open({});
  BOOST_TEST(open.says(call) == "in");
}

BOOST_AUTO_TEST_SUITE_END()
