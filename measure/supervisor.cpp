#include "measure/supervisor.hpp"

#include "measure/cgroup.hpp"
#include "measure/guardian.hpp"
#include "measure/launcher.hpp"
#include "measure/process_tree.hpp"
#include "measure/scratch.hpp"

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <mutex>
#include <sched.h>
#include <set>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace attune::measure {

namespace {

using clock = std::chrono::steady_clock;

/// Ticks since boot, as /proc/PID/stat counts the start of a process.
std::uint64_t boot_ticks() {
  static const long per_second = sysconf(_SC_CLK_TCK);
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * static_cast<std::uint64_t>(per_second) +
         static_cast<std::uint64_t>(now.tv_nsec) / (1'000'000'000U / static_cast<std::uint64_t>(per_second));
}

/// waitid on a pidfd, with what the process used (the C library's waitid does not ask for it).
bool wait_pidfd(int pidfd, siginfo_t& info, rusage* used, int flags) {
  info = {};
  long r = 0;
  while ((r = syscall(SYS_waitid, P_PIDFD, pidfd, &info, flags, used)) != 0 && errno == EINTR) {
  }
  return r == 0 && info.si_pid != 0;
}

nanoseconds of(const timeval& t) { return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec); }

std::uint64_t own_peak_bytes() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
}

/// Of this program alone: the figure above also holds what started it.
std::uint64_t own_peak_bytes_since_exec() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("VmHWM:")) {
      const auto digits = line.find_first_of("0123456789");
      if (digits != std::string::npos) return std::strtoull(line.c_str() + digits, nullptr, 10) * 1024;
    }
  return own_peak_bytes();
}

/// A descriptor that is none of 0, 1 and 2, which the child's are copied to.
descriptor above_standard(int fd) {
  descriptor out(fd);
  if (fd >= 0 && fd < 3) out.reset(fcntl(fd, F_DUPFD_CLOEXEC, 3));
  return out;
}

struct pipe_pair {
  descriptor read, write;
  bool ok() const { return read && write; }
};

pipe_pair make_pipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  pipe_pair out{above_standard(ends[0]), above_standard(ends[1])};
  // The reading end alone: a program that finds its standard output non-blocking loses what it writes.
  if (out.read) fcntl(out.read.get(), F_SETFL, O_NONBLOCK);
  return out;
}

/// Makes this process the one that orphans below it are given to, as long as one of these is there.
class adoption {
public:
  adoption() {
    std::lock_guard lock(mutex_);
    if (count_++ == 0) {
      prctl(PR_GET_CHILD_SUBREAPER, &before_, 0, 0, 0);
      prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    }
  }
  ~adoption() {
    std::lock_guard lock(mutex_);
    if (--count_ == 0) prctl(PR_SET_CHILD_SUBREAPER, before_, 0, 0, 0);
  }
  adoption(const adoption&) = delete;
  adoption& operator=(const adoption&) = delete;

private:
  static inline std::mutex mutex_;
  static inline int count_ = 0, before_ = 0;
};

/// Lets this thread go first, where it may: among hundreds of processes that all want to run, each look at them would
/// take seconds.
class urgent {
public:
  urgent() {
    errno = 0;
    before_ = getpriority(PRIO_PROCESS, 0);
    raised_ = errno == 0 && setpriority(PRIO_PROCESS, 0, -20) == 0;
  }
  ~urgent() {
    if (raised_) setpriority(PRIO_PROCESS, 0, before_);
  }
  urgent(const urgent&) = delete;
  urgent& operator=(const urgent&) = delete;

private:
  int before_ = 0;
  bool raised_ = false;
};

} // namespace

