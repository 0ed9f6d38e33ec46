#pragma once

#include "core/task.hpp"
#include "search/near_reuse.hpp"
#include "search/space.hpp"
#include "search/strategy.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attune::search {

/// Why a task's search came to its end (the contract's `stopped_because`).
enum class stop_reason : std::uint8_t { none, trials, time, exhausted, converged, interrupted, no_valid, error };
const char* to_string(stop_reason r) noexcept;

struct tuning_limits {
  std::optional<std::uint64_t>
      trials;                      ///< distinct configurations, those of earlier processes of the session among them
  std::optional<nanoseconds> time; ///< of the whole session; what is in flight then is finished
  /// So many infrastructure faults in a row, with nothing measured between them, end the search as `error`: the
  /// machine, not the candidates, is what fails.
  std::uint32_t faults_in_a_row = 16;
  nanoseconds spent{0};           ///< of `time`, by earlier processes
  nanoseconds kept_for_finals{0}; ///< of `time`: nothing is proposed in it
  /// The space's standard configuration counts as the default, where the spec names none.
  bool always_default = false;
};

/// The best of a session: only a finite, measured value ever stands here.
struct best_so_far {
  configuration config;
  outcome_ptr result; ///< measured() is not null
  key128 key;
  trial_number number = 0;
};

/// How many of the best are kept: those that may be measured again.
inline constexpr std::size_t contender_bound = 64;

/// One that was measured side by side with the others, at the end of a search.
struct settled {
  best_so_far which;
  amendment how;
};

struct tuning_counts {
  std::uint64_t proposed = 0;  ///< told to the strategy: distinct configurations
  std::uint64_t measured = 0;  ///< by this process, those that were stopped early among them
  std::uint64_t bounded = 0;   ///< of them, stopped early: without a value
  std::uint64_t estimated = 0; ///< not measured: their neighbours said enough
  std::uint64_t cached = 0;    ///< answered from memory (the cache or the session's own past), failures among them
  std::array<std::uint64_t, all_failure_kinds.size()> failed{}; ///< by kind, from whatever source
  std::uint64_t failures() const noexcept;
};

/// Where the time went: sums over the trials that this process measured (core/measurement.hpp, phase_times), with what
/// their tuner saw behind that. Trials overlap: the sums may pass the wall time.
struct tuning_times {
  nanoseconds build{0}, run{0}, queue{0}, clean{0};
  nanoseconds store{0};  ///< from the hand-over of a result until it was durable and its tuner had it
  nanoseconds search{0}; ///< the strategy's: asking and telling, waiting for a training
  nanoseconds trials{0}; ///< from proposal to told: what the phases account for
  std::vector<std::pair<std::string, nanoseconds>> devices; ///< the time that each slot ran trials, sorted by name
  void add(const tuning_times& other);
};

/// What was expected of a trial when it was proposed.
struct foreseen {
  double value = 0;
  bool chosen = true; ///< it was proposed because of this; false: to explore
};

/// One step of the search in the order in which the strategy was told: what a journal must hold to come back to this
/// state.
struct told_step {
  trial_number number = 0;
  trial_number asked_before = 0;
};

/// One task's search: a strategy, its trials in flight, its budget and its result, as a value-in value-out state
/// machine.
///
/// The sequence of asks is a function of the strategy's options and of the sequence of tells (with the window at each):
/// after each tell it asks until the window is full. So a journal of told_steps with their outcomes, played back
/// through replay(), leads to the same state. Threads: one owner. Memory: the trials in flight and what the strategy
/// keeps.
class tuning {
public:
  tuning(task_ptr of, space_ptr over, std::unique_ptr<strategy> how, tuning_limits limits, std::uint64_t session);

  /// Plays back one step of the session's past. Where the strategy now proposes something else than the step says
  /// (another version, another window), the step's result is taken as experience: nothing is measured twice and nothing
  /// counted twice in any case.
  /// @pre begin() was not called
  void replay(const told_step& step, const configuration& config, const key128& key, const outcome_ptr& result);

  /// The clock of the time limit starts.
  void begin(nanoseconds now);
  /// How many trials may be in flight.
  void set_window(std::uint32_t credits) { window_ = credits; }
  std::uint32_t window() const noexcept { return window_; }
  /// How many trials it may have had in all, for now: what shares a budget with others is dealt its trials. It waits
  /// for more; it does not end. None (at the beginning): no such bound.
  void allow(std::uint64_t trials) { allowed_ = trials; }

  /// The next trial; null where none is to be started now: the window is full, the budget is spent or being spent, the
  /// strategy has nothing left, the search is stopping.
  trial_ptr propose(nanoseconds now);

  /// How a trial ended. Returns the step for the journal; none for a trial that is not in flight (a second answer) and
  /// for a cancelled one, which counts as never proposed. `arrived`: when the caller had the result, durable; none
  /// where that says nothing of the times between, as the caller measured by itself.
  std::optional<told_step> tell(const trial& which, const outcome_ptr& result, bool from_cache, nanoseconds now,
                                std::optional<nanoseconds> arrived = std::nullopt);

  /// From now on what lies between equal measurements may be estimated (search/near_reuse.hpp); `tolerance` is a
  /// fraction.
  void estimate_near(double tolerance) { near_.emplace(space_, task_->metric().direction, tolerance); }
  /// What another session has measured of this task, for estimates. @pre estimate_near()
  void known_near(const configuration& config, const key128& key, const outcome& result);
  /// What a trial in flight may be taken to come to, by what is known now; none: it is to be measured.
  std::optional<estimate> estimate_of(trial_number number);
  /// The trial is not measured: this is taken for it. The strategy is told that its cost is no less than that (as of
  /// one that was stopped early), so that no model takes it for measured. Returns the step for the journal; none for a
  /// trial that is not in flight.
  std::optional<told_step> tell_estimate(const trial& which, const estimate& guess, nanoseconds now);
  /// The same, played back. @pre begin() was not called
  void replay_estimate(const told_step& step, const configuration& config, const estimate& guess);

