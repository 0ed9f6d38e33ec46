#pragma once

#include <caf/error.hpp>
#include <caf/make_message.hpp>
#include <caf/message.hpp>

#include <cstdint>

namespace attune::actors {

/// What an actor answers instead of a value. Category "attune".
enum class ec : std::uint8_t {
  ok = 0,
  busy,          ///< one order at a time
  ended,         ///< the search is over
  not_by_caller, ///< this session's trials are measured by runners
  unknown_trial, ///< no such trial is in flight
  store,         ///< the store cannot be written
};
const char* to_string(ec code) noexcept;

} // namespace attune::actors

CAF_ERROR_CODE_ENUM(attune::actors::ec, "attune")
