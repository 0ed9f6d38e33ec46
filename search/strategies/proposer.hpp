#pragma once

#include "search/strategies/ledger.hpp"

#include <memory>
#include <optional>

namespace attune::search {

/// The idea in a strategy: where to look next, given all that is known. What every strategy owes (no configuration
/// twice, none invalid, the whole budget used, first points, dropped ones offered again) is done around it by
/// seeking_strategy, so a proposer may be as simple as its idea is. Deterministic; draws from the given engine alone.
class proposer {
public:
  virtual ~proposer() = default;
  /// A configuration to try. Where it is known already, or invalid, it is asked again a few times and then replaced.
  /// None: no idea (one is drawn at random from those never proposed).
  virtual std::optional<point> propose(const ledger& all, random_engine& rng) = 0;
  /// A result came: all.told().back().
  virtual void learn(const ledger& all, random_engine& rng) {
    (void)all;
    (void)rng;
  }
  /// As strategy::wanted(), needed(), take_notes(); of the last propose().
  virtual std::shared_ptr<training> wanted() { return nullptr; }
  virtual std::shared_ptr<training> needed() const { return nullptr; }
  virtual std::vector<std::string> take_notes() { return {}; }
  virtual std::optional<forecast> last_forecast() const { return std::nullopt; }
};

/// Makes the strategy `name` around an idea. @pre neither pointer is null
std::unique_ptr<strategy> make_seeking(std::string_view name, space_ptr over, strategy_options options,
                                       std::unique_ptr<proposer> idea);

} // namespace attune::search
