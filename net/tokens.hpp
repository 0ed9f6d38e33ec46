#pragma once

#include "core/clock.hpp"
#include "net/private_folder.hpp"
#include "net/token.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attune::net {

/// Where the secrets of the hub of a store are: `HUB` in the store's folder (a private_folder): its certificate, its
/// tokens, its audit log. A backup of the store does not hold them.
std::string hub_folder(const std::string& store);

/// What a client's part of the slots is, beside other clients'.
struct token_share {
  double weight = 1;       ///< 0.01 to 100
  std::uint32_t limit = 0; ///< of its trials in flight; 0: none
};

/// A token as the hub knows it. Times are wall clock; 0: never.
struct token_entry {
  std::array<std::uint8_t, token::id_bytes> id{};
  /// SHA-256 of the id and the secret. A slow hash as for passwords would gain nothing: the secret is 256 random bits,
  /// which nobody guesses however fast it can be tried; and it would let whoever knocks cost the hub a slow hash each.
  digest hash;
  token_role role = token_role::agent;
  std::string name;
  nanoseconds created{0}, revoked{0}, used{0};
  token_share share;

  std::string id_text() const;
};

/// Who presents a token, and why not: for the log. To the peer all refusals look alike (refused_token()).
struct verdict {
  enum class why : std::uint8_t { good, malformed, unknown, wrong_secret, revoked };
  why reason = why::malformed;
  std::string id; ///< as it was presented, where it is one
  token_role role = token_role::agent;
  std::string name;
  double weight = 1; ///< as token_share's
  std::uint32_t limit = 0;
  explicit operator bool() const noexcept { return reason == why::good; }
};
const char* to_string(verdict::why reason) noexcept;

/// What the peer is told, whatever the reason.
error refused_token();
/// What a peer is told whose role may not do what it asks for.
error refused_deed();

/// Judges an id and a secret as they came. The time it takes does not tell whether the id is known, nor how much of
/// the secret is right. Pure.
verdict judge(const std::vector<token_entry>& known, std::string_view id, std::string_view secret);

/// The tokens of a hub, in the file `tokens` of its folder (proto/wire.proto: TokenFile). Several processes may have it
/// open: what one changes the others see at their next question. Thread-safety: one owner.
class token_book {
public:
  static constexpr std::size_t most = 10'000, name_most = 64;

  /// Errors: io (cannot be read or is damaged).
  static result<token_book> open(private_folder folder);

  /// Makes one and writes it down; its text is shown this once. Errors: invalid_spec (the name is empty, too long, or
  /// not printable ASCII; too many tokens), io, internal.
  result<token> create(token_role role, const std::string& name, const std::optional<digest>& hub, nanoseconds now,
                       const token_share& share = {});
  /// By its 12 hex digits. One that is revoked already stays as it is. Errors: not_found, io.
  result<token_entry> revoke(const std::string& id, nanoseconds now);
  /// In the order of their creation. Errors: io.
  result<std::vector<token_entry>> list();

  /// For the hub: judges what a peer presents, and remembers the use (in memory; see write_uses()). Where the file
  /// cannot be read any more nobody is let in.
  verdict admit(std::string_view id, std::string_view secret, nanoseconds now);
  /// Whether a token that was admitted is good still: to be asked now and then for those who stay. Looks at the file
  /// only where it has changed.
  bool stands(const std::string& id);
  /// Writes down when tokens were used last; to be called about once a minute, and at the end. Errors: io.
  status write_uses();

  const private_folder& folder() const noexcept { return folder_; }

private:
  explicit token_book(private_folder folder) : folder_(std::move(folder)) {}
  status refresh();
  status read();
  status write();

  private_folder folder_;
  std::vector<token_entry> known_;
  std::string stamp_; ///< of the file that was read
  std::map<std::array<std::uint8_t, token::id_bytes>, nanoseconds> uses_;
};

} // namespace attune::net
