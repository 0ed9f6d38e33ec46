#include "net/tcp.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

namespace attune::net {

using asio::ip::tcp;

result<tcp::socket> open_socket(asio::io_context& loop, const tcp::endpoint& at) {
  const int family = at.protocol().family();
  const int s = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
  asio::error_code ec(s < 0 ? errno : 0, asio::error::get_system_category());
  tcp::socket out(loop);
  if (s >= 0) out.assign(at.protocol(), s, ec);
  if (!ec) return out;
  if (s >= 0) ::close(s);
  return error{errc::network, reason(ec), {}};
}

void set_up(tcp::socket& socket) noexcept {
  const int s = socket.native_handle();
  const auto set = [s](int level, int option, int value) {
    [[maybe_unused]] const int done = ::setsockopt(s, level, option, &value, sizeof value); // it works without, too
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

address address_of(const tcp::endpoint& at) {
  auto a = at.address();
  if (a.is_v6() && a.to_v6().is_v4_mapped()) a = asio::ip::make_address_v4(asio::ip::v4_mapped, a.to_v6());
  return {a.to_string(), at.port()};
}

std::string reason(const asio::error_code& ec) {
  if (ec.category() == asio::error::get_netdb_category()) {
    if (ec.value() == asio::error::host_not_found) return "no such name";
    if (ec.value() == asio::error::host_not_found_try_again) return "the name service does not answer";
    return "the name cannot be looked up: " + ec.message();
  }
  if (ec.category() == asio::error::get_addrinfo_category()) return "the name cannot be looked up: " + ec.message();
  switch (ec.value()) {
  case ECONNREFUSED:
    return "refused: nobody listens there";
  case ETIMEDOUT:
    return "timed out";
  case ENETUNREACH:
  case EADDRNOTAVAIL:
    return "unreachable: no route from this machine";
  case EHOSTUNREACH:
    return "unreachable: no such host in that network";
  case EAFNOSUPPORT:
    return "this machine does not speak that IP version";
  case EADDRINUSE:
    return "in use by another process";
  case EACCES:
  case EPERM:
    return "not permitted";
  case EMFILE:
  case ENFILE:
    return "no file descriptor to spare";
  case ECONNRESET:
  case EPIPE:
    return "the other side has hung up";
  default:
    return ec.message();
  }
}

} // namespace attune::net
