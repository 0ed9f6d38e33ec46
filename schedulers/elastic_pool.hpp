#pragma once

#include "core/clock.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace attune::schedulers {

struct elastic_options {
  std::uint32_t least = 0, most = 1;           ///< agents
  nanoseconds idle = std::chrono::seconds(60); ///< without work for so long, an agent beyond the least goes
  /// One more agent for each so many trials that wait.
  std::uint32_t per_agent = 4;
};

/// An agent that was asked for, as the cluster and the hub know it.
struct placed_agent {
  enum class state : std::uint8_t {
    coming, ///< the cluster has not begun it, or it has not come to the hub
    free,
    busy,
  };
  std::string id;
  state now = state::coming;
};

/// How many agents a cluster is asked for: as many as there is work for, between a least and a most, and each given
/// back when it has had nothing to do for a while. Decides; does nothing. Time is passed in. Threads: one owner.
///
/// Wanted are those that work, and one more for each `per_agent` trials that wait; at least one where anything waits.
/// Nobody who could still get something to do is given back: while trials wait, none. Those that have not come yet go
/// first, then the longest idle.
class elastic_pool {
public:
  explicit elastic_pool(elastic_options options) : options_(options) {}

  struct decision {
    std::uint32_t submit = 0;
    std::vector<std::string> give_back;
  };
  /// `waiting`: trials that wait at the hub, and jobs that wait for a device.
  decision look(std::uint64_t waiting, const std::vector<placed_agent>& there, nanoseconds now);

private:
  elastic_options options_;
  std::map<std::string, nanoseconds> idle_since_;
};

} // namespace attune::schedulers