class supervisor::impl : public std::enable_shared_from_this<supervisor::impl> {
public:
  impl(supervisor_options options, std::unique_ptr<measure::scratch> folders)
      : options_(std::move(options)), scratch_(std::move(folders)), work_(asio::make_work_guard(io_)) {
    // What Asio opens for itself is opened here, where it can be told that it cannot be.
    const asio::posix::stream_descriptor descriptors(io_);
    const asio::steady_timer timers(io_);
    static std::atomic<unsigned> serial{0};
    mark_ = own_stamp().text() + "-" + std::to_string(serial++) + ".";
    null_ = above_standard(open("/dev/null", O_RDWR | O_CLOEXEC));
    own_session_ = getsid(0);
    buffer_.resize(64 << 10);
  }

  status run() {
    try {
      replier_ = std::thread([self = shared_from_this()] { self->reply(); });
      watcher_ = std::thread([self = shared_from_this()] { self->watch(); });
    } catch (const std::system_error& e) {
      {
        std::lock_guard lock(mutex_);
        no_more_ = true;
      }
      changed_.notify_all();
      if (replier_.joinable()) replier_.join();
      return error{errc::io, "no thread can be started to watch processes: " + e.code().message(), {}};
    }
    std::unique_lock lock(mutex_);
    started_.wait(lock, [this] { return ready_; });
    return {};
  }

  process_id start(process_request request, callback done) {
    process_id id = next_++;
    live_.fetch_add(1);
    std::lock_guard lock(mutex_);
    if (closed_) {
      replies_.emplace_back(std::move(done), closing());
      changed_.notify_one();
      return id;
    }
    asio::post(io_, [this, id, request = std::move(request), done = std::move(done)]() mutable {
      launch_child(id, std::move(request), std::move(done));
    });
    return id;
  }

  void cancel(process_id id) {
    asio::post(io_, [this, id] {
      if (auto waits = waiting_.extract(id)) {
        auto& c = *waits.mapped();
        c.timer.cancel();
        c.result = {};
        c.result.how = process_result::ending::cancelled;
        return answer(c);
      }
      auto at = children_.find(id);
      if (at != children_.end() && at->second->now == child::phase::running)
        terminate(at->second, process_result::ending::cancelled);
    });
  }

