// What the parts of the store share: store.cpp (opening, appending), store_read.cpp (records, tasks, best),
// store_sessions.cpp, store_cache.cpp, store_verify.cpp.
#pragma once

#include "storage/best_table.hpp"
#include "storage/cache_book.hpp"
#include "storage/convert.hpp"
#include "storage/database.hpp"
#include "storage/folder.hpp"
#include "storage/keys.hpp"
#include "storage/store.hpp"

#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace attune::storage {

struct digest_hash {
  std::size_t operator()(const digest& d) const noexcept {
    std::size_t h = 0;
    std::memcpy(&h, d.bytes.data(), sizeof h);
    return h;
  }
};

/// What is kept in memory of each task on the disk: its place in the store's own order, a few hundred bytes. Changed by
/// the writer alone, under the state lock.
struct task_info {
  std::uint32_t number = 0;
  digest task, workload, target, method;
  goal direction = goal::minimize;
  task_counts counts;
  std::optional<best_table> best; ///< none: not read, or let go
  std::uint64_t rebuilt = 0;      ///< records that there were when the table was last made anew
  /// The records of the best ones, read when they are first asked for; null: not read, or the table has changed.
  std::shared_ptr<const std::vector<record>> top;
  std::string entry;   ///< the message, until it is stored
  bool stored = false; ///< its entry is on the disk
  std::uint64_t in_group = 0;
  std::size_t at_group = 0; ///< its place in the group of that number
};

struct names_info {
  parameter_names names;
  bool stored = false;
};

struct session_state {
  std::string steps;        ///< what the keys of its steps begin with
  std::uint64_t next = 0;   ///< the number of its next step
  std::uint64_t staged = 0; ///< steps in the write that is being made
  v1::SessionStep open;     ///< the last of them, not yet put
  std::uint64_t in_open = 0;
};

struct store::impl {
  explicit impl(folder f) : place(std::move(f)) {}

  folder place;
  bool read_only = false;
  std::unique_ptr<database> db;
  std::unique_ptr<cache_book> book;
  cache_limits limits;
  std::vector<std::string> notices;
  std::vector<std::string> losses; ///< those of the notices that tell of damage

  /// Held by a writer from the first look to the end of its write. Taken before state_lock.
  std::mutex write_lock;
  /// Guards what readers look at: the tasks and the names. Never held while the disk is waited for, but to read a best
  /// list or a few records for the first time.
  mutable std::shared_mutex state_lock;

  std::deque<task_info> tasks; ///< by number; 0 is never used
  /// Those whose best list is in memory. Where there are more than so many, all are let go before the next write, and
  /// read when they are needed again.
  std::vector<std::uint32_t> listed;
  static constexpr std::size_t lists_kept = 512;
  std::unordered_map<digest, std::uint32_t, digest_hash> task_numbers;
  std::unordered_map<digest, std::vector<std::uint32_t>, digest_hash> by_workload;
  std::unordered_map<std::string, std::vector<std::uint32_t>> by_name;
  std::deque<names_info> names;
  std::unordered_map<std::string, std::uint32_t> names_numbers; ///< by the joined names

  // The writer's.
  record_id next_record = 1;
  std::uint64_t stamp = 0;
  v1::Counters counters;
  bool written = false;
  bool forgot = false; ///< records were taken out: a step that is told later may name one of them
  /// Of those that were written lately; the others' are on the disk. Between two writes no more than so many are kept.
  std::unordered_map<std::string, session_state> session_states;
  static constexpr std::size_t session_states_kept = 1024;
  session_state* last_state = nullptr; ///< of last_session
  std::string last_session;

  /// What one write adds, until it is known to be on the disk.
  struct touched {
    task_info* task = nullptr;
    task_counts counts;
    std::optional<best_table> best;
  };
  struct run {
    record_id first = 0;
    std::uint32_t task = 0;
    std::uint64_t count = 0;
  };
  rocksdb::WriteBatch batch;
  std::uint64_t group = 0;
  std::vector<touched> changed;
  std::vector<run> runs;
  std::vector<nanoseconds> times; ///< since when its records count, in their order
  std::vector<std::uint32_t> new_names;
  std::vector<session_state*> stepped;
  std::uint64_t stamp_before = 0;
  // Reused, so that a record costs no allocation.
  v1::Record record_message;
  std::string key_scratch, value_scratch;
  task_ptr last_task;
  task_info* last_info = nullptr;
  parameter_names last_names;
  std::uint32_t last_names_number = 0;

  status load();
  status load_meta();
  status raise_schema();
  status migrate_cache(); ///< store_cache.cpp

  // store.cpp
  void begin_group();
  void abandon_group();
  void put(family f, std::string_view key, const google::protobuf::MessageLite& message);
  task_info& info_of(const task_ptr& of);
  task_info& add_task(const task_entry& entry);
  std::uint32_t names_of(const configuration& config);
  status prepare(task_info& task);
  /// `measured_now`: it counts from no earlier than what is there; else from when its outcome says. `in_book`: what the
  /// book has on the disk under its key, where that is known.
  /// @pre prepare(task) in this group
  void stage(task_info& task, const key128& key, const configuration& config, const outcome_ptr& result,
             std::string_view session, bool cacheable, std::size_t canonical_size, record_id id, bool measured_now,
             const std::optional<cache_book::entry>* in_book = nullptr);
  bool cache_has_newer(const task_info& task, const key128& key, nanoseconds than) const;
  status stage(const step_item& item);
  void put_steps(session_state& state);
  status finish_group(bool durable);
  status rebuild_best(task_info& task);
  result<v1::Sender> sender_of(const append_origin& from) const;

  // store_bulk.cpp
  record_id indexed = 0; ///< the newest record that is in the index of contents; 0: not read yet
  std::unordered_map<std::uint32_t, std::optional<std::uint64_t>> latest_contents; ///< of tasks that were imported to
  status index_rest();
  std::optional<std::uint64_t>& latest_content(const task_info& task);
  status visit_records(record_id after, record_id up_to,
                       const std::function<bool(const task_info&, const record&)>& visit) const;

  // store_sessions.cpp
  result<session_state*> state_of(std::string_view id);

  // store_cache.cpp
  void load_counters();
  void count_evicted(std::uint64_t n);
  void fold_uses();  ///< in a write of its own
  void evict_rest(); ///< what a write that made places has left above the limits
  std::optional<cached> cached_at(const key128& key, const cache_book::entry& at, v1::Record& message) const;

  // store_read.cpp
  const task_info* task_of(std::uint32_t number) const; ///< null: there is none on the disk
  task_info* known(const digest& task);
  status need_best(task_info& task);
  void let_lists_go(); ///< where there are too many; with the state lock
  struct recomputed {
    best_table table;
    std::optional<nanoseconds> latest; ///< task_counts::latest
  };
  result<recomputed> recompute_best(const task_info& task) const;
  result<record> read_record(const task_info& task, record_id id, std::string_view value, v1::Record& message) const;
  result<std::optional<record>> record_at(const task_info& task, record_id id) const;
  result<std::shared_ptr<const std::vector<record>>> top_of(task_info& task);
  status visit_task(std::size_t number, const task_visit& visit) const;
  template <class Index, class Key>
  status visit_tasks(const Index& index, const Key& key, const task_visit& visit) const;
  result<task_entry> entry_of_task(const digest& task) const;
};

/// A best list as it is written, and read. The goal is the task's.
v1::BestList message_of(std::uint32_t task, const best_table& table);
result<best_table> table_of(goal direction, const v1::BestList& message);

inline rocksdb::Slice slice(std::string_view s) { return {s.data(), s.size()}; }

} // namespace attune::storage
