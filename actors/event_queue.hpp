#pragma once

#include "actors/messages.hpp"

#include <atomic>
#include <mutex>
#include <vector>

namespace attune::actors {

/// The events of all actors on their way to the monitor: one message tells it of many, so that looking on costs a
/// search no message a step. Bounded; what comes while it is full is counted. All functions from any thread.
class event_queue {
public:
  /// Who puts events in tells the monitor at most about so often, but of a trial's way alone: what is rare is told at
  /// once. 0: always at once.
  explicit event_queue(nanoseconds pace = nanoseconds(0)) : pace_(pace) {}

  /// Whether anybody watches: else events are not to be made at all.
  bool open() const noexcept { return open_.load(std::memory_order_relaxed); }
  void open_up() noexcept { open_.store(true, std::memory_order_relaxed); }

  /// What whoever has put an event in has to do: tell the monitor (`flush`) now, or after `wait`.
  struct notice {
    enum class when : std::uint8_t { never, now, later } tell = when::never;
    nanoseconds wait{0};
  };
  /// Takes the event in at its end. `e.at` is taken for the time that it is.
  notice put(event&& e);
  notice put(std::vector<event>&& all);

  /// Takes out all that there are, in their order, into `into` (which is emptied first), and how many were lost since
  /// the last time. Further ones are told anew.
  std::uint64_t take(std::vector<event>& into);

private:
  /// @pre lock_ is held
  void add(event&& e);
  notice tell(bool rare, nanoseconds now);

  const nanoseconds pace_;
  std::atomic<bool> open_{false};
  std::mutex lock_;
  std::vector<event> waiting_;
  std::uint64_t lost_ = 0;
  notice::when told_ = notice::when::never;
  nanoseconds last_{0}; ///< when the monitor last took them, or will
};

/// The events that are kept at most.
inline constexpr std::size_t event_queue_bound = std::size_t{1} << 18;

} // namespace attune::actors