  void stop() {
    asio::post(io_, [this] {
      stopping_ = true;
      for (auto& [id, c] : std::exchange(waiting_, {})) {
        c->timer.cancel();
        c->result = closing();
        answer(*c);
      }
      auto all = children_;
      for (auto& [id, c] : all) {
        if (c->now == child::phase::done) continue;
        if (!c->verdict) c->verdict = process_result::ending::cancelled;
        if (c->now != child::phase::killing) kill_all(c);
      }
      work_.reset();
    });
    watcher_.join();
    {
      // What a callback starts from now on is answered at once; what it started just before is still in the queue.
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    io_.restart();
    io_.poll();
    {
      std::lock_guard lock(mutex_);
      no_more_ = true;
    }
    changed_.notify_all();
    if (replier_.get_id() == std::this_thread::get_id())
      replier_.detach(); // a callback dropped the last owner: the thread ends by itself, holding what it needs
    else
      replier_.join();
  }

  measure::scratch& scratch() { return *scratch_; }
  std::size_t running() const { return live_.load(); }
  const char* containment() const { return cgroups_ && !refused_ ? "cgroup" : "process tree"; }
  int guardian_pid() const { return guardian_pid_; }
  bool network_taken() const { return network_taken_; }

private:
  struct child {
    enum class phase { running, terminating, killing, done };
    explicit child(asio::io_context& io) : pidfd(io), out_pipe(io), err_pipe(io), timer(io), out(0), err(0) {}

    process_id id = 0;
    process_request request;
    callback done;
    pid_t pid = -1;
    std::uint64_t start_ticks = 0;
    std::string mark;
    clock::time_point begun, ended, phase_end;
    std::vector<descriptor> counters;
    phase now = phase::running;
    bool exited = false;
    std::optional<process_result::ending> verdict; ///< why it was ended, where it was
    nanoseconds pause{0};                          ///< between two looks at what is left
    std::size_t left_before = 0;                   ///< at the last look
    std::unique_ptr<measure::cgroup> group;
    asio::posix::stream_descriptor pidfd, out_pipe, err_pipe;
    asio::steady_timer timer;
    capture out, err;
    process_result result;
    std::set<std::string> left_names;
    std::string temporary; ///< its own folder; empty: none
  };
  using child_ptr = std::shared_ptr<child>;

  static process_result closing() {
    process_result out;
    out.how = process_result::ending::cancelled;
    out.message = "the supervisor is being closed";
    return out;
  }

  // --- the supervising thread

  void watch() {
    pthread_setname_np(pthread_self(), "attune-watch");
    std::optional<adoption> adopting;
    if (options_.adopt_orphans) adopting.emplace();
    // Of this thread alone, and so of all that it starts: nothing is done again for each of them.
    network_taken_ = options_.confine.no_network && ::unshare(CLONE_NEWNET) == 0;
    if (options_.cgroups && can_launch_into_cgroup()) cgroups_ = cgroup_pool::open("attune-" + mark_);
    if (cgroups_ && !survives_in_cgroup()) cgroups_.reset();
    if (options_.guardian) {
      auto made = measure::guardian::start(std::string(mark_name) + "=" + mark_, cgroups_ ? cgroups_->path() : "",
                                           scratch_->root());
      if (made) {
        guardian_.emplace(std::move(*made));
        guardian_pid_ = guardian_->pid();
        // Where /proc/loadavg is not the kernel's own (some container tools invent one), the pid given last cannot be
        // relied upon; the guardian's birth tells.
        auto last = last_pid();
        last_pid_works_ = last && *last >= guardian_pid_ && *last < guardian_pid_ + 1000;
      }
    }
    {
      std::lock_guard lock(mutex_);
      ready_ = true;
    }
    started_.notify_all();
    io_.run();
    guardian_.reset();
    reap_strays();
    cgroups_.reset();
  }

  /// True where a process that is born in one of our cgroups lives: a rule of the host's may forbid it, and kernels
  /// from 6.14 on kill it at once where the tuner's own cgroup was killed before the tuner came into it.
  bool survives_in_cgroup() {
    auto group = cgroups_->take();
    if (!group || !null_) return false;
    launch_request request;
    request.argv = {"/bin/sh", "-c", ":"};
    request.in = request.out = request.err = null_.get();
    request.cgroup = group->descriptor_of();
    auto launched = launch(request);
    if (!launched.ok()) return false;
    siginfo_t info{};
    bool ended = wait_pidfd(launched.pidfd.get(), info, nullptr, WEXITED);
    cgroups_->give(std::move(group));
    return ended && info.si_code == CLD_EXITED && info.si_status == 0;
  }

  void launch_child(process_id id, process_request request, callback done) {
    auto c = std::make_shared<child>(io_);
    c->id = id;
    c->request = std::move(request);
    c->done = std::move(done);
    c->out = capture(c->request.out_cap);
    c->err = capture(c->request.err_cap);
    c->mark = mark_ + std::to_string(id);
    launch_now(c);
  }

  /// What could not be started for want of something is tried again soon; once that has lasted too long, it is
  /// answered.
  void put_off(const child_ptr& c) {
    const auto now = clock::now();
    if (!wanting_since_ || now - last_want_ > options_.launch_patience) wanting_since_ = now;
    last_want_ = now;
    if (now - *wanting_since_ >= options_.launch_patience) return answer(*c);
    waiting_.emplace(c->id, c);
    c->timer.expires_after(std::chrono::milliseconds(20));
    c->timer.async_wait([this, c](const asio::error_code& failed) {
      if (!failed && waiting_.erase(c->id) > 0) launch_now(c);
    });
  }

  void launch_now(const child_ptr& c) {
    if (stopping_) {
      c->result = closing();
      return answer(*c);
    }
    auto out = make_pipe(), err = make_pipe();
    if (!out.ok() || !err.ok() || !null_) {
      c->result.message = std::string("cannot make a pipe: ") + std::strerror(errno);
      c->result.infrastructure = true;
      return put_off(c);
    }
    if (options_.confine.own_temporary && c->temporary.empty()) {
      auto made = scratch_->make_folder();
      const auto given = made ? scratch_->hand_over(*made) : status(made.err());
      if (made) c->temporary = *made;
      if (!given) {
        c->result.message = given.err().message;
        c->result.infrastructure = true;
        return answer(*c);
      }
    }
    launch_request launching;
    launching.confine = &options_.confine;
    launching.argv = c->request.argv;
    launching.environment = environment_for(*c);
    launching.directory = c->request.directory;
    launching.in = null_.get();
    launching.out = out.write.get();
    launching.err = err.write.get();
    launching.cpus = c->request.cpus;
    launching.counters = c->request.counters;
    if (cgroups_ && !refused_) c->group = cgroups_->take();
    launching.cgroup = c->group ? c->group->descriptor_of() : -1;
    c->start_ticks = boot_ticks();
    c->begun = clock::now();
    auto launched = launch(launching);
    const bool wanting =
        launched.code == EAGAIN || launched.code == ENOMEM || launched.code == EMFILE || launched.code == ENFILE;
    if (!launched.ok() && launched.failed == launch_result::step::clone && c->group && !wanting) {
      // A cgroup that does not take processes (a threaded one, a rule of the host's): the tree does instead.
      c->group.reset();
      refused_ = true;
      launching.cgroup = -1;
      launched = launch(launching);
    }
    if (!launched.ok()) {
      if (c->group) cgroups_->give(std::move(c->group));
      c->result.message = explain(launched, launching);
      c->result.infrastructure = is_infrastructure(launched);
      return c->result.infrastructure ? put_off(c) : answer(*c);
    }
    wanting_since_.reset();
    c->result.message.clear();
    c->result.infrastructure = false;
    // The kernel's figures are sums over processors that may lag a little.
    c->result.peak_floor = c->request.peak ? own_peak_bytes_since_exec() + (std::uint64_t{1} << 20) : own_peak_bytes();
    c->counters = std::move(launched.counters);
    c->pid = launched.pid;
    asio::error_code code;
    c->pidfd.assign(launched.pidfd.release(), code);
    c->out_pipe.assign(out.read.release(), code);
    c->err_pipe.assign(err.read.release(), code);
    children_.emplace(c->id, c);
    read_more(c, c->out_pipe, c->out);
    read_more(c, c->err_pipe, c->err);
    c->pidfd.async_wait(asio::posix::stream_descriptor::wait_read, [this, c](const asio::error_code& failed) {
      if (!failed) on_exit(c);
    });
    if (c->request.timeout > nanoseconds{0}) {
      c->timer.expires_at(c->begun + c->request.timeout);
      c->timer.async_wait([this, c](const asio::error_code& failed) {
        if (!failed && c->now == child::phase::running && !c->exited) terminate(c, process_result::ending::timed_out);
      });
    }
  }

  std::vector<std::string> environment_for(const child& c) const {
    std::vector<std::string> out = c.request.environment;
    out.push_back(std::string(mark_name) + "=" + c.mark);
    if (!c.temporary.empty()) out.push_back("TMPDIR=" + c.temporary);
    if (!c.temporary.empty() && options_.confine.who) out.push_back("HOME=" + c.temporary);
    std::size_t own = out.size();
    auto name_of_entry = [](std::string_view entry) { return entry.substr(0, entry.find('=')); };
    std::vector<std::string_view> names;
    names.reserve(own);
    for (const auto& entry : out) names.push_back(name_of_entry(entry));
    std::sort(names.begin(), names.end());
    std::vector<std::string> inherited;
    for (char** entry = environ; entry && *entry; ++entry)
      if (!std::binary_search(names.begin(), names.end(), name_of_entry(*entry))) inherited.emplace_back(*entry);
    out.insert(out.end(), std::make_move_iterator(inherited.begin()), std::make_move_iterator(inherited.end()));
    return out;
  }

  void read_more(const child_ptr& c, asio::posix::stream_descriptor& pipe, capture& into) {
    pipe.async_wait(asio::posix::stream_descriptor::wait_read, [this, c, &pipe, &into](const asio::error_code& failed) {
      if (failed || !pipe.is_open()) return;
      // A few pieces at a time, so that one that floods does not keep the others waiting.
      for (int i = 0; i < 4; ++i) {
        ssize_t n = ::read(pipe.native_handle(), buffer_.data(), buffer_.size());
        if (n > 0) {
          into.add({buffer_.data(), static_cast<std::size_t>(n)});
          if (static_cast<std::size_t>(n) < buffer_.size()) break;
          continue;
        }
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) break;
        asio::error_code ignored;
        pipe.close(ignored);
        return;
      }
      read_more(c, pipe, into);
    });
  }

