#include "search/strategy.hpp"

#include "core/text.hpp"
#include "search/strategies/evolution.hpp"
#include "search/strategies/model_guided.hpp"
#include "search/strategies/portfolio.hpp"
#include "search/strategies/sequence.hpp"

#include <algorithm>
#include <array>

namespace attune::search {
namespace {

using maker = std::unique_ptr<strategy> (*)(space_ptr, strategy_options);

struct entry {
  strategy_info info;
  maker make;
};

const std::vector<entry>& registry() {
  static const std::vector<entry> all{
      {{"auto", "a portfolio that gives the budget to what pays: the default"}, make_auto},
      {{"random", "uniform, without repetition"}, make_random},
      {{"grid", "every valid configuration in order"}, make_grid},
      {{"quasirandom", "a low-discrepancy sequence over the valid configurations"}, make_quasirandom},
      {{"local", "hill climbing with a tabu list and restarts"}, make_local},
      {{"annealing", "simulated annealing over the neighbourhoods"}, make_annealing},
      {{"gp", "expected improvement under a Gaussian process"}, make_gp},
      {{"genetic", "a steady-state genetic algorithm"}, make_genetic},
      {{"differential", "differential evolution on ranks"}, make_differential},
      {{"swarm", "a particle swarm on ranks"}, make_swarm},
      {{"tpe", "a tree-structured Parzen estimator"}, make_tpe},
      {{"model", "evolution on a learned cost model; few of many thousands are measured"}, make_model},
  };
  return all;
}

} // namespace

std::span<const strategy_info> strategies() {
  static const std::vector<strategy_info> infos = [] {
    std::vector<strategy_info> out;
    for (const auto& e : registry()) out.push_back(e.info);
    return out;
  }();
  return infos;
}

result<std::unique_ptr<strategy>> make_strategy(std::string_view name, space_ptr over, strategy_options options) {
  std::vector<std::string> names;
  for (const auto& e : registry()) {
    if (e.info.name == name) return e.make(std::move(over), std::move(options));
    names.push_back(e.info.name);
  }
  std::string message = "unknown strategy '" + std::string(name) + "'";
  if (const auto near = nearest_word(name, names))
    message += "; did you mean '" + *near + "'?";
  else {
    message += "; known:";
    for (const auto& n : names) message += " " + n;
  }
  return error{errc::invalid_spec, message, {}};
}

} // namespace attune::search
