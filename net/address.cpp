#include "net/address.hpp"

#include "net/network_error.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <cstring>

namespace attune::net {

namespace {

constexpr std::size_t name_most = 253; // RFC 1035, as text
constexpr std::size_t label_most = 63;

error address_error(std::string what) { return error{errc::invalid_spec, std::move(what), {}}; }

/// The system reads up to the first zero byte only.
bool has_zero(const std::string& host) { return host.find('\0') != std::string::npos; }

bool is_v4(const std::string& host) {
  in_addr a{};
  return !has_zero(host) && ::inet_pton(AF_INET, host.c_str(), &a) == 1;
}

bool is_v6(const std::string& host, in6_addr* out = nullptr) {
  const auto zone = host.find('%');
  if (zone != std::string::npos) {
    const auto name = std::string_view(host).substr(zone + 1);
    const auto good = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
             c == '.';
    };
    if (name.empty() || name.size() > 15 || !std::all_of(name.begin(), name.end(), good)) return false;
  }
  in6_addr a{};
  if (has_zero(host)) return false;
  if (::inet_pton(AF_INET6, host.substr(0, zone).c_str(), &a) != 1) return false;
  if (out != nullptr) *out = a;
  return true;
}

bool is_name(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1); // rooted
  if (host.empty() || host.size() > name_most) return false;
  std::size_t label = 0;
  for (const char c : host) {
    if (c == '.') {
      if (label == 0) return false;
      label = 0;
      continue;
    }
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                      (c == '-' && label > 0);
    if (!good || ++label > label_most) return false;
  }
  return label > 0;
}

result<std::uint16_t> port_of(std::string_view text, bool any_port) {
  unsigned port = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (ec != std::errc{} || end != text.data() + text.size() || port > 65535 || (port == 0 && !any_port))
    return address_error("a port is a number from " + std::string(any_port ? "0" : "1") + " to 65535, not " +
                         quoted(text, 80));
  return static_cast<std::uint16_t>(port);
}

} // namespace

std::string address::text() const {
  const bool brackets = host.find(':') != std::string::npos;
  return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

result<address> parse_address(std::string_view text, bool any_port) {
  if (text.empty()) return address_error("an address is HOST:PORT or [IPV6]:PORT; nothing was given");
  std::string_view port;
  address out;
  if (text.front() == '[') {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return address_error("in " + quoted(text, 80) + " the bracket is not closed");
    out.host = text.substr(1, close - 1);
    if (!is_v6(out.host)) return address_error(quoted(out.host, 80) + " in brackets is not an IPv6 address");
    port = text.substr(close + 1);
    if (port.empty()) return address_error(quoted(text, 80) + " has no port: write " + std::string(text) + ":PORT");
    if (port.front() != ':')
      return address_error("behind the bracket of " + quoted(text, 80) + " a colon and the port are expected");
    port.remove_prefix(1);
  } else {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) {
      const std::string host(text);
      if (is_v4(host) || is_name(host))
        return address_error(quoted(text, 80) + " has no port: write " + host + ":PORT");
      return address_error(quoted(text, 80) + " is not an address: it is HOST:PORT or [IPV6]:PORT");
    }
    out.host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (out.host.find(':') != std::string::npos) {
      // Several colons: only IPv6 has them. Whether the last part is a port nobody can tell.
      const std::string all(text);
      std::string remedy;
      if (is_v6(out.host) && port_of(port, any_port)) remedy = "[" + out.host + "]:" + std::string(port);
      if (is_v6(all)) remedy += (remedy.empty() ? "[" : " or [") + all + "]:PORT";
      if (remedy.empty()) return address_error(quoted(text, 80) + " is not an address: it is HOST:PORT or [IPV6]:PORT");
      return address_error(quoted(text, 80) + " is ambiguous: an IPv6 address stands in brackets: write " + remedy);
    }
    if (out.host.empty()) {
      const std::string with(port_of(port, any_port) ? text : ":PORT");
      return address_error(quoted(text, 80) + " has no host: write 127.0.0.1" + with + ", or [::]" + with +
                           " for every address of this machine");
    }
    const bool figures = out.host.find_first_not_of("0123456789.") == std::string::npos;
    if (figures ? !is_v4(out.host) : !is_name(out.host))
      return address_error(quoted(out.host, 80) + " is neither a name nor an IPv4 address");
  }
  const auto number = port_of(port, any_port);
  if (!number) return error{number.err().code, "in " + quoted(text, 80) + ": " + number.err().message, {}};
  out.port = *number;
  return out;
}

bool is_numeric(std::string_view host) {
  const std::string h(host);
  return is_v4(h) || is_v6(h);
}

bool is_loopback(std::string_view host) {
  const std::string h(host);
  if (is_v4(h)) return h.starts_with("127.");
  in6_addr a{};
  if (!is_v6(h, &a)) return false;
  static constexpr std::array<std::uint8_t, 12> mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::memcmp(a.s6_addr, mapped.data(), mapped.size()) == 0) return a.s6_addr[12] == 127;
  return IN6_IS_ADDR_LOOPBACK(&a);
}

} // namespace attune::net
