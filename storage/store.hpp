// storage: what is remembered: record store, cache, tuning database, interchange formats. No actors, no search.
#pragma once

#include "core/error.hpp"
#include "core/estimate.hpp"
#include "core/task.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune::storage {

/// Numbers the records of a store from 1 in the order in which they were written.
using record_id = std::uint64_t;

/// One measurement or failure as it is remembered. The identity's canonical forms are stored once for each task.
struct record {
  record_id id = 0; ///< given by the store
  digest task;      ///< task_identity::task_key
  digest workload, target, method;
  key128 key;
  configuration config;
  outcome result;
  std::string session; ///< the session that measured it; empty: imported
  /// When it was measured. Later than result.at where the clock was set back: what is measured here counts from no
  /// earlier than what was there before.
  nanoseconds counts_from{0};
};

/// Whether `a` is the newer one of two records of one configuration: by when they were measured, of two at one time by
/// when they were written. It stands for the configuration.
inline bool newer(const record& a, const record& b) noexcept {
  return a.counts_from != b.counts_from ? a.counts_from > b.counts_from : a.id > b.id;
}

/// What is written about a task once, before its first record.
struct task_entry {
  digest task, workload, target, method;
  std::string workload_form, target_form, method_form; ///< the canonical encodings
  std::string name;
  arguments workload_args, target_facts;
  std::string metric, unit; ///< of the objective; the unit as stored
  goal direction = goal::minimize;
};
task_entry entry_of(const task& t);

/// What the cache keeps for a key.
struct cached {
  key128 key;
  digest task;
  std::string canonical; ///< the configuration's canonical form, compared on every hit
  record_id record = 0;
  outcome_ptr result;
  std::uint64_t bytes() const noexcept; ///< what it counts for against the bound
};

/// One step of a session as it is needed to resume: the trial, how many had been proposed before its result was told to
/// the strategy, and how it ended. Written in the order of telling, after the record itself (a step that a crash takes
/// away costs nothing: its trial is asked for again and answered by the cache).
struct session_step {
  trial_number number = 0;
  trial_number asked_before = 0; ///< how many proposals the strategy had made when it was told
  key128 key;
  configuration config;
  bool from_cache = false;
  outcome_ptr result;                ///< null where it was estimated
  std::optional<amendment> amends{}; ///< it takes the place of the trial's earlier result
  std::optional<estimate> guess{};   ///< it was not measured
};

/// One session: a spec with its strategy and seed.
struct session_entry {
  std::string id; ///< hex; a digest of task, space, strategy and seed
  std::string task_name, strategy;
  std::uint64_t seed = 0;
  std::optional<std::uint64_t> budget; ///< the number of trials it was begun with: what the strategy was made with
  std::uint64_t steps = 0;
  nanoseconds started{0}; ///< wall
  nanoseconds spent{0};   ///< searching, over all processes that ended in order
  /// The newest record when it began: what it took from similar tasks is not later than this one.
  record_id records_before = 0;
  bool estimates = false; ///< steps of it may be estimates
};

/// One record to append.
struct record_item {
  trial_ptr what; ///< what->of is the task
  outcome_ptr result;
  std::string_view session; ///< who measured it; the caller keeps the text
  bool cacheable = true;    ///< false: infrastructure faults stay out of the cache
  record_id record = 0;     ///< out: what the store gave it
};

/// One session step to append.
struct step_item {
  std::string_view session; ///< the caller keeps the text
  trial_ptr what;
  outcome_ptr result;
  trial_number asked_before = 0;
  bool from_cache = false;
  record_id record = 0; ///< where that very result of that configuration and task lies; 0: in no record
  std::optional<amendment> amends{};
  std::optional<estimate> guess{}; ///< it was not measured: `result` is null
};

/// One record that comes from elsewhere. The caller keeps what it points to.
struct foreign_record {
  const task_entry* task = nullptr;
  key128 key; ///< measurement_key of the task and the configuration
  const configuration* config = nullptr;
  const outcome* result = nullptr;
  std::string_view session;
  std::size_t canonical_size = 0; ///< bytes of config->canonical(); 0: not known
  bool added = false;             ///< out: false where the store had it already
};

