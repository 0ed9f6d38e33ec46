#pragma once

#include "core/hash.hpp"

namespace attune {

/// What is taken for a trial's value in place of measuring it (search/near_reuse.hpp). It is no measurement: never the
/// best, never stored as a record, never trained on as one.
struct estimate {
  double value = 0;    ///< in the stored unit
  key128 below, above; ///< the measurements between which it lies
  friend bool operator==(const estimate&, const estimate&) = default;
};

} // namespace attune