  /// Takes what the pipe holds at this moment and no more: something that was left running may write for ever.
  void drain(asio::posix::stream_descriptor& pipe, capture& into) {
    if (!pipe.is_open()) return;
    int held = 0;
    if (ioctl(pipe.native_handle(), FIONREAD, &held) != 0) return;
    while (held > 0) {
      ssize_t n =
          ::read(pipe.native_handle(), buffer_.data(), std::min(buffer_.size(), static_cast<std::size_t>(held)));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;
      into.add({buffer_.data(), static_cast<std::size_t>(n)});
      held -= static_cast<int>(n);
    }
  }

  void on_exit(const child_ptr& c) {
    c->ended = clock::now();
    c->exited = true;
    // The zombie is kept until nobody is left: as long as it is there, its pid names this session and no other.
    siginfo_t info{};
    if (wait_pidfd(c->pidfd.native_handle(), info, nullptr, WEXITED | WNOHANG | WNOWAIT)) {
      if (info.si_code == CLD_EXITED)
        c->result.exit = info.si_status;
      else
        c->result.signal = info.si_status;
    }
    drain(c->out_pipe, c->out);
    drain(c->err_pipe, c->err);
    switch (c->now) {
    case child::phase::running: {
      c->timer.cancel();
      auto left = left_after_exit(*c);
      if (left.none()) return complete(c);
      note_left(*c, left.seen);
      kill_all(c);
      return;
    }
    case child::phase::terminating:
      if (alive(*c).none()) complete(c);
      return;
    case child::phase::killing: // the look at what is left goes on by its timer
    case child::phase::done:
      return;
    }
  }

