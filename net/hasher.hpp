#pragma once

#include "core/hash.hpp"

#include <memory>
#include <string_view>

namespace attune::net {

/// SHA-256 of what comes in pieces; OpenSSL's, with the processor's own instructions where it has them.
/// Thread-safety: one owner.
class hasher {
public:
  hasher();
  ~hasher();
  hasher(hasher&&) noexcept;
  hasher& operator=(hasher&&) noexcept;
  void update(std::string_view data);
  /// Of all so far; from then on it is at its beginning again.
  digest finish();

private:
  struct state;
  std::unique_ptr<state> state_;
};

} // namespace attune::net
