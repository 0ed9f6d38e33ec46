#include "core/failure.hpp"

namespace attune {

const char* to_string(failure_kind kind) noexcept {
  switch (kind) {
  case failure_kind::invalid_config:
    return "invalid_config";
  case failure_kind::build_error:
    return "build_error";
  case failure_kind::build_timeout:
    return "build_timeout";
  case failure_kind::run_error:
    return "run_error";
  case failure_kind::run_timeout:
    return "run_timeout";
  case failure_kind::wrong_output:
    return "wrong_output";
  case failure_kind::bad_metric:
    return "bad_metric";
  case failure_kind::device_lost:
    return "device_lost";
  case failure_kind::cancelled:
    return "cancelled";
  case failure_kind::internal:
    return "internal";
  }
  return "internal";
}

std::optional<failure_kind> failure_kind_of(std::string_view name) noexcept {
  for (const auto kind : all_failure_kinds)
    if (name == to_string(kind)) return kind;
  return std::nullopt;
}

bool is_infrastructure(failure_kind kind) noexcept {
  return kind == failure_kind::device_lost || kind == failure_kind::cancelled || kind == failure_kind::internal;
}

} // namespace attune
