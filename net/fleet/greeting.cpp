#include "net/fleet/greeting.hpp"

#include "net/fleet/fleet_messages.hpp"
#include "net/network_error.hpp"
#include "net/store_messages.hpp"

namespace attune::net::fleet {

using wire::v1::Envelope;

void greeting::begin(const link_ptr& link, std::string_view peer, const link::take& each, const link::ended& end) {
  over_ = false;
  link->start(each, end);
  Envelope out;
  *out.mutable_hello() = hello_of(fleet_abilities(), peer);
  link->send(out.SerializeAsString());
}

status greeting::take(link& on, const Envelope& message) {
  if (message.has_failed()) return error_of(message.failed());
  if (!message.has_welcome()) return network_error("the hub does not greet");
  auto agreed = agree(fleet_abilities(), message.welcome());
  if (!agreed) return agreed.err();
  agreed_ = std::move(*agreed);
  over_ = true;
  on.established();
  if (shown_) on.send(showing(*shown_).SerializeAsString());
  return {};
}

} // namespace attune::net::fleet
