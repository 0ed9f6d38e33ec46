#pragma once

#include <functional>
#include <memory>

namespace attune::cli {

/// Takes SIGINT and SIGTERM for as long as it lives. The first calls `stop` (on a thread of its own); the second ends
/// the process at once, with 128 and the signal's number as its exit code: nothing that was told is lost by that, and
/// the children die with the process. From the first on SIGPIPE is ignored: long work does not end because whoever
/// watched it has gone. One at a time in a process.
class interrupts {
public:
  explicit interrupts(std::function<void(int signal)> stop);
  ~interrupts();
  interrupts(const interrupts&) = delete;
  interrupts& operator=(const interrupts&) = delete;
  /// The first signal that came; 0: none. Any thread.
  int caught() const noexcept;

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace attune::cli
