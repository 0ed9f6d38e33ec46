#pragma once

#include "core/error.hpp"
#include "net/fleet/pass.hpp"
#include "net/handshake.hpp"
#include "proto/wire.pb.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace attune::net::fleet {

/// The order of things on one connection to a hub, as the hub has it: the greeting, who it is, what it is (an agent or
/// a client), and what each of these may say, and how much at a time. Whatever comes in whatever order is a step, or an
/// error, after which the peer is told and hung up on, and nothing is a step any more.
///
/// Credits: an agent has one for each slot (the lease table's business); a client may have `questions_most` questions
/// open; contents come only where a submission waits for them. Decides; does nothing. Thread-safety: one owner.
class peer_session {
public:
  static constexpr std::uint32_t questions_most = 64;

  /// What the owner does with the message.
  enum class step : std::uint8_t {
    greet,        ///< agreed() is there: answer with Welcome
    authenticate, ///< judge the token, then admit()
    come,         ///< an agent that wants to be let in; then let_in()
    beat,         ///< send it back
    answers,      ///< of leases
    output,       ///< what a run has said
    fetch,        ///< contents that were offered to this peer
    leave,        ///< it goes in order
    submit,       ///< a question of a client, with files
    part,         ///< contents that were asked for
    ask,          ///< any other question of a client
    ping,         ///< somebody is there
  };
  enum class stage : std::uint8_t { fresh, greeted, agent, client, over };

  /// `known`: who needs no token, and may do this.
  explicit peer_session(abilities mine, std::optional<pass> known = {})
      : mine_(std::move(mine)), may_(std::move(known)) {}

  /// Errors: network or refused: what the peer is told.
  result<step> take(const wire::v1::Envelope& message);
  /// The token was judged: none where it is not good; or it is known without one what it may do. Errors: what the peer
  /// is told. @pre the last step was the token, or the greeting
  status admit(std::optional<pass> may);
  /// The agent is one of the fleet. @pre the last step was `come`
  void let_in() noexcept { at_ = stage::agent; }
  /// A question has its last answer.
  void answered() noexcept {
    if (open_ > 0) --open_;
  }
  /// Nothing is a step any more.
  void end() noexcept { at_ = stage::over; }

  stage at() const noexcept { return at_; }
  /// Whether it is known what it may do.
  bool admitted() const noexcept { return may_.has_value(); }
  /// @pre admitted()
  const pass& may() const noexcept { return *may_; }
  const agreement& agreed() const noexcept { return agreed_; }
  std::uint32_t open_questions() const noexcept { return open_; }

private:
  result<step> next(const wire::v1::Envelope& message);
  result<step> client(const wire::v1::Envelope& message);

  abilities mine_;
  stage at_ = stage::fresh;
  std::optional<pass> may_;
  bool shown_ = false; ///< a token, good or not
  agreement agreed_;
  std::uint32_t open_ = 0;
};

} // namespace attune::net::fleet
