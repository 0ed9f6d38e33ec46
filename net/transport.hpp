#pragma once

#include <cstdint>
#include <string_view>

namespace attune::net {

/// Whom a listener lets do without TLS.
enum class plain_from : std::uint8_t {
  nobody,
  loopback, ///< peers on this machine
  anywhere, ///< asked for by name (`--plain`)
};
/// Whether it lets a peer at `host` (figures). Pure.
bool plain_allowed(std::string_view host, plain_from whom);

enum class transport : std::uint8_t { plain, tls, refused };

/// What who dials `host` (figures: a name is judged by each address that it stands for) speaks: plain TCP where it was
/// asked for by name (`--plain`), TLS where this side knows the other by something, plain TCP on loopback, and else
/// nothing. It never falls from one to another. Pure.
transport transport_to(std::string_view host, bool has_tls, bool plain_asked);

} // namespace attune::net
