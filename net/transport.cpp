#include "net/transport.hpp"

#include "net/address.hpp"

namespace attune::net {

bool plain_allowed(std::string_view host, plain_from whom) {
  return whom == plain_from::anywhere || (whom == plain_from::loopback && is_loopback(host));
}

transport transport_to(std::string_view host, bool has_tls, bool plain_asked) {
  if (plain_asked) return transport::plain;
  if (has_tls) return transport::tls;
  return is_loopback(host) ? transport::plain : transport::refused;
}

} // namespace attune::net
