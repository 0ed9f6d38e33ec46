#include "cli/slurm.hpp"

#include "cli/render.hpp"
#include "core/text.hpp"

#include <sys/wait.h>

#include <array>
#include <cstdio>

namespace attune::cli {

std::string sbatch_line(const std::string& name, std::uint32_t count, const std::string& options,
                        const std::string& command) {
  return "sbatch --parsable --job-name " + shell_word(name) + " --array 1-" + std::to_string(count) +
         " --exclusive --output /dev/null " + options + " --wrap " +
         shell_word("ATTUNE_AGENT_NAME=" + name + "-${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}; exec " + command) +
         " 2>&1";
}

std::string agent_of(const std::string& name, const std::string& id) { return name + "-" + id; }

std::vector<slurm_job> read_queue(std::string_view text) {
  std::vector<slurm_job> out;
  for (const auto line : split(text, '\n')) {
    const auto words = split(trim(line), ' ');
    if (words.size() != 2) continue;
    const auto state = words[1];
    if (state == "RUNNING")
      out.push_back({std::string(words[0]), true});
    else if (state == "PENDING" || state == "CONFIGURING" || state == "REQUEUED" || state == "SUSPENDED")
      out.push_back({std::string(words[0]), false});
  }
  return out;
}

result<std::string> shell_output(const std::string& line) {
  FILE* from = ::popen(line.c_str(), "re");
  if (from == nullptr) return error{errc::io, "no shell can be started", {}};
  std::string out;
  std::array<char, 4096> piece{};
  for (std::size_t n; (n = std::fread(piece.data(), 1, piece.size(), from)) > 0;)
    if (out.size() < (1u << 20)) out.append(piece.data(), n);
  const int ended = ::pclose(from);
  if (ended == -1 || !WIFEXITED(ended) || WEXITSTATUS(ended) != 0) {
    const auto program = line.substr(0, line.find(' '));
    const std::string said(trim(out));
    return error{errc::io, program + ": " + (said.empty() ? "it failed, and did not say why" : said), {}};
  }
  return out;
}

result<std::vector<slurm_job>> slurm_jobs(const std::string& name) {
  auto text = shell_output("squeue --noheader --array --user \"$(id -un)\" --name " + shell_word(name) +
                           " --format '%i %T' 2>&1");
  if (!text) return text.err();
  return read_queue(*text);
}

} // namespace attune::cli
