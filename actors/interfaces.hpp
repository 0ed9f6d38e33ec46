#pragma once

#include "actors/atoms.hpp"
#include "actors/event_queue.hpp"
#include "actors/messages.hpp"

#include <caf/atom.hpp>
#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

#include <memory>

/// Every actor's interface: what may be sent to it, and what it answers. A program or a test may send any message that
/// is not marked INTERNAL. Errors are answered as caf::error with the codes of actors/error.hpp.
namespace attune::actors {

/// A BUILDER builds one trial at a time.
using builder_actor = caf::typed_actor<
    // Builds; answered when the process group is gone. A second order while one is in hand: ec::busy.
    caf::replies_to<atom::build, build_order>::with<build_report>,
    // Ends the build in hand early; it is answered as `cancelled`. Nothing in hand: nothing happens.
    caf::reacts_to<atom::cancel>,
    // INTERNAL: the build's end, from the thread that saw it.
    caf::reacts_to<atom::internal, build_report>>;

/// A RUNNER is one slot: it runs and times one trial at a time. A remote runner is the same interface, with the wire
/// behind it.
using runner_actor = caf::typed_actor<
    // Runs; answered when the process group is gone. A second order while one is in hand: ec::busy.
    caf::replies_to<atom::run, run_order>::with<run_report>,
    // Ends the run in hand early; it is answered as `cancelled`.
    caf::reacts_to<atom::cancel>,
    // INTERNAL: the run's end, from the thread that saw it.
    caf::reacts_to<atom::internal, run_report>>;

/// The MODEL runs the trainings of the strategies, one after the other, on a thread of its own.
using model_actor = caf::typed_actor<
    // Trains; answered when it is done, whatever came of it.
    caf::replies_to<atom::train, training_ptr>::with<caf::ok_atom>>;

/// A TUNER owns one task's search: its strategy, its trials in flight and its budget. It ends by itself when it has
/// answered everyone that waits for its report and `cancel`, or an exit message, reaches it.
using tuner_actor = caf::typed_actor<
    // Starts to propose.
    caf::reacts_to<atom::begin>,
    // Proposes nothing until `resume`; what is in flight goes on.
    caf::replies_to<atom::pause>::with<caf::ok_atom>, caf::replies_to<atom::resume>::with<caf::ok_atom>,
    // Ends the search as `interrupted`: what is in flight is stopped. Answered at once; the report follows.
    caf::replies_to<atom::cancel>::with<caf::ok_atom>,
    // Where it stands.
    caf::replies_to<atom::status>::with<tuner_status>,
    // How it ended; answered at its end.
    caf::replies_to<atom::report>::with<report_ptr>,
    // The next trial for a caller that measures by itself (measuring::by_caller): one that the cache does not know.
    // Errors: ec::ended when there is none, ec::not_by_caller.
    caf::replies_to<atom::ask>::with<trial_ptr>,
    // How it ended; answered when its record is durable and the strategy has been told. Errors: ec::unknown_trial.
    caf::replies_to<atom::tell, trial_number, outcome_ptr>::with<caf::ok_atom>,
    // How many trials it may have in flight from now on.
    caf::reacts_to<atom::credits, std::uint32_t>,
    // Trials that are at their end, durable.
    caf::reacts_to<atom::done, finished_batch>,
    // Trials that the cache does not know, for the caller to measure; or to be estimated, or else passed on.
    caf::reacts_to<atom::miss, trial_batch>,
    // The machine was disturbed when these were measured: they are to be measured anew.
    caf::reacts_to<atom::doubt, trial_batch>,
    // The search cannot go on (the store).
    caf::reacts_to<atom::cancel, error>,
    // From its allocator, where it shares a budget: how many trials it may have had in all; and that this was all.
    caf::reacts_to<atom::allow, budget_allowance>, caf::reacts_to<atom::finish, budget_end>,
    // INTERNAL: time passed.
    caf::reacts_to<atom::internal, atom::tick>>;

/// The SCHEDULER owns the queue, credits, slots, deadlines, retries and quarantine.
using scheduler_actor = caf::typed_actor<
    // A session comes with the most trials that it can have in flight (0: no bound of its own); its tuner gets
    // `credits`.
    caf::reacts_to<atom::attach, session_number, tuner_actor, std::uint32_t>,
    // The same for one of a party (a number of its own): they share one window, and each is told the whole of it.
    caf::reacts_to<atom::attach, session_number, tuner_actor, std::uint32_t, session_number>,
    caf::reacts_to<atom::detach, session_number>,
    // What is a session's part of the whole, from now on (before it comes, too); and what the owners have.
    caf::reacts_to<atom::share, session_number, schedulers::share_terms>,
    caf::replies_to<atom::share>::with<share_list>,
    // From now on these are not run.
    caf::reacts_to<atom::refuse, refusal>,
    // Measure these: each ends at the recorder, once.
    caf::reacts_to<atom::measure, trial_batch>,
    // Run this once more. What is measured for good ends at the recorder; a finalist's single run at its tuner
    // (`done`).
    caf::reacts_to<atom::again, rerun>,
    // Everything of a session stops; what was in hand ends as `cancelled`.
    caf::reacts_to<atom::cancel, session_number>,
    // Work beside the trials wants to begin (a ticket of its sender's): answered when no timed run is disturbed by it.
    // It ends with `aside done`, or with its sender.
    caf::replies_to<atom::aside, std::uint64_t>::with<caf::ok_atom>,
    caf::reacts_to<atom::aside, atom::done, std::uint64_t>,
    // A place came. It goes when its actor ends, or by `leave`. Answers its number.
    caf::replies_to<atom::join, place_info, builder_actor>::with<std::uint32_t>,
    caf::replies_to<atom::join, place_info, runner_actor>::with<std::uint32_t>,
    caf::reacts_to<atom::leave, std::uint32_t>,
    // A slot gets nothing new, or does again; what it has in hand goes on.
    caf::reacts_to<atom::pause, runner_actor>, caf::reacts_to<atom::resume, runner_actor>,
    caf::replies_to<atom::status>::with<scheduler_status>,
    // INTERNAL: a deadline may have come.
    caf::reacts_to<atom::internal, atom::tick, std::uint64_t>>;

/// An OPENER makes the tuner of one of the tasks that share a budget, on a thread of its own: that reads the store.
using opener_actor = caf::typed_actor<
    // Of the task of this number, with what the store knows of similar ones up to this record.
    caf::replies_to<atom::open, std::uint64_t, std::uint64_t>::with<opened_task>>;

/// An ALLOCATOR deals out the trials of one budget to the tuners that share it (schedulers/task_budget.hpp), and has a
/// task opened when it deals it its first.
using allocator_actor = caf::typed_actor<
    // What it deals (moved from), and whom to.
    caf::reacts_to<atom::begin, allocator_setup_ptr>,
    // From a tuner.
    caf::reacts_to<atom::note, budget_news>,
    // Ends the whole as `interrupted`.
    caf::reacts_to<atom::cancel>,
    // How it ended; answered when all have ended.
    caf::replies_to<atom::report>::with<joint_report_ptr>,
    // Whether it has ended.
    caf::replies_to<atom::status>::with<bool>,
    // INTERNAL: the time is over.
    caf::reacts_to<atom::internal, atom::tick>>;

/// The RECORDER is the only writer of the store. It writes in groups: what arrived while the last group was written is
/// the next one.
using recorder_actor = caf::typed_actor<
    // Make these durable, then tell the cache. A cancelled trial is passed on unwritten.
    caf::reacts_to<atom::append, finished_batch>,
    // Steps of sessions, for resuming.
    caf::reacts_to<atom::journal, step_batch>, caf::reacts_to<atom::recency, recency_batch>,
    // Which session's records come under which id, and who is told when the store is in trouble for good.
    caf::reacts_to<atom::attach, session_number, std::string, tuner_actor>,
    // Its search is called back: for a store that cannot be written it does not wait, what is not stored ends as
    // cancelled.
    caf::reacts_to<atom::cancel, session_number>,
    // It goes, after it has searched for so long.
    caf::reacts_to<atom::detach, session_number, nanoseconds>,
    // Answered when everything that came before it is written.
    caf::replies_to<atom::flush>::with<caf::ok_atom>,
    // The store's cache forgets a task (its digest in hex): how many entries. Its records stay.
    caf::replies_to<atom::invalidate, std::string>::with<std::uint64_t>,
    // INTERNAL: write the group.
    caf::reacts_to<atom::internal, atom::flush>>;

/// The ARCHIVE looks up what the store's cache has and memory has not, on a thread of its own.
using archive_actor = caf::typed_actor<
    // What is known of each of these, in their order.
    caf::replies_to<atom::recall, trial_batch>::with<recalled_batch>>;

/// The CACHE owns the measurements in memory and the flights in progress: nobody measures what is known, or what
/// another is measuring just now. Of a store's cache it holds what was used last.
using cache_actor = caf::typed_actor<
    // A session comes: its tuner gets `done` (and `miss`).
    caf::reacts_to<atom::attach, session_info, tuner_actor>,
    // It goes; its flights that others wait for are handed to them.
    caf::reacts_to<atom::detach, session_number>,
    // Hits go back to the tuner; misses go on, one flight for each key. Where the archive has to be asked, the
    // session's lookups wait for its answer, so that they are answered in their order.
    caf::reacts_to<atom::lookup, trial_batch>,
    // From the recorder: durable now. Ends the flights. With `from_cache`: the store has it under another key.
    caf::reacts_to<atom::fill, finished_batch>,
    // The session gives up what it waits for from other flights: answered as `cancelled`.
    caf::reacts_to<atom::cancel, session_number>,
    // INTERNAL: answers to claims, from the thread that heard them.
    caf::reacts_to<atom::claim, claim_batch>,
    // Forgets what is known of a task (its digest in hex); answers how many entries.
    // Those in memory where there is no store, those of the store where there is one.
    caf::replies_to<atom::invalidate, std::string>::with<std::uint64_t>,
    // INTERNAL: something of these tasks was forgotten in the store, by whatever process: nothing that memory has of
    // them is to be believed.
    caf::reacts_to<atom::invalidate, task_list>, caf::replies_to<atom::statistic>::with<cache_statistics>,
    // INTERNAL: from now on a miss is claimed before it is measured.
    caf::reacts_to<atom::wire, claim_desk>,
    // INTERNAL: where misses and write-behind go (they know each other, so one must be told later), and who is asked
    // for what is not in memory (null: nobody, all is in memory).
    caf::reacts_to<atom::wire, scheduler_actor, recorder_actor, archive_actor>,
    // Sends what it has to say about recency to the recorder.
    caf::reacts_to<atom::flush>>;

/// A WATCHER is told what happens, many events at a time, in their order.
using watcher_actor = caf::typed_actor<caf::reacts_to<atom::note, event_batch>>;

/// The MONITOR counts, keeps the recent events, and passes them to the watchers.
using monitor_actor = caf::typed_actor<caf::reacts_to<atom::note, event_batch>,
                                       // Events wait in the queue that it was made with.
                                       caf::reacts_to<atom::flush>,
                                       // From now on the watcher gets `note` for everything; until it ends.
                                       caf::replies_to<atom::subscribe, watcher_actor>::with<caf::ok_atom>,
                                       caf::replies_to<atom::snapshot>::with<monitor_snapshot>>;

/// The way to the monitor that every actor holds. With nobody watching an event costs one relaxed load.
struct monitor_port {
  monitor_actor to;
  std::shared_ptr<event_queue> queue; ///< null: nobody ever watches
  bool open() const noexcept { return queue && queue->open(); }
};

} // namespace attune::actors
