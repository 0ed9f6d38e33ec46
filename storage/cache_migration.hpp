#pragma once

#include "storage/database.hpp"
#include "storage/store.hpp"

#include <vector>

namespace attune::storage {

/// An entry of the cache as schemas 1 and 2 had it: its last use lies in itself, in a Recency or in Uses.
struct old_cache_entry {
  key128 key;
  std::uint32_t task = 0;
  record_id record = 0;
};

/// The entries of a cache of schema 1 or 2, the one used first in front. What cannot be read is left out.
result<std::vector<old_cache_entry>> old_cache_order(const database& db);

} // namespace attune::storage
