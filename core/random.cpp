#include "core/random.hpp"

#include "core/hash.hpp"

#include <bit>
#include <cmath>

namespace attune {

random_engine::random_engine(std::uint64_t seed) noexcept : seed_(seed) {
  std::uint64_t x = seed;
  for (auto& word : s_) {
    // splitmix64 (Steele, Lea and Flood 2014; Vigna's constants).
    std::uint64_t z = (x += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    word = z ^ (z >> 31);
  }
}

random_engine::result_type random_engine::operator()() noexcept {
  const std::uint64_t out = std::rotl(s_[1] * 5, 7) * 9;
  const std::uint64_t t = s_[1] << 17;
  s_[2] ^= s_[0];
  s_[3] ^= s_[1];
  s_[1] ^= s_[2];
  s_[0] ^= s_[3];
  s_[2] ^= t;
  s_[3] = std::rotl(s_[3], 45);
  return out;
}

std::uint64_t random_engine::below(std::uint64_t n) noexcept {
  __extension__ using wide = unsigned __int128;
  wide product = static_cast<wide>((*this)()) * n;
  auto low = static_cast<std::uint64_t>(product);
  if (low < n) {
    const std::uint64_t threshold = (0 - n) % n;
    while (low < threshold) {
      product = static_cast<wide>((*this)()) * n;
      low = static_cast<std::uint64_t>(product);
    }
  }
  return static_cast<std::uint64_t>(product >> 64);
}

uint128 random_engine::below128(uint128 n) noexcept {
  if (n <= ~std::uint64_t{0}) return below(static_cast<std::uint64_t>(n));
  // Rejection under the smallest mask that covers n: at most two tries on average.
  const auto high = static_cast<std::uint64_t>((n - 1) >> 64);
  const std::uint64_t mask = high == 0 ? 0 : ~std::uint64_t{0} >> std::countl_zero(high);
  for (;;) {
    // Two statements: the order of two draws in one expression would be the compiler's choice.
    const std::uint64_t upper = (*this)() & mask;
    const uint128 draw = static_cast<uint128>(upper) << 64 | (*this)();
    if (draw < n) return draw;
  }
}

double random_engine::uniform() noexcept { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }

double random_engine::normal() noexcept {
  const double u = 1.0 - uniform(), v = uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586476925 * v);
}

random_engine random_engine::fork(std::string_view purpose) const noexcept {
  return random_engine(hash64(purpose, seed_));
}

std::array<std::uint64_t, 5> random_engine::state() const noexcept { return {s_[0], s_[1], s_[2], s_[3], seed_}; }

random_engine random_engine::restore(const std::array<std::uint64_t, 5>& state) noexcept {
  random_engine out(state[4]);
  // Four zero words are the one state that the generator never leaves: it is none of ours, below() would never end in
  // it.
  if ((state[0] | state[1] | state[2] | state[3]) == 0) return out;
  for (std::size_t i = 0; i < 4; ++i) out.s_[i] = state[i];
  return out;
}

} // namespace attune
