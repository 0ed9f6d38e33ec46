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
  std::string format; ///< "kernel-tuner", "t4", "ktt", "autotvm", "attune" or another of storage/formats/
  std::string metric = "time";
  std::string unit = "s"; ///< of `written`
  goal direction = goal::minimize;
  std::vector<recorded_parameter> parameters;
  std::vector<recorded_trial> trials; ///< in the file's order; of a doubled configuration the last
  std::vector<std::string> warnings;  ///< what was read leniently, one line each
};

/// Reads a recorded space: what any reader of storage/formats/ reads (recognised by content, gzip or not), with the
/// values that the file states. Of many tasks the one of the most configurations, with a warning; of a split's factors
/// in an AutoTVM log all but the first, which follows from them; the infrastructure's failures and what was stopped
/// early are left out. What is damaged is left out with a warning. The file itself is never written to. Errors: io
/// (cannot be read), invalid_spec (none of the formats, nothing in it), each with the path.
result<recorded_space> read_recorded(const std::string& path);
/// The same from text; `name` stands in messages.
result<recorded_space> parse_recorded(std::string_view text, const std::string& name);

} // namespace attune::storage
