#pragma once

#include "search/strategies/ledger.hpp"
#include "search/strategies/scale.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace attune::search {

/// Mitchell's best candidate (1991): of some draws the one farthest from all that was proposed (the last few hundred
/// of it): a start that fills the valid set.
point farthest(const ledger& all, random_engine& rng, int draws = 16);

/// The k best measured configurations.
class elite_set {
public:
  explicit elite_set(std::size_t size) : size_(size) {}
  /// Looks at a result.
  void take(const told_trial& t);
  std::span<const told_trial> items() const noexcept { return items_; }
  bool empty() const noexcept { return items_.empty(); }
  /// One of them, the better the likelier. @pre !empty()
  const told_trial& pick(random_engine& rng) const {
    return items_[std::min(rng.below(items_.size()), rng.below(items_.size()))];
  }

private:
  std::size_t size_;
  std::vector<told_trial> items_; ///< by cost
};

/// Unknown configurations for a model to choose from: the neighbours of the first few elites, then uniform draws up to
/// `count`. Distinct as far as their keys are cheap to compare (the draws may repeat).
std::vector<point> candidates(const ledger& all, const elite_set& elite, std::size_t around, std::size_t count,
                              random_engine& rng);

/// The results that a model is trained on, bounded however many there are: all while they are few; then the best ones
/// and an even sample of the others. Kept up to date in O(log n) a result.
class training_set {
public:
  explicit training_set(std::size_t capacity) : capacity_(capacity) {}
  void take(const told_trial& t, random_engine& rng);
  /// In the order in which they were told (until the capacity is reached; then in a fixed order).
  std::span<const told_trial> items() const noexcept { return items_; }
  /// What a model learns, for each item: 0 at the middle of the measured costs, -1 at the best, above the middle
  /// compressed by log(1 + x): how bad the bad ones are matters less than where the good ones lie. Failures count as
  /// worse than the middle; a censored value counts as its bound.
  std::vector<double> targets() const;
  /// The cost that has this target among the items as they are now. @pre one of them is measured or censored
  double cost_of(double target) const;

private:
  struct frame {
    double middle = 0, span = 1;
    bool any = false; ///< false: nothing is measured or censored
  };
  /// Of the images of the items' costs.
  frame frame_of_images() const;

  std::size_t capacity_;
  std::uint64_t seen_ = 0;
  cost_scale scale_;
  std::vector<told_trial> items_;
};

/// Expected improvement below `best` of a normal value (Mockus, 1975).
double expected_improvement(double best, double mean, double deviation) noexcept;

} // namespace attune::search
