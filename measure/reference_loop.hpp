#pragma once

#include "core/clock.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace attune::measure {

/// A piece of work that always takes the same on a quiet machine.
enum class reference_work : std::uint8_t {
  compute, ///< a chain of multiplications in registers: about a millisecond a pass
  memory,  ///< a read through 64 MiB, more than most caches hold: some milliseconds a pass
};
const char* to_string(reference_work w) noexcept;

/// What the passes of one loop took.
struct loop_samples {
  std::vector<double> begun, took; ///< seconds, of each pass: since the first began, and its own
  double wall = 0, cpu = 0;        ///< seconds in all: of the clock, and of those that the thread had the processor
  std::uint64_t preempted = 0;     ///< involuntary context switches
};

/// Repeats the work on `cpu`, which the calling thread is bound to meanwhile (-1: wherever it is), for `how_long`, at
/// least three times.
loop_samples run_reference(reference_work what, int cpu, nanoseconds how_long);

/// What a loop says of the machine. All but the first two are fractions.
struct loop_report {
  std::size_t passes = 0;
  double median = 0;     ///< seconds a pass, cleaned as every measurement is (statistics.hpp)
  double half_width = 0; ///< of the median's 95 % interval
  double spread = 0;     ///< of single passes: 1.4826 times the median absolute deviation, as a standard deviation
  double drift = 0;      ///< over the whole loop: Theil and Sen's slope times its length; above 0: it became slower
  double taken = 0;      ///< of the time, in which the thread did not run
};
/// @pre three passes or more, all of them longer than 0
loop_report summarize_loop(const loop_samples& loop);

/// The median of the slopes between all pairs of points (H. Theil, 1950; P. K. Sen, 1968): up to 29 % of the points may
/// be anything. Of more than 600 points, every n-th is looked at. 0 below two points with different x.
/// @pre of the same length, all finite
double robust_slope(std::span<const double> x, std::span<const double> y);

/// What this machine is worth for measuring, measured.
struct machine_noise {
  struct work {
    reference_work what = reference_work::compute;
    loop_report quiet;
    std::optional<double> sibling; ///< by how much slower it is with the other thread of its core busy, a fraction
    std::optional<double> other;   ///< the same with another core busy
  };
  int cpu = -1; ///< where it was measured
  std::vector<work> works;
  double clock_step = 0; ///< seconds: the least difference that the monotonic clock shows
  double clock_cost = 0; ///< seconds that it takes to read
};

/// Where to measure: `cpu`, the other thread of its core and another core, where there is one that may be used.
struct noise_places {
  int cpu = -1;
  std::optional<int> sibling, other;
};

/// Measures for about `how_long` (more on a slow machine): each work by itself for over half of it, then in turns with
/// and without a neighbour that does the same. The neighbour is a thread that is gone when this returns.
machine_noise measure_noise(const noise_places& where, nanoseconds how_long);

} // namespace attune::measure
