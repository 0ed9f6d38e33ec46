#pragma once

#include <cstdint>
#include <string>

namespace attune::schedulers {

/// What a client's part of the whole is. Clients (searches) of one owner (a person, a token) share what that owner
/// gets.
struct share_terms {
  std::uint64_t owner = 0; ///< 0: the client is its own
  double weight = 1;       ///< of the owner, among owners; above 0
  double part = 1;         ///< of the client, among its owner's; above 0
  std::uint32_t among = 1; ///< so many clients have this part together; at least 1
  std::uint32_t limit = 0; ///< of the owner: its trials in flight, at most; 0: none
  friend bool operator==(const share_terms&, const share_terms&) = default;
};

/// What an owner has now, and has had.
struct share_view {
  std::uint64_t owner = 0;
  double weight = 1;
  std::uint32_t limit = 0;
  std::uint32_t clients = 0, busy = 0; ///< busy: trials that are built or run just now
  double used_s = 0;                   ///< of slots, since its first client came
};

/// The `part` of a search with this priority, -5 to 5: each step doubles what it gets of its owner's share. So none is
/// kept waiting for ever, whatever the others' priority is.
constexpr double part_of_priority(int priority) noexcept {
  double out = 1;
  for (; priority > 0; --priority) out *= 2;
  for (; priority < 0; ++priority) out /= 2;
  return out;
}

} // namespace attune::schedulers
