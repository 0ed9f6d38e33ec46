#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace attune::net {

/// Where somebody listens: a name or an IP address, and a port.
struct address {
  std::string host; ///< without brackets; may carry a zone (`fe80::1%eth0`)
  std::uint16_t port = 0;

  /// As parse_address() reads it, and a person can paste it: an IPv6 address in brackets.
  std::string text() const;
  friend bool operator==(const address&, const address&) = default;
};

/// `HOST:PORT`, `1.2.3.4:PORT`, `[v6]:PORT`. An IPv6 address without brackets is refused, since `::1:9090` may mean two
/// things, and so is a port that is left out. Port 0 (the system chooses) only where `any_port`. Looks nothing up.
/// Pure. Errors: invalid_spec, with what to write instead.
result<address> parse_address(std::string_view text, bool any_port = false);

/// An IPv4 or IPv6 address in figures, not a name.
bool is_numeric(std::string_view host);
/// An address in figures of this machine's loopback (127.0.0.0/8, ::1, and the first ones mapped into IPv6). A name is
/// none: what it means is known only when it has been looked up.
bool is_loopback(std::string_view host);

} // namespace attune::net
