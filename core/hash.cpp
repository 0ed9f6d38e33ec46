#include "core/hash.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace attune {

namespace {

struct free_context {
  void operator()(EVP_MD_CTX* c) const { EVP_MD_CTX_free(c); }
};

template <std::size_t N>
std::string hex_of(const std::array<std::uint8_t, N>& bytes) {
  std::string out;
  out.reserve(2 * N);
  for (const auto b : bytes) {
    out += "0123456789abcdef"[b >> 4];
    out += "0123456789abcdef"[b & 15];
  }
  return out;
}

int nibble(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

} // namespace

std::string digest::hex() const { return hex_of(bytes); }
std::string key128::hex() const { return hex_of(bytes); }

digest sha256(std::string_view data) {
  // Fetching the algorithm costs more than a short hash: once for the process, and one context for each thread.
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  thread_local const std::unique_ptr<EVP_MD_CTX, free_context> context(EVP_MD_CTX_new());
  digest out;
  unsigned length = 0;
  if (algorithm == nullptr || !context || EVP_DigestInit_ex2(context.get(), algorithm, nullptr) != 1 ||
      EVP_DigestUpdate(context.get(), data.data(), data.size()) != 1 ||
      EVP_DigestFinal_ex(context.get(), out.bytes.data(), &length) != 1 || length != out.bytes.size())
    throw std::runtime_error("SHA-256 is not available"); // a broken OpenSSL installation: nothing can go on
  return out;
}

std::optional<key128> key128::from_bytes(std::string_view raw) noexcept {
  key128 k;
  if (raw.size() != k.bytes.size()) return std::nullopt;
  std::memcpy(k.bytes.data(), raw.data(), raw.size());
  return k;
}

std::optional<key128> key128::from_hex(std::string_view hex) noexcept {
  key128 k;
  if (hex.size() != 2 * k.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < k.bytes.size(); ++i) {
    const int high = nibble(hex[2 * i]), low = nibble(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    k.bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return k;
}

key128 truncate(const digest& d) noexcept {
  key128 k;
  std::copy_n(d.bytes.begin(), k.bytes.size(), k.bytes.begin());
  return k;
}

std::uint64_t hash64(std::string_view data, std::uint64_t seed) noexcept {
  // FNV-1a, finished by the mixer of splitmix64: short keys, no tables, the same everywhere.
  // The seed goes through the mixer too: taken as it is, seeds 1 and 2 would differ from each other as the bytes "a"
  // and "b" do, and ("a", 1) would be ("b", 2).
  const auto mix = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  };
  std::uint64_t h = 0xcbf29ce484222325u ^ mix(seed);
  for (const char c : data) {
    h ^= static_cast<std::uint8_t>(c);
    h *= 0x100000001b3u;
  }
  return mix(h);
}

} // namespace attune
