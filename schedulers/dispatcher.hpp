// schedulers: who goes next: budget across tasks, slots, admission under noise. Pure: no I/O, no threads, no clock.
#pragma once

#include "core/clock.hpp"
#include "core/failure.hpp"
#include "schedulers/admission.hpp"
#include "schedulers/fair_queue.hpp"
#include "schedulers/retry.hpp"

#include <cstdint>
#include <deque>
#include <functional>
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
  /// Builds in place: its build and run are one section that no other trial enters. Of no meaning without a build.
  bool exclusive = false;
  nanoseconds build_limit{0}; ///< the most that the whole build may take, everything in it; 0: no limit
  nanoseconds run_limit{0};   ///< the most that all runs of the trial together may take; 0: no limit
  std::uint32_t kind = 0;     ///< which slots may run it: those that serve this kind
  std::uint32_t device = 0;   ///< and are of this device; 0: of any
};

/// What a slot is.
struct slot_traits {
  /// Slots of one device have the same: a trial that has lost one of them goes to none of them. 0: it stands alone.
  std::uint32_t device = 0;
  /// The kinds of trials that it serves; none: all.
  std::optional<std::vector<std::uint32_t>> kinds;
  /// It takes an order behind the one that it runs, and begins it by itself when that has ended.
  bool ahead = false;
};

struct dispatcher_options {
  retry_policy retry;
  schedulers::admission admission;
  nanoseconds grace = std::chrono::seconds(10); ///< from "stop" to the end of the wait for an answer
  /// How long a trial waits in a queue while a kind of place that it needs, for its build or for its run, is not in
  /// service at all. It may be built in the meantime. Its time before places that are merely busy does not count.
  nanoseconds no_place_wait = std::chrono::seconds(30);
  std::size_t queue_bound = 65536; ///< trials in hand at once; more are refused (the credits stay far below)
  /// A slot that can is given its next trial ahead where its runs have lately taken less than this: what the order's
  /// way costs would be a part of the whole. Where they take longer, what waits goes to whichever slot is free first.
  nanoseconds ahead_below = std::chrono::milliseconds(100);
  /// Clients get their shares (terms()) of the places' time; false: of the number of trials.
  bool by_time = false;
};

// What the dispatcher wants done. The caller does it, in order.
struct start_build {
  job_id job;
  place_id builder;
};
struct start_run {
  job_id job;
  place_id slot;
  bool ahead = false; ///< behind the one that it runs: begin_run follows
};
/// What was started ahead is the slot's run now: its clock begins.
struct begin_run {
  job_id job;
  place_id slot;
};
/// Tell the slot to give back what was started ahead and has not begun; its answer counts as after stop_place where the
/// trial is to end; where only the slot rests, `cancelled` says that it has come back, and anything else is its answer.
struct stop_ahead {
  place_id place;
  job_id job;
};
/// What was started ahead waits again: it did not begin, as far as can be known, and that is no fault.
struct take_back {
  job_id job;
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
/// What waited in want_aside() may go on.
struct start_aside {
  std::uint64_t ticket;
};
/// The place did not answer after it was told to stop: out of service until it does. The trial ends with the next
/// action (finish_failed); a section that it held is open again.
struct place_stuck {
  place_id place;
  job_id job;
};

using action = std::variant<start_build, start_run, stop_place, finish_answered, finish_failed, retry_later,
                            place_stuck, start_aside, begin_run, stop_ahead, take_back>;

/// The life of every trial between the cache and the recorder: queue, build, run, deadlines, retries, quarantine.
/// Decides; does nothing.
///
/// Every event takes the time (monotonic) and appends the actions that follow from it. Bounds: options.queue_bound
/// trials; memory is proportional to the trials in hand. Thread-safety: one owner. Costs O(places + clients) for each
/// event, but for cancel, the end of a trial's wait, and the coming, loss and falling out of service of a place, which
/// look at every trial in hand once.
///
/// Every trial submitted ends with exactly one finish_answered or finish_failed, provided that tick() is called: a
/// trial that waits while a kind of place that it needs is not in service ends after no_place_wait, one that has failed
/// at every place in service ends at once with its last failure, and a place that neither answers nor stops is given up
/// after its limit and the grace. Only a trial without a limit at a place that never answers is waited for without end
/// (until it is cancelled).
///
/// Builds and runs take turns: runs go first, but after a wave (four, or twice the builders if that is more) of either,
/// the other's waiting trials have theirs, whatever becomes of the wave.
class dispatcher {
public:
  /// Limits of 0 in options.admission count as 1: none could ever be served.
  explicit dispatcher(dispatcher_options options);

