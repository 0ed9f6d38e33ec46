#pragma once

#include "actors/engine.hpp"
#include "core/budget.hpp"
#include "schedulers/task_budget.hpp"
#include "schedulers/weighted_total.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attune::actors {

/// One task of several that shared a budget, at the end.
struct joint_task {
  std::shared_ptr<const tuning_report> report; ///< never null
  schedulers::leaving why = schedulers::leaving::none;
  /// It was left as it is: so many of its results were known before (budget_spec::sufficient).
  std::optional<std::uint64_t> known;
};

/// How tuning with one budget ended.
struct joint_report {
  std::vector<joint_task> tasks; ///< in the order of the request
  /// How the weighted total fell, by the wall clock from its beginning, over all processes that it was tuned in; in the
  /// tasks' unit, or, where these differ or more is better, with each task's cost as a part of its first.
  std::vector<schedulers::total_point> curve;
  bool relative = false;
  std::uint64_t trials = 0; ///< that the tasks have had, with those of earlier processes
  nanoseconds busy{0};      ///< that trials kept devices, in all processes
  nanoseconds wall{0};      ///< of this process
};

/// What a value costs: to be minimised, above 0 and finite; 1/value where more is better.
double cost_of(double value, goal direction) noexcept;
/// True where the tasks' values cannot be added: different units, or more is better.
bool must_be_relative(const std::vector<task_ptr>& tasks);

/// Tasks that share a budget, under way. Copies are the same. Safe from any thread that is not an actor's.
class joint_session {
public:
  /// The report; waits for the end. Null where the engine was destroyed before there was one.
  std::shared_ptr<const joint_report> wait();
  /// True when there is a report.
  bool ended();
  /// Asks it to end as interrupted; returns at once.
  void cancel();
  /// Where one of the tasks stands; all zero before it begins.
  tuner_status progress(std::size_t task);
  /// The part of the slots of all of them together, from now on.
  void share(const schedulers::share_terms& terms);
  /// The report has been taken and nothing more is asked: what it holds is let go.
  void close();

  struct impl;
  explicit joint_session(std::shared_ptr<impl> i) : impl_(std::move(i)) {}

private:
  std::shared_ptr<impl> impl_;
};

} // namespace attune::actors
