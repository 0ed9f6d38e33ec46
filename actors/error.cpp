#include "actors/error.hpp"

namespace attune::actors {

const char* to_string(ec code) noexcept {
  switch (code) {
  case ec::ok:
    return "ok";
  case ec::busy:
    return "busy: one order at a time";
  case ec::ended:
    return "the search has ended";
  case ec::not_by_caller:
    return "this session's trials are measured by runners";
  case ec::unknown_trial:
    return "no such trial is in flight";
  case ec::store:
    return "the store cannot be written";
  }
  return "unknown";
}

} // namespace attune::actors
