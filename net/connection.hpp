#pragma once

#include "core/clock.hpp"
#include "net/frame.hpp"
#include "net/link.hpp"

#include <asio/basic_waitable_timer.hpp>
#include <asio/buffer.hpp>
#include <asio/post.hpp>
#include <asio/write.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace attune::net {

/// What a peer may cost. A limit of zero time is none.
struct connection_limits {
  std::size_t greeting_bytes = 4096;                ///< the longest frame before established()
  std::size_t frame_bytes = std::size_t{16} << 20;  ///< the longest after it
  std::size_t queued_bytes = std::size_t{32} << 20; ///< on their way out; beyond half of it nothing more is read
  nanoseconds handshake = std::chrono::seconds(5);  ///< from the start to established()
  nanoseconds frame = std::chrono::seconds(10);     ///< from the first byte of a frame to its last
  nanoseconds idle{0};                              ///< between two frames
  nanoseconds write = std::chrono::seconds(20);     ///< for what is being written to be taken
};

/// Frames over a stream of Asio's: a socket, or TLS over one. It reads as its owner keeps up (a frame is handled before
/// the next is read, and none is read while the peer does not take the answers), writes from a bounded queue, and ends
/// the connection at the first limit that is passed. `Clock` measures the deadlines.
///
/// Threads: all calls and callbacks on the thread that runs the stream's executor. Lives until its operations are over.
template <class Stream, class Clock = std::chrono::steady_clock>
class connection final : public link, public std::enable_shared_from_this<connection<Stream, Clock>> {
public:
  /// `peer`: what peer() answers.
  connection(Stream stream, const connection_limits& limits, std::string peer = {})
      : stream_(std::move(stream)),
        limits_(limits),
        peer_(std::move(peer)),
        decoder_(limits.greeting_bytes),
        in_timer_(stream_.get_executor()),
        out_timer_(stream_.get_executor()) {}

  /// What is let go when the greeting is over, or the connection, and what when the connection is.
  void hold(std::shared_ptr<void> until_established, std::shared_ptr<void> until_closed) {
    until_established_ = std::move(until_established);
    until_closed_ = std::move(until_closed);
  }

  /// Before start(), where the stream is TLS's: its handshake, as `role` (asio::ssl::stream_base). It counts against
  /// the time of the greeting. `then` hears how it went (timed_out: not in time), once, but after close().
  template <class Role>
  void shake_hands(Role role, std::function<void(const asio::error_code&)> then) {
    // The loop's, not the connection's own: `then` may hold the connection, and goes with the loop.
    const auto held = std::make_shared<shaken>(std::move(then));
    shaken_ = held;
    watch(limits_.handshake, "the greeting did not come in time");
    stream_.async_handshake(role, [self = this->shared_from_this(), held](const asio::error_code& ec) {
      if (const auto told = std::exchange(*held, nullptr); told && !self->closed_) told(ec);
    });
  }

  void start(take each, ended end) override {
    take_ = std::move(each);
    end_ = std::move(end);
    if (in_epoch_ == 0) watch(limits_.handshake, "the greeting did not come in time");
    read();
  }

  void established() override {
    established_ = true;
    until_established_ = nullptr;
    decoder_.set_limit(limits_.frame_bytes);
    watching_frame_ = false;
    watch(limits_.idle, "nothing came for too long");
  }

  void send(std::string_view body) override {
    if (closed_ || draining_) return;
    if (body.empty() || body.size() > limits_.frame_bytes) return finish("a message is too long to be sent");
    if (queued() + body.size() > limits_.queued_bytes) return finish("the other side does not read");
    append_frame(next_, body);
    write();
  }

  void close_after_writing() override {
    if (closed_ || std::exchange(draining_, true)) return;
    end_ = nullptr;
    watch(nanoseconds(0), "");
    if (!writing_) linger();
  }

  void close() override {
    if (std::exchange(closed_, true)) return;
    until_established_ = until_closed_ = nullptr;
    in_timer_.cancel();
    out_timer_.cancel();
    asio::error_code ignored;
    stream_.lowest_layer().shutdown(std::decay_t<decltype(stream_.lowest_layer())>::shutdown_both, ignored);
    stream_.lowest_layer().close(ignored);
    // Not now: it may be one of them that calls.
    asio::post(stream_.get_executor(), [self = this->shared_from_this()] {
      self->take_ = nullptr;
      self->end_ = nullptr;
      self->take_shaken();
    });
  }

  void break_off(const char* why) override { finish(why); }
  bool closed() const noexcept override { return closed_; }
  std::size_t queued() const noexcept override { return now_.size() + next_.size(); }
  const std::string& peer() const noexcept override { return peer_; }
  Stream& stream() noexcept { return stream_; }

private:
  using shaken = std::function<void(const asio::error_code&)>;