  /// A place comes, free. An id that is here already is ignored.
  void add_builder(place_id id, nanoseconds now, std::vector<action>& out);
  void add_slot(place_id id, nanoseconds now, std::vector<action>& out, slot_traits what = {});
  /// From now on the slot serves this kind too. Of no effect where it serves all, or is unknown.
  void serve(place_id slot, std::uint32_t kind, nanoseconds now, std::vector<action>& out);
  /// The place is gone for good, with whatever it had in hand (device_lost, or the timeout or cancellation that was on
  /// record). An unknown id is ignored. @pre the id is not used again, or a trial that failed there never goes to it
  ///
  /// `absence`: the caller had been away (each time has a number, above 0) and lost touch with it by that: what it ran
  /// is tried again, there too when it comes back, as if nothing had been (retry_policy::absences times). 0: it was not
  /// so.
  void remove_place(place_id id, nanoseconds now, std::vector<action>& out, std::uint64_t absence = 0);
  /// The caller has been away over a deadline (it was stopped, or starved): nobody is late by that. What has become due
  /// meanwhile is due after the grace: its answer may have come and not been heard.
  void was_away(nanoseconds now);
  /// No trial will be of this kind any more.
  void forget_kind(std::uint32_t kind);
  /// The place gets nothing new while it rests; what it has in hand goes on, but what was started ahead is to come
  /// back. Unknown ids are ignored.
  void rest(place_id id, bool on, nanoseconds now, std::vector<action>& out);
  /// Other limits for builds and runs at once, from here on; what is in progress goes on. 0 counts as 1.
  void set_admission(schedulers::admission a, nanoseconds now, std::vector<action>& out);
  const schedulers::admission& limits() const noexcept { return options_.admission; }
  /// While it is set, only this client's trials are started, and what others have started ahead is to come back; none:
  /// everyone's.
  void hold_all_but(std::optional<std::uint64_t> client, nanoseconds now, std::vector<action>& out);

  /// The same two for the slots of one device alone: runs at once there (none: as many as it has; where more go on,
  /// what would keep it so is to come back), and whose.
  void limit_device(std::uint32_t device, std::optional<std::uint32_t> at_once, nanoseconds now,
                    std::vector<action>& out);
  void hold_device(std::uint32_t device, std::optional<std::uint64_t> client, nanoseconds now,
                   std::vector<action>& out);
  /// The timed runs on a device now.
  std::uint32_t running_on(std::uint32_t device) const;

  /// Work of the caller's own that must not stand beside a timed run (a training) wants to begin: it may when
  /// start_aside comes, one at a time, before the next run begins. Until aside_done() it counts as a build.
  void want_aside(std::uint64_t ticket, nanoseconds now, std::vector<action>& out);
  /// It has ended, or is not wanted any more. An unknown ticket is ignored.
  void aside_done(std::uint64_t ticket, nanoseconds now, std::vector<action>& out);

