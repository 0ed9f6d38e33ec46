#pragma once

#include "core/error.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune::schedulers {

/// One of the tasks that share a budget.
struct shared_task {
  double weight = 1;       ///< of its cost in the total, above 0
  std::uint32_t place = 0; ///< the device that it runs on: tasks of different places do not wait for each other
  std::uint32_t kind = 0;  ///< tasks of one number are similar
  /// The most trials that it can have in all: its own limit, the size of its space. None: no bound of its own.
  std::optional<std::uint64_t> most;
};

struct budget_options {
  std::string policy = "gradient";
  std::optional<std::uint64_t> trials;   ///< of all tasks together; none: no bound (time is the owner's)
  std::optional<std::uint64_t> patience; ///< without a gain in so many of its trials a task has converged
  /// The first trials of each task come one after the other, before a policy that compares them does so; no more of
  /// them than half the budget.
  std::uint64_t warm_up = 10;
  /// Time may end it before all have had their first trials: each gets two before any gets more.
  bool hurried = false;
  /// A task without a valid result gets no more than this share of the budget (of the trials that were dealt, where
  /// there is no bound, and the warm-up), at least one trial.
  double dead_share = 0.08;
  /// Costs count relative to each task's first: where they are of different units.
  bool relative = false;
};

/// Why a task gets no more.
enum class leaving : std::uint8_t {
  none,
  limit,     ///< its own limit, or all of its space
  converged, ///< no gain in `patience` trials
  dead,      ///< no valid result in its share
  left,      ///< its owner said so
};

/// Who of several tasks goes next: one budget of trials for the weighted total of their best costs.
///
/// The unit is the trial, from the moment it is dealt: what is pending counts, so any number may be in flight. What is
/// dealt is a function of each task's own results in their order, of what is pending, and of the places' room; so tasks
/// that are taken up again with the results that they had (restore()) go on as they would have.
///
/// Policies: `gradient` (where the total gains most by the next trial), `round_robin` (who has had fewest),
/// `sequential` (one after the other, each an equal share of what is left). Threads: one owner. Cost: O(tasks) for each
/// trial. Memory: what each task has gained when.
class task_budget {
public:
  /// Where one task stands.
  struct standing {
    std::uint64_t dealt = 0; ///< ended ones among them
    std::uint64_t told = 0;
    std::optional<double> first, best; ///< costs; none: nothing valid
    std::uint64_t gained_at = 0;       ///< `told` at its last gain
    leaving why = leaving::none;
    std::uint64_t pending() const noexcept { return dealt - told; }
  };

  virtual ~task_budget() = default;
  task_budget(const task_budget&) = delete;
  task_budget& operator=(const task_budget&) = delete;

  /// The task of the next trial; none while no one can take one: nothing is left, or all that could must wait for room
  /// or for results.
  std::optional<std::size_t> next();
  /// A trial of the task came to its end. `cost`: to be minimised, above 0 and finite; none: it has no value.
  /// @pre pending() > 0
  void told(std::size_t task, std::optional<double> cost);
  /// A trial that ended before this began.
  void restore(std::size_t task, std::optional<double> cost);
  /// Its pending trials will not come to an end: they go back. It gets no more.
  void leave(std::size_t task);
  /// How many trials may be in flight at a place; 1 until it is said.
  void set_room(std::uint32_t place, std::uint32_t most);

  /// Nothing is pending and nobody will get another trial.
  bool over() const;
  bool spent() const noexcept { return options_.trials && dealt_ >= *options_.trials; }
  std::uint64_t dealt() const noexcept { return dealt_; }
  std::span<const standing> tasks() const noexcept { return standings_; }

protected:
  task_budget(std::vector<shared_task> tasks, budget_options options);
  /// Whom the policy prefers among those for whom `open` holds; none: nobody of them yet. Those for whom `able` alone
  /// holds wait for room: something of theirs, or of their place's, is pending.
  virtual std::optional<std::size_t> choose(const std::vector<bool>& open, const std::vector<bool>& able) const = 0;

  /// The best cost that a task had after so many of its results; none: nothing valid by then.
  std::optional<double> best_after(std::size_t task, std::uint64_t told) const;
  const std::vector<shared_task>& members() const noexcept { return tasks_; }
  const budget_options& options() const noexcept { return options_; }

private:
  struct gain {
    std::uint64_t at = 0;
    double cost = 0;
  };
  bool can_take(std::size_t task) const;
  std::uint64_t dead_limit() const;
  void take(std::size_t task, std::optional<double> cost);
  void look_at_end(std::size_t task);

  std::vector<shared_task> tasks_;
  budget_options options_;
  std::vector<standing> standings_;
  std::vector<std::vector<gain>> gains_;
  std::vector<std::uint32_t> room_;      ///< by place
  std::vector<std::uint64_t> in_flight_; ///< by place
  std::uint64_t dealt_ = 0;
};

/// Errors: invalid_spec: an unknown policy, naming the nearest; `sequential` without a bound on the trials.
result<std::unique_ptr<task_budget>> make_task_budget(std::vector<shared_task> tasks, budget_options options);
std::span<const std::string_view> budget_policies() noexcept;

} // namespace attune::schedulers