  // --- what is left

  void note_left(child& c, const std::vector<process_entry>& left) const {
    if (left.empty()) return;
    c.result.left_running = true;
    // Names without pids: the repeats of one trial are to say the same thing.
    for (const auto& entry : left)
      if (std::string name = name_of(entry.pid); c.left_names.size() < 3 && !name.empty()) c.left_names.insert(name);
  }

  std::vector<pid_t> known_pids(const child* but) const {
    std::vector<pid_t> out;
    if (guardian_pid_ != 0) out.push_back(guardian_pid_);
    for (const auto& [id, c] : children_)
      if (c.get() != but) out.push_back(c->pid);
    return out;
  }

  /// What is left of a trial, as far as that can be seen.
  struct remains {
    std::vector<process_entry> seen;
    bool blind = false; ///< there may be more: without a descriptor to spare nobody can be looked at
    bool none() const noexcept { return seen.empty() && !blind; }
  };

  /// Every process of this trial that has not ended.
  remains alive(const child& c) const {
    remains found;
    auto& out = found.seen;
    if (c.group) {
      for (int attempt = 0; attempt < 100; ++attempt) {
        for (pid_t pid : c.group->members())
          if (auto entry = read_process(pid); entry && !entry->dead()) out.push_back(*entry);
        // A process that has just ended may still be counted while it is in nobody's list.
        if (!out.empty() || !c.group->populated()) return found;
        sched_yield();
      }
      found.blind = true;
      return found;
    }
    auto all = list_processes(&found.blind);
    auto others = known_pids(&c), known = others;
    known.push_back(c.pid);
    std::vector<pid_t> reapers, adopted;
    if (!options_.adopt_orphans) reapers = ancestors(all, getpid());
    reapers.push_back(getpid());
    for (const auto& entry : orphans(all, reapers, c.start_ticks, own_session_, known))
      if (!entry.dead() && is_of(entry, c)) adopted.push_back(entry.pid);
    for (auto& entry : descendants(all, c.pid, c.start_ticks, adopted, others))
      if (!entry.dead()) out.push_back(entry);
    return found;
  }

