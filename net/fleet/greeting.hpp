#pragma once

#include "core/error.hpp"
#include "net/handshake.hpp"
#include "net/link.hpp"
#include "net/token.hpp"
#include "proto/wire.pb.h"

#include <functional>
#include <optional>
#include <string>

namespace attune::net::fleet {

/// The first words of who connects to a hub, agent or client: it greets, hears what both can do, and shows its token.
/// Thread-safety: one owner, the link's thread.
class greeting {
public:
  /// `shown`: who it is, where the hub asks for that.
  explicit greeting(std::optional<token> shown) : shown_(std::move(shown)) {}

  /// On a fresh link: begins to read it and greets, as `peer` (16 bytes).
  void begin(const link_ptr& link, std::string_view peer, const link::take& each, const link::ended& end);
  /// What is said from now on is the connection's business.
  bool over() const noexcept { return over_; }
  /// The hub's first message, while it is not over. Errors: what the hub says of why it does not, or that it does not
  /// keep to the protocol.
  status take(link& on, const wire::v1::Envelope& message);
  /// What both can do. @pre over()
  const agreement& agreed() const noexcept { return agreed_; }

private:
  std::optional<token> shown_;
  agreement agreed_;
  bool over_ = false;
};

} // namespace attune::net::fleet