  /// A trial comes. False (and nothing done) beyond the bound, and for an id that is in hand.
  bool submit(const job& j, nanoseconds now, std::vector<action>& out);
  /// The builder's answer: none for success. An answer that nobody waits for frees the place and is otherwise dropped.
  void built(place_id builder, job_id id, std::optional<failure> why, nanoseconds now, std::vector<action>& out);
  /// The slot's answer.
  void ran(place_id slot, job_id id, std::optional<failure> why, nanoseconds now, std::vector<action>& out);
  /// Everything of a client that is in hand stops: what waits ends as `cancelled` at once, what is in a place when the
  /// place has answered (or after the grace). A timeout that is on record already stands.
  void cancel(std::uint64_t client, nanoseconds now, std::vector<action>& out);
  /// These trials are not to be run: each ends with `why`, whatever its place says, as those of cancel() do. Unknown
  /// ids are ignored.
  void refuse(const std::vector<job_id>& which, const failure& why, nanoseconds now, std::vector<action>& out);
  /// A client's part of the whole, from now on; before, it is its own owner, with weight 1. While an owner has as many
  /// trials at places as its limit says, no more of its are started.
  void terms(std::uint64_t client, const share_terms& what, nanoseconds now, std::vector<action>& out);
  /// The owners of the clients that have terms.
  std::vector<share_view> shares() const;
  /// The client will not come again: its place in the turns goes. @pre cancel(client) was called, or nothing of it is
  /// in hand (else its place in the turns comes back, and stays)
  void forget(std::uint64_t client);
  /// Time passes: deadlines. To be called at next_deadline() or later; earlier it does nothing.
  void tick(nanoseconds now, std::vector<action>& out);
  /// When tick() has something to do, and then it surely does something; none while nothing is timed.
  std::optional<nanoseconds> next_deadline() const;

  std::size_t in_hand() const noexcept { return jobs_.size(); }
  std::size_t waiting() const noexcept { return to_build_.size() + to_run_.size(); }
  /// What goes on now; a place that is out of service (place_stuck) does not count.
  const machine_load& load() const noexcept { return load_; }
  /// The slots that are here, also those out of service.
  std::size_t slots() const noexcept { return slots_; }

private:
  enum class stage : std::uint8_t { to_build, building, to_run, running };
  struct job_state {
    job what;
    stage at = stage::to_build;
    place_id where = 0;
    retry_state faults;
    std::optional<nanoseconds> unserved_since; ///< it waits, and its prospect is unknown
    /// It waits for a slot, and (where slots differ) one that serves it is in service: what else is built already must
    /// not hold up the rest.
    bool to_be_run = false;
    std::optional<failure> verdict;   ///< decided (timeout, cancelled) while the place still works on it
    std::optional<failure> last;      ///< why it was sent back to a queue
    bool refused = false;             ///< the verdict is not to be tried again
    bool ahead = false;               ///< it waits at its slot, behind another
    bool comes_back = false;          ///< its slot was told to give it back, as it rests
    std::optional<nanoseconds> began; ///< at its place
    double charged = 0;               ///< for that
    bool waits() const noexcept { return at == stage::to_build || at == stage::to_run; }
  };
  struct place {
    bool slot = false;
    slot_traits what{};
    std::optional<job_id> job;  ///< what it works on, also when nobody waits for it any more
    std::optional<job_id> next; ///< what it has in hand ahead
    /// What was taken back though it was not given back: an answer comes still, and until then nothing is given to it.
    std::optional<job_id> owes;
    nanoseconds began{0}, typical{0}; ///< its run; what its runs took lately, 0: not known
    nanoseconds deadline{0}, next_deadline{nanoseconds::max()};
    bool stopping = false; ///< told to stop: `deadline` is the end of the grace
    bool stuck = false;
    bool rests = false;
    bool in_service() const noexcept { return !stuck && !rests && !owes; }
  };

  /// What a waiting trial has to hope for.
  enum class prospect : std::uint8_t {
    served,  ///< a place in service could take it
    unknown, ///< no place of a kind that it needs is in service: one may come
    none,    ///< there are places of a kind that it needs, and it has failed at each
  };

