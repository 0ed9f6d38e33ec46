#pragma once

#include "core/clock.hpp"
#include "core/configuration.hpp"
#include "core/failure.hpp"
#include "core/hash.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace attune {

/// The cleaned result of a run. `value` is the one statistic that ranks, trains, is stored, shown and exported: the
/// median of the samples without a cold start and outliers (measure/protocol.hpp), in the stored unit. Always finite.
struct measurement {
  double value = 0;
  double spread = 0; ///< half the width of the 95 % interval of the median, divided by |value|; 0 for one sample
  std::vector<double> samples; ///< every raw sample in order, in the stored unit, warm-up not among them
  std::uint32_t rejected = 0;  ///< how many of them were left out: a cold start, outliers
  std::vector<std::pair<std::string, double>> metrics; ///< the cleaned values of the further metrics
  friend bool operator==(const measurement&, const measurement&) = default;
};

/// The end of a run that was stopped early, because it could not be the best: its true value is at least `value` (at
/// most, where more is better). Never a measured value, never the best. Always finite.
struct bound {
  double value = 0;
  double against = 0;          ///< the trial's `rival`, against which it was stopped
  std::vector<double> samples; ///< what was measured by then, as a measurement's
  friend bool operator==(const bound&, const bound&) = default;
};

/// Where the time of one trial went, monotonic, from its proposal to the hand-over of its result to the store: without
/// a gap. What follows, the tuner sees alone (search/tuning.hpp).
struct phase_times {
  nanoseconds queue{0};  ///< waiting: for the cache, a builder, a slot, another try
  nanoseconds build{0};  ///< in a builder's hands
  nanoseconds run{0};    ///< in a runner's hands: warm-up, repeats and check
  nanoseconds search{0}; ///< of the strategy, where a record states it
  nanoseconds clean{0};  ///< from the end of its runs: cleaning the samples, handing them over
  nanoseconds sum() const noexcept { return queue + build + run + search + clean; }
  friend bool operator==(const phase_times&, const phase_times&) = default;
};

/// What the processes of a trial used, where they were seen to end.
struct resource_use {
  nanoseconds cpu{0};
  std::uint64_t peak_bytes = 0;
  friend bool operator==(const resource_use&, const resource_use&) = default;
};

/// The machine while a trial was measured.
struct conditions {
  std::uint32_t runs_beside = 0;   ///< other timed runs at once, at most
  std::uint32_t builds_beside = 0; ///< builds at once with its runs, at most
  /// By how much the machine was slower than when the reference configuration was first measured, a fraction; negative:
  /// faster. None: there was no reference.
  std::optional<double> drift;
  /// The value is the samples' cleaned median divided by this (times it, where more is better): without the drift, so
  /// far as it is understood. The samples are as they were taken.
  double correction = 1;
  bool disturbed = false; ///< something else was going on: not to be trusted
  friend bool operator==(const conditions&, const conditions&) = default;
};

/// How one trial ended: measured, failed, or stopped early; with what a person may want to know about it.
struct outcome {
  std::variant<measurement, failure, bound> data;
  phase_times phases;
  resource_use used;
  std::string runner; ///< the device's or slot's name
  nanoseconds at{0};  ///< wall clock at the end, since the epoch
  std::vector<std::string>
      notes; ///< what was noticed: output capped, a descendant reaped late, a zero among the samples
  conditions around{};

  bool ok() const noexcept { return data.index() == 0; }
  const measurement* measured() const noexcept { return std::get_if<measurement>(&data); }
  const failure* failed() const noexcept { return std::get_if<failure>(&data); }
  const bound* bounded() const noexcept { return std::get_if<bound>(&data); }
  friend bool operator==(const outcome&, const outcome&) = default;
};

/// Whether it says something of the configuration: it was measured, stopped early, or failed by its own fault.
inline bool conclusive(const outcome& o) noexcept {
  const auto* why = o.failed();
  return why == nullptr || !is_infrastructure(why->kind);
}

/// Whether it was called off before it ended.
inline bool was_cancelled(const outcome& o) noexcept {
  const auto* why = o.failed();
  return why != nullptr && why->kind == failure_kind::cancelled;
}

} // namespace attune
