#pragma once

#include <asio/wait_traits.hpp>

#include <chrono>

namespace attune::tests {

/// A clock that the test moves.
struct manual_clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<manual_clock>;
  static constexpr bool is_steady = true;
  static time_point now() { return time_point(at); }
  static inline duration at{0};
};

} // namespace attune::tests

/// Asio looks at the clock each time that it is polled.
template <>
struct asio::wait_traits<attune::tests::manual_clock> {
  static std::chrono::nanoseconds to_wait_duration(const std::chrono::nanoseconds&) { return {}; }
  static std::chrono::nanoseconds to_wait_duration(const attune::tests::manual_clock::time_point&) { return {}; }
};
