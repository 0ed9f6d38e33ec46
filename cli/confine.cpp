#include "cli/confine.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <unistd.h>

namespace attune::cli {

namespace {

/// Whether `unshare --net` works here; asked of the program itself.
bool can_unshare() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execlp("unshare", "unshare", "--net", "--", "true", nullptr);
    ::_exit(127);
  }
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void behind(command& c, const std::vector<std::string>& words) {
  if (c.empty()) return;
  if (!c.shell.empty()) {
    c.argv = {"/bin/sh", "-c", c.shell};
    c.shell.clear();
  }
  c.argv.insert(c.argv.begin(), words.begin(), words.end());
}

} // namespace

confinement_means confinement() {
  confinement_means out;
  // Of this process, and so of all that it starts.
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    out.messages.emplace_back("--confine: the kernel does not keep processes from new privileges");
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  if (!can_unshare()) {
    out.messages.emplace_back("--confine: the network cannot be taken away here (unshare --net is not permitted)");
    return out;
  }
  out.apply = [](task_spec& spec) {
    const std::vector<std::string> words{"unshare", "--net", "--"};
    if (spec.build) behind(spec.build->run, words);
    behind(spec.run.run, words);
    behind(spec.run.check.run, words);
  };
  return out;
}

} // namespace attune::cli
