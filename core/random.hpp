#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace attune {

__extension__ using uint128 = unsigned __int128;

/// xoshiro256** 1.0 (Blackman and Vigna, 2018), seeded by splitmix64. Its sequence and every function below but
/// normal() are the same on every machine and with every standard library (the distributions of <random> are not).
/// Satisfies UniformRandomBitGenerator. Thread-safety: one owner.
class random_engine {
public:
  using result_type = std::uint64_t;
  explicit random_engine(std::uint64_t seed = 0) noexcept;
  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return ~result_type{0}; }
  result_type operator()() noexcept;

  /// Uniform in [0, n), without bias (Lemire's method). @pre n > 0
  std::uint64_t below(std::uint64_t n) noexcept;
  /// Uniform in [0, n) for 128-bit n. @pre n > 0
  uint128 below128(uint128 n) noexcept;
  /// Uniform in [0, 1) with 53 bits.
  double uniform() noexcept;
  /// Standard normal (Box-Muller, two draws and one value a call, no state kept). Its last bits are those of the math
  /// library's log and cos.
  double normal() noexcept;
  /// True with probability p.
  bool chance(double p) noexcept { return uniform() < p; }
  /// Fisher-Yates.
  template <class T>
  void shuffle(std::span<T> items) noexcept {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }
  /// An independent engine for a named purpose, derived from this one's seed alone (not from how much was drawn).
  random_engine fork(std::string_view purpose) const noexcept;

  /// The whole state (four words, then the seed), to be saved and restored. Four zero words, which no engine ever has,
  /// are restored as a fresh engine of that seed.
  std::array<std::uint64_t, 5> state() const noexcept;
  static random_engine restore(const std::array<std::uint64_t, 5>& state) noexcept;

private:
  std::array<std::uint64_t, 4> s_{};
  std::uint64_t seed_ = 0;
};

} // namespace attune
