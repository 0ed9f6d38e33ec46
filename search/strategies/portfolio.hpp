#pragma once

#include "search/strategy.hpp"

#include <memory>

namespace attune::search {

/// `auto`: the portfolio, and the default.
std::unique_ptr<strategy> make_auto(space_ptr over, strategy_options options);

} // namespace attune::search
