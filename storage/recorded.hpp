#pragma once

#include "core/configuration.hpp"
#include "core/error.hpp"
#include "core/measurement.hpp"
#include "core/spec.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attune::storage {

/// One configuration of a recorded space and how it ended.
struct recorded_trial {
  std::vector<std::uint32_t> at; ///< for each parameter the index of its value in recorded_space::parameters
  /// Samples and `measurement::value` in the stored unit (seconds for times); the value is the one statistic that the
  /// file states (Kernel Tuner: the mean), the samples are as they were taken. Failures have their kind. `phases.build`
  /// and `phases.run` are the recorded times.
  outcome result;
  double written = 0; ///< the file's own number in the file's own unit, where measured
};

struct recorded_parameter {
  std::string name;
  std::vector<value> values; ///< in the file's order; in T4 (which has no list) numbers ascending, others as they come
};

/// A recorded space: every configuration that somebody measured, once.
struct recorded_space {
  std::string name;   ///< the kernel's, else empty
  std::string device; ///< as the file says, may be empty
  std::string format; ///< "kernel-tuner" or "t4"
  std::string metric = "time";
  std::string unit = "s"; ///< of `written`
  goal direction = goal::minimize;
  std::vector<recorded_parameter> parameters;
  std::vector<recorded_trial> trials; ///< in the file's order; of a doubled configuration the last
  std::vector<std::string> warnings;  ///< what was read leniently, one line each
};

/// Reads a Kernel Tuner cache (any schema, times in milliseconds; failures as the words RuntimeFailedConfig,
/// CompilationFailedConfig, InvalidConfig in `time`, in `__error__`, or as 1e20) or a T4 file. gzip is recognised by
/// its first bytes. A file whose writer was cut off is repaired in memory (its incomplete last entry is left out) with
/// a warning; the file itself is never written to. Errors: io (cannot be read, over 1 GB unpacked), invalid_spec
/// (neither format, nothing in it), each with the path.
result<recorded_space> read_recorded(const std::string& path);
/// The same from text; `name` stands in messages.
result<recorded_space> parse_recorded(std::string_view text, const std::string& name);

} // namespace attune::storage
