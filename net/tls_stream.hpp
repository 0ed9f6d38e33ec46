#pragma once

#include "net/tls.hpp"

#include <asio/ip/tcp.hpp>
#include <asio/ssl/context.hpp>
#include <asio/ssl/stream.hpp>

#include <string>

namespace attune::net {

class tls_settings {
public:
  tls_settings() : context(asio::ssl::context::tls) {}
  mutable asio::ssl::context context; ///< SSL_new() counts its users, with a lock of its own
  tls_trust trust;
  bool chain = false; ///< the certificate must come from the trusted CA
};

/// TLS over a socket. Keeps its settings.
class tls_stream final : public asio::ssl::stream<asio::ip::tcp::socket> {
public:
  tls_stream(asio::ip::tcp::socket socket, tls_ptr settings)
      : asio::ssl::stream<asio::ip::tcp::socket>(std::move(socket), settings->context),
        settings_(std::move(settings)) {}

  /// Whom a client expects: what was dialled, name or figures. False: it cannot be checked, and nobody may be believed.
  [[nodiscard]] bool expect(const std::string& host);
  /// A few words on why a handshake has failed: `TLS: the certificate has expired on ...`. Nothing of a key is in them.
  std::string reason(const asio::error_code& ec);

private:
  tls_ptr settings_;
};

} // namespace attune::net
