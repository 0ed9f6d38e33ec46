#pragma once

#include "core/clock.hpp"
#include "net/address.hpp"
#include "net/connection.hpp"
#include "net/tls.hpp"

#include <asio/io_context.hpp>

#include <functional>
#include <memory>

namespace attune::net {

struct dial_options {
  address to;
  connection_limits limits;                       ///< of the link; `handshake` is for TLS and the greeting
  nanoseconds look_up = std::chrono::seconds(10); ///< for the name
  nanoseconds each = std::chrono::seconds(5);     ///< for each of its addresses to accept
  tls_ptr tls;                                    ///< by what the other side is known; none: no TLS
  bool plain = false;                             ///< without TLS, wherever it is (net/transport.hpp)
};

/// An attempt that is under way.
class dialing {
public:
  virtual ~dialing() = default;
  /// Gives it up: nothing is called any more. The attempt ends by itself once its callback has been called.
  virtual void cancel() = 0;
};

/// Looks the host up and tries its addresses one by one, in the system's order (RFC 6724), until one answers. `then` is
/// called once, from the loop, with a link that is to be started; the time for the greeting goes on since the address
/// was connected. Errors: network; one line with every address that was tried and why each failed, such as an address
/// off loopback with neither `tls` nor `plain`. Threads: that of `loop`. A look-up is the system's own and cannot be
/// broken off: the end of `loop` may wait for it.
std::shared_ptr<dialing> dial(asio::io_context& loop, dial_options options, std::function<void(result<link_ptr>)> then);

} // namespace attune::net
