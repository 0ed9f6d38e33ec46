#include "cli/want.hpp"

#include "cli/output.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <new>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace attune::cli {

namespace {

constexpr std::string_view memory_is_out =
    "out of memory; what was measured is kept, and the same command goes on with the rest";
constexpr std::string_view threads_are_out =
    "no thread or process can be started: the limit of them (ulimit -u) or of memory is reached; what was measured is "
    "kept, and the same command goes on with the rest";
constexpr std::string_view nothing_is_in_order =
    "after a failure not all could be ended in order, most likely for want of threads or memory; what was measured is "
    "kept, and the same command goes on with the rest";
constexpr std::string_view descriptors_are_out =
    "nothing more can be opened: the limit of descriptors (ulimit -n) is reached";

bool is_want_of_descriptors(const std::exception& e) {
  // By number: Asio's codes have a category of their own.
  const auto* system = dynamic_cast<const std::system_error*>(&e);
  return system != nullptr && (system->code().value() == EMFILE || system->code().value() == ENFILE);
}

bool is_want_of_threads(const std::exception& e) {
  const auto* system = dynamic_cast<const std::system_error*>(&e);
  return system != nullptr && (system->code().value() == EAGAIN || system->code().value() == ENOMEM);
}

/// Without memory: what write(2) can do.
[[noreturn]] void end_at_once(std::string_view why) {
  // Where this cannot be written, the exit code tells.
  [[maybe_unused]] auto written = ::write(STDERR_FILENO, "attune: ", 8);
  written = ::write(STDERR_FILENO, why.data(), why.size());
  written = ::write(STDERR_FILENO, "\n", 1);
  ::_exit(exit_code::partial);
}

void end_without_memory() { end_at_once(memory_is_out); }

/// An exception on a thread that nobody waits on.
[[noreturn]] void end_by_exception() {
  try {
    if (const auto why = std::current_exception()) std::rethrow_exception(why);
    // A second failure while the first unwinds, such as a thread that is not joined any more.
    if (std::uncaught_exceptions() > 0) end_at_once(nothing_is_in_order);
  } catch (const std::bad_alloc&) {
    end_at_once(memory_is_out);
  } catch (const std::exception& e) {
    if (is_want_of_threads(e)) end_at_once(threads_are_out);
    if (is_want_of_descriptors(e)) end_at_once(descriptors_are_out);
    const std::string text = "attune: " + told_of(e) + "\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  } catch (...) {
    std::abort();
  }
  std::abort();
}

} // namespace

void be_ready_for_want() {
  for (int fd = 0; fd <= STDERR_FILENO;) {
    // The lowest that is free: reads of it give nothing, and writes to it fail, as they would have.
    fd = ::open("/dev/null", O_RDONLY);
    if (fd < 0) break;
    if (fd > STDERR_FILENO) ::close(fd);
  }
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_new_handler(end_without_memory);
  std::set_terminate(end_by_exception);
}

std::string told_of(const std::exception& e) {
  if (dynamic_cast<const std::bad_alloc*>(&e) != nullptr) return std::string(memory_is_out);
  if (is_want_of_threads(e)) return std::string(threads_are_out);
  if (is_want_of_descriptors(e)) return std::string(descriptors_are_out);
  return std::string("unexpected: ") + e.what();
}

} // namespace attune::cli
