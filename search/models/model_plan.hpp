#pragma once

#include "search/cost_model.hpp"
#include "search/feasibility.hpp"
#include "search/strategies/moves.hpp"
#include "search/strategies/transfer.hpp"
#include "search/training.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace attune::search {

/// How the costs of a set of results are seen by a model: 0 at the middle of the measured ones, -1 at the best, above
/// the middle compressed by log(1 + x): how bad the bad ones are matters less than where the good ones lie.
class target_scale {
public:
  target_scale() = default;
  /// @pre of the results at least one is measured
  target_scale(const cost_scale& images, std::span<const told_trial> results);
  double target(double cost) const;
  /// The image (cost_scale) of the cost that has this target.
  double image(double target) const;

private:
  cost_scale images_;
  double middle_ = 0, span_ = 1;
};

/// What a plan is made from: a snapshot, bounded however long the search is.
struct plan_request {
  space_ptr over;
  std::shared_ptr<const rank_features> features;
  std::string model; ///< a name that make_cost_model knows
  std::uint64_t seed = 0;
  cost_scale images;
  std::vector<told_trial> results; ///< to be learned from
  std::vector<told_trial> elite;   ///< the best, best first
  std::vector<uint128> known;      ///< keys (ledger::key) of what is not to be proposed
  std::shared_ptr<const transfer> prior; ///< null: none
};

/// One configuration that a model would have measured.
struct planned {
  point at;
  double promise = 0; ///< expected improvement times the probability of a result
  double image = 0;   ///< the image of the cost that is expected
};

/// Trains a cost model and a feasibility model on a snapshot, and lets an evolution on them look at some thousand
/// configurations: the most promising ones are the plan. Cost: about 15 ms for 200 results.
class plan_training final : public training {
public:
  explicit plan_training(plan_request from) : from_(std::move(from)) {}

  // The outcome, @pre done():
  /// Why there is no model; ok where there is one.
  const status& learned() const noexcept { return learned_; }
  /// Most promising first; none of them was known.
  std::vector<planned>& plan() noexcept { return plan_; }
  /// The image of the cost that is expected of `p`. @pre learned().ok()
  double expected_image(const point& p) const;
  const cost_model* model() const noexcept { return model_.get(); }
  std::size_t looked_at() const noexcept { return looked_at_; }

private:
  struct scored {
    point at;
    double promise = 0, target = 0;
  };
  void work() override;
  void give_up() noexcept override;
  void learn();
  void evolve();
  std::vector<scored> score(std::vector<point> of) const;
  code_table codes(std::span<const point> of) const;

  plan_request from_;
  status learned_ = error{errc::not_found, "not trained yet", {}};
  std::unique_ptr<cost_model> model_;
  std::optional<feasibility_model> feasible_;
  std::optional<transfer> prior_;
  target_scale scale_;
  double best_ = 0;
  std::vector<planned> plan_;
  std::size_t looked_at_ = 0;
};

} // namespace attune::search
