#pragma once

#include "core/error.hpp"
#include "search/models/decision_tree.hpp"
#include "search/strategy.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune::search {

/// What a cost model is trained on: row i of `x` ended as `what[i]` with the cost `y[i]` (to be minimised; of a
/// censored row the cost that it exceeds; of a failed one ignored) and counts `weight[i]` times (empty: once).
struct training_rows {
  explicit training_rows(std::size_t columns) : x(columns) {}
  void add(std::span<const std::uint16_t> row, observation::status how, double cost, double times = 1) {
    x.add(row);
    what.push_back(how);
    y.push_back(static_cast<float>(cost));
    weight.push_back(static_cast<float>(times));
  }
  std::size_t size() const noexcept { return what.size(); }

  code_table x;
  std::vector<observation::status> what;
  std::vector<float> y, weight;
};

/// What a model expects of each row: lower is better. Scores of one model can be compared with each other; whether they
/// are costs is the model's to say (cost_model::predicts_costs).
struct prediction {
  std::vector<float> score;
  std::vector<float> deviation; ///< how far the model is from certain, in the score's unit
};

/// A model that learns costs from rows of codes (rank_features). A row's width is fixed by the space, so it is by
/// construction the same in training, in predicting and after a restart. Deterministic: the same rows and seed give the
/// same model. Threads: one owner; predict() and save() from any number of threads while nobody trains.
class cost_model {
public:
  virtual ~cost_model() = default;
  virtual std::string_view name() const = 0;
  /// True where a score is an estimate of `y`; false where it only ranks.
  virtual bool predicts_costs() const = 0;

  /// Learns from these rows alone. Failed rows, and rows whose cost is not finite, are left out. On an error the model
  /// stays as it was. Errors: not_found where there is nothing to learn from (fewer than `least_results` measured rows;
  /// all costs or all rows equal), internal (the library's own message).
  virtual status train(const training_rows& rows, std::uint64_t seed) = 0;
  static constexpr std::size_t least_results = 4;

  bool trained() const noexcept { return !members_.empty(); }
  /// Counts trainings; kept by save() and restore(). 0: never trained.
  std::uint32_t version() const noexcept { return version_; }
  /// @pre trained() and x has the columns that the model was made with
  void predict(const code_table& x, prediction& out) const;

  /// The trained model as bytes that restore() of a model of the same name over the same columns takes, also in a build
  /// without the library that trained it.
  std::string save() const;
  /// Errors: store_corrupt for bytes that are damaged, too long (`largest`), of another model, of other columns: the
  /// model stays as it was. No byte is believed before it is checked.
  status restore(std::string_view bytes);
  static constexpr std::size_t largest = std::size_t{32} << 20;

protected:
  explicit cost_model(std::span<const rank_features::column> columns) : columns_(columns.begin(), columns.end()) {}
  std::span<const rank_features::column> columns() const noexcept { return columns_; }
  /// A member's score is the sum of its trees; the model's is the mean over members, its deviation theirs.
  using member = std::vector<decision_tree>;
  void become(std::vector<member> members) {
    members_ = std::move(members);
    ++version_;
  }
  /// The rows that can be learned from, or why there are too few.
  static result<std::vector<std::uint32_t>> usable(const training_rows& rows);

private:
  std::vector<rank_features::column> columns_;
  std::vector<member> members_;
  std::uint32_t version_ = 0;
};

/// Makes a model by name. Errors: invalid_spec for a name that this build does not know.
///   forest   extremely randomised trees (Geurts, Ernst and Wehenkel, 2006); always there
///   boosted  gradient-boosted trees, squared error; where built with XGBoost
///   ranking  gradient-boosted trees, pairwise logistic loss; where built with XGBoost
result<std::unique_ptr<cost_model>> make_cost_model(std::string_view name,
                                                    std::span<const rank_features::column> columns);
/// The names that make_cost_model knows here, the best first.
std::span<const std::string_view> cost_models();

} // namespace attune::search
