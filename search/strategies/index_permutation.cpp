#include "search/strategies/index_permutation.hpp"

#include "core/random.hpp"

namespace attune::search {

index_permutation::index_permutation(uint128 n, std::uint64_t seed) : n_(n) {
  while (half_bits_ < 63 && (uint128{1} << (2 * half_bits_)) < n) ++half_bits_;
  mask_ = (std::uint64_t{1} << half_bits_) - 1;
  random_engine rng(seed);
  for (auto& k : keys_) k = rng();
}

std::uint64_t index_permutation::round(std::uint64_t half, std::size_t r) const noexcept {
  std::uint64_t z = half + keys_[r];
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (z ^ (z >> 31)) & mask_;
}

uint128 index_permutation::at(uint128 position) const noexcept {
  uint128 x = position;
  do {
    auto left = static_cast<std::uint64_t>(x >> half_bits_), right = static_cast<std::uint64_t>(x) & mask_;
    for (std::size_t r = 0; r < rounds; ++r) {
      const std::uint64_t next = left ^ round(right, r);
      left = right;
      right = next;
    }
    x = static_cast<uint128>(left) << half_bits_ | right;
  } while (x >= n_);
  return x;
}

uint128 index_permutation::position_of(uint128 value) const noexcept {
  uint128 x = value;
  do {
    auto left = static_cast<std::uint64_t>(x >> half_bits_), right = static_cast<std::uint64_t>(x) & mask_;
    for (std::size_t r = rounds; r-- > 0;) {
      const std::uint64_t before = right ^ round(left, r);
      right = left;
      left = before;
    }
    x = static_cast<uint128>(left) << half_bits_ | right;
  } while (x >= n_);
  return x;
}

} // namespace attune::search