  /// Whose orphan it is. The mark tells; one of ours that has none (it has changed its environment) belongs to the last
  /// of those trials that may have started it.
  bool is_of(const process_entry& entry, const child& c) const {
    std::string mark = mark_of(entry.pid);
    if (mark == c.mark) return true;
    if (!options_.adopt_orphans) return false;
    for (const auto& [id, other] : children_)
      if (other.get() != &c && (mark == other->mark || other->start_ticks <= entry.start)) return false;
    return true;
  }

  /// The same as alive(), made cheap for the usual case that a process ends and leaves nothing behind.
  remains left_after_exit(const child& c) const {
    if (c.group) {
      if (!c.group->populated()) return {};
      return alive(c);
    }
    // Only what was born after the process can descend from it, and the kernel gives pids in turn. Long runs, in which
    // the numbers may have gone round, and those with many births meanwhile take the long way.
    constexpr pid_t few = 64;
    auto last = last_pid();
    if (!last_pid_works_ || !last || *last < c.pid || *last - c.pid > few ||
        c.ended - c.begun > std::chrono::seconds(10))
      return alive(c);
    remains found;
    for (pid_t pid = c.pid + 1; pid <= *last; ++pid)
      if (auto entry = read_process(pid, &found.blind); entry && !entry->dead() && entry->start >= c.start_ticks) {
        bool foreign = false;
        for (const auto& [id, other] : children_) foreign = foreign || other->pid == pid;
        if (!foreign) return alive(c);
      }
    return found;
  }

  // --- ending it

  /// SIGTERM to all of them, the grace, then kill_all().
  void terminate(const child_ptr& c, process_result::ending why) {
    c->verdict = why;
    c->now = child::phase::terminating;
    c->phase_end = clock::now() + options_.grace;
    for (const auto& entry : alive(*c).seen) {
      signal_process(entry, SIGTERM);
      // One that is stopped does not see SIGTERM until it goes on.
      signal_process(entry, SIGCONT);
    }
    c->pause = std::chrono::milliseconds(2);
    look_again(c);
  }

  void kill_all(const child_ptr& c) {
    c->now = child::phase::killing;
    c->phase_end = clock::now() + options_.kill_limit;
    c->pause = std::chrono::microseconds(250);
    strike(*c);
    look_again(c);
  }

  void strike(child& c) const {
    if (c.group) return c.group->kill();
    // What is stopped does not fork. They are stopped until a look finds no new one, and only then killed: a bomb that
    // forks faster than it is killed stands still first.
    urgent hurry;
    std::vector<pid_t> stopped;
    std::vector<process_entry> all;
    auto until = clock::now() + std::chrono::milliseconds(200);
    do {
      all = alive(c).seen;
      bool fresh = false;
      for (const auto& entry : all) {
        if (std::find(stopped.begin(), stopped.end(), entry.pid) != stopped.end()) continue;
        fresh = true;
        stopped.push_back(entry.pid);
        signal_process(entry, SIGSTOP);
      }
      if (!fresh) break;
    } while (clock::now() < until);
    for (const auto& entry : all) signal_process(entry, SIGKILL);
  }