struct cache_limits {
  std::uint64_t entries = 1'000'000;
  std::uint64_t bytes = std::uint64_t{1} << 30;
  /// Of these bytes, how many may lie in memory where there is a store below.
  std::uint64_t hot_bytes = std::uint64_t{192} << 20;
};

/// A use of a cache entry that is told behind. With the number of its record it comes back where it was evicted in the
/// meantime; 0: it does not.
struct cache_use {
  key128 key;
  record_id record = 0;
  /// It was not asked for but has just been written: it belongs behind the uses that are told before it, and keeps its
  /// place where that is so.
  bool fresh = false;
};

enum class miss_cause : std::uint8_t;
/// What the store's cache says to a trial.
struct recalled {
  std::optional<cached> entry;
  miss_cause cause{}; ///< where there is none
};

/// What the cache was asked for one task.
struct task_uses {
  digest task;
  std::uint64_t hits = 0, misses = 0;
};

struct store_statistics {
  std::uint64_t records = 0, tasks = 0, targets = 0, failures = 0, cache_entries = 0, hits = 0, evicted = 0, bytes = 0;
  std::vector<std::pair<std::string, std::uint64_t>> misses; ///< by cause: new, target, source, method, evicted
  std::uint32_t schema = 0;
  std::uint64_t cache_bytes = 0;  ///< what the cache's entries count for
  nanoseconds saved{0}, spent{0}; ///< building and running: what hits did not take, what misses took
};

/// Which records of a task stay when some are taken out: storage/retention.hpp says what each of these means.
struct retention {
  std::size_t keep_best = 0, boundary = 0, reservoir = 0;
  std::optional<nanoseconds> newer_than; ///< wall
  /// False: all go but the newer ones.
  bool thins() const noexcept { return keep_best > 0 || boundary > 0 || reservoir > 0; }
};

/// What was taken out of one task, or would be.
struct forgotten {
  digest task;
  std::uint64_t records = 0, folded = 0; ///< that go; of these with a newer one that stays
  std::uint64_t kept = 0, best = 0, boundary = 0, reservoir = 0, newer = 0; ///< that stay, and why
  std::uint64_t cache_entries = 0;                                          ///< that went with them; not told ahead
  std::uint64_t sessions = 0; ///< that rested on them, and went; of all tasks together, with the first
  std::uint64_t held = 0;     ///< of the kept: sessions under way rest on them
};

struct task_counts {
  std::uint64_t records = 0, failures = 0; ///< failures are records too
  record_id last = 0;                      ///< the newest
  nanoseconds last_at{0};                  ///< when it ended, wall
  std::uint64_t forgotten = 0;             ///< taken out on purpose
  std::optional<nanoseconds> latest;       ///< none counts from later; none: there was none, or an older version wrote
};

struct task_statistics {
  task_entry task;
  task_counts counts;
  std::uint64_t hits = 0, misses = 0; ///< of the cache
  std::uint64_t bytes = 0;            ///< its records on the disk, about
};

/// The best of one task.
struct task_best {
  task_entry task;
  std::vector<record> best; ///< best first
};

/// What verify() found.
struct verify_report {
  std::uint64_t records = 0, failures = 0, tasks = 0, cache_entries = 0, sessions = 0, steps = 0;
  std::vector<std::string> problems; ///< one line each, the first hundred
  std::uint64_t problem_count = 0;
  bool ok() const noexcept { return problem_count == 0; }
};

struct store_options {
  bool read_only = false; ///< needs no lock, changes nothing in the folder, sees what was there when it was opened
  bool create = true;     ///< makes the folder and the store where there is none
  nanoseconds patience = std::chrono::milliseconds(500); ///< how long another process's lock is waited for
  cache_limits cache{};                                  ///< what the cache on the disk is kept within
};

