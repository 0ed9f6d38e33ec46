#include "measure/launcher.hpp"

#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <string_view>

namespace attune::measure {

namespace {

/// All that the child reads, and the two words that it writes; it lives in the memory of the tuner.
struct child_plan {
  const char* const* programs; ///< the paths to try, in order, null at the end
  char* const* argv;
  char* const* environment;
  const char* directory; ///< null: stay
  int in, out, err;
  pid_t parent;
  bool outlives;
  const cpu_set_t* cpus; ///< null: as the tuner
  perf_event_attr* counters;
  std::size_t counter_count;
  const confinement* confine;                ///< null: nothing is taken
  const std::pair<int, rlim_t>* limit_kinds; ///< of it
  const rlimit* limits;                      ///< for each, what the child may have
  std::size_t limit_count;
  int* opened; ///< written by the child: the descriptors of the counters, in the tuner's table
  // Written by the child, read by the tuner once it runs again.
  volatile int failed_step;
  volatile int code;
};

// The kernel's struct sigaction, zero filled: SIG_DFL with no flags, whatever the order of its fields. The C library's
// sigaction is not used: sanitizers keep tables of handlers in memory that the child shares with the tuner.
struct kernel_default_action {
  std::uint64_t words[8] = {};
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ATTUNE_PLAIN __attribute__((no_sanitize("address", "thread")))
#else
#define ATTUNE_PLAIN
#endif

/// The child gives up what it is not to have; 0, or why not.
ATTUNE_PLAIN int confine_child(const child_plan* plan) {
  const confinement* to = plan->confine;
  for (std::size_t i = 0; i < plan->limit_count; ++i)
    if (syscall(SYS_prlimit64, 0, plan->limit_kinds[i].first, &plan->limits[i], nullptr) != 0) return errno;
  if (to->who) {
    // The kernel's own: the C library would have all threads of the tuner follow.
    if (syscall(SYS_setgroups, 0, nullptr) != 0) return errno;
    const gid_t group = to->who->group;
    if (syscall(SYS_setresgid, group, group, group) != 0) return errno;
    const uid_t user = to->who->user;
    if (syscall(SYS_setresuid, user, user, user) != 0) return errno;
    // Another identity takes it away.
    if (!plan->outlives) {
      syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
      if (syscall(SYS_getppid) != plan->parent) syscall(SYS_exit_group, 127);
    }
  }
  if (to->no_new_privileges && syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  return 0;
}

/// Runs in the child: system calls only, through syscall(), which no sanitizer wraps.
ATTUNE_PLAIN int run_child(void* raw) {
  auto* plan = static_cast<child_plan*>(raw);
  syscall(SYS_setsid);
  if (plan->counter_count > 0) {
    // The table is the tuner's still: what is opened here stays open there.
    for (std::size_t i = 0; i < plan->counter_count; ++i) {
      long fd = syscall(SYS_perf_event_open, &plan->counters[i], 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
      plan->opened[i] = static_cast<int>(fd);
      if (fd < 0) {
        plan->failed_step = static_cast<int>(launch_result::step::counter);
        plan->code = errno;
        syscall(SYS_exit_group, 127);
      }
    }
    if (syscall(SYS_unshare, CLONE_FILES) != 0) {
      plan->failed_step = static_cast<int>(launch_result::step::counter);
      plan->code = errno;
      syscall(SYS_exit_group, 127);
    }
  }
  if (!plan->outlives) {
    syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    // The tuner may have died before the line above: then nobody would end this process.
    if (syscall(SYS_getppid) != plan->parent) syscall(SYS_exit_group, 127);
  }
  kernel_default_action standard;
  for (int signal = 1; signal < 65; ++signal)
    syscall(SYS_rt_sigaction, signal, &standard, nullptr, sizeof(std::uint64_t));
  std::uint64_t none = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof none);
  syscall(SYS_dup3, plan->in, 0, 0);
  syscall(SYS_dup3, plan->out, 1, 0);
  syscall(SYS_dup3, plan->err, 2, 0);
  // Whatever the host opened without O_CLOEXEC stays with the host (kernels before 5.11 do not know this call).
  syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
  rlimit no_core{0, 0};
  syscall(SYS_prlimit64, 0, RLIMIT_CORE, &no_core, nullptr);
  if (plan->cpus) syscall(SYS_sched_setaffinity, 0, sizeof(cpu_set_t), plan->cpus);
  // When memory is out, the kernel is to take the candidate and not the tuner.
  long score = plan->outlives ? -1 : syscall(SYS_openat, AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC, 0);
  if (score >= 0) syscall(SYS_write, score, "500", 3);
  if (plan->confine) {
    const int why = confine_child(plan);
    if (why != 0) {
      plan->failed_step = static_cast<int>(launch_result::step::confine);
      plan->code = why;
      syscall(SYS_exit_group, 127);
    }
  }
  if (plan->directory && syscall(SYS_chdir, plan->directory) != 0) {
    plan->failed_step = static_cast<int>(launch_result::step::directory);
    plan->code = errno;
    syscall(SYS_exit_group, 127);
  }
  // As execvp does: a program that is there but may not be run is the better answer than "not found".
  int code = ENOENT;
  for (const char* const* program = plan->programs; *program; ++program) {
    syscall(SYS_execve, *program, plan->argv, plan->environment);
    if (errno != ENOENT && errno != ENOTDIR) code = errno;
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) break;
  }
  plan->failed_step = static_cast<int>(launch_result::step::exec);
  plan->code = code;
  syscall(SYS_exit_group, 127);
  return 127;
}

std::vector<std::string> programs_for(const launch_request& request) {
  const std::string& name = request.argv[0];
  if (name.empty() || name.find('/') != std::string::npos) return {name};
  std::string_view path = "/usr/local/bin:/usr/bin:/bin";
  for (const std::string& entry : request.environment)
    if (entry.starts_with("PATH=")) path = std::string_view(entry).substr(5);
  std::vector<std::string> out;
  while (true) {
    auto colon = path.find(':');
    auto folder = path.substr(0, colon);
    out.push_back((folder.empty() ? std::string(".") : std::string(folder)) + "/" + name);
    if (colon == std::string_view::npos) break;
    path.remove_prefix(colon + 1);
  }
  return out;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

/// A stack for the child, one for each thread that spawns: the tuner is suspended while it is in use.
class child_stack {
public:
  child_stack()
      : memory_(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)) {}
  ~child_stack() {
    if (memory_ != MAP_FAILED) munmap(memory_, size);
  }
  bool ok() const { return memory_ != MAP_FAILED; }
  char* base() const { return static_cast<char*>(memory_); }
  char* top() const { return base() + size; }
  static constexpr std::size_t size = 128 * 1024;

private:
  void* memory_;
};

#ifdef __x86_64__
/// clone3 with a stack of the child's own; the C library of Debian 12 has no wrapper for it. Returns as the kernel
/// does.
ATTUNE_PLAIN long clone3_call(clone_args* args, int (*entry)(void*), void* argument) {
  long result = 0;
  asm volatile("syscall\n\t"
               "testq %%rax, %%rax\n\t"
               "jnz 1f\n\t"
               "xorl %%ebp, %%ebp\n\t" // the child: on its own stack, never to return
               "movq %[argument], %%rdi\n\t"
               "callq *%[entry]\n\t"
               "hlt\n"
               "1:"
               : "=a"(result)
               : "a"(static_cast<long>(SYS_clone3)), "D"(args),
                 "S"(sizeof *args), [entry] "r"(entry), [argument] "r"(argument)
               : "rcx", "r11", "memory", "cc");
  return result;
}
#endif

} // namespace

bool can_launch_into_cgroup() noexcept {
#ifdef __x86_64__
  return true;
#else
  return false;
#endif
}

launch_result launch(const launch_request& request) {
  launch_result result;
  thread_local child_stack stack;
  if (!stack.ok()) {
    result.failed = launch_result::step::clone;
    result.code = ENOMEM;
    return result;
  }
  auto programs = programs_for(request);
  auto program_pointers = pointers(programs);
  auto argv = pointers(request.argv);
  auto environment = pointers(request.environment);
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (int cpu : request.cpus)
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(cpu, &cpus);

  auto counters = request.counters;
  std::vector<int> opened(counters.size(), -1);
  std::vector<rlimit> limits;
  const std::pair<int, rlim_t>* limit_kinds = nullptr;
  if (request.confine) {
    limit_kinds = request.confine->limits.data();
    for (const auto& [kind, most] : request.confine->limits) {
      rlimit own{};
      const bool known = getrlimit(static_cast<__rlimit_resource_t>(kind), &own) == 0;
      const rlim_t to = known ? std::min(most, own.rlim_max) : most;
      limits.push_back({to, to});
    }
  }
  const unsigned long long sharing = counters.empty() ? 0 : CLONE_FILES;

  child_plan plan{program_pointers.data(),
                  argv.data(),
                  environment.data(),
                  request.directory.empty() ? nullptr : request.directory.c_str(),
                  request.in,
                  request.out,
                  request.err,
                  getpid(),
                  request.outlives,
                  request.cpus.empty() ? nullptr : &cpus,
                  counters.data(),
                  counters.size(),
                  request.confine && request.confine->any() ? request.confine : nullptr,
                  limit_kinds,
                  limits.data(),
                  limits.size(),
                  opened.data(),
                  0,
                  0};

  // A handler of the host must not run in the child, which shares the host's memory: no signal until they are reset.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int pidfd = -1;
  long pid = -1;
  int code = 0;
#ifdef __x86_64__
  clone_args args{};
  args.flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | sharing;
  args.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  args.exit_signal = SIGCHLD;
  args.stack = reinterpret_cast<std::uint64_t>(stack.base());
  args.stack_size = child_stack::size;
  if (request.cgroup >= 0) {
    args.flags |= CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(request.cgroup);
  }
  // Also without a cgroup: thread sanitizers wrap the C library's clone as a fork, in memory that the child shares
  // here.
  pid = clone3_call(&args, run_child, &plan);
  if (pid < 0) code = static_cast<int>(-pid);
  // Container engines answer so for a call that their filter is too old to know.
  bool unknown = pid < 0 && request.cgroup < 0 && (code == ENOSYS || code == EPERM);
#else
  bool unknown = true;
#endif
  if (unknown) {
    pid = clone(run_child, stack.top(), CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD | static_cast<int>(sharing),
                &plan, &pidfd);
    code = pid < 0 ? errno : 0;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  for (int fd : opened) result.counters.emplace_back(fd);

  if (pid < 0) {
    result.failed = launch_result::step::clone;
    result.code = code;
    return result;
  }
  descriptor fd(pidfd);
  if (plan.failed_step != 0) {
    siginfo_t info{};
    while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED) != 0 && errno == EINTR) {
    }
    result.failed = static_cast<launch_result::step>(plan.failed_step);
    result.code = plan.code;
    return result;
  }
  result.pid = static_cast<pid_t>(pid);
  result.pidfd = std::move(fd);
  return result;
}

std::string explain(const launch_result& result, const launch_request& request) {
  std::string why = std::strerror(result.code); // NOLINT(concurrency-mt-unsafe): glibc's is safe for known numbers
  const std::string& program = request.argv.empty() ? request.directory : request.argv[0];
  switch (result.failed) {
  case launch_result::step::done:
    return {};
  case launch_result::step::clone:
    return "cannot make a process for '" + program + "': " + why;
  case launch_result::step::counter:
    return "cannot count the events of '" + program + "': " + why;
  case launch_result::step::confine:
    return "cannot confine '" + program + "': " + why;
  case launch_result::step::directory:
    return "cannot run in the folder '" + request.directory + "': " + why;
  case launch_result::step::exec:
    break;
  }
  std::string text = "cannot run '" + program + "': " + why;
  if (result.code == ENOENT && program.find('/') == std::string::npos) text += " (looked for in PATH)";
  if (result.code == ENOENT && program.find('/') != std::string::npos)
    text += " (the file, or the interpreter that its first line names)";
  if (result.code == ENOEXEC) text += " (neither a program nor a script with a #! line)";
  if (result.code == E2BIG) text += " (its arguments and environment are longer than the kernel takes)";
  return text;
}

bool is_infrastructure(const launch_result& result) noexcept {
  if (result.failed == launch_result::step::clone || result.failed == launch_result::step::counter ||
      result.failed == launch_result::step::confine)
    return true;
  // The folder of the spec or of the trial, which were there when the search began.
  if (result.failed == launch_result::step::directory) return true;
  switch (result.code) {
  case EAGAIN:
  case ENOMEM:
  case EMFILE:
  case ENFILE:
  case ENOSPC:
  case EIO:
    return !result.ok();
  default:
    return false;
  }
}

} // namespace attune::measure
