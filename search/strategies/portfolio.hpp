#pragma once

#include "search/strategy.hpp"

#include <memory>

namespace attune::search {

/// `gp`: a space-filling start, then expected improvement under a Gaussian process. Cost: see gp_chooser.
std::unique_ptr<strategy> make_gp(space_ptr over, strategy_options options);

/// `auto`: the portfolio, and the default: a space-filling start, then a Gaussian process, from some results on a
/// forest of trees and moves around the best, each given the share of the budget that it has lately earned (with a
/// floor for each, since what pays changes). Beyond `gp`, what promises much counts less where builds and runs
/// fail. Cost: 1 to 4 ms an ask, some 10 ms at most; it does not grow with the trials told.
std::unique_ptr<strategy> make_auto(space_ptr over, strategy_options options);

} // namespace attune::search
