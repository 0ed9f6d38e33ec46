#include "measure/machine_slot.hpp"

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace attune::measure {

/// Shared with the threads that wait, which may outlive the object: a wait in the kernel cannot be called off.
struct machine_slot::state {
  ~state() {
    if (file >= 0) ::close(file);
  }

  bool lock(off_t byte, short kind, bool wait) const {
    struct flock what {};
    what.l_type = kind;
    what.l_whence = SEEK_SET;
    what.l_start = byte;
    what.l_len = 1;
    int done = 0;
    do done = ::fcntl(file, wait ? F_OFD_SETLKW : F_OFD_SETLK, &what);
    while (done != 0 && errno == EINTR);
    return done == 0;
  }
  bool take(off_t byte, bool wait) const { return lock(byte, F_WRLCK, wait); }
  void give(off_t byte) const { lock(byte, F_UNLCK, false); }

  int file = -1;
  off_t gate = 0, slot = 0;
  nanoseconds patience{0};

  std::mutex guard;
  std::condition_variable changed;
  callback pending; ///< who waits
  nanoseconds since{0};
  std::uint64_t ticket = 0;
  bool held = false, helper = false;
};

namespace {

template <class State>
void wait_for_turn(const std::shared_ptr<State>& s) {
  // A file system without locks shares no turns: the run goes ahead.
  s->take(s->gate, true);
  s->take(s->slot, true);
  s->give(s->gate);
  machine_slot::callback granted;
  machine_slot::turn turn;
  {
    const std::lock_guard guard(s->guard);
    s->helper = false;
    granted = std::exchange(s->pending, nullptr);
    s->held = static_cast<bool>(granted);
    if (!granted) s->give(s->slot);
    turn.waited = system_time().monotonic() - s->since;
  }
  s->changed.notify_all();
  if (granted) granted(turn);
}

template <class State>
void watch_patience(const std::shared_ptr<State>& s, std::uint64_t ticket) {
  machine_slot::callback granted;
  {
    std::unique_lock guard(s->guard);
    const auto over = [&] { return !s->pending || s->ticket != ticket; };
    if (s->changed.wait_for(guard, s->patience, over)) return;
    granted = std::exchange(s->pending, nullptr);
  }
  granted({s->patience, false});
}

} // namespace

machine_slot::machine_slot(std::shared_ptr<state> s) : state_(std::move(s)) {}

machine_slot::~machine_slot() {
  cancel();
  release();
}

result<std::shared_ptr<machine_slot>> machine_slot::open(const std::string& file, std::uint32_t number,
                                                         nanoseconds patience) {
  auto s = std::make_shared<state>();
  s->file = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (s->file < 0) return error{errc::io, "cannot open '" + file + "': " + std::strerror(errno), {}};
  s->gate = static_cast<off_t>(number) * 2;
  s->slot = s->gate + 1;
  s->patience = patience;
  return std::shared_ptr<machine_slot>(new machine_slot(std::move(s)));
}

bool machine_slot::acquire(callback granted) {
  auto& s = *state_;
  turn at_once;
  {
    const std::lock_guard guard(s.guard);
    const bool free = !s.helper && s.take(s.gate, false) && s.take(s.slot, false);
    if (free) {
      s.give(s.gate);
      s.held = true;
    } else {
      s.pending = std::move(granted);
      s.since = system_time().monotonic();
      ++s.ticket;
      try {
        if (!s.helper) std::thread([s = state_] { wait_for_turn(s); }).detach();
        s.helper = true;
        std::thread([s = state_, ticket = s.ticket] { watch_patience(s, ticket); }).detach();
        return false;
      } catch (const std::system_error&) {
        // Without a thread nobody can wait for it.
        granted = std::exchange(s.pending, nullptr);
        at_once.alone = false;
      }
    }
  }
  granted(at_once);
  return true;
}

void machine_slot::release() {
  const std::lock_guard guard(state_->guard);
  if (std::exchange(state_->held, false)) state_->give(state_->slot);
}

bool machine_slot::cancel() {
  bool waited = false;
  {
    const std::lock_guard guard(state_->guard);
    waited = static_cast<bool>(std::exchange(state_->pending, nullptr));
  }
  state_->changed.notify_all();
  return waited;
}

} // namespace attune::measure
