#pragma once

#include "actors/interfaces.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <span>
#include <vector>

namespace attune::actors {

/// Where the archive looks: the store, or a test's stand-in. Answers each trial, in their order.
using archive_source = std::function<std::vector<storage::recalled>(std::span<const trial_ptr>)>;

struct archive_state {
  explicit archive_state(archive_actor::pointer) {}
  archive_source source;
  static inline const char* name = "archive";
};

/// The ARCHIVE's behaviour. Spawn it detached: it waits for the disk.
archive_actor::behavior_type archive(archive_actor::stateful_pointer<archive_state> self, archive_source source);

} // namespace attune::actors
