#pragma once

#include "actors/joint.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

namespace attune::cli {

// What comes of several tasks with one budget, as functions of plain values. Where something is not known it is null or
// n/a, never a number that stands for it.

/// What the whole costs: the sum of weight times cost over the tasks that have a best, with the default configurations
/// and with the best ones. Relative (different units, or more is better): each task's cost as a part of its default's.
struct weighted_total {
  std::optional<double> before, after; ///< before: none where one of those tasks has no valid default
  std::string unit;                    ///< empty: relative
  std::size_t tasks = 0;               ///< that have a best
  std::optional<double> speedup() const;
};
weighted_total total_of(const actors::joint_report& report);

/// `{"tasks": […], "total": {…}}`: as for several tasks, and beside it what each had before and after, the total, what
/// it cost, and how it fell.
nlohmann::ordered_json joint_json(const actors::joint_report& report, const budget_spec& budget);
/// A table of the tasks and the total.
std::string render_joint(const actors::joint_report& report);
/// How the total fell over time, as an SVG.
std::string draw_total(const actors::joint_report& report);

/// `conv c=64 k=64`: a task among others of its name.
std::string task_title(const task& of);

} // namespace attune::cli
