#pragma once

#include "actors/interfaces.hpp"
#include "storage/cache.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <memory>
#include <unordered_map>
#include <vector>

namespace attune::actors {

struct cache_state {
  explicit cache_state(cache_actor::pointer) {}
  std::unique_ptr<storage::lru_cache> known;
  scheduler_actor scheduler;
  recorder_actor recorder;
  archive_actor archive; ///< null: all that is known is in memory
  monitor_port watch;

  struct client {
    session_info info;
    tuner_actor who;
    std::vector<trial_ptr> held; ///< lookups in their order
    std::size_t asking = 0;      ///< the first of them, for which the archive has been asked
  };
  std::unordered_map<session_number, client> clients;

  /// A key that is being measured: for whom, and who waits for it besides.
  struct flight {
    trial_ptr owner;
    std::vector<trial_ptr> waiting;
    bool granted = true; ///< false: another process may be measuring it, and its answer is waited for
  };
  claim_desk desk;
  std::unordered_map<key128, flight> flights;
  std::uint64_t joined = 0;
  recency_batch recency;
  std::uint64_t forgotten = 0; ///< how often something was invalidated
  storage::cache_figures told; ///< what the recorder knows of the counters
  static inline const char* name = "cache";
};

/// How many uses of entries are told to the recorder at once.
inline constexpr std::size_t recency_group = 4096;

/// The CACHE's behaviour. `known` is what it remembers in, above a store or alone.
cache_actor::behavior_type cache(cache_actor::stateful_pointer<cache_state> self,
                                 const std::shared_ptr<std::unique_ptr<storage::lru_cache>>& known, monitor_port watch);

} // namespace attune::actors
