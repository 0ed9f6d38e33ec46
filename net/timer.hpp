#pragma once

#include "core/clock.hpp"

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <optional>

namespace attune::net {

/// Time that somebody else moves, for the timers of a loop: what runs on it does so without the machine's clock. A
/// service of the loop; installed by asio::use_service<borrowed_time>(loop) before the first timer is made.
class borrowed_time final : public asio::execution_context::service {
public:
  using key_type = borrowed_time;
  static asio::execution_context::id id;
  explicit borrowed_time(asio::execution_context& loop) : service(loop) {}

  /// Calls `then` when so much time has passed, once, on the loop's thread. It may not call it at once.
  std::function<void(nanoseconds, std::function<void()> then)> after;

private:
  void shutdown() override { after = nullptr; }
};

/// A timer as Asio's, by the loop's clock: the machine's, or one that is borrowed.
/// Threads: the loop's. Cancelled by its destruction.
class timer {
public:
  explicit timer(asio::io_context& loop);
  timer(asio::io_context& loop, nanoseconds after) : timer(loop) { expires_after(after); }
  ~timer() { cancel(); }
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;

  /// Whoever waits hears that it is cancelled.
  void expires_after(nanoseconds d);
  /// `then` is called once: at the time, or cancelled. One waits at a time.
  void async_wait(std::function<void(const asio::error_code&)> then);
  void cancel();

private:
  struct waiting {
    std::function<void(const asio::error_code&)> then;
  };
  asio::io_context& loop_;
  borrowed_time* lent_;
  std::optional<asio::steady_timer> own_;
  nanoseconds after_{0};
  std::shared_ptr<waiting> waiting_;
};

} // namespace attune::net
