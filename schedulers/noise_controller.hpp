#pragma once

#include "core/clock.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attune::schedulers {

struct noise_options {
  std::uint32_t most = 1;      ///< runs at once, at most
  double tolerance = 0.02;     ///< the noise that the user accepts, a fraction (measure.tolerance)
  std::uint32_t for_base = 32; ///< samples of the quiet machine that make its base
  nanoseconds first_wait = std::chrono::seconds(30);     ///< after a cut, until what failed is tried again
  nanoseconds longest_wait = std::chrono::seconds(1800); ///< each failure doubles the wait up to this
};

/// One decision of the controller, with its cause and figures.
struct noise_decision {
  enum class kind : std::uint8_t {
    based,     ///< the noise of the quiet machine is known
    raised,    ///< one more at once
    cut,       ///< half as many at once
    returned,  ///< back to what held before the cut: interference of our own making
    disturbed, ///< with one alone it is no better: the machine's own doing. Measurements are to be marked
    cleared,   ///< the machine is quiet again
    rebased,   ///< the machine has stayed as it is: it is the base from now on
  };
  kind what = kind::based;
  std::uint32_t from = 1, to = 1; ///< runs at once
  double bias = 0;                ///< median of the reference over its base, less one
  double accepted = 0;            ///< the tolerance
  double spread = 0;              ///< 1.4826 · median absolute deviation over the median
  nanoseconds at{0};
  /// `12 runs at once: the reference is slower by 4.1 % (spread 0.9 %), 2 % is accepted: down to 6`
  std::string text() const;
};
const char* to_string(noise_decision::kind k) noexcept;

/// How many timed runs may go on at once without their disturbing each other beyond what the user accepts, seen on a
/// reference configuration whose run is timed now and then among them. The same class decides on builds beside timed
/// runs: there `active` is the builds in progress, plus one. Decides; does nothing.
///
/// The base is the median of the first samples (32), taken with one run alone. From then on a level (so many runs at
/// once) is judged by the last samples taken at it, 24 at most. It is over the tolerance when their median differs from
/// the base by more than the tolerance and 1.5 standard errors, from six samples on; or that of the last three by 3
/// standard errors, so that a clear excess is seen at once; or when the spread is over both the tolerance and 1.5 times
/// the base's, from eight on. It holds when it is as clearly inside, from six samples on. After 24 samples the sign
/// decides. A level that has held is over by 3 standard errors only, for it is judged again with every sample.
///
/// As congestion control does (Jacobson, Congestion Avoidance and Control, 1988): a level that holds is raised by one;
/// one that is over is cut by half at once. If the half holds, the interference was of our own making: the highest
/// level that held before is taken up again, and what failed is tried again after a wait that doubles with each
/// failure. (Where what failed had held before, it may have been the machine: it is taken up once more at once. If it
/// fails again, it is climbed to anew from the half.) If not even one run alone holds, it is the machine's own
/// disturbance: disturbed() until the reference is back at its base, and what held before is taken up again; a machine
/// that has stayed as it is for 96 samples has a new base, and so has one that is faster than its base for eight.
///
/// A level that is over the tolerance by four standard deviations of a sample is left within three samples, but for a
/// chance of one in a hundred. How near to the tolerance a level can be told to be on one side of it is bounded by the
/// samples: about a third of a sample's standard deviation. Threads: one owner. Memory: 32 values. Cost: O(1).
class noise_controller {
public:
  explicit noise_controller(noise_options options);

  /// A run of the reference has ended: its value, and how many were running beside and with it all the time. A sample
  /// that was taken at another level than allowed() is left out. Values that are not finite and positive are left out.
  std::optional<noise_decision> observe(double value, std::uint32_t active, nanoseconds now);

  /// The machine has become slower or faster little by little (drift_model says so): this is its base from now on.
  /// @pre base()
  void follow(double base);

  /// The last sample was over the tolerance, one of a few at most that could not be judged yet: the next is wanted at
  /// once.
  bool doubtful() const noexcept { return over_in_a_row_ > 0 && over_in_a_row_ <= 4 && !disturbed_; }

  /// More at once is to be tried as soon as this level is seen to hold.
  bool climbing(nanoseconds now) const noexcept;

  /// How many may run at once. 1 until the base is known.
  std::uint32_t allowed() const noexcept { return level_; }
  /// The machine's own disturbance: what is measured now is to be marked, and measured again.
  bool disturbed() const noexcept { return disturbed_; }
  std::optional<double> base() const noexcept { return base_; }
  /// The spread of the samples that made it: 1.4826 · median absolute deviation over the median.
  double base_spread() const noexcept { return base_spread_; }

private:
  enum class judgement : std::uint8_t { open, holds, over };
  judgement judge();
  noise_decision move(noise_decision::kind what, std::uint32_t to, nanoseconds now);
  std::optional<noise_decision> holds(nanoseconds now);
  std::optional<noise_decision> over(nanoseconds now);
  noise_decision rebase(std::uint32_t to, nanoseconds now);
  bool excess(std::size_t last, double errors) const;

  noise_options options_;
  std::optional<double> base_;
  double base_spread_ = 0;
  std::uint32_t level_ = 1;
  std::uint32_t held_ = 1;                ///< the highest level that has held
  std::uint32_t failed_ = 0;              ///< the lowest level that was over and is not to be tried yet; 0: none
  std::optional<std::uint32_t> cut_from_; ///< the level whose excess is being looked into
  nanoseconds wait_, retry_at_{0};
  bool doubted_ = false; ///< held_ was over the tolerance, and is tried once more
  bool disturbed_ = false;
  std::uint32_t alone_ = 0; ///< samples since the disturbance
  std::vector<double> window_;
  double bias_ = 0, spread_ = 0;
  std::uint32_t over_in_a_row_ = 0;
};

} // namespace attune::schedulers
