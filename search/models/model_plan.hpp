#pragma once

#include "search/cost_model.hpp"
#include "search/feasibility.hpp"
#include "search/models/evolve.hpp"
#include "search/models/prior_model.hpp"
#include "search/models/target_scale.hpp"
#include "search/training.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attune::search {

/// What a plan is made from: a snapshot, bounded however long the search is.
struct plan_request {
  space_ptr over;
  std::shared_ptr<const rank_features> features;
  std::string model; ///< a name that make_cost_model knows
  std::uint64_t seed = 0;
  cost_scale images;
  std::vector<told_trial> results;          ///< to be learned from
  std::vector<told_trial> elite;            ///< the best, best first
  std::vector<uint128> known;               ///< keys (ledger::key) of what is not to be proposed
  std::shared_ptr<const prior_model> prior; ///< null: none
};

/// Trains a cost model and a feasibility model on a snapshot and lets an evolution on them look for what promises most:
/// expected improvement times the probability of a result. Where there is a prior, the model learns how the task
/// differs from it, as far as it is believed. Cost: about 15 ms for 200 results.
class plan_training final : public training {
public:
  explicit plan_training(plan_request from) : from_(std::move(from)) {}

  // The outcome, @pre done():
  /// Why there is no model; ok where there is one.
  const status& learned() const noexcept { return learned_; }
  /// Most promising first; none of them was known. May be used up.
  std::vector<candidate>& plan() noexcept { return plan_; }
  /// The image (cost_scale) of the cost that is expected of `p`. @pre learned().ok()
  double expected_image(const point& p) const;
  /// How many configurations the models were asked about.
  std::size_t looked_at() const noexcept { return looked_at_; }

private:
  void work() override;
  void give_up() noexcept override;
  void learn();
  void judge(std::span<candidate> of) const;
  /// The targets that are expected of the rows, and how uncertain that is.
  prediction expect(const code_table& x) const;
  code_table codes(std::span<const candidate> of) const;

  plan_request from_;
  status learned_ = error{errc::not_found, "not trained yet", {}};
  std::unique_ptr<cost_model> model_;
  std::optional<feasibility_model> feasible_;
  double believed_ = 0; ///< of the prior
  target_scale scale_;
  double to_beat_ = 0;
  std::vector<candidate> plan_;
  std::size_t looked_at_ = 0;
};

} // namespace attune::search
