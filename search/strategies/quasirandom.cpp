#include "search/strategies/proposer.hpp"
#include "search/strategies/sequence.hpp"

#include <cmath>
#include <vector>

namespace attune::search {
namespace {

/// The generalised golden ratio's sequence (Roberts, 2018: powers of the root of x^(d+1) = x + 1), shifted at random.
/// Its points of the unit cube become valid configurations by the inverse Rosenblatt transform (1952): each parameter
/// in turn takes its value at the quantile, given the parameters before it. The configurations of one prefix are one
/// range of indices, so conditional quantiles need nothing but at().
class low_discrepancy final : public proposer {
public:
  explicit low_discrepancy(const space& over) {
    const std::size_t d = over.parameters().size();
    double root = 2;
    for (int k = 0; k < 64; ++k) root = std::pow(1 + root, 1.0 / static_cast<double>(d + 1));
    for (std::size_t k = 0; k < d; ++k) step_.push_back(std::pow(1 / root, static_cast<double>(k + 1)));
  }

  std::optional<point> propose(const ledger& all, random_engine& rng) override {
    const space& over = all.over();
    if (!over.count()) return over.sample(rng);
    if (at_.empty())
      for (std::size_t k = 0; k < step_.size(); ++k) at_.push_back(rng.uniform());
    for (std::size_t k = 0; k < step_.size(); ++k) at_[k] = std::fmod(at_[k] + step_[k], 1.0);
    uint128 low = 0, high = *over.count(); // the range of the prefix
    point p;
    for (std::size_t d = 0; d < step_.size() && high - low > 1; ++d) {
      const uint128 size = high - low;
      auto chosen = low + static_cast<uint128>(at_[d] * static_cast<double>(size));
      if (chosen >= high) chosen = high - 1;
      p = over.at(chosen);
      const std::uint32_t v = p[d];
      low = bound(over, low, chosen, d, v, false);
      high = bound(over, chosen, high, d, v, true);
    }
    return over.at(low);
  }

private:
  /// Within one prefix: the first index in (from, to] whose value of `d` is above `v` (`above`), or the first in
  /// [from, to] whose value is `v`.
  static uint128 bound(const space& over, uint128 from, uint128 to, std::size_t d, std::uint32_t v, bool above) {
    while (from < to) {
      const uint128 middle = from + (to - from) / 2;
      const std::uint32_t x = over.at(middle)[d];
      const bool before = above ? x <= v : x < v;
      if (before)
        from = middle + 1;
      else
        to = middle;
    }
    return from;
  }

  std::vector<double> step_, at_;
};

} // namespace

std::unique_ptr<strategy> make_quasirandom(space_ptr over, strategy_options options) {
  auto idea = std::make_unique<low_discrepancy>(*over);
  return make_seeking("quasirandom", std::move(over), std::move(options), std::move(idea));
}

} // namespace attune::search
