#pragma once

#include "net/timer.hpp"
#include "testing/timeline.hpp"

#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace attune::testing {

/// The loop of one life of a simulated process: it turns when it is told to, and its timers go by a timeline. What was
/// to happen on it after its end does not happen. Threads: one owner.
class process_loop {
public:
  explicit process_loop(timeline& time) : alive_(std::make_shared<process_loop*>(this)) {
    asio::use_service<net::borrowed_time>(loop_).after =
        [&time, weak = std::weak_ptr(alive_)](nanoseconds d, std::function<void()> then) {
          time.after(d, [weak, then = std::move(then)] {
            if (const auto self = weak.lock()) asio::post((*self)->loop_, then);
          });
        };
  }
  ~process_loop() { alive_.reset(); }
  process_loop(const process_loop&) = delete;
  process_loop& operator=(const process_loop&) = delete;

  asio::io_context& loop() noexcept { return loop_; }
  /// Runs what is given to it on this loop; to be given to others.
  std::function<void(std::function<void()>)> runner() {
    return [weak = std::weak_ptr(alive_)](std::function<void()> what) {
      if (const auto self = weak.lock()) asio::post((*self)->loop_, std::move(what));
    };
  }
  /// Does one thing that is to be done; false: there is none.
  bool turn() {
    loop_.restart();
    return loop_.poll_one() > 0;
  }

private:
  asio::io_context loop_{1};
  std::shared_ptr<process_loop*> alive_;
};

} // namespace attune::testing
