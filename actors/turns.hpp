#pragma once

#include <caf/scoped_actor.hpp>

#include <chrono>
#include <functional>

namespace attune::actors {

/// How long the engine's own questions to its actors may take: they answer between two messages.
inline constexpr auto answer_patience = std::chrono::seconds(60);

/// Between a request of a blocking actor and its receive(): where the system runs only when it is told to
/// (engine_options::turn), lets it. False: no answer has come, and none may be waited for.
inline bool may_receive(caf::scoped_actor& self, const std::function<void()>& turn) {
  if (!turn) return true;
  turn();
  return !self->mailbox().empty();
}

} // namespace attune::actors