/// Whose append it is where it may come twice: it was sent by another process, and its answer was lost. A sender
/// numbers its records from 1 in the order of appending, and so its steps.
struct append_origin {
  key128 sender;
  std::uint64_t first_record = 0, first_step = 0; ///< the numbers of the first of each in this append
};

struct cache_figures;

/// The record store, the persisted cache, the best table and the journals of sessions: one folder (its layout:
/// storage/keys.hpp), owned by one process at a time.
///
/// What append() has acknowledged is on the disk: it survives SIGKILL at any instant, and a power failure. A write is
/// whole or not there. When the disk is full, append() fails and nothing of it counts; it works again when there is
/// space. Memory is bounded whatever the store holds, but for about 500 bytes a task.
///
/// Threads: every function from any thread. Writers wait for each other; readers do not wait for the disk.
/// Errors: store_unusable for what a file system can say, store_corrupt for what is damaged.
class store {
public:
  /// Errors: store_unusable (missing, not permitted, not a store), store_busy (another process owns it: its process id
  /// and command are named, within a second), store_newer (left untouched), store_corrupt.
  static result<std::unique_ptr<store>> open(const std::string& directory, const store_options& options);
  /// Flushes what was written, so that the next opening is quick.
  ~store();
  store(const store&) = delete;
  store& operator=(const store&) = delete;

  const std::string& path() const noexcept;
  /// False: an older version wrote it, and it is open for reading.
  bool is_current() const noexcept;
  /// What was noticed on opening, one line each: a torn or damaged log, acknowledged records that are missing. To be
  /// shown to a person.
  const std::vector<std::string>& notices() const noexcept;

  /// Appends records and steps of sessions in one atomic write, synced to the disk where there are records (steps alone
  /// are not: one that is lost is answered by the cache again). Fills in record_item::record. A record makes its task
  /// known, is the cache's answer for its key where it is cacheable, and takes its place among the best. A step refers
  /// to the record of its result where it names one, and carries the result where not.
  ///
  /// With an origin, what that sender has appended before is not written again: a record that its newest append wrote
  /// gets the number that it has, an older one 0. How far the sender has come is written in the same write.
  status append(std::span<record_item> records, std::span<const step_item> steps, const append_origin* from = nullptr);
  /// Forgets how far this sender has come: it sends no more.
  status forget_sender(const key128& sender);
  /// Forgets those that were killed, but for the `keep` whose last records are the newest.
  status trim_senders(std::size_t keep);

  /// Appends those of the records that the store does not hold yet, the same to the last bit of their outcome, and
  /// fills in foreign_record::added: in one atomic write, synced to the disk, with all that append() does of a record.
  /// What was written since the last call, by whomever, is looked through first.
  status append_new(std::span<foreign_record> records);

  /// The number of the newest record; 0 where there is none.
  record_id newest() const;
  /// The records with numbers in (after, up_to], in the order in which they were written, until `visit` answers false:
  /// as they are when it begins, whatever is written meanwhile.
  status visit(record_id after, record_id up_to, const std::function<bool(const record&)>& visit) const;
  /// The record with that number; none where there is none.
  result<std::optional<record>> find(record_id id) const;
  /// The records of a task, oldest first, until `visit` answers false. An unknown task has none.
  status records_of(const digest& task, const std::function<bool(const record&)>& visit) const;
  /// What is known of a task.
  result<std::optional<task_entry>> find_task(const digest& task) const;
  using task_visit = std::function<void(const task_entry&, const task_counts&)>;
  /// Every task, in the order of its first record: reads each from the disk.
  status tasks(const task_visit& visit) const;
  /// Those of a workload alone, those of a name alone: read no others.
  status tasks_of(const digest& workload, const task_visit& visit) const;
  status tasks_named(const std::string& name, const task_visit& visit) const;

  /// The parameter names of the configurations that it holds, each list once.
  std::vector<parameter_names> name_lists() const;

