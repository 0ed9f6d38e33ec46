#pragma once

#include "actors/interfaces.hpp"
#include "storage/store.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace attune::actors {

/// Where the recorder writes: the store, or a test's stand-in. Called by the recorder alone, from its thread.
struct record_sink {
  /// One atomic write; durable when it returns if there are records. On an error nothing was written.
  std::function<status(std::span<storage::record_item>, std::span<const storage::step_item>)> append;
  /// Recency, evictions and counters of the cache: may be lost without harm.
  std::function<void(const recency_batch&)> recency;
  /// The store's cache forgets a task; how many entries.
  std::function<result<std::uint64_t>(const std::string& task)> invalidate;
  /// How long a session has been searching; the same way.
  std::function<void(const std::string& session, nanoseconds)> spent;
};

struct recorder_options {
  nanoseconds retry_every = std::chrono::seconds(1);   ///< after a failed write (a full disk)
  nanoseconds give_up_after = std::chrono::minutes(2); ///< then the sessions end as `error`
  /// The same where another process has the store and does not answer (it is stopped, say): nothing is broken, and a
  /// person can let it go on.
  nanoseconds wait_for_holder = std::chrono::minutes(60);
  std::size_t group_bound = 4096; ///< records in one write
};

struct recorder_state {
  explicit recorder_state(recorder_actor::pointer) {}
  record_sink sink;
  recorder_options options;
  cache_actor cache;
  monitor_port watch;
  struct session {
    std::string id;
    tuner_actor owner;
  };
  std::unordered_map<session_number, session> sessions;
  std::unordered_set<session_number> hurried; ///< those that were called back
  std::vector<finished> waiting;              ///< records to be written, oldest first
  std::vector<told_trial> steps;
  /// Gone, but named by what is still to be written; with the time that they took.
  std::vector<std::pair<session_number, nanoseconds>> leaving;
  std::vector<caf::typed_response_promise<caf::ok_atom>> flushes;
  bool flush_sent = false;
  std::optional<nanoseconds> failing_since;
  static inline const char* name = "recorder";
};

/// The RECORDER's behaviour. Spawn it detached: it waits for the disk.
recorder_actor::behavior_type recorder(recorder_actor::stateful_pointer<recorder_state> self, record_sink sink,
                                       cache_actor cache, monitor_port watch, recorder_options options);

} // namespace attune::actors
