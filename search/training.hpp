#pragma once

#include <atomic>
#include <mutex>

namespace attune::search {

/// One training of a strategy's model, to be run beside everything else: it owns a snapshot of what it learns from, and
/// what comes of it is a function of that snapshot, whoever runs it and whenever.
/// Threads: run() and done() from any; the strategy that made it reads the outcome when it is done.
class training {
public:
  virtual ~training() = default;
  training() = default;
  training(const training&) = delete;
  training& operator=(const training&) = delete;

  /// Does the work, once: who comes second waits for the first. Takes some milliseconds. Where the work fails, nothing
  /// was learned: it is done all the same.
  void run() noexcept {
    const std::lock_guard guard(lock_);
    if (done()) return;
    try {
      work();
    } catch (...) {
      give_up();
    }
    done_.store(true, std::memory_order_release);
  }
  bool done() const noexcept { return done_.load(std::memory_order_acquire); }

protected:
  virtual void work() = 0;
  /// Leaves no outcome.
  virtual void give_up() noexcept = 0;

private:
  std::mutex lock_;
  std::atomic<bool> done_{false};
};

} // namespace attune::search
