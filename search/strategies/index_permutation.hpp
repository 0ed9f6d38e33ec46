#pragma once

#include "search/space.hpp"

#include <array>
#include <cstdint>

namespace attune::search {

/// A pseudo-random permutation of [0, n) in constant memory: a balanced Feistel network over the next even number of
/// bits (Luby and Rackoff, 1988), walked along its cycle until it is back in the range (Black and Rogaway, 2002): fewer
/// than four steps on average. The same for the same seed on every machine. Threads: immutable.
class index_permutation {
public:
  /// @pre 0 < n < 2^126
  index_permutation(uint128 n, std::uint64_t seed);
  uint128 size() const noexcept { return n_; }
  /// The value at a position. @pre position < size()
  uint128 at(uint128 position) const noexcept;
  /// The position of a value. @pre value < size()
  uint128 position_of(uint128 value) const noexcept;

private:
  static constexpr std::size_t rounds = 6;
  std::uint64_t round(std::uint64_t half, std::size_t r) const noexcept;
  uint128 n_;
  unsigned half_bits_ = 1;
  std::uint64_t mask_ = 1;
  std::array<std::uint64_t, rounds> keys_{};
};

} // namespace attune::search