  shaken take_shaken() {
    const auto held = shaken_.lock();
    return held ? std::exchange(*held, nullptr) : nullptr;
  }

  void finish(const char* why) {
    if (closed_) return;
    auto end = std::exchange(end_, nullptr);
    const auto then = take_shaken();
    close();
    if (then) then(asio::error::timed_out);
    if (end) end(error{errc::network, why, {}});
  }

  /// All is written. Who hangs up on what it has not read may destroy what it has said last, so the other side is left
  /// time to hang up first.
  void linger() {
    lingering_ = true;
    asio::error_code ignored;
    stream_.lowest_layer().shutdown(std::decay_t<decltype(stream_.lowest_layer())>::shutdown_send, ignored);
    watch(limits_.write.count() > 0 ? limits_.write : connection_limits().write, "");
    read();
  }

  /// The one deadline of what comes in, in place of the one before.
  void watch(nanoseconds limit, const char* why) {
    in_timer_.cancel();
    const auto epoch = ++in_epoch_; // one that has struck already may still be on its way
    if (limit.count() <= 0 || closed_) return;
    in_timer_.expires_after(std::chrono::duration_cast<typename Clock::duration>(limit));
    in_timer_.async_wait([self = this->shared_from_this(), why, epoch](const asio::error_code& ec) {
      if (!ec && epoch == self->in_epoch_) self->finish(why);
    });
  }

  void read() {
    if (closed_ || reading_ || (draining_ && !lingering_)) return;
    reading_ = true;
    stream_.async_read_some(asio::buffer(in_.get(), in_bytes),
                            [self = this->shared_from_this()](const asio::error_code& ec, std::size_t n) {
                              self->reading_ = false;
                              if (self->closed_) return;
                              if (ec) return self->finish("the other side has hung up");
                              if (self->draining_) return self->read();
                              self->came(n);
                            });
  }

  void came(std::size_t n) {
    const auto good = decoder_.feed({in_.get(), n}, [this](std::string_view body) {
      take_(body);
      return !closed_ && !draining_;
    });
    if (closed_ || draining_) return;
    if (!good) {
      // Who comes with TLS to where none is spoken shall be told so: its records begin with a type and 3.
      const bool tls = !established_ && n >= 2 && (in_[0] == 0x15 || in_[0] == 0x16) && in_[1] == 3;
      return finish(tls ? "the other side speaks TLS, this one does not" : good.err().message.c_str());
    }
    if (established_) {
      if (decoder_.at_rest()) {
        if (std::exchange(watching_frame_, false) || limits_.idle.count() > 0)
          watch(limits_.idle, "nothing came for too long");
      } else if (!std::exchange(watching_frame_, true)) {
        watch(limits_.frame, "a message was begun and not ended in time");
      }
    }
    if (queued() <= limits_.queued_bytes / 2) read();
  }

  void write() {
    if (writing_ || next_.empty() || closed_) return;
    writing_ = true;
    now_.swap(next_);
    next_.clear();
    if (limits_.write.count() > 0) {
      out_timer_.expires_after(std::chrono::duration_cast<typename Clock::duration>(limits_.write));
      out_timer_.async_wait([self = this->shared_from_this(), epoch = ++out_epoch_](const asio::error_code& ec) {
        if (!ec && epoch == self->out_epoch_) self->finish("the other side does not read");
      });
    }
    asio::async_write(stream_, asio::buffer(now_),
                      [self = this->shared_from_this()](const asio::error_code& ec, std::size_t) {
                        self->writing_ = false;
                        self->now_.clear();
                        ++self->out_epoch_;
                        self->out_timer_.cancel();
                        if (self->closed_) return;
                        if (ec) return self->finish("the other side has hung up");
                        self->write();
                        if (!self->writing_ && self->draining_) return self->linger();
                        if (self->queued() <= self->limits_.queued_bytes / 2) self->read();
                      });
  }

  static constexpr std::size_t in_bytes = 65536;

  Stream stream_;
  connection_limits limits_;
  std::string peer_;
  frame_decoder decoder_;
  asio::basic_waitable_timer<Clock> in_timer_, out_timer_;
  take take_;
  ended end_;
  std::weak_ptr<shaken> shaken_;
  std::shared_ptr<void> until_established_, until_closed_;
  std::unique_ptr<char[]> in_ = std::make_unique_for_overwrite<char[]>(in_bytes);
  std::string now_, next_;
  std::uint64_t in_epoch_ = 0, out_epoch_ = 0;
  bool established_ = false, watching_frame_ = false, reading_ = false, writing_ = false, closed_ = false,
       draining_ = false, lingering_ = false;
};

} // namespace attune::net
