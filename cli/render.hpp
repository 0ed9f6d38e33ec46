#pragma once

#include "cli/command_line.hpp"
#include "cli/machine.hpp"
#include "core/measurement.hpp"
#include "core/task.hpp"
#include "search/space.hpp"
#include "storage/store.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attune::actors {
struct cache_statistics;
struct tuning_report;
} // namespace attune::actors

namespace attune::cli {

// What a person reads on standard output, as functions of plain values: whole texts, every line ended. No colour, no
// locale.

/// One known result of a task.
struct ranked {
  configuration config;
  measurement measured;
  std::string record; ///< the measurement's key
  nanoseconds at{0};
};

/// A table: columns padded to their widest entry, two blanks between; the last one is not padded.
std::string table(const std::vector<std::vector<std::string>>& rows);

/// `text` as one word of a POSIX shell.
std::string shell_word(const std::string& text);
/// A C string literal.
std::string c_string(const std::string& text);
/// A quoted argument of CMake's language.
std::string cmake_string(const std::string& text);

std::string render_space(const task_spec& spec, const search::space& space);
/// `measured`: what the reference loops showed; empty: they were not run.
std::string render_doctor(const machine_facts& facts, std::span<const finding> findings,
                          std::span<const finding> measured = {});

/// The best configurations, best first. text: a line each; the other forms (not json): the first alone.
/// `device` is where they were measured, for the comment of the header and CMake forms.
std::string render_best(const task& of, std::span<const ranked> best, const std::string& device,
                        best_options::form form);

/// How a search ended: the best, what was tried, where the time went.
std::string render_report(const actors::tuning_report& report);
/// Why the cache did not know what it was asked for: a line; empty where it knew all.
std::string render_misses(const actors::cache_statistics& asked);
/// One line to standard error on why there is no best; empty where there is one.
std::string no_best_text(const actors::tuning_report& report);

/// A line for what was taken for a configuration that was not measured.
std::string render_estimate(const configuration& config, const estimate& guess, const std::string& unit);

/// A line for each record: when, the value, `at least` (`at most`) it, or the failure, the configuration; the failure's
/// message below it.
std::string render_record(const configuration& config, const outcome& result, const std::string& unit, goal direction);

std::string render_statistics(const storage::store_statistics& s, const std::string& folder);
/// A line for each target, then for each task, the largest first, as many as a screen holds. `now`: wall.
std::string render_statistics_by_task(std::span<const storage::task_statistics> tasks, nanoseconds now);

/// `1.2 MB`
std::string human_bytes(std::uint64_t n);

} // namespace attune::cli
