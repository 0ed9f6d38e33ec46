#pragma once

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "core/spec.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace attune::cli {

/// What a progress display shows at one moment, over all tasks of the command.
struct progress_view {
  std::string name; ///< of the task; "3 tasks" for several
  nanoseconds elapsed{0};
  std::uint64_t done = 0;                ///< trials that ended
  std::optional<std::uint64_t> budget;   ///< how many there will be
  std::optional<nanoseconds> time_limit; ///< of the whole
  std::uint64_t cached = 0;
  std::array<std::uint64_t, all_failure_kinds.size()> failed{};
  std::optional<double> best; ///< of a single task
  std::string unit;
  std::string best_config;
  std::size_t tasks = 1, tasks_with_best = 0, tasks_ended = 0;
  double rate = 0; ///< trials a second, lately
  /// How the best of a single task came to be: its value after equal parts of the trials until now, NaN before the
  /// first.
  std::vector<double> curve;
  std::size_t running = 0, building = 0; ///< places that are at work
  std::string note;                      ///< what holds it up, if anything
};

/// How a display may look.
struct display_style {
  std::size_t width = 80; ///< columns
  bool colour = false;
  bool blocks = false; ///< block characters, where the terminal shows UTF-8
};

/// Trials a second over the last half minute, so that answers from memory at the beginning do not flatter the rest.
class rate_meter {
public:
  void add(nanoseconds now, std::uint64_t done);
  /// 0 until there is something to go by.
  double per_second() const;

private:
  struct sample {
    nanoseconds at;
    std::uint64_t done;
  };
  std::deque<sample> samples_;
};

/// The best so far of one task, as it went: what progress_view::curve is made of. Memory: one entry for each
/// improvement.
class best_curve {
public:
  void add(std::uint64_t done, std::optional<double> best);
  /// @pre parts > 0
  std::vector<double> at(std::uint64_t done, std::size_t parts) const;

private:
  std::vector<std::pair<std::uint64_t, double>> steps_; ///< from so many trials on
};

/// How long it will take from now on: by the budget and the rate, or by the time limit, whichever ends it first; none
/// where neither can be said.
std::optional<nanoseconds> time_left(const progress_view& v);

/// `8 failed (build_error 6, run_timeout 2)`; empty where none.
std::string failures_text(const std::array<std::uint64_t, all_failure_kinds.size()>& failed);

/// One line for a terminal, at most `width` columns: the bar, the best so far, rate, cached, failed by kind, time left.
/// What does not fit is left out, the least important first.
std::string render_bar(const progress_view& v, const display_style& style);
/// One line for a log.
std::string render_line(const progress_view& v);

/// Columns that a UTF-8 text takes, colour sequences not counted (every character one; names here are ASCII).
std::size_t columns(std::string_view text);

} // namespace attune::cli
