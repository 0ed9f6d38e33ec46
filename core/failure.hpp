#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attune {

/// Why a trial has no measurement. A failure is a kind, never a number.
enum class failure_kind : std::uint8_t {
  invalid_config, ///< the configuration is not in the space, the candidate said so, or its run broke a limit
  build_error,    ///< the build ended with an error
  build_timeout,  ///< the build reached its limit
  run_error,      ///< the run ended with an error or by a signal
  run_timeout,    ///< the run reached its limit
  wrong_output,   ///< the check said that the result is wrong
  bad_metric,     ///< the run was good, the metric missing, not a number, infinite or negative
  device_lost,    ///< the device, runner or builder went away with the trial in hand
  cancelled,      ///< somebody asked for it to stop
  internal,       ///< a fault of Attune or of the machine (no memory, no disk, no process)
};

inline constexpr std::array all_failure_kinds{
    failure_kind::invalid_config, failure_kind::build_error,  failure_kind::build_timeout, failure_kind::run_error,
    failure_kind::run_timeout,    failure_kind::wrong_output, failure_kind::bad_metric,    failure_kind::device_lost,
    failure_kind::cancelled,      failure_kind::internal,
};

/// The contract's names ("build_error", …).
const char* to_string(failure_kind kind) noexcept;
/// The inverse; none for an unknown name.
std::optional<failure_kind> failure_kind_of(std::string_view name) noexcept;

/// True where the fault lies with the device or with Attune, not with the candidate: only these are retried, and they
/// are never put into the cache.
bool is_infrastructure(failure_kind kind) noexcept;

/// One failed trial: the kind, a message for a person (the end of the tool's standard error, capped), how the process
/// ended.
struct failure {
  failure_kind kind = failure_kind::internal;
  std::string message;
  std::optional<int> exit;   ///< exit status, where a process ended by itself
  std::optional<int> signal; ///< signal number, where it was ended by one
  friend bool operator==(const failure&, const failure&) = default;
};

} // namespace attune
