#pragma once

#include "core/spec.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace attune::measure {

/// Throws the warm-up away. One run of a program gives one sample or many: a run that gives more samples than the
/// warm-up counts is a cold process with warm samples after it, and loses its first ones; runs that give fewer are
/// thrown away whole until as many samples are gone as the warm-up counts.
class warm_up {
public:
  explicit warm_up(std::uint32_t count) : count_(count) {}
  /// The samples of one run that count.
  std::span<const double> keep(std::span<const double> run);

private:
  std::uint32_t count_, gone_ = 0;
};

/// Decides when a configuration has been run often enough. Pure: samples in, the decision out.
/// Enough is: `max` samples; or `min` of them where the 95 % interval of the cleaned median is within ±`until` of it.
/// A run's further samples are never thrown away, so that one run may give more than `max`.
class protocol {
public:
  protocol(std::uint32_t warmup, const repeat_spec& repeats) : warm_(warmup), repeats_(repeats) {}
  /// The samples of one run, warm-up among them. @pre not empty, all finite.
  void add(std::span<const double> run);
  bool enough() const;
  /// Without the warm-up, in order.
  const std::vector<double>& samples() const noexcept { return samples_; }

private:
  warm_up warm_;
  repeat_spec repeats_;
  std::vector<double> samples_;
};

} // namespace attune::measure