  void add_place(place_id id, bool slot, slot_traits what, nanoseconds now, std::vector<action>& out);
  static bool suits(const place& p, const job_state& s);
  /// Whether the trial counts among those that are to be run.
  void count_run(job_state& s, bool counts);
  void dispatch(nanoseconds now, std::vector<action>& out);
  bool dispatch_aside(std::vector<action>& out);
  bool dispatch_run(nanoseconds now, std::vector<action>& out);
  bool dispatch_build(nanoseconds now, std::vector<action>& out);
  void start(job_state& s, place_id id, place& p, nanoseconds limit, nanoseconds now);
  void enqueue(job_state& s, nanoseconds now, bool first, std::vector<action>& out);
  void answered(place_id id, job_id job, std::optional<failure> why, nanoseconds now, std::vector<action>& out);
  void fail(job_state& s, const failure& why, place_id at, std::uint32_t device, nanoseconds now,
            std::vector<action>& out);
  /// Ends a trial that is in no queue.
  void finish(job_state& s, std::optional<failure> why, bool quarantined, std::vector<action>& out);
  /// Ends trials that are in the queues, in the order of their ids, each with the failure that `why` gives for it.
  template <class Why>
  void finish_waiting(std::vector<job_id> ids, Why why, std::vector<action>& out);
  void stop(place_id id, place& p, nanoseconds now, std::vector<action>& out);
  /// Those that wait end, those at places are stopped.
  void end_early(const std::function<bool(const job_state&)>& which, const failure& why, bool refused, nanoseconds now,
                 std::vector<action>& out);
  void promote(place_id id, place& p, nanoseconds now, std::vector<action>& out);
  /// What was started ahead there is to come back, and that is no fault.
  void call_back(place_id id, place& p, nanoseconds now, std::vector<action>& out);
  /// Into the queue of the stage where it begins again.
  void begin_again(job_state& s);
  /// What was started ahead goes back to the queue.
  void take_back_next(job_id id, nanoseconds now, std::vector<action>& out);
  /// The beginning and the end of its time at a place, or ahead of one.
  void charge(job_state& s, const fair_queue<job_id>& from);
  void settle(job_state& s, nanoseconds now);
  bool at_limit(std::uint64_t client) const;
  /// A timed run begins or ends at the place.
  void count_running(const place& p, bool begins);
  /// Whether the place's device lets this trial begin now.
  bool device_lets(const place& p, const job_state& s, bool ahead) const;
  std::pair<place_id, place>* place_ahead(const job_state& s);
  /// After the places in service have changed: begins or ends the waits for a place, ends trials without hope.
  void places_changed(nanoseconds now, std::vector<action>& out);
  prospect prospect_of(const job_state& s) const;
  bool in_service(bool slot) const;
  std::pair<place_id, place>* free_place(bool slot, const job_state& s);
  place* find_place(place_id id);
  std::uint32_t wave() const;
  bool builds_turn() const;
  bool runs_turn() const;

  dispatcher_options options_;
  std::unordered_map<job_id, job_state> jobs_;
  std::vector<std::pair<place_id, place>> places_; ///< few, in order of arrival
  fair_queue<job_id> to_build_, to_run_;
  machine_load load_;
  std::deque<std::uint64_t> asides_;   ///< that wait
  std::optional<std::uint64_t> aside_; ///< under way
  std::optional<std::uint64_t> only_;  ///< whose trials alone are started
  std::optional<job_id> section_;      ///< the exclusive trial that holds the machine
  struct device_state {
    std::uint32_t running = 0;
    std::optional<std::uint32_t> at_once;
    std::optional<std::uint64_t> only; ///< whose trials alone are started
  };
  std::unordered_map<std::uint32_t, device_state> device_states_;
  struct account {
    share_terms terms;
    std::uint32_t clients = 0, busy = 0;
    nanoseconds used{0};
  };
  std::unordered_map<std::uint64_t, share_terms> terms_; ///< by client
  std::unordered_map<std::uint64_t, account> accounts_;  ///< by owner
  std::uint32_t runs_since_build_ = 0, builds_since_run_ = 0;
  std::size_t slots_ = 0, aheads_ = 0; ///< aheads_: slots that take an order ahead
  std::size_t runs_served_ = 0;        ///< trials with to_be_run
  bool kinds_differ_ = false;          ///< some slot does not serve all
};

} // namespace attune::schedulers