  void look_again(const child_ptr& c) {
    c->timer.expires_after(c->pause);
    c->pause = std::min<nanoseconds>(c->pause * 2, std::chrono::milliseconds(20));
    c->timer.async_wait([this, c](const asio::error_code& failed) {
      if (failed || c->now == child::phase::done) return;
      const auto found = alive(*c);
      if (found.none() && c->exited) return complete(c);
      const auto& left = found.seen;
      // One that ended by itself while nobody could look after what it left.
      if (!c->verdict && !c->result.left_running) note_left(*c, left);
      // Death takes its time on a machine that many of them keep busy: the limit is for what does not get less.
      if (c->now == child::phase::killing && left.size() < c->left_before)
        c->phase_end = clock::now() + options_.kill_limit;
      c->left_before = left.size();
      if (clock::now() >= c->phase_end) {
        if (c->now == child::phase::terminating) return kill_all(c);
        for (const auto& entry : left)
          c->result.notes.push_back("process " + std::to_string(entry.pid) + " (" + name_of(entry.pid) +
                                    ") could not be ended: state " + std::string(1, entry.state));
        if (found.blind)
          c->result.notes.emplace_back("what it may have left running could not be looked for: no descriptor to spare");
        if (!c->exited && left.empty())
          c->result.notes.push_back("the end of process " + std::to_string(c->pid) + " was not reported");
        return complete(c);
      }
      if (c->now == child::phase::killing) strike(*c);
      look_again(c);
    });
  }

  void complete(const child_ptr& c) {
    c->now = child::phase::done;
    c->timer.cancel();
    siginfo_t info{};
    rusage used{};
    if (wait_pidfd(c->pidfd.native_handle(), info, &used, WEXITED | WNOHANG)) {
      c->result.used.cpu = of(used.ru_utime) + of(used.ru_stime);
      auto peak = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
      c->result.used.peak_bytes = peak > c->result.peak_floor ? peak : 0;
    }
    for (const descriptor& fd : c->counters) c->result.counters.push_back(read_counter(fd.get()));
    c->counters.clear();
    if (!c->exited) c->ended = clock::now();
    c->result.wall = c->ended - c->begun;
    if (c->verdict)
      c->result.how = *c->verdict;
    else
      c->result.how = c->result.signal ? process_result::ending::signalled : process_result::ending::exited;
    asio::error_code ignored;
    c->pidfd.close(ignored);
    c->out_pipe.close(ignored);
    c->err_pipe.close(ignored);
    if (c->group && !c->group->populated()) cgroups_->give(std::move(c->group));
    c->group.reset();
    c->result.out = c->out.take();
    c->result.err = c->err.take();
    auto note_cap = [&](const captured& stream, const char* name) {
      if (stream.capped())
        c->result.notes.push_back(std::string(name) + " was capped: " + std::to_string(stream.total) +
                                  " bytes written, the first " + std::to_string(stream.head.size()) + " and the last " +
                                  std::to_string(stream.tail.size()) + " kept");
    };
    note_cap(c->result.out, "standard output");
    note_cap(c->result.err, "standard error");
    if (c->result.left_running) {
      std::string names;
      for (const auto& name : c->left_names) names += (names.empty() ? "" : ", ") + name;
      c->result.notes.push_back("something was left running and was ended: " + names);
    }
    children_.erase(c->id);
    if (options_.adopt_orphans) reap_strays();
    answer(*c);
  }

  /// Takes the zombies that the kernel handed over with their dead parents. Children in the tuner's own session are
  /// somebody else's to wait for (popen), those that are known are reaped where they are completed.
  void reap_strays() {
    if (!options_.adopt_orphans) return;
    auto known = known_pids(nullptr);
    for (int round = 0; round < 10000; ++round) {
      siginfo_t info{};
      if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
      auto entry = read_process(info.si_pid);
      if (!entry || entry->session == own_session_ || std::find(known.begin(), known.end(), info.si_pid) != known.end())
        break; // one that is not ours stands in front of the rest
      waitid(P_PID, static_cast<id_t>(info.si_pid), &info, WEXITED | WNOHANG);
    }
    const pid_t self = getpid();
    for (const auto& entry : orphans(list_processes(), {&self, 1}, 0, own_session_, known)) {
      siginfo_t info{};
      if (entry.dead()) waitid(P_PID, static_cast<id_t>(entry.pid), &info, WEXITED | WNOHANG);
    }
  }

