#pragma once

#include "core/error.hpp"
#include "core/hash.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attune::net {

enum class token_role : std::uint8_t { agent, client, admin };
const char* to_string(token_role role) noexcept;
std::optional<token_role> parse_role(std::string_view text);

/// What is done at a hub, as far as roles differ.
enum class deed : std::uint8_t {
  work,   ///< offer devices, take leases, report results
  tune,   ///< give tasks, follow and end one's own
  watch,  ///< see devices and sessions
  manage, ///< drain and ban devices, end what others began
};
/// An agent works; a client tunes and watches; an admin does that and manages. Pure.
bool may(token_role role, deed what) noexcept;

/// What a person hands to an agent or a client: who it is, a secret, and by what the hub is known.
struct token {
  static constexpr std::size_t id_bytes = 6, secret_bytes = 32;
  std::array<std::uint8_t, id_bytes> id{};         ///< no secret: it stands in lists and logs
  std::array<std::uint8_t, secret_bytes> secret{}; ///< random
  std::optional<digest> hub;                       ///< SHA-256 of the hub's certificate; none: a CA's word is needed

  /// 12 hex digits.
  std::string id_text() const;
  /// One word of 107 characters: `attune_` and, in base64url (RFC 4648), a version, the three fields and the first
  /// 32 bits of the SHA-256 of all before.
  std::string text() const;
};

/// Reads what text() writes; white space around it is let go. What was cut off, or changed anywhere, is refused. Pure.
/// Errors: invalid_spec; no part of the text is in the message.
result<token> parse_token(std::string_view text);

/// The first line of a file; refused where other users may read it. Errors: io, invalid_spec.
result<token> read_token_file(const std::string& path);

/// With a secret of 256 bits from the system. Errors: internal.
result<token> make_token(const std::optional<digest>& hub);

} // namespace attune::net
