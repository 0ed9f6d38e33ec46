#pragma once

#include "search/strategies/proposer.hpp"

namespace attune::search {

/// `annealing`: simulated annealing (Kirkpatrick, Gelatt and Vecchi, 1983) over mixed neighbourhoods, on ratios of
/// cost, with the temperature set by the spread that was seen and a schedule over the budget; it starts from the best
/// of a few random configurations and restarts at the best when it is stuck. Asynchronous: each answer is a step,
/// whichever it is. Cost: a few µs an ask.
std::unique_ptr<strategy> make_annealing(space_ptr over, strategy_options options);

/// `genetic`: a steady-state genetic algorithm (Whitley, 1989): tournament, uniform crossover, mutation by neighbours,
/// repair into the valid set; the worst is replaced. Cost: a few µs an ask.
std::unique_ptr<strategy> make_genetic(space_ptr over, strategy_options options);

/// `local`: hill climbing by first improvement over near and far neighbours; what was looked around is tabu, and the
/// climb goes on from its best configuration that was not; it restarts far from all that was seen. Cost: some µs an
/// ask, and one neighbours() for each move.
std::unique_ptr<strategy> make_local(space_ptr over, strategy_options options);

/// `differential`: differential evolution (Storn and Price, 1997), current-to-best/1, on ranks. Cost: a few µs an ask.
std::unique_ptr<strategy> make_differential(space_ptr over, strategy_options options);

/// `swarm`: particle swarm (Kennedy and Eberhart, 1995) on ranks. Cost: a few µs an ask.
std::unique_ptr<strategy> make_swarm(space_ptr over, strategy_options options);

/// `tpe`: the tree-structured Parzen estimator (Bergstra, Bardenet, Bengio and Kégl, 2011), multivariate. Cost: about
/// 1 ms an ask.
std::unique_ptr<strategy> make_tpe(space_ptr over, strategy_options options);

} // namespace attune::search