  // --- the replying thread

  void answer(child& c) {
    c.now = child::phase::done;
    if (!c.temporary.empty() && ::rmdir(c.temporary.c_str()) != 0) remove_tree(c.temporary);
    {
      std::lock_guard lock(mutex_);
      replies_.emplace_back(std::move(c.done), std::move(c.result));
    }
    changed_.notify_one();
  }

  void reply() {
    pthread_setname_np(pthread_self(), "attune-reply");
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return !replies_.empty() || no_more_; });
      if (replies_.empty()) return;
      auto [done, answered] = std::move(replies_.front());
      replies_.pop_front();
      lock.unlock();
      live_.fetch_sub(1);
      if (done) done(std::move(answered));
      done = nullptr; // what it holds may be the last owner of this supervisor: not under the lock
      lock.lock();
    }
  }

  supervisor_options options_;
  std::unique_ptr<measure::scratch> scratch_;
  std::string mark_;
  descriptor null_;
  pid_t own_session_ = 0;
  std::vector<char> buffer_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::map<process_id, child_ptr> children_;
  std::map<process_id, child_ptr> waiting_; ///< to be started as soon as that is possible
  std::optional<clock::time_point> wanting_since_;
  clock::time_point last_want_;
  std::unique_ptr<cgroup_pool> cgroups_; ///< stays while processes are in it
  bool refused_ = false;                 ///< it takes no more of them
  std::optional<measure::guardian> guardian_;
  std::atomic<int> guardian_pid_{0};
  std::atomic<bool> network_taken_{false};
  bool last_pid_works_ = false;
  bool stopping_ = false;

  std::atomic<process_id> next_{1};
  std::atomic<std::size_t> live_{0};
  std::mutex mutex_;
  std::condition_variable started_, changed_;
  bool ready_ = false, closed_ = false, no_more_ = false;
  std::deque<std::pair<callback, process_result>> replies_;
  std::thread watcher_, replier_;
};

result<std::shared_ptr<supervisor>> supervisor::create(supervisor_options options) {
  // What a dead tuner has left: its guardian may have been killed with it.
  for (const auto& entry : list_processes()) {
    process_stamp stamp;
    if (std::string mark = mark_of(entry.pid); stamp.read(mark) && stamp.gone()) signal_process(entry, SIGKILL);
  }
  sweep_cgroups();
  auto folders = measure::scratch::open(options.temporary);
  if (!folders) return folders.err();
  if (const auto& who = options.confine.who)
    if (auto admitted = (*folders)->admit(who->user, who->group); !admitted) return admitted.err();
  try {
    auto body = std::make_shared<impl>(std::move(options), std::move(*folders));
    if (auto running = body->run(); !running) return running.err();
    return std::shared_ptr<supervisor>(new supervisor(std::move(body)));
  } catch (const std::system_error& e) {
    return error{errc::io, std::string("processes cannot be watched: ") + e.what(), {}};
  }
}

supervisor::supervisor(std::shared_ptr<impl> body) : body_(std::move(body)) {}
supervisor::~supervisor() { body_->stop(); }
supervisor::process_id supervisor::start(process_request request, callback done) {
  return body_->start(std::move(request), std::move(done));
}
void supervisor::cancel(process_id id) { body_->cancel(id); }
measure::scratch& supervisor::scratch() noexcept { return body_->scratch(); }
std::size_t supervisor::running() const { return body_->running(); }
const char* supervisor::containment() const noexcept { return body_->containment(); }
bool supervisor::network_taken() const noexcept { return body_->network_taken(); }
int supervisor::guardian() const noexcept { return body_->guardian_pid(); }

} // namespace attune::measure
