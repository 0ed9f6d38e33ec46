// Recorded spaces as the replay plays them, and synthetic ones that nobody fitted anything to.
#pragma once

#include "core/error.hpp"
#include "search/replay.hpp"

#include <string>
#include <vector>

namespace attune::bench {

struct named_table {
  std::string name;
  search::replay_table table;
};

/// Reads a recorded space, or makes the synthetic one of `synthetic:SEED`: 5 to 10 parameters of GPU-kernel kind with
/// constraints, 2,000 to 20,000 configurations, a cost made of a smooth part, interactions, cliffs, plateaus, noise and
/// (in every second space) failing regions. `synthetic:SEED:N` is the same space on another device: the same terms,
/// weighted anew. `modelled:SEED` and `modelled:SEED:N` are made of a model of a machine instead (modelled_space.hpp):
/// the same kernel on the machine N. `hidden:SEED` is modelled:SEED with a constraint that nobody has declared: what
/// needs most of a resource that three parameters share, 40 % of the configurations, fails.
result<named_table> load_table(const std::string& what);

/// Which results of a table stand for a similar task's records.
struct prior_choice {
  std::size_t count = 200; ///< at most
  bool tuned = false;      ///< those of a run of `auto`; false: a random sample
  bool shuffled = false;   ///< their values exchanged at random: records that mislead
};
std::vector<search::prior_record> records_of(const search::replay_table& table, const prior_choice& how);

} // namespace attune::bench
