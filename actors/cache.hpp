#pragma once

#include "actors/interfaces.hpp"
#include "storage/cache.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <deque>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace attune::actors {

struct cache_state {
  explicit cache_state(cache_actor::pointer) {}
  std::unique_ptr<storage::lru_cache> known;
  scheduler_actor scheduler;
  recorder_actor recorder;
  monitor_port watch;

  struct client {
    session_info info;
    tuner_actor who;
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
  std::unordered_set<key128> elsewhere; ///< entries that the store holds under another key: their use is not noted
  std::uint64_t joined = 0;
  recency_batch recency;
  std::uint64_t noted = 0;     ///< uses told to the recorder since it knew the whole order
  storage::cache_figures told; ///< what the recorder knows of the counters
  static inline const char* name = "cache";
};

/// How many uses of entries are told to the recorder at once.
inline constexpr std::size_t recency_group = 4096;

/// The CACHE's behaviour. `known` holds what was restored from the store.
cache_actor::behavior_type cache(cache_actor::stateful_pointer<cache_state> self,
                                 const std::shared_ptr<std::unique_ptr<storage::lru_cache>>& known, monitor_port watch);

} // namespace attune::actors
