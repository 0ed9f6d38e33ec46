#pragma once

#include "core/error.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace attune::net {

/// One connection that carries frames (net/frame.hpp), whatever stream is below it: TCP, TLS, a Unix socket.
/// Threads: all calls and callbacks on the thread that runs its stream. Lives until its operations are over.
class link {
public:
  using take = std::function<void(std::string_view body)>;
  using ended = std::function<void(const error& why)>;

  link() = default;
  virtual ~link() = default;
  link(const link&) = delete;
  link& operator=(const link&) = delete;

  /// Begins to read. `each` is called for every frame; `end` once, at the end, by whomever it comes, but for close().
  virtual void start(take each, ended end) = 0;
  /// The handshake is over: long frames from now on.
  virtual void established() = 0;
  /// Sends a frame. Where the queue is full the connection ends: the peer does not read.
  virtual void send(std::string_view body) = 0;
  /// Bytes that wait to be written.
  virtual std::size_t queued() const noexcept = 0;
  /// Ends it when what is queued has been written, and the other side has hung up or taken too long to. Nothing that
  /// comes is heard any more, nor the end.
  virtual void close_after_writing() = 0;
  /// Ends it without a word.
  virtual void close() = 0;
  /// Ends it, and `end` hears why.
  virtual void break_off(const char* why) = 0;
  virtual bool closed() const noexcept = 0;
  /// Whom it speaks to, for messages and logs: the remote address, as it can be pasted. Empty for a Unix socket.
  virtual const std::string& peer() const noexcept = 0;
};
using link_ptr = std::shared_ptr<link>;

} // namespace attune::net
