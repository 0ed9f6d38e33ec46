#pragma once

#include "core/random.hpp"
#include "search/space.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace attune::search {

/// A Gaussian process over the points of a space. The covariance is a rational quadratic (Rasmussen and Williams, 2006,
/// eq. 4.19, exponent 2) of a weighted squared distance: for an ordinal the difference of ranks, for a category 0 or 1;
/// each parameter has its own weight. Weights and noise are found by coordinate search on the log marginal likelihood
/// with a log-normal prior, the output scale in closed form. Exact inference: O(n³) to fit, O(n²) a prediction with
/// uncertainty. Threads: one owner.
class gaussian_process {
public:
  explicit gaussian_process(const space& over);

  /// Takes the data and solves for them with the hyperparameters as they are. @pre x.size() == y.size() > 0
  void set(std::span<const point* const> x, std::span<const double> y);
  /// Improves the hyperparameters on the data taken by set(): `passes` over all of them.
  void tune(int passes);

  /// Mean and standard deviation of the noise-free value at each point of `at`.
  void predict(std::span<const point> at, std::vector<float>& mean, std::vector<float>& deviation) const;
  std::size_t size() const noexcept { return n_; }

private:
  void rows_of(std::span<const std::uint32_t> p, std::uint32_t* out) const;
  void rebuild_tables();
  /// The factor's rows from `from` on.
  void factorise(std::size_t from);
  /// The weights of the data; returns the log posterior of the hyperparameters up to a constant.
  double weigh();
  /// All of it.
  double solve();
  static std::size_t row(std::size_t i) noexcept { return i * (i + 1) / 2; }

  std::vector<std::size_t> parameter_;      ///< per term: whose values it compares
  std::vector<std::uint32_t> domain_;       ///< per term: the size of the parameter's domain
  std::vector<std::uint32_t> sizes_;        ///< per term: codes
  std::vector<std::vector<float>> squares_; ///< per term: squared distance of two codes
  std::vector<std::vector<float>> tables_;  ///< the same times the term's weight
  std::vector<double> log_weight_;
  double log_noise_ = -6;
  std::size_t n_ = 0, d_ = 0;
  std::vector<std::uint32_t> x_; ///< codes, row by row
  std::vector<double> y_;
  double centre_ = 0, scale2_ = 1;
  std::vector<double> l_, alpha_; ///< the lower factor, its rows packed; the weights of the data
};

} // namespace attune::search
