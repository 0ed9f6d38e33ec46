// schedulers: who goes next: budget across tasks, slots, admission under noise. Pure: no I/O, no threads, no clock.
#pragma once

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "schedulers/admission.hpp"
#include "schedulers/fair_queue.hpp"
#include "schedulers/retry.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace attune::schedulers {

/// Names one trial within the dispatcher; given by the caller, never reused.
using job_id = std::uint64_t;
/// Names a builder or a slot; given by the caller, unique over both.
using place_id = std::uint32_t;

/// What the dispatcher must know about a trial.
struct job {
  job_id id = 0;
  std::uint64_t client = 0; ///< whose turn it is
  bool needs_build = false;
  bool exclusive = false;     ///< builds in place: its build and run are one section that no other trial enters
  nanoseconds build_limit{0}; ///< the most that the whole build may take, everything in it
  nanoseconds run_limit{0};   ///< the most that all runs of the trial together may take
};

struct dispatcher_options {
  retry_policy retry;
  quiet_admission admission;
  nanoseconds grace = std::chrono::seconds(10); ///< from "stop" to the end of the wait for an answer
  nanoseconds no_place_wait =
      std::chrono::seconds(30);    ///< how long a trial waits where there is nothing that could ever serve it
  std::size_t queue_bound = 65536; ///< trials in hand at once; more are refused (the credits stay far below)
};

// What the dispatcher wants done. The caller does it, in order.
struct start_build {
  job_id job;
  place_id builder;
};
struct start_run {
  job_id job;
  place_id slot;
};
/// Tell the place to stop what it does; its answer, whatever it says, counts as the failure that is on record.
struct stop_place {
  place_id place;
  job_id job;
};
/// The trial is at its end with what the last answer brought.
struct finish_answered {
  job_id job;
};
/// The trial is at its end with this failure.
struct finish_failed {
  job_id job;
  failure why;
  bool quarantined = false;
};
/// The trial goes back to the queue after this failure.
struct retry_later {
  job_id job;
  failure why;
  place_id failed_at;
};
/// The place did not answer after it was told to stop: out of service until it does.
struct place_stuck {
  place_id place;
  job_id job;
};

using action =
    std::variant<start_build, start_run, stop_place, finish_answered, finish_failed, retry_later, place_stuck>;

/// The life of every trial between the cache and the recorder: queue, build, run, deadlines, retries, quarantine.
/// Decides; does nothing.
///
/// Every event takes the time (monotonic) and appends the actions that follow from it. Bounds: options.queue_bound
/// trials; memory is proportional to the trials in hand. Thread-safety: one owner. Costs O(1) for each event, but for
/// cancel and loss of a place, which look at every queued trial.
class dispatcher {
public:
  explicit dispatcher(dispatcher_options options) : options_(options) {}

  void add_builder(place_id id, nanoseconds now, std::vector<action>& out);
  void add_slot(place_id id, nanoseconds now, std::vector<action>& out);
  /// The place is gone for good, with whatever it had in hand (device_lost).
  void remove_place(place_id id, nanoseconds now, std::vector<action>& out);
  /// Other limits for builds and runs at once.
  void set_admission(quiet_admission a, nanoseconds now, std::vector<action>& out);

  /// A trial comes. False (and nothing done) beyond the bound.
  bool submit(const job& j, nanoseconds now, std::vector<action>& out);
  /// The builder's answer: none for success. An answer that nobody waits for frees the place and is otherwise dropped.
  void built(place_id builder, job_id id, std::optional<failure> why, nanoseconds now, std::vector<action>& out);
  /// The slot's answer.
  void ran(place_id slot, job_id id, std::optional<failure> why, nanoseconds now, std::vector<action>& out);
  /// Everything of a client stops: what waits ends as `cancelled` at once, what is in a place when the place has
  /// answered.
  void cancel(std::uint64_t client, nanoseconds now, std::vector<action>& out);
  /// The client will not come again: its place in the turns goes. @pre cancel(client) was called, or nothing of it
  /// waits
  void forget(std::uint64_t client);
  /// Time passes: deadlines. To be called at next_deadline() or later.
  void tick(nanoseconds now, std::vector<action>& out);
  /// When tick() has something to do; none while nothing is timed.
  std::optional<nanoseconds> next_deadline() const;

  std::size_t in_hand() const noexcept { return jobs_.size(); }
  std::size_t waiting() const noexcept { return to_build_.size() + to_run_.size(); }
  const machine_load& load() const noexcept { return load_; }
  std::size_t slots() const noexcept { return slots_; }

private:
  enum class stage : std::uint8_t { to_build, building, to_run, running };
  struct job_state {
    job what;
    stage at = stage::to_build;
    place_id where = 0;
    retry_state faults;
    nanoseconds waiting_since{0};
    std::optional<failure> verdict; ///< decided (timeout, cancelled) while the place still works on it
  };
  struct place {
    bool slot = false;
    std::optional<job_id> job; ///< what it works on, also when nobody waits for it any more
    nanoseconds deadline{0};
    bool stopping = false; ///< told to stop: `deadline` is the end of the grace
    bool stuck = false;
  };

  void dispatch(nanoseconds now, std::vector<action>& out);
  bool dispatch_run(nanoseconds now, std::vector<action>& out);
  bool dispatch_build(nanoseconds now, std::vector<action>& out);
  void enqueue(job_state& s, nanoseconds now, bool first);
  void answered(place_id id, job_id job, std::optional<failure> why, nanoseconds now, std::vector<action>& out);
  void fail(job_state& s, const failure& why, place_id at, nanoseconds now, std::vector<action>& out);
  void finish(job_state& s, std::optional<failure> why, bool quarantined, std::vector<action>& out);
  void leave_place(const job_state& s);
  void stop(place_id id, place& p, nanoseconds now, std::vector<action>& out);
  /// Whether any place that is in service could take the trial at its stage; `spare_failed` leaves out where it failed.
  bool could_be_served(const job_state& s, bool spare_failed) const;
  std::pair<place_id, place>* free_place(bool slot, const job_state& s);
  place* find_place(place_id id);
  bool builds_turn() const;

  dispatcher_options options_;
  std::unordered_map<job_id, job_state> jobs_;
  std::vector<std::pair<place_id, place>> places_; ///< few, in order of arrival
  fair_queue<job_id> to_build_, to_run_;
  machine_load load_;
  std::optional<job_id> section_; ///< the exclusive trial that holds the machine
  std::uint32_t runs_since_build_ = 0;
  std::size_t slots_ = 0;
};

} // namespace attune::schedulers
