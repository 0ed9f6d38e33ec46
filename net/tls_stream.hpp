#pragma once

#include "net/tls.hpp"

#include <asio/buffer.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ssl/context.hpp>
#include <asio/ssl/stream_base.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace attune::net {

class tls_settings {
public:
  tls_settings() : context(asio::ssl::context::tls) {}
  mutable asio::ssl::context context; ///< SSL_new() counts its users, with a lock of its own
  tls_trust trust;
  bool chain = false; ///< the certificate must come from the trusted CA
};

/// TLS over a socket, as asio::ssl::stream is, but for many bytes at a time: that one makes two calls of the kernel and
/// three copies for each record of 16 kB. Here OpenSSL reads ahead from the socket itself, one call for what is there,
/// and what it writes is gathered and sent in one. Keeps its settings. To be moved only before it is used. Threads: all
/// calls and callbacks on that of the socket's executor; one read and one write may be under way.
class tls_stream final {
public:
  using executor_type = asio::ip::tcp::socket::executor_type;
  using lowest_layer_type = asio::ip::tcp::socket::lowest_layer_type;

  tls_stream(asio::ip::tcp::socket socket, tls_ptr settings);
  tls_stream(tls_stream&&) noexcept;
  ~tls_stream();
  tls_stream& operator=(tls_stream&&) = delete;

  executor_type get_executor() noexcept;
  lowest_layer_type& lowest_layer() noexcept;
  SSL* native_handle() noexcept; ///< null: there was no memory for it

  /// `done(ec)`, never in the call; the other functions in the same way.
  template <class Handler>
  void async_handshake(asio::ssl::stream_base::handshake_type role, Handler done) {
    shake(role == asio::ssl::stream_base::server, std::move(done));
  }
  /// `done(ec, n)`: as much as there is, up to the size of the (first) buffer.
  template <class Buffers, class Handler>
  void async_read_some(const Buffers& to, Handler done) {
    const asio::mutable_buffer first = *asio::buffer_sequence_begin(to);
    read(static_cast<char*>(first.data()), first.size(), std::move(done));
  }
  /// `done(ec, n)` when the kernel has it: of the first buffer that is not empty, up to write_most bytes.
  template <class Buffers, class Handler>
  void async_write_some(const Buffers& from, Handler done) {
    asio::const_buffer first;
    for (auto at = asio::buffer_sequence_begin(from); at != asio::buffer_sequence_end(from); ++at)
      if (first = *at; first.size() > 0) break;
    write(static_cast<const char*>(first.data()), first.size(), std::move(done));
  }

  /// Whom a client expects: what was dialled, name or figures. False: it cannot be checked, and nobody may be believed.
  [[nodiscard]] bool expect(const std::string& host);
  /// A few words on why a handshake has failed: `TLS: the certificate has expired on ...`. Nothing of a key is in them.
  std::string reason(const asio::error_code& ec);

private:
  static constexpr std::size_t write_most = 256u << 10;
  using shaken = std::function<void(const asio::error_code&)>;
  using moved = std::function<void(const asio::error_code&, std::size_t)>;

  void shake(bool server, shaken done);
  void read(char* to, std::size_t n, moved done);
  void write(const char* from, std::size_t n, moved done);

  struct state;
  tls_ptr settings_;
  std::shared_ptr<state> state_;
};

} // namespace attune::net