  /// The best `count` (at most 16) configurations of a task, best first: by each one's newest record (newer(): the one
  /// that was measured last, whatever was imported since) that the candidate is answerable for. Failed, not finite and
  /// negative ones are never among them. Exact.
  result<std::vector<record>> best(const digest& task, std::size_t count = 1) const;
  /// The same for each task of this workload on this target (they differ in how they are built and measured).
  result<std::vector<task_best>> best_for(const digest& workload, const digest& target, std::size_t count = 1) const;

  /// Makes the session known; one that is known stays as it is.
  status begin_session(const session_entry& session);
  result<std::optional<session_entry>> load_session(std::string_view id) const;
  /// Adds to session_entry::spent; without a sync. An unknown session stays unknown.
  status add_spent(std::string_view id, nanoseconds more);
  /// Every session that is known.
  status sessions(const std::function<void(const session_entry&)>& visit) const;
  /// The steps of a session in the order in which they were told.
  status session_steps(std::string_view id, const std::function<void(const session_step&)>& visit) const;
  /// Forgets the session and its steps; its records stay.
  status erase_session(std::string_view id);

  /// The newest record of a measurement, as the cache has it; none where it has none.
  result<std::optional<record>> cached_record(const key128& key) const;
  /// What the cache knows of each of these trials, in their order; where it knows nothing, why: it looks for the same
  /// configuration among the other tasks of the workload. Waits for the disk. What cannot be read is a miss.
  std::vector<recalled> recall(std::span<const trial_ptr> asked) const;
  /// True where there are records of this workload, on whatever target and however measured: recall() may have
  /// something to say.
  bool knows_workload(const digest& workload) const;
  /// Notes that these were used, in this order, and evicts what the cache has too much: without a sync, and without a
  /// word where it fails, for a restart only finds another order.
  void touch(std::span<const cache_use> used);
  /// These are no longer in the cache.
  void drop_cached(std::span<const key128> gone);
  /// Nothing of the task is in the cache any more; its records stay. Answers how many entries there were.
  result<std::uint64_t> drop_cached(const digest& task);
  /// The entries, the one used first in front, until `visit` answers false. What cannot be read is left out.
  status visit_cache(const std::function<bool(const cached&)>& visit) const;
  /// Adds to the counters that statistics() gives; the same way as touch().
  void count(const cache_figures& since_last, std::span<const task_uses> by_task = {});

  /// Takes records out, for each of these tasks by the same policy, with the cache's entries for them and the sessions
  /// whose steps name them (such a session would begin anew). The best of what stays is exact. Their numbers are never
  /// given again. Unknown tasks are left out. With `dry_run` nothing changes. Sessions that are `under_way` stay, with
  /// all records that they have made or that their steps name.
  result<std::vector<forgotten>> forget(std::span<const digest> tasks, const retention& how, bool dry_run,
                                        std::span<const std::string> under_way = {});

  result<store_statistics> statistics() const;
  /// The same for each task that has records, in the order of its first one.
  result<std::vector<task_statistics>> statistics_by_task() const;
  /// Writes everything anew without what was overwritten or taken out, and gives the space back. Takes the space of the
  /// largest part of the store besides while it works; the store can be read and written meanwhile. Errors: also
  /// cancelled, by end_compaction() of another thread, after which what was done by then stays done.
  status compact();
  void end_compaction();
  /// Makes `folder`, which must not be there or be empty, a store with all that this one holds now: consistent, and
  /// usable by itself. Of a store that this process owns it is a checkpoint (hard links where the file system is the
  /// same), which takes a moment and may be done while it is written; one that was opened for reading is copied, while
  /// another process owns and writes it. Interrupted, it leaves nothing under that name. Errors: io.
  status backup(const std::string& folder) const;
  /// Reads everything: checksums of all files, every message, every reference, every count, the best table against a
  /// recomputation. Errors: only where the store cannot be read at all; damage is in the report.
  result<verify_report> verify() const;

  struct impl; ///< for the store's own files

private:
  explicit store(std::unique_ptr<impl> i);
  std::unique_ptr<impl> impl_;
};

} // namespace attune::storage
