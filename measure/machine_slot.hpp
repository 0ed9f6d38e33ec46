#pragma once

#include "core/clock.hpp"
#include "core/error.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace attune::measure {

/// One slot of this machine among several processes: whoever has it times a run, the others wait, so that runs which
/// are timed at once do not disturb one another. The processes that open the same file and number share the slot.
///
/// It is a lock of the kernel on a byte of the file (an open file description lock), which goes with its process
/// however that ends. A second byte is a gate: who waits for the slot holds it, so that a process that has just had its
/// turn cannot take the next one before another that waits. Nothing but the taking costs anything: two system calls
/// where nobody else is there. Waiting is done by a thread that sleeps in the kernel.
///
/// Threads: every function from any thread; one acquire() at a time, until release() or cancel().
class machine_slot {
public:
  /// How the turn came: after how long, and whether it is a turn at all, or `patience` was over and the run goes ahead
  /// beside whatever holds the slot.
  struct turn {
    nanoseconds waited{0};
    bool alone = true;
  };
  using callback = std::function<void(turn)>;

  /// Makes the file (mode 0600) where it is not there. Errors: io.
  static result<std::shared_ptr<machine_slot>> open(const std::string& file, std::uint32_t number,
                                                    nanoseconds patience = std::chrono::minutes(10));
  ~machine_slot();
  machine_slot(const machine_slot&) = delete;
  machine_slot& operator=(const machine_slot&) = delete;

  /// Calls `granted` once: before it returns where the slot is free, else from another thread. False in that case.
  bool acquire(callback granted);
  /// Gives the slot back. Without a turn: nothing happens.
  void release();
  /// Gives up waiting: true where the callback will not be called any more.
  bool cancel();

private:
  struct state;
  explicit machine_slot(std::shared_ptr<state> s);
  std::shared_ptr<state> state_;
};

} // namespace attune::measure
