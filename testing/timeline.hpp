#pragma once

#include "core/clock.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace attune::testing {

/// Virtual time for what is no actor: links, scripted runners, whoever takes a time_source. It moves when it is told
/// to, from one thing that is due to the next. Threads: one owner.
class timeline final : public time_source {
public:
  nanoseconds monotonic() const override { return now_; }
  nanoseconds wall() const override { return now_ + wall_; }
  /// Steps the wall clock alone, as an administrator or NTP does.
  void step_wall(nanoseconds d) { wall_ += d; }
  timeline() = default;
  ~timeline() override { clear(); }
  timeline(const timeline&) = delete;
  timeline& operator=(const timeline&) = delete;

  /// Calls `what` when so much time has passed (a negative time is none); what is due at one moment in the order in
  /// which it was asked for.
  void after(nanoseconds d, std::function<void()> what);
  /// When the next thing is due; none: nothing is.
  std::optional<nanoseconds> next() const;
  /// Moves on to `t`, and calls what is due by then, each at its own time. What is in the past stays where it is.
  void advance_to(nanoseconds t);
  void advance(nanoseconds d) { advance_to(now_ + d); }
  /// Calls the one that is due next by `t`, at its time; false (and time has come to `t`) where there is none.
  bool step(nanoseconds t);
  /// Forgets all that is due: who owns what it would call is about to go.
  void clear();
  std::size_t waiting() const noexcept { return due_.size(); }

private:
  nanoseconds now_{std::chrono::hours(1)};
  nanoseconds wall_{std::chrono::hours(24 * 365 * 50)};
  std::uint64_t asked_ = 0;
  std::map<std::pair<nanoseconds, std::uint64_t>, std::function<void()>> due_;
};

} // namespace attune::testing
