#include "web/guard.hpp"

#include <sys/random.h>

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>

namespace attune::web {

namespace {

bool is_address(const std::string& host) {
  in_addr four{};
  in6_addr six{};
  return inet_pton(AF_INET, host.c_str(), &four) == 1 || inet_pton(AF_INET6, host.c_str(), &six) == 1;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

bool read_port(std::string_view text, std::uint16_t& port) {
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), port);
  return ec == std::errc{} && end == text.data() + text.size() && !text.empty();
}

/// The host of `host[:port]`, without brackets, in lower case; empty where it is not of that form.
std::string host_part(std::string_view text) {
  std::string_view rest;
  std::string_view host;
  if (!text.empty() && text.front() == '[') {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return {};
    host = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else {
    const auto colon = text.find(':');
    host = text.substr(0, colon);
    rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon);
  }
  std::uint16_t port = 0;
  if (!rest.empty() && (rest.front() != ':' || !read_port(rest.substr(1), port))) return {};
  return lower(host);
}

} // namespace

result<listen_address> parse_listen(std::string_view text, listen_address standard) {
  const auto wrong = [&](const char* why) {
    return error{errc::invalid_spec,
                 "'" + std::string(text.substr(0, 100)) + "' is no address to listen at: " + why +
                     " (write ADDR:PORT, as in 127.0.0.1:8080, or PORT alone)",
                 {}};
  };
  if (text.empty()) return standard;
  if (text.find_first_not_of("0123456789") == std::string_view::npos) {
    if (!read_port(text, standard.port)) return wrong("a port is a number up to 65535");
    return standard;
  }
  std::string_view host = text, port;
  if (text.front() == '[') {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return wrong("the bracket is not closed");
    host = text.substr(1, end - 1);
    if (end + 1 < text.size()) {
      if (text[end + 1] != ':') return wrong("behind the bracket comes a colon and the port");
      port = text.substr(end + 2);
      if (port.empty()) return wrong("the port is missing");
    }
  } else if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    if (text.find(':', colon + 1) != std::string_view::npos) return wrong("an IPv6 address stands in brackets");
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (port.empty()) return wrong("the port is missing");
  }
  if (host.empty()) return wrong("the address is missing");
  if (!port.empty() && !read_port(port, standard.port)) return wrong("a port is a number up to 65535");
  standard.host = std::string(host);
  return standard;
}

bool is_loopback(std::string_view host) {
  const auto name = lower(host);
  if (name == "localhost" || name == "::1") return true;
  in_addr four{};
  return inet_pton(AF_INET, name.c_str(), &four) == 1 && (ntohl(four.s_addr) >> 24) == 127;
}

result<std::string> make_token() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return error{errc::io, "the system gives no random numbers", {}};
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const auto b : bytes) {
    out += digits[b >> 4];
    out += digits[b & 15];
  }
  return out;
}

bool same_secret(std::string_view a, std::string_view b) noexcept {
  unsigned differs = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < b.size(); ++i)
    differs |= static_cast<unsigned char>(i < a.size() ? a[i] : '\0') ^ static_cast<unsigned char>(b[i]);
  return differs == 0;
}

std::string cookie_of(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    const auto end = header.find(';');
    auto one = header.substr(0, end);
    header = end == std::string_view::npos ? std::string_view{} : header.substr(end + 1);
    while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
    if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=')
      return std::string(one.substr(name.size() + 1));
  }
  return {};
}

bool access_rules::host_is_ours(std::string_view host_header) const {
  const auto host = host_part(host_header);
  if (host.empty()) return false;
  return host == "localhost" || is_address(host) || std::find(names.begin(), names.end(), host) != names.end();
}

bool access_rules::same_origin(std::string_view origin, std::string_view host_header) {
  if (origin.empty()) return true;
  for (const std::string_view scheme : {"http://", "https://"})
    if (origin.starts_with(scheme)) return lower(origin.substr(scheme.size())) == lower(host_header);
  return false;
}

} // namespace attune::web
