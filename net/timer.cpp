#include "net/timer.hpp"

#include <asio/post.hpp>

#include <utility>

namespace attune::net {

asio::execution_context::id borrowed_time::id;

timer::timer(asio::io_context& loop)
    : loop_(loop), lent_(asio::has_service<borrowed_time>(loop) ? &asio::use_service<borrowed_time>(loop) : nullptr) {
  if (lent_ == nullptr) own_.emplace(loop);
}

void timer::expires_after(nanoseconds d) {
  if (own_) {
    own_->expires_after(d);
    return;
  }
  cancel();
  after_ = d;
}

void timer::async_wait(std::function<void(const asio::error_code&)> then) {
  if (own_) {
    own_->async_wait(std::move(then));
    return;
  }
  waiting_ = std::make_shared<waiting>(waiting{std::move(then)});
  if (!lent_->after) return; // the loop is being destroyed
  lent_->after(after_, [weak = std::weak_ptr(waiting_)] {
    const auto w = weak.lock();
    if (!w || !w->then) return;
    std::exchange(w->then, nullptr)(asio::error_code());
  });
}

void timer::cancel() {
  if (own_) {
    own_->cancel();
    return;
  }
  const auto w = std::exchange(waiting_, nullptr);
  if (!w || !w->then) return;
  asio::post(loop_, [then = std::exchange(w->then, nullptr)] { then(asio::error::operation_aborted); });
}

} // namespace attune::net
