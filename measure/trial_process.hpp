#pragma once

#include "core/failure.hpp"
#include "core/spec.hpp"
#include "measure/substitution.hpp"
#include "measure/supervisor.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune::measure {

/// What a builder and a runner of commands have in common: the way from a spec's command to a process, and from the end
/// of a process to a failure.
struct process_limits {
  std::size_t out_cap = 1 << 20;
  std::size_t err_cap = 64 << 10;
  std::vector<int> cpus; ///< the processors that children may use; empty: the tuner's own
};

/// The process of `what` in the spec's folder or in `workdir`, with the environment of `names`. Errors: as
/// substitution::command_line().
result<process_request> request_for(const command& what, const substitution& names, const task_spec& spec,
                                    working_directory cwd, const std::string& workdir, nanoseconds timeout,
                                    const process_limits& limits);

/// None where the process ended by itself with status 0. Else `error_kind` (by itself with another status, by a signal,
/// not found), `timeout_kind` (at its limit), `cancelled`, or `internal` (the machine could not start it). The message
/// is what a person needs first: how it ended where that is not an exit status, then the end of standard error, or of
/// standard output where that is empty; at most 2 kB of valid UTF-8.
std::optional<failure> failure_of(const process_result& ended, failure_kind error_kind, failure_kind timeout_kind,
                                  std::string_view what, nanoseconds limit);

/// Where the trial's private folder is gone, which no candidate can be blamed for, the failure becomes `internal` and
/// says so. Limits, cancellations and what is internal already stay.
void blame_lost_folder(failure& why, const std::string& folder);

/// Copies the build's sources and the run's files into `workdir` under their own names, with their folders and modes.
/// Errors: io.
status lay_out_sources(const task_spec& spec, const std::string& workdir);

/// True where a command of `spec` runs in the private folder, which then holds the sources and files.
bool runs_in_private_folder(const task_spec& spec);

/// `text` with what is no valid UTF-8 replaced by U+FFFD, and control characters (but tab and end of line) by spaces.
std::string printable(std::string_view text);

/// Appends what is not there yet: repeats of one run say the same thing.
void add_notes(std::vector<std::string>& to, const std::vector<std::string>& from);

} // namespace attune::measure
