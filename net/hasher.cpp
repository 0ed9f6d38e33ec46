#include "net/hasher.hpp"

#include <openssl/evp.h>

#include <stdexcept>

namespace attune::net {

struct hasher::state {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~state() { EVP_MD_CTX_free(context); }
  state() = default;
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  void begin() const { check(context != nullptr && EVP_DigestInit_ex2(context, EVP_sha256(), nullptr) == 1); }
  /// A broken OpenSSL installation: nothing can go on.
  static void check(bool good) {
    if (!good) throw std::runtime_error("SHA-256 is not available");
  }
};

hasher::hasher() : state_(std::make_unique<state>()) { state_->begin(); }
hasher::~hasher() = default;
hasher::hasher(hasher&&) noexcept = default;
hasher& hasher::operator=(hasher&&) noexcept = default;

void hasher::update(std::string_view data) {
  state::check(EVP_DigestUpdate(state_->context, data.data(), data.size()) == 1);
}

digest hasher::finish() {
  digest out;
  unsigned n = 0;
  state::check(EVP_DigestFinal_ex(state_->context, out.bytes.data(), &n) == 1 && n == out.bytes.size());
  state_->begin();
  return out;
}

} // namespace attune::net
