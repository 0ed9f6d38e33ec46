#pragma once

#include "search/strategy.hpp"

#include <memory>
#include <string_view>

namespace attune::search {

/// `grid`: the valid configurations in their order. Cost: one at() an ask; memory: what is pending.
std::unique_ptr<strategy> make_grid(space_ptr over, strategy_options options);

/// `random`: uniform without replacement, by a pseudo-random permutation of the index range: distinct by construction.
/// Cost: about 1 µs and one at() an ask; memory: what is pending, however many trials there are. Where the space is not
/// counted, draws with the set of what was seen.
std::unique_ptr<strategy> make_random(space_ptr over, strategy_options options);

/// `quasirandom`: a low-discrepancy sequence over the valid set. Cost: some hundred at() an ask. Where the space is not
/// counted, as `random`.
std::unique_ptr<strategy> make_quasirandom(space_ptr over, strategy_options options);

} // namespace attune::search
