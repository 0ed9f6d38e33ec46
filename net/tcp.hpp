#pragma once

#include "core/error.hpp"
#include "net/address.hpp"

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>

#include <string>

namespace attune::net {

/// What dialling and listening share: sockets that children do not inherit, and words for what can go wrong.

/// An open socket of the family of `at`, close-on-exec, non-blocking. Errors: network.
result<asio::ip::tcp::socket> open_socket(asio::io_context& loop, const asio::ip::tcp::endpoint& at);

/// Sends at once (TCP_NODELAY), and finds out in about a minute that a silent peer's machine is gone (keepalive).
void set_up(asio::ip::tcp::socket& socket) noexcept;

/// As a person writes it; an IPv4 peer of a dual-stack socket as an IPv4 address.
address address_of(const asio::ip::tcp::endpoint& at);

/// A few words: `refused: nobody listens there`, `unreachable`.
std::string reason(const asio::error_code& ec);

} // namespace attune::net
