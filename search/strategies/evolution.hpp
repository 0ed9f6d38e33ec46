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

} // namespace attune::search
