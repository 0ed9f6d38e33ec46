#pragma once

#include "search/strategy.hpp"

#include <memory>

namespace attune::search {

/// `model`: a cost model is trained on the results, an evolution on it looks at some thousand configurations, and of
/// the most promising ones those are measured that are least like what is pending. Some trials are spent on exploring
/// (uniform draws, neighbours of the best): the fewer, the better the model has lately ranked results that it had not
/// seen (Kendall's tau); when that changes much, it says so. Training is handed out (strategy::wanted) and used two
/// results later. Cost of an ask: some µs, and one of about 15 ms for every few results where nobody else trains.
std::unique_ptr<strategy> make_model(space_ptr over, strategy_options options);

} // namespace attune::search
