#pragma once

#include "core/measurement.hpp"
#include "core/task.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attune::measure {

/// Throws the stated warm-up away. One run of a program gives one sample or many: a run that gives more samples than
/// the warm-up counts is a cold process with warm samples after it, and loses its first ones; runs that give fewer are
/// thrown away whole until as many samples are gone as the warm-up counts.
class warm_up {
public:
  explicit warm_up(std::uint32_t count) : count_(count) {}
  /// The samples of one run that count.
  std::span<const double> keep(std::span<const double> run);

private:
  std::uint32_t count_, gone_ = 0;
};

/// The samples of one metric over the runs of a trial. Behind the stated warm-up, a cold start is found from the data
/// (cold_start): in each run by itself as soon as one run has given four samples or more (each process is cold at its
/// beginning), else in all samples as one sequence. Its samples stay among samples(), and count for nothing else.
class series {
public:
  explicit series(std::uint32_t warmup) : warm_(warmup) {}
  /// The samples of one run, warm-up among them. @pre all finite.
  void add(std::span<const double> run);
  /// Without the stated warm-up, in order.
  const std::vector<double>& samples() const noexcept { return samples_; }
  /// Without the cold start. Valid until the next add().
  std::span<const double> steady() const;

private:
  warm_up warm_;
  std::vector<double> samples_, steady_; ///< steady_: run by run
  bool long_runs_ = false;
};

/// The limit of one run that is timed from outside (metric `wall`, in seconds, less is better) beside a rival: five
/// times that, but a second at least, so that no hiccup of the machine is taken for a slow program. None where the
/// metric is another: how long a process lives says nothing of what it will report.
std::optional<nanoseconds> limit_beside(const metric_spec& metric, std::optional<double> rival);

/// What is left of one run's samples without those of its warm-up, where a trial is run once (trial::once): a run that
/// gives more samples than the warm-up counts loses its first ones, one that gives fewer keeps all.
std::span<const double> without_warm_up(std::span<const double> run, std::uint32_t warmup) noexcept;

/// Decides when a configuration has been run often enough. Pure: samples in, the decision out.
/// Enough is: `max` samples; or `min` of them, a cold start not counted, where the 95 % interval of the cleaned median
/// is within ±`until` of it. A run's further samples are never thrown away, so that one run may give more than `max`.
class protocol {
public:
  protocol(std::uint32_t warmup, const repeat_spec& repeats) : series_(warmup), repeats_(repeats) {}
  /// Of a trial: one that is run once has enough after the first run, whatever the spec says.
  explicit protocol(const trial& what)
      : protocol(what.once() ? 0 : what.of->spec.run.warmup, what.once() ? repeat_spec{} : what.of->spec.run.repeats) {}
  /// The samples of one run, warm-up among them. @pre not empty, all finite.
  void add(std::span<const double> run) { series_.add(run); }
  bool enough() const;
  /// What the configuration's value is at least (at most, where more is better), where that is already worse than the
  /// rival: it is hopeless. From `min` samples on, three at the least, a cold start not counted, and only where fewer
  /// than `max` may do (an interval is asked for): a stated number of repeats is done. The bound is median_floor() of
  /// all that are not cold (left out outliers would make it too sure of itself); over a dozen looks it errs in one
  /// candidate of a hundred that are exactly as good as the rival. Where the search's `noise` is known (the deviation
  /// of one sample, a fraction), two samples are enough for what is far off: both worse than the rival by 7 % and by
  /// eight deviations. The bound is then the better of the two less five deviations.
  std::optional<bound> hopeless(std::optional<double> rival, goal direction, std::optional<double> noise = {}) const;
  /// Without the stated warm-up, in order.
  const std::vector<double>& samples() const noexcept { return series_.samples(); }
  /// The cleaned result, without further metrics; what a person may want to know of it goes to `notes`.
  /// @pre samples() is not empty
  measurement result(std::vector<std::string>& notes) const;

private:
  series series_;
  repeat_spec repeats_;
};

} // namespace attune::measure
