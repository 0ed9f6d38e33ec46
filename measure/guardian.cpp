#include "measure/guardian.hpp"

#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>

namespace attune::measure {

namespace {

// $1: the mark, $2: the cgroup or nothing, $3: the private folder. Only what every POSIX system has.
constexpr const char* script = R"sh(
trap '' HUP INT QUIT TERM PIPE
cd /
word=
read -r word
[ "$word" = dismissed ] && exit 0
[ -n "$2" ] && echo 1 > "$2/cgroup.kill"
round=0
before=
while [ $round -lt 200 ]; do
  pids=
  for file in $(grep -lsaF -e "$1" /proc/[0-9]*/environ); do
    file=${file#/proc/}
    pids="$pids ${file%/environ}"
  done
  [ -z "$pids" ] && break
  kill -STOP $pids
  if [ "$pids" = "$before" ] || [ $round -gt 20 ]; then kill -KILL $pids; fi
  before=$pids
  round=$((round + 1))
done
if [ -n "$2" ]; then
  round=0
  while [ -d "$2" ] && [ $round -lt 50 ]; do
    rmdir "$2"/* "$2"
    round=$((round + 1))
  done
fi
rm -rf -- "$3"
)sh";

} // namespace

result<guardian> guardian::start(const std::string& mark, const std::string& cgroup, const std::string& folder) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0)
    return error{errc::io, std::string("cannot make a pipe for the guardian: ") + std::strerror(errno), {}};
  descriptor in(ends[0]), out(ends[1]);
  if (in.get() < 3) in.reset(fcntl(in.get(), F_DUPFD_CLOEXEC, 3));
  if (out.get() < 3) out.reset(fcntl(out.get(), F_DUPFD_CLOEXEC, 3));
  descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (null && null.get() < 3) null.reset(fcntl(null.get(), F_DUPFD_CLOEXEC, 3));
  if (!in || !out || !null)
    return error{errc::io, std::string("no descriptor for the guardian: ") + std::strerror(errno), {}};
  launch_request request;
  request.argv = {"/bin/sh", "-c", script, "attune-guardian", mark, cgroup, folder};
  request.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C"};
  request.in = in.get();
  request.out = request.err = null.get();
  request.outlives = true;
  auto launched = launch(request);
  if (!launched.ok()) return error{errc::io, explain(launched, request), {}};
  return guardian(launched.pid, std::move(launched.pidfd), std::move(out));
}

guardian::~guardian() {
  if (!pipe_) return;
  static constexpr char word[] = "dismissed\n";
  // Only this class ever writes into that pipe. A guardian that was killed leaves nobody to read: no SIGPIPE for that.
  sigset_t broken, before;
  sigemptyset(&broken);
  sigaddset(&broken, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &broken, &before);
  if (write(pipe_.get(), word, sizeof word - 1) < 0) {
    timespec now{};
    sigtimedwait(&broken, nullptr, &now);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pipe_.reset();
  siginfo_t info{};
  while (waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED) != 0 && errno == EINTR) {
  }
}

} // namespace attune::measure
