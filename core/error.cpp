#include "core/error.hpp"

namespace attune {

const char* to_string(errc code) noexcept {
  switch (code) {
  case errc::invalid_spec:
    return "invalid_spec";
  case errc::not_found:
    return "not_found";
  case errc::store_unusable:
    return "store_unusable";
  case errc::store_busy:
    return "store_busy";
  case errc::store_newer:
    return "store_newer";
  case errc::store_corrupt:
    return "store_corrupt";
  case errc::io:
    return "io";
  case errc::network:
    return "network";
  case errc::cancelled:
    return "cancelled";
  case errc::timeout:
    return "timeout";
  case errc::internal:
    return "internal";
  }
  return "unknown";
}

} // namespace attune
