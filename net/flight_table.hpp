#pragma once

#include "core/clock.hpp"
#include "core/hash.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

namespace attune::net {

/// What is being measured just now by one of the processes of a store, and who waits for it. Pure: time is passed in.
/// Thread-safety: one owner.
class flight_table {
public:
  /// A process: a connection's number, or 0 for the owner itself.
  using holder = std::uint64_t;

  struct waiter {
    key128 key;
    holder who = 0;
    nanoseconds until{0};    ///< then it waits no longer
    std::uint64_t since = 0; ///< as it was given: what the asker knew when it began to wait
  };

  /// Asks for the key's flight. True: it is the asker's now (or was). False: it waits.
  bool claim(const key128& key, holder who, nanoseconds until, std::uint64_t since);
  /// It was the asker's before (another owner's table said so). Who has it in this table keeps it.
  void hold(const key128& key, holder who);
  /// The holder's flight has ended, or the waiter waits no longer. Answers those that waited for it, in the order in
  /// which they came: they are out of the table.
  std::vector<waiter> release(const key128& key, holder who);
  /// The process is gone, with its flights and its waiting. Answers who waited for it.
  std::vector<waiter> leave(holder who);
  /// Those that have waited long enough: each has the flight now, and whoever waits besides waits for it.
  std::vector<waiter> expire(nanoseconds now);
  /// When expire() has something to do.
  std::optional<nanoseconds> next_expiry() const;

  std::size_t flights() const noexcept { return flights_.size(); }
  std::size_t waiting() const noexcept { return waiting_; }

private:
  struct flight {
    holder who = 0;
    std::deque<waiter> waiting;
  };
  std::unordered_map<key128, flight> flights_;
  std::size_t waiting_ = 0;
};

} // namespace attune::net
