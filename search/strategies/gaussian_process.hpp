#pragma once

#include "core/random.hpp"
#include "search/space.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace attune::search {

/// A Gaussian process over the points of a space. The covariance has two parts: a rational quadratic (Rasmussen and
/// Williams, 2006, eq. 4.19, exponent 2) of the weighted squared distance of all parameters, and the mean of one such
/// function (exponent 1) of each parameter's: what the parameters do together, and what each does by itself (Duvenaud,
/// Nickisch and Rasmussen, 2011), which a few results show already. A distance is for an ordinal the difference of
/// ranks, for a category 0 or 1; each parameter has its own weight, and what may be codes is compared both ways, each
/// with its own. Results of similar tasks may stand among the data: each such source is at a distance of its own from
/// the task, so how much is believed of it is one more weight to be found. Weights, noise and the share of the parts
/// are found by coordinate search on the log marginal likelihood with a log-normal prior, the output scale in closed
/// form. Exact inference: O(n³) to fit, O(n²) a prediction with uncertainty. Threads: one owner.
class gaussian_process {
public:
  /// `sources`: how many similar tasks there may be data of.
  explicit gaussian_process(const space& over, std::size_t sources = 0);

  /// Takes the weights of another process over the same space, and its noise as that of the foreign data.
  void begin_as(const gaussian_process& other);
  /// Takes the data and solves for them with the hyperparameters as they are. `source`: of each point the similar task
  /// it is from, 1 to the number of sources, 0: this task; empty: all are this task's. What is the same as before at
  /// the front costs nothing.
  /// @pre x.size() == y.size() > 0
  void set(std::span<const point* const> x, std::span<const double> y, std::span<const std::uint32_t> source = {});
  /// Improves the hyperparameters on the data taken by set(): `passes` over all of them.
  void tune(int passes);
  /// The same in portions: begin_tuning(), then tune_some() until it returns false. A portion is a few parameters, one
  /// at 200 points: about 2 ms. set() may come between.
  void begin_tuning(int passes);
  bool tuning() const noexcept { return left_ > 0; }
  bool tune_some();

  /// Mean and standard deviation of the noise-free value of this task at each point of `at`.
  void predict(std::span<const point> at, std::vector<float>& mean, std::vector<float>& deviation) const;
  /// The log density of a measured value of this task, its noise included, up to a constant.
  double log_density(const point& at, double y) const;
  std::size_t size() const noexcept { return n_; }

private:
  enum class kind : std::uint8_t { linear, category, table };
  struct term {
    kind what = kind::linear;
    std::size_t parameter = 0;  ///< whose values it compares
    std::uint32_t size = 0;     ///< codes
    std::vector<float> of;      ///< linear: the coordinate of each value
    std::vector<float> squares; ///< table: squared distance of two codes
    double middle = 0;          ///< of the prior of log_weight
    double log_weight = 0;
    bool free = true; ///< false: one value only, its weight means nothing
  };
  float coordinate(const term& t, std::uint32_t index) const;
  void weigh_terms();
  /// Between row `j` of the data and `count` points given by term: r2[i] is the weighted squared distance, each[i] the
  /// sum over the task's own terms of what each says of their likeness, from 0 to terms_apart_.
  void distances(std::size_t j, const float* columns, std::size_t stride, std::size_t count, float* r2,
                 float* each) const;
  /// The part of the covariance that is of each parameter by itself.
  double apart() const noexcept;
  /// The factor's rows from `from` on.
  void factorise(std::size_t from);
  /// The weights of the data; returns the log posterior of the hyperparameters up to a constant.
  double weigh();
  /// All of it.
  double solve();
  bool improve(std::size_t which, double step);
  std::size_t unknowns() const noexcept { return terms_.size() + (sources_ > 0 ? 3 : 2); }
  double& unknown(std::size_t which);
  static std::size_t row(std::size_t i) noexcept { return i * (i + 1) / 2; }

  std::size_t sources_ = 0, terms_apart_ = 0;
  std::vector<term> terms_;
  std::vector<float> scale_;               ///< per term: the root of its weight where it is linear, else the weight
  std::vector<std::vector<float>> tables_; ///< per term: squares times weight
  double log_noise_ = -6, log_odds_apart_ = 0, log_foreign_noise_ = -3;
  std::size_t n_ = 0;
  std::vector<float> x_;   ///< coordinates, scaled where linear: by term, `stride_` apart
  std::vector<float> raw_; ///< the same, not scaled, row by row
  std::size_t stride_ = 0;
  std::vector<std::uint8_t> foreign_;
  std::vector<double> y_;
  double centre_ = 0, scale2_ = 1, posterior_ = 0;
  std::vector<double> l_, alpha_; ///< the lower factor, its rows packed; the weights of the data
  std::vector<float> r2_, each_;
  double best_ = 0, step_ = 0;      ///< of the tuning that is going on
  std::size_t next_ = 0, left_ = 0; ///< the hyperparameter to come; how many to come
};

} // namespace attune::search
