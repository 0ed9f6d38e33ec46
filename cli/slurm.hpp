#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attune::cli {

/// Slurm as its commands show it (sbatch, squeue, scancel): what is asked for is found again by the jobs' name, so
/// nothing need be remembered between two commands.

/// One element of a job array.
struct slurm_job {
  std::string id; ///< `123_4`
  bool running = false;
};

/// What is typed to place `count` agents: an array of jobs called `name`, each alone on its node, that runs `command`
/// (which may use $ATTUNE_AGENT_NAME). `options` stands on the line as it is.
std::string sbatch_line(const std::string& name, std::uint32_t count, const std::string& options,
                        const std::string& command);
/// The agent's name in the hub of the array element `id`: the jobs' name and that.
std::string agent_of(const std::string& name, const std::string& id);
/// What `squeue --noheader --array --format '%i %T'` has said: those that are to run or do; not what is ending.
std::vector<slurm_job> read_queue(std::string_view text);

/// Runs a line of shell and takes its standard output (1 MB at the most). Errors: io, with what the command said.
result<std::string> shell_output(const std::string& line);
/// This user's jobs of that name. Errors: io.
result<std::vector<slurm_job>> slurm_jobs(const std::string& name);

} // namespace attune::cli
