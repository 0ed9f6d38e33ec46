// storage: what is remembered: record store, cache, tuning database, interchange formats. No actors, no search.
#pragma once

#include "core/error.hpp"
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
};

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
  outcome_ptr result;
};

/// One session: a spec with its strategy and seed.
struct session_entry {
  std::string id; ///< hex; a digest of task, space, strategy and seed
  std::string task_name, strategy;
  std::uint64_t seed = 0;
  std::optional<std::uint64_t> budget; ///< the number of trials it was begun with: what the strategy was made with
  std::uint64_t steps = 0;
  nanoseconds started{0}; ///< wall
};

/// One record to append.
struct record_item {
  trial_ptr what; ///< what->of is the task
  outcome_ptr result;
  std::string session;   ///< who measured it
  bool cacheable = true; ///< false: infrastructure faults stay out of the cache
  record_id record = 0;  ///< out: what the store gave it
};

/// One session step to append.
struct step_item {
  std::string session;
  session_step step;
};

// store::append(std::span<record_item> records, std::span<const step_item> steps): all in ONE atomic write batch; the
// write-ahead log is synced if and only if there are records in it (steps alone need no sync).

struct cache_limits {
  std::uint64_t entries = 1'000'000;
  std::uint64_t bytes = std::uint64_t{1} << 30;
};

struct store_statistics {
  std::uint64_t records = 0, tasks = 0, targets = 0, failures = 0, cache_entries = 0, hits = 0, evicted = 0, bytes = 0;
  std::vector<std::pair<std::string, std::uint64_t>> misses; ///< by cause: new, target, source, method, evicted
  std::uint32_t schema = 0;
};

} // namespace attune::storage
