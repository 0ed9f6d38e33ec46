#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace attune {

using std::chrono::nanoseconds;

/// Time as it is passed in: monotonic for every duration, limit and order; wall time only to be shown.
/// Implementations are safe from any thread, but for manual_time.
class time_source {
public:
  virtual ~time_source() = default;
  /// Monotonic, from an arbitrary start; never goes back.
  virtual nanoseconds monotonic() const = 0;
  /// Since the Unix epoch; may step either way.
  virtual nanoseconds wall() const = 0;
};

/// CLOCK_MONOTONIC and CLOCK_REALTIME.
const time_source& system_time();

/// A clock that a test moves, on the thread that reads it: it is not synchronised.
class manual_time final : public time_source {
public:
  nanoseconds monotonic() const override { return monotonic_; }
  nanoseconds wall() const override { return wall_; }
  void advance(nanoseconds d) {
    monotonic_ += d;
    wall_ += d;
  }
  /// Steps the wall clock alone, as an administrator or NTP does.
  void step_wall(nanoseconds d) { wall_ += d; }

private:
  nanoseconds monotonic_{std::chrono::hours(1)};
  nanoseconds wall_{std::chrono::hours(24 * 365 * 50)};
};

/// RFC 3339 in UTC with whole seconds: `2026-11-29T16:00:00Z`.
std::string rfc3339(nanoseconds since_epoch);

inline double seconds(nanoseconds d) { return static_cast<double>(d.count()) / 1e9; }
/// To the nearest nanosecond, halves away from zero. What does not fit (some 292 years) becomes the nearest end of the
/// range, and what is not a number zero.
nanoseconds from_seconds(double s);

} // namespace attune
