#pragma once

#include "search/strategies/ledger.hpp"

#include <functional>
#include <span>
#include <vector>

namespace attune::search {

/// A configuration and what a model makes of it.
struct candidate {
  point at;
  double promise = 0; ///< the higher, the better
  double target = 0;  ///< what is expected of it; of equal promise the lower goes first
};

/// Looks for the configurations that `judge` (in batches; it fills in promise and target) finds most promising: the
/// neighbours of the first few of `around`, uniform draws, then some generations of children of the best by moves and
/// crossover (Goldberg, 1989). None has a key (ledger::key) in `known`, none comes twice. At most 64, best first.
/// `looked_at`: how many were judged: one to two thousand where the space has as many.
std::vector<candidate> evolve(const space_ptr& over, std::span<const told_trial> around, std::span<const uint128> known,
                              const std::function<void(std::span<candidate>)>& judge, random_engine& rng,
                              std::size_t& looked_at);

} // namespace attune::search