  /// Work of the strategy's that may be run beside the search: it is in the caller's hands until end_training(). Null:
  /// none. Where nobody takes it, the strategy does it itself when it is needed.
  std::shared_ptr<training> begin_training();
  /// The training in the caller's hands is done; or it never will be there, and is left to the strategy.
  void end_training() noexcept { lent_ = nullptr; }
  /// True while the next proposal waits for the training in the caller's hands. Until end_training() propose() gives
  /// nothing, and the caller keeps results back: so what is proposed depends on their order, not on how long a training
  /// takes.
  bool held() const;
  /// What the strategy has decided since the last time, for a person; what it decided in replay() is not told again.
  std::vector<std::string> take_notes() { return strategy_->take_notes(); }
  /// What the strategy's model expects of a trial in flight, as a value of its metric; none: no model has looked at it.
  std::optional<foreseen> foreseen_of(trial_number number) const;

  /// A trial that was told has a new result, which takes the place of the old one in what is best; the strategy is told
  /// it as experience. Nothing is counted. Returns the step for the journal.
  told_step amend(trial_number number, const configuration& config, const key128& key, const outcome_ptr& result,
                  const amendment& why);
  /// The same, played back. @pre begin() was not called
  void replay_amendment(const told_step& step, const configuration& config, const key128& key,
                        const outcome_ptr& result, const amendment& why);
  /// A trial that runs once more: `again` is proposed at `now` for that purpose.
  trial_ptr again(const best_so_far& which, purpose why, nanoseconds now) const;
  /// The best that were measured, best first, of equal values the earlier told first; bounded (contender_bound).
  const std::vector<best_so_far>& contenders() const noexcept { return contenders_; }
  /// The default configuration's result, where the spec names a default and it was measured.
  const std::optional<best_so_far>& standard() const noexcept { return standard_; }
  /// What was measured side by side since the last trial was told: the winner is named by it.
  const std::vector<settled>& side_by_side() const noexcept { return side_by_side_; }

  /// Ends the search: nothing is proposed any more. The first reason stands.
  void stop(stop_reason why);
  /// Looks at the time limit.
  void tick(nanoseconds now);
  /// When tick() has something to do.
  std::optional<nanoseconds> deadline() const;

  bool stopping() const noexcept { return why_ != stop_reason::none; }
  bool out_of_time() const noexcept { return why_ == stop_reason::time; }
  /// True when it is stopping and nothing is in flight.
  bool finished() const noexcept { return stopping() && flying_ == 0; }
  /// The reason to be reported: `no_valid` where an ordinary end leaves no best.
  stop_reason reason() const noexcept;

  /// None where nothing was measured.
  std::optional<best_so_far> best() const {
    return contenders_.empty() ? std::nullopt : std::optional(contenders_.front());
  }
  const tuning_counts& counts() const noexcept { return counts_; }
  const tuning_times& times() const noexcept { return times_; }
  /// Time spent in asking and telling, as its owner measured it: beside what tell() sees of it.
  void add_search_time(nanoseconds d) { times_.search += d; }
  const std::optional<failure>& first_failure() const noexcept { return first_failure_; }
  std::size_t in_flight() const noexcept { return flying_; }
  const task_ptr& of() const noexcept { return task_; }
  const space_ptr& over() const noexcept { return space_; }

private:
  struct flight {
    point at;
    bool open = false;
    std::optional<forecast> expected{};
  };
  /// Whether the window and the budget have room for one more.
  bool has_room() const;
  bool ask(trial_number& number);
  flight* flight_of(trial_number number);
  /// Ends the flight; answers where it was. @pre flight_of(number)
  point land(trial_number number);
  trial_ptr issue(trial_number number, nanoseconds now);
  void take(const configuration& config, const key128& key, trial_number number, const outcome_ptr& result,
            bool memory);
  observation observe(const outcome& o) const;
  observation observe(const estimate& guess) const;
  void tell_at(const told_step& step, const configuration& config, const observation& how);
  void contend(best_so_far one);
  void learn_noise(const measurement& m);
  std::optional<double> noise() const;
  void account(const trial& which, const outcome& result, nanoseconds told, std::optional<nanoseconds> arrived);

  task_ptr task_;
  space_ptr space_;
  std::unique_ptr<strategy> strategy_;
  tuning_limits limits_;
  std::uint64_t session_ = 0;
  std::uint32_t window_ = 1;
  std::optional<std::uint64_t> allowed_;
  trial_number asked_ = 0;
  std::deque<flight> flights_; ///< of the trials from first_flight_ on; the first is open
  trial_number first_flight_ = 0;
  std::size_t flying_ = 0;         ///< open ones
  std::deque<trial_number> again_; ///< asked in the past, not told: to be issued first
  std::vector<best_so_far> contenders_;
  std::deque<double> deviations_;        ///< of the last that were sampled, fractions
  std::optional<configuration> default_; ///< where the spec names one
  std::optional<best_so_far> standard_;
  std::vector<settled> side_by_side_;
  std::optional<failure> first_failure_;
  tuning_counts counts_;
  tuning_times times_;
  std::optional<nanoseconds> ends_at_;
  std::uint32_t faults_ = 0;
  std::shared_ptr<training> lent_;
  std::optional<near_reuse> near_;
  stop_reason why_ = stop_reason::none;
};

} // namespace attune::search
