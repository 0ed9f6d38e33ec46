#include "search/strategies/gaussian_process.hpp"

#include "search/strategies/features.hpp"

#include <algorithm>
#include <cmath>

namespace attune::search {
namespace {

constexpr double prior_weight = 0.5; ///< a quarter of the prior's middle weight
constexpr double prior_spread = 1.5;

/// Rational quadratic of exponent 2, with r² / 4 under the power.
template <class T>
T covariance(T r2) {
  const T b = T(1) + r2 * T(0.25);
  return T(1) / (b * b);
}

/// Domains longer than the tables are coded in equal steps; `codes` itself is the code of inactive.
std::uint32_t code(std::uint32_t index, std::uint32_t size, std::uint32_t codes) {
  if (index == inactive) return codes;
  return size <= codes ? index : static_cast<std::uint32_t>(std::uint64_t{index} * codes / size);
}

} // namespace

gaussian_process::gaussian_process(const space& over) {
  const auto add = [this, &over](std::size_t parameter, std::uint32_t codes, std::vector<float> squares) {
    parameter_.push_back(parameter);
    domain_.push_back(over.parameters()[parameter].size);
    sizes_.push_back(codes);
    squares_.push_back(std::move(squares));
    log_weight_.push_back(std::log(prior_weight * 4));
    ++d_;
  };
  for (std::size_t parameter = 0; parameter < over.parameters().size(); ++parameter) {
    const auto& info = over.parameters()[parameter];
    const std::uint32_t size = std::min<std::uint32_t>(info.size, 255);
    const std::uint32_t codes = size + 1; // the last one: inactive
    std::vector<float> sq(std::size_t{codes} * codes);
    for (std::uint32_t a = 0; a < codes; ++a)
      for (std::uint32_t b = 0; b < codes; ++b) {
        float d = a == b ? 0.0f : 1.0f;
        if (info.ordinal && a < size && b < size && size > 1)
          d = std::abs(static_cast<float>(a) - static_cast<float>(b)) / static_cast<float>(size - 1);
        sq[std::size_t{a} * codes + b] = d * d;
      }
    add(parameter, codes, std::move(sq));
    // A second distance over the same codes: how differently the two values are aligned.
    const auto aligned = info.size < 256 ? alignment(over, parameter) : std::vector<std::uint8_t>{};
    if (aligned.empty()) continue;
    sq.assign(std::size_t{codes} * codes, 0.0f);
    for (std::uint32_t a = 0; a < size; ++a)
      for (std::uint32_t b = 0; b < size; ++b) {
        const float d = (static_cast<float>(aligned[a]) - static_cast<float>(aligned[b])) / 4;
        sq[std::size_t{a} * codes + b] = d * d;
      }
    add(parameter, codes, std::move(sq));
  }
  rebuild_tables();
}

void gaussian_process::rebuild_tables() {
  tables_ = squares_;
  for (std::size_t d = 0; d < d_; ++d) {
    const auto w = static_cast<float>(std::exp(log_weight_[d]));
    for (auto& v : tables_[d]) v *= w;
  }
}

void gaussian_process::rows_of(std::span<const std::uint32_t> p, std::uint32_t* out) const {
  for (std::size_t d = 0; d < d_; ++d) out[d] = code(p[parameter_[d]], domain_[d], sizes_[d] - 1);
}

void gaussian_process::set(std::span<const point* const> x, std::span<const double> y) {
  // The factor does not depend on y: of the points that are the same as before it is kept.
  std::vector<std::uint32_t> codes(x.size() * d_);
  for (std::size_t i = 0; i < x.size(); ++i) rows_of(*x[i], codes.data() + i * d_);
  std::size_t same = 0;
  while (same < std::min(n_, x.size()) && std::equal(codes.begin() + static_cast<std::ptrdiff_t>(same * d_),
                                                     codes.begin() + static_cast<std::ptrdiff_t>((same + 1) * d_),
                                                     x_.begin() + static_cast<std::ptrdiff_t>(same * d_)))
    ++same;
  x_ = std::move(codes);
  n_ = x.size();
  centre_ = 0;
  for (const double v : y) centre_ += v;
  centre_ /= static_cast<double>(n_);
  y_.assign(y.begin(), y.end());
  for (auto& v : y_) v -= centre_;
  factorise(same);
  weigh();
}

void gaussian_process::factorise(std::size_t from) {
  l_.resize(n_ * (n_ + 1) / 2);
  const double noise = std::exp(log_noise_) + 1e-8;
  for (std::size_t i = from; i < n_; ++i) {
    double* li = l_.data() + row(i);
    for (std::size_t j = 0; j <= i; ++j) {
      float r2 = 0;
      for (std::size_t d = 0; d < d_; ++d) r2 += tables_[d][x_[i * d_ + d] * sizes_[d] + x_[j * d_ + d]];
      li[j] = covariance<double>(r2) + (i == j ? noise : 0);
    }
    for (std::size_t j = 0; j < i; ++j) {
      const double* lj = l_.data() + row(j);
      double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
      std::size_t k = 0;
      for (; k + 4 <= j; k += 4) {
        s0 += li[k] * lj[k];
        s1 += li[k + 1] * lj[k + 1];
        s2 += li[k + 2] * lj[k + 2];
        s3 += li[k + 3] * lj[k + 3];
      }
      for (; k < j; ++k) s0 += li[k] * lj[k];
      li[j] = (li[j] - ((s0 + s1) + (s2 + s3))) / lj[j];
    }
    double s = 0;
    for (std::size_t k = 0; k < i; ++k) s += li[k] * li[k];
    li[i] = std::sqrt(std::max(1e-10, li[i] - s));
  }
}

double gaussian_process::weigh() {
  double log_det = 0, fit = 0;
  alpha_ = y_;
  for (std::size_t i = 0; i < n_; ++i) {
    const double* li = l_.data() + row(i);
    for (std::size_t k = 0; k < i; ++k) alpha_[i] -= li[k] * alpha_[k];
    alpha_[i] /= li[i];
    log_det += std::log(li[i]);
    fit += alpha_[i] * alpha_[i];
  }
  scale2_ = std::max(1e-12, fit / static_cast<double>(n_));
  for (std::size_t i = n_; i-- > 0;) {
    const double* li = l_.data() + row(i);
    alpha_[i] /= li[i];
    for (std::size_t k = 0; k < i; ++k) alpha_[k] -= li[k] * alpha_[i];
  }
  double posterior = -0.5 * static_cast<double>(n_) * std::log(scale2_) - log_det;
  for (const double w : log_weight_) {
    const double z = (w - std::log(prior_weight * 4)) / prior_spread;
    posterior -= 0.5 * z * z;
  }
  const double z = (log_noise_ + 6) / 2;
  return posterior - 0.5 * z * z;
}

double gaussian_process::solve() {
  rebuild_tables();
  factorise(0);
  return weigh();
}

void gaussian_process::tune(int passes) {
  double best = solve();
  double step = 1.2;
  for (int p = 0; p < passes; ++p, step *= 0.6) {
    for (std::size_t d = 0; d <= d_; ++d) {
      if (d < d_ && sizes_[d] <= 2) continue; // a single value: its weight means nothing
      double& v = d < d_ ? log_weight_[d] : log_noise_;
      const double before = v;
      bool moved = false;
      for (const double s : {step, -step}) {
        v = std::clamp(before + s, d < d_ ? -6.0 : -14.0, d < d_ ? 7.0 : 0.0);
        const double now = solve();
        if (now > best + 1e-9) {
          best = now;
          moved = true;
          break;
        }
      }
      if (!moved) v = before;
    }
  }
  solve();
}

void gaussian_process::predict(std::span<const point> at, std::vector<float>& mean,
                               std::vector<float>& deviation) const {
  const std::size_t m = at.size();
  mean.assign(m, 0);
  deviation.assign(m, 0);
  std::vector<std::uint32_t> codes(m * d_), one(d_); // by parameter, so that a table is read in one go
  for (std::size_t i = 0; i < m; ++i) {
    rows_of(at[i], one.data());
    for (std::size_t d = 0; d < d_; ++d) codes[d * m + i] = one[d];
  }
  std::vector<float> v(n_ * m), r2(m);
  for (std::size_t j = 0; j < n_; ++j) {
    std::fill(r2.begin(), r2.end(), 0.0f);
    for (std::size_t d = 0; d < d_; ++d) {
      const float* table = tables_[d].data() + std::size_t{x_[j * d_ + d]} * sizes_[d];
      const std::uint32_t* c = codes.data() + d * m;
      for (std::size_t i = 0; i < m; ++i) r2[i] += table[c[i]];
    }
    float* vj = v.data() + j * m;
    const auto a = static_cast<float>(alpha_[j]);
    for (std::size_t i = 0; i < m; ++i) {
      vj[i] = covariance<float>(r2[i]);
      mean[i] += a * vj[i];
    }
  }
  // Forward substitution for all points at once; the points are the inner loop.
  std::vector<float>& explained = r2;
  std::fill(explained.begin(), explained.end(), 0.0f);
  for (std::size_t j = 0; j < n_; ++j) {
    float* vj = v.data() + j * m;
    for (std::size_t k = 0; k < j; ++k) {
      const auto f = static_cast<float>(l_[row(j) + k]);
      const float* vk = v.data() + k * m;
      for (std::size_t i = 0; i < m; ++i) vj[i] -= f * vk[i];
    }
    const auto inverse = static_cast<float>(1 / l_[row(j) + j]);
    for (std::size_t i = 0; i < m; ++i) {
      vj[i] *= inverse;
      explained[i] += vj[i] * vj[i];
    }
  }
  const auto scale = static_cast<float>(std::sqrt(scale2_));
  for (std::size_t i = 0; i < m; ++i) {
    mean[i] += static_cast<float>(centre_);
    deviation[i] = scale * std::sqrt(std::max(1e-6f, 1.0f - explained[i]));
  }
}

} // namespace attune::search
