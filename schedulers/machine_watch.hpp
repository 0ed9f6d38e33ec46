#pragma once

#include "core/clock.hpp"
#include "schedulers/admission.hpp"
#include "schedulers/noise_controller.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace attune::schedulers {

struct watch_options {
  std::vector<admission> ladder;                   ///< admission_ladder(); not empty
  double tolerance = 0.02;                         ///< the noise that the user accepts, a fraction
  nanoseconds period = std::chrono::seconds(2);    ///< the reference is run so often, where that is cheap
  double share = 0.1;                              ///< of the time, at most; after the first samples
  nanoseconds first = std::chrono::seconds(2);     ///< so much time the first samples may take one after the other
  nanoseconds patience = std::chrono::seconds(10); ///< how long a disturbed machine is waited for
  noise_options controller;                        ///< its waits; `most` and `tolerance` are taken from above
};

/// How the machine was during a trial, for its record.
struct machine_state {
  std::optional<double> drift; ///< how much slower than at first, a fraction; none: not known yet
  double correction = 1;       ///< what times are to be divided by, rates multiplied with
  bool disturbed = false;
};

/// Watches the machine by a reference configuration that is run once now and then: when to run it, what its times mean
/// for what may go on at once (noise_controller, over the rungs of the ladder), whether the machine has drifted, and
/// which trials are not to be trusted. Decides; does nothing.
///
/// Drift: where the reference becomes slower or faster little by little while nothing else is changed, the base goes
/// along and what is measured is corrected by it. Little by little is: over the last 12 samples at one rung, a line
/// (Theil and Sen's: the median of all slopes; Sen, Estimates of the regression coefficient based on Kendall's tau,
/// 1968) leaves a spread of no more than the base's own half as much again or a quarter of the tolerance, no two
/// medians of three that follow each other differ by more than half the tolerance, and the line's end is off the base
/// by two standard errors. A step is none: it is a disturbance, until it has stayed.
///
/// Disturbed: all that ended since the reference was last seen to be right is in doubt (suspects()). New runs wait for
/// the machine for `patience`, then they go on and are marked. When the machine is quiet again, or has stayed as it is,
/// the suspects are to be measured anew. Where it turns out to be faster than at first for long, it was not quiet then:
/// all are suspects.
///
/// Threads: one owner. Memory: some hundred values.
class machine_watch {
public:
  explicit machine_watch(watch_options options);

  /// Whether the reference is to be run now. @pre it is not under way
  bool due(nanoseconds now) const;
  /// When to ask again, where nothing else happens; none: when something has happened.
  std::optional<nanoseconds> next_look(nanoseconds now) const;
  /// A timed run of a trial has taken so long: the reference's share follows it.
  void ran(nanoseconds took) noexcept { run_ += took; }

  /// The reference has run: its time (or one over its rate), how long that took in all, how many timed runs were
  /// beside it and how many builds, at most, and whether everything that wanted to run beside it could.
  std::optional<noise_decision> observe(double value, nanoseconds took, std::uint32_t runs_beside,
                                        std::uint32_t builds_beside, bool all_served, nanoseconds now);

  const admission& allowed() const noexcept { return options_.ladder[controller_.allowed() - 1]; }
  /// Whether only the reference may be run now.
  bool holding(nanoseconds now) const noexcept;
  /// For what ends now.
  machine_state now() const;

  /// A trial has ended, measured; `id` is the caller's. Remembers it until it is known to be right (256 at most; an
  /// older one is let go).
  void ended(std::uint64_t id);
  /// Those whose results are in doubt, where now is the time to measure them anew: each once.
  std::vector<std::uint64_t> take_suspects();

  const noise_controller& controller() const noexcept { return controller_; }

private:
  struct sample {
    double at = 0, value = 0; ///< at: seconds
  };
  bool drifting(double& base) const;
  void trust();

  watch_options options_;
  noise_controller controller_;
  std::optional<double> first_base_;
  std::vector<sample> window_; ///< at the present rung
  std::deque<std::uint64_t> right_, unsure_, doubted_;
  nanoseconds spent_{0}, run_{0}, last_{-1}, took_{0};
  std::optional<nanoseconds> disturbed_since_;
  std::optional<double> latest_;
  bool repeat_now_ = false;
};

} // namespace attune::schedulers
