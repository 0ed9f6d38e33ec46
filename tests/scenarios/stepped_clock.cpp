// Loaded before the C library (LD_PRELOAD), it steps the wall clock of a program by as many seconds as the file named
// by STEPPED_CLOCK_SECONDS says at that moment. The monotonic clocks stay as they are. It calls nothing that a
// sanitizer would watch: one asks for the time before it is set up.
#include <sys/syscall.h>
#include <sys/time.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

namespace {

long step() {
  const char* path = std::getenv("STEPPED_CLOCK_SECONDS");
  if (path == nullptr) return 0;
  const auto fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  std::array<char, 32> text{};
  const auto got = syscall(SYS_read, fd, text.data(), text.size());
  syscall(SYS_close, fd);
  long seconds = 0;
  if (got > 0) std::from_chars(text.data(), text.data() + got, seconds);
  return seconds;
}

} // namespace

extern "C" {

int clock_gettime(clockid_t id, timespec* t) noexcept {
  const auto answer = static_cast<int>(syscall(SYS_clock_gettime, id, t));
  if (answer == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) t->tv_sec += step();
  return answer;
}

time_t time(time_t* to) noexcept {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  if (to != nullptr) *to = t.tv_sec;
  return t.tv_sec;
}

int gettimeofday(timeval* __restrict to, void* __restrict) noexcept {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  to->tv_sec = t.tv_sec;
  to->tv_usec = t.tv_nsec / 1000;
  return 0;
}
}
