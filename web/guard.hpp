#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attune::web {

/// Where a server listens.
struct listen_address {
  std::string host = "127.0.0.1"; ///< a name, or an address without brackets
  std::uint16_t port = 0;         ///< 0: any that is free
};

/// Reads `PORT`, `HOST`, `HOST:PORT`, `[IPV6]` or `[IPV6]:PORT`; what is not said stays as in `standard`. Errors:
/// invalid_spec.
result<listen_address> parse_listen(std::string_view text, listen_address standard = {});

/// True for addresses and names that only this machine can reach.
bool is_loopback(std::string_view host);

/// A new secret of 128 random bits, in hex. Errors: io.
result<std::string> make_token();

/// Whether they are the same; takes as long wherever they differ.
bool same_secret(std::string_view a, std::string_view b) noexcept;

/// The value of a cookie in a Cookie header; empty where it is not there.
std::string cookie_of(std::string_view header, std::string_view name);

/// Who may read. A value; safe from any thread.
struct access_rules {
  std::vector<std::string> names; ///< under which this server is called, beside addresses and localhost
  std::string token;              ///< empty: none is asked for

  /// Whether a request's Host names this server: an IP address, localhost, or one of `names`. A page elsewhere whose
  /// name is made to point here (DNS rebinding) sends its own name.
  bool host_is_ours(std::string_view host_header) const;
  /// Whether a request's Origin, where there is one, is this server.
  static bool same_origin(std::string_view origin, std::string_view host_header);
};

} // namespace attune::web
