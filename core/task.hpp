#pragma once

#include "core/measurement.hpp"
#include "core/spec.hpp"
#include "core/target.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

namespace attune {

/// A C++ callable that measures one configuration: returns its samples in the metric's unit, or the failure. It is
/// called on a runner's own thread, one call at a time for each slot; it may throw std::exception (a run_error with its
/// text). The token is asked to stop at the run's limit; a callable that does not look at it keeps its slot until it
/// returns.
using objective_function =
    std::function<std::variant<std::vector<double>, failure>(const configuration&, std::stop_token)>;

/// What identity is made of (DESIGN.md, rule 3). Each part has its own digest, so that the store can answer by workload
/// and by target; the task's digest is the SHA-256 of the three, one after the other.
struct task_identity {
  std::string workload_form, target_form, method_form; ///< the canonical encodings
  digest workload_key, target_key, method_key;
  digest task_key;
};

/// A workload on a target with its space: immutable, shared by all who work on it.
struct task {
  task_spec spec;
  workload load;
  target where;
  task_identity identity;
  objective_function objective; ///< empty: spec.run.run measures

  const metric_spec& metric() const { return spec.run.metrics[spec.run.objective]; }
  /// True where `a` is better than `b` for this task's goal.
  bool better(double a, double b) const { return metric().direction == goal::minimize ? a < b : a > b; }
};
using task_ptr = std::shared_ptr<const task>;

/// The canonical form of how a task is built and measured: the commands, the contents of the named source files (as
/// SHA-256, in the order of their names) and of the run's files where there are any, the time limits, metrics, warm-up,
/// repeats, check and limits of the metrics (nothing is said of these where there is none); for a callable its name and
/// version as `spec.callable` states them. Errors: invalid_spec, where a source cannot be read (naming it).
result<std::string> method_form(const task_spec& spec);

/// The canonical form of a space's declaration: parameters sorted by name with their domains and conditions,
/// constraints (callables by their names). Defaults are not part of it.
std::string space_form(const task_spec& spec);

/// Makes the task: reads the sources, joins the machine's fingerprint, computes the identity.
result<task_ptr> make_task(task_spec spec, objective_function objective = {});
/// The same on a given target (no look at this machine).
result<task_ptr> make_task(task_spec spec, target where, objective_function objective = {});

/// The key of a measurement: the first half of SHA-256(task_key, canonical configuration).
key128 measurement_key(const task_identity& task, std::string_view canonical_configuration);

/// Numbers the trials of one session from 0 in the order in which they were proposed.
using trial_number = std::uint64_t;

/// What a trial is run for.
enum class purpose : std::uint8_t {
  search,    ///< a strategy asked for it
  finalist,  ///< run once more, side by side with others, before a winner is named
  repeat,    ///< measured anew, because the machine was disturbed
  reference, ///< run once more now and then, to see the machine
};

/// Why a result takes the place of an earlier one of the same trial.
struct amendment {
  enum class cause : std::uint8_t { repeated, side_by_side } why = cause::repeated;
  // Of what was measured side by side:
  bool winner = false;
  bool tied = false;        ///< cannot be told from the winner
  bool reference = false;   ///< the default configuration: it ran along
  bool separated = false;   ///< the winner is better than every other
  std::uint32_t rounds = 0; ///< how often it was run
  friend bool operator==(const amendment&, const amendment&) = default;
};

/// One configuration asked for.
struct trial {
  trial_number number = 0;
  std::uint64_t session = 0; ///< who asked (the tuner's number in this process)
  task_ptr of;
  configuration config;
  std::string canonical;   ///< config.canonical()
  key128 key;              ///< measurement_key(of->identity, canonical)
  nanoseconds proposed{0}; ///< monotonic
  /// The worse end of the interval of the best so far, when it was proposed: a run that is surely worse may be stopped
  /// early (core/measurement.hpp, bound). None: nothing was measured yet, or all are to be measured to the end.
  std::optional<double> rival;
  /// The standard deviation of one sample in this search, a fraction of the value, as far as it is known.
  std::optional<double> noise;
  purpose why = purpose::search;

  /// True where it is run one time, without warm-up, repeats and check: it was measured before.
  bool once() const noexcept { return why == purpose::finalist || why == purpose::reference; }
};
using trial_ptr = std::shared_ptr<const trial>;
using outcome_ptr = std::shared_ptr<const outcome>;

/// A value as it was measured, without the drift of the machine.
inline double corrected(double value, const conditions& around, goal direction) noexcept {
  return direction == goal::minimize ? value / around.correction : value * around.correction;
}

/// Whether a result that is known answers this trial: one that was stopped early does only where the trial would be
/// stopped as well, that is, where its rival is no worse than the one it was stopped against.
bool answers(const outcome& known, const trial& asked) noexcept;

} // namespace attune
