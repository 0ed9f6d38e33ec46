#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace attune {

/// A SHA-256 value (FIPS 180-4).
struct digest {
  std::array<std::uint8_t, 32> bytes{};
  friend auto operator<=>(const digest&, const digest&) = default;
  /// 64 lower-case hex digits.
  std::string hex() const;
  std::string_view view() const noexcept { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

/// SHA-256 of `data`. Safe from any thread. OpenSSL's implementation.
digest sha256(std::string_view data);

/// 128 bits that name a measurement: the first half of a SHA-256. The canonical form behind it is compared on every
/// hit, so a collision costs a miss and never a wrong answer.
struct key128 {
  std::array<std::uint8_t, 16> bytes{};
  friend auto operator<=>(const key128&, const key128&) = default;
  /// 32 lower-case hex digits.
  std::string hex() const;
  std::string_view view() const noexcept { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
  /// From 16 raw bytes or 32 hex digits.
  static std::optional<key128> from_bytes(std::string_view raw) noexcept;
  static std::optional<key128> from_hex(std::string_view hex) noexcept;
};

/// The first 128 bits of `d`.
key128 truncate(const digest& d) noexcept;

/// 64-bit mixing of bytes for hash tables and seeds (not cryptographic; stable across machines and versions).
std::uint64_t hash64(std::string_view data, std::uint64_t seed = 0) noexcept;

} // namespace attune

template <>
struct std::hash<attune::key128> {
  std::size_t operator()(const attune::key128& k) const noexcept {
    std::size_t h = 0;
    std::memcpy(&h, k.bytes.data(), sizeof h);
    return h;
  }
};
