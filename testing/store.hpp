#pragma once

#include "actors/recorder.hpp"
#include "storage/store.hpp"

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attune::testing {

/// A store in memory, as the recorder's sink sees one: each write is whole or not at all. It lives on where the graph
/// is cut off (world::power_cut), as a disk does. Threads: one owner.
class fake_store {
public:
  struct record {
    trial_ptr what;
    outcome_ptr result;
    std::string session;
    bool cacheable = true;
    storage::record_id id = 0; ///< from 1
  };
  struct step {
    std::string session;
    trial_ptr what;
    outcome_ptr result;
    trial_number asked_before = 0;
    bool from_cache = false;
    storage::record_id record = 0;
    std::optional<amendment> amends{};
    std::optional<estimate> guess{};
  };

  std::vector<record> records;
  std::vector<step> steps;
  std::vector<storage::cache_use> used; ///< what the cache told as used, in order
  std::vector<key128> dropped;          ///< what it had the store forget
  std::vector<std::string> invalidated; ///< tasks that were to be forgotten (their digests in hex)
  std::uint64_t entries_forgotten = 0;  ///< what is answered to that
  int writes = 0;                       ///< tried, those that failed among them

  std::optional<error> trouble; ///< while it is set every write fails with it
  /// Where set: says for the n-th write (from 1) whether it fails.
  std::function<std::optional<error>(int n)> fails;

  /// The sink that writes here; it must not outlive the store.
  actors::record_sink sink();
  /// The record with this id; null where there is none.
  const record* find(storage::record_id id) const noexcept;
  /// A session's steps in their order.
  std::vector<step> steps_of(const std::string& session) const;
};

} // namespace attune::testing
