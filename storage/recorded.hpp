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
  /// For each parameter the index of its value in recorded_space::parameters, 0xffffffff where it has none.
  std::vector<std::uint32_t> at;
  /// Samples and `measurement::value` in the stored unit (seconds for times); the value is the one statistic that the
  /// file states (Kernel Tuner: the mean), the samples are as they were taken. Failures have their kind. `phases.build`
  /// and `phases.run` are the recorded times.
  outcome result;
  double written = 0; ///< the file's own number in the file's own unit, where measured
};

struct recorded_parameter {
  std::string name;
  std::vector<value> values; ///< in the file's order; where it has no list, numbers ascending, others as they come
};

/// A recorded space: every configuration that somebody measured, once.
struct recorded_space {
  std::string name;   ///< the kernel's, else empty
  std::string device; ///< as the file says, may be empty
  std::string format; ///< "kernel-tuner", "t4", "ktt", "autotvm" or "attune"
  std::string metric = "time";
  std::string unit = "s"; ///< of `written`
  goal direction = goal::minimize;
  std::vector<recorded_parameter> parameters;
  std::vector<recorded_trial> trials; ///< in the file's order; of a doubled configuration the last
  std::vector<std::string> warnings;  ///< what was read leniently, one line each
};

/// Reads a recorded space. gzip is recognised by its first bytes, the format by its content:
/// - a Kernel Tuner cache (any schema, times in milliseconds; failures as the words RuntimeFailedConfig,
///   CompilationFailedConfig, InvalidConfig in `time`, in `__error__`, or as 1e20);
/// - T4, and KTT's own JSON (in the unit that its metadata state);
/// - an AutoTVM log, 0.1 or 0.2 (seconds; a failure is its error number, whatever the cost says; a split is its factors
///   but the first, which follows from them). Of many tasks the one of the most configurations, with a warning;
/// - what `attune history --json` prints, as one document or one record a line. The infrastructure's failures are left
///   out.
/// A document whose writer was cut off is repaired in memory (its incomplete last entry is left out) with a warning;
/// the file itself is never written to. Errors: io (cannot be read, over 1 GB unpacked), invalid_spec (none of the
/// formats, nothing in it), each with the path.
result<recorded_space> read_recorded(const std::string& path);
/// The same from text; `name` stands in messages.
result<recorded_space> parse_recorded(std::string_view text, const std::string& name);

} // namespace attune::storage
