#include "search/strategies/gaussian_process.hpp"

#include "search/strategies/features.hpp"
#include "search/strategies/simd.hpp"

#include <algorithm>
#include <cmath>

namespace attune::search {
namespace {

constexpr double prior_weight = 0.5; ///< a quarter of the prior's middle weight
constexpr double prior_spread = 1.5;
/// Of what may be codes, that two values differ at all: an order is the likelier meaning.
constexpr double code_weight = 0.25;
/// At this distance a similar task's results are worth half of one's own.
constexpr double source_weight = 1.66;
constexpr double foreign_noise = -3;
constexpr double odds_spread = 1.5; ///< of the log odds of the two parts of the covariance, around 0
constexpr std::size_t tile = 128;   ///< points predicted at once: what stays in the second cache

/// Domains longer than the tables are coded in equal steps; `codes` itself is the code of inactive.
std::uint32_t code(std::uint32_t index, std::uint32_t size, std::uint32_t codes) {
  if (index == inactive) return codes;
  return size <= codes ? index : static_cast<std::uint32_t>(std::uint64_t{index} * codes / size);
}

} // namespace

gaussian_process::gaussian_process(const space& over, std::size_t sources) : sources_(sources) {
  for (std::size_t parameter = 0; parameter < over.parameters().size(); ++parameter) {
    const auto& info = over.parameters()[parameter];
    const auto aligned = info.size < 256 ? alignment(over, parameter) : std::vector<std::uint8_t>{};
    const bool codes_too = may_be_codes(over, parameter);
    term t;
    t.parameter = parameter;
    t.size = info.size;
    t.middle = t.log_weight = std::log(prior_weight * 4);
    t.free = info.size > 1 || info.conditional;
    if (info.conditional) {
      // Absent is as far from every value as two values can be.
      t.what = kind::table;
      const std::uint32_t values = std::min<std::uint32_t>(info.size, 255), codes = values + 1;
      const auto fill = [&](auto&& square) {
        t.squares.assign(std::size_t{codes} * codes, 0.0f);
        for (std::uint32_t a = 0; a < codes; ++a)
          for (std::uint32_t b = 0; b < codes; ++b) t.squares[std::size_t{a} * codes + b] = square(a, b);
      };
      fill([&](std::uint32_t a, std::uint32_t b) {
        if (a == b) return 0.0f;
        if (!info.ordinal || a == values || b == values) return 1.0f;
        const float d = (static_cast<float>(a) - static_cast<float>(b)) / static_cast<float>(values - 1);
        return d * d;
      });
      terms_.push_back(t);
      if (codes_too) {
        fill([&](std::uint32_t a, std::uint32_t b) { return a == b || a == values || b == values ? 0.0f : 1.0f; });
        terms_.push_back(t);
        terms_.back().middle = terms_.back().log_weight = std::log(code_weight);
      }
      if (aligned.empty()) continue;
      fill([&](std::uint32_t a, std::uint32_t b) {
        if (a == values || b == values) return 0.0f;
        const float d = (static_cast<float>(aligned[a]) - static_cast<float>(aligned[b])) / 4;
        return d * d;
      });
      terms_.push_back(std::move(t));
      continue;
    }
    t.what = info.ordinal ? kind::linear : kind::category;
    if (info.ordinal) {
      t.of.resize(info.size);
      for (std::uint32_t v = 0; v < info.size; ++v)
        t.of[v] = info.size > 1 ? static_cast<float>(v) / static_cast<float>(info.size - 1) : 0;
    }
    terms_.push_back(t);
    if (codes_too) {
      terms_.push_back(t);
      terms_.back().what = kind::category;
      terms_.back().middle = terms_.back().log_weight = std::log(code_weight);
    }
    if (aligned.empty()) continue;
    // A second distance over the same values: how differently they are aligned.
    t.what = kind::linear;
    t.of.assign(info.size, 0);
    for (std::uint32_t v = 0; v < info.size; ++v) t.of[v] = static_cast<float>(aligned[v]) / 4;
    terms_.push_back(std::move(t));
  }
  for (const auto& t : terms_) terms_apart_ += t.free ? 1 : 0;
  for (std::size_t s = 0; s < sources; ++s) {
    term t;
    t.parameter = over.parameters().size() + s;
    t.what = kind::category;
    t.middle = t.log_weight = std::log(source_weight);
    terms_.push_back(std::move(t));
  }
  weigh_terms();
}

void gaussian_process::begin_as(const gaussian_process& other) {
  for (std::size_t d = 0; d < std::min(terms_.size() - sources_, other.terms_.size() - other.sources_); ++d)
    terms_[d].log_weight = other.terms_[d].log_weight;
  log_odds_apart_ = other.log_odds_apart_;
  log_foreign_noise_ = other.log_noise_;
  n_ = 0;
  weigh_terms();
}

float gaussian_process::coordinate(const term& t, std::uint32_t index) const {
  switch (t.what) {
  case kind::linear:
    return t.of[index];
  case kind::category:
    return static_cast<float>(index);
  case kind::table:
    return static_cast<float>(code(index, t.size, std::min<std::uint32_t>(t.size, 255)));
  }
  return 0;
}

void gaussian_process::weigh_terms() {
  scale_.resize(terms_.size());
  tables_.resize(terms_.size());
  for (std::size_t d = 0; d < terms_.size(); ++d) {
    const double w = std::exp(terms_[d].log_weight);
    scale_[d] = static_cast<float>(terms_[d].what == kind::linear ? std::sqrt(w) : w);
    if (terms_[d].what != kind::table) continue;
    tables_[d] = terms_[d].squares;
    for (auto& v : tables_[d]) v *= scale_[d];
  }
  for (std::size_t d = 0; d < terms_.size(); ++d) {
    const float s = terms_[d].what == kind::linear ? scale_[d] : 1.0f;
    for (std::size_t i = 0; i < n_; ++i) x_[d * stride_ + i] = raw_[i * terms_.size() + d] * s;
  }
}

void gaussian_process::set(std::span<const point* const> x, std::span<const double> y,
                           std::span<const std::uint32_t> source) {
  // The factor does not depend on y: of the points that are the same as before it is kept.
  const std::size_t d_ = terms_.size();
  std::vector<float> raw(x.size() * d_);
  for (std::size_t i = 0; i < x.size(); ++i) {
    float* r = raw.data() + i * d_;
    for (std::size_t d = 0; d + sources_ < d_; ++d) r[d] = coordinate(terms_[d], (*x[i])[terms_[d].parameter]);
    for (std::size_t s = 0; s < sources_; ++s) r[d_ - sources_ + s] = !source.empty() && source[i] == s + 1 ? 1 : 0;
  }
  std::size_t same = 0;
  while (same < std::min(n_, x.size()) && std::equal(raw.begin() + static_cast<std::ptrdiff_t>(same * d_),
                                                     raw.begin() + static_cast<std::ptrdiff_t>((same + 1) * d_),
                                                     raw_.begin() + static_cast<std::ptrdiff_t>(same * d_)))
    ++same;
  raw_ = std::move(raw);
  n_ = x.size();
  foreign_.assign(n_, 0);
  if (!source.empty())
    for (std::size_t i = 0; i < n_; ++i) foreign_[i] = source[i] != 0;
  if (stride_ < n_) {
    stride_ = n_ + n_ / 2 + 16;
    x_.assign(stride_ * d_, 0);
    for (std::size_t d = 0; d < d_; ++d) {
      const float s = terms_[d].what == kind::linear ? scale_[d] : 1.0f;
      for (std::size_t i = 0; i < n_; ++i) x_[d * stride_ + i] = raw_[i * d_ + d] * s;
    }
  } else {
    for (std::size_t d = 0; d < d_; ++d) {
      const float s = terms_[d].what == kind::linear ? scale_[d] : 1.0f;
      for (std::size_t i = same; i < n_; ++i) x_[d * stride_ + i] = raw_[i * d_ + d] * s;
    }
  }
  centre_ = 0;
  for (const double v : y) centre_ += v;
  centre_ /= static_cast<double>(n_);
  y_.assign(y.begin(), y.end());
  for (auto& v : y_) v -= centre_;
  factorise(same);
  weigh();
}

void gaussian_process::distances(std::size_t j, const float* columns, std::size_t stride, std::size_t count, float* r2,
                                 float* each) const {
  const auto& run = loops();
  std::fill(r2, r2 + count, 0.0f);
  std::fill(each, each + count, 0.0f);
  const std::size_t own = terms_.size() - sources_;
  for (std::size_t d = 0; d < own; ++d) {
    if (!terms_[d].free) continue;
    const float x = x_[d * stride_ + j];
    const float* c = columns + d * stride;
    switch (terms_[d].what) {
    case kind::linear:
      run.add_squares(x, c, count, r2, each);
      break;
    case kind::category:
      run.add_unequal(x, scale_[d], c, count, r2);
      for (std::size_t i = 0; i < count; ++i) each[i] += 1;
      run.add_unequal(x, 1 / (1 + scale_[d]) - 1, c, count, each);
      break;
    case kind::table: {
      const std::size_t codes = std::min<std::uint32_t>(terms_[d].size, 255) + std::size_t{1};
      const float* table = tables_[d].data() + static_cast<std::size_t>(x) * codes;
      for (std::size_t i = 0; i < count; ++i) {
        const float s = table[static_cast<std::size_t>(c[i])];
        r2[i] += s;
        each[i] += 1 / (1 + s);
      }
      break;
    }
    }
  }
  if (sources_ == 0) return;
  std::vector<float> far(count, 0.0f);
  for (std::size_t d = own; d < terms_.size(); ++d)
    run.add_unequal(x_[d * stride_ + j], scale_[d], columns + d * stride, count, far.data());
  for (std::size_t i = 0; i < count; ++i) {
    const float b = 1 + far[i] * 0.25f;
    r2[i] += far[i];
    each[i] /= b * b;
  }
}

double gaussian_process::apart() const noexcept { return terms_apart_ > 0 ? 1 / (1 + std::exp(-log_odds_apart_)) : 0; }

void gaussian_process::factorise(std::size_t from) {
  l_.resize(row(n_));
  r2_.resize(n_);
  each_.resize(n_);
  const double together = 1 - apart(), each = apart() / static_cast<double>(std::max<std::size_t>(terms_apart_, 1));
  const double own = std::exp(log_noise_) + 1e-8, others = std::exp(log_foreign_noise_) + 1e-8;
  const auto dot = loops().dot;
  for (std::size_t i = from; i < n_; ++i) {
    double* li = l_.data() + row(i);
    distances(i, x_.data(), stride_, i, r2_.data(), each_.data());
    for (std::size_t j = 0; j < i; ++j) {
      const double b = 1 + static_cast<double>(r2_[j]) * 0.25;
      li[j] = together / (b * b) + each * static_cast<double>(each_[j]);
    }
    li[i] = 1 + (foreign_[i] != 0 ? others : own);
    for (std::size_t j = 0; j < i; ++j) {
      const double* lj = l_.data() + row(j);
      li[j] = (li[j] - dot(li, lj, j)) / lj[j];
    }
    li[i] = std::sqrt(std::max(1e-10, li[i] - dot(li, li, i)));
  }
}

double gaussian_process::weigh() {
  double log_det = 0, fit = 0;
  alpha_ = y_;
  for (std::size_t i = 0; i < n_; ++i) {
    const double* li = l_.data() + row(i);
    alpha_[i] = (alpha_[i] - loops().dot(li, alpha_.data(), i)) / li[i];
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
  for (const auto& t : terms_) {
    const double z = (t.log_weight - t.middle) / prior_spread;
    posterior -= 0.5 * z * z;
  }
  const double z = (log_noise_ + 6) / 2, f = (log_foreign_noise_ - foreign_noise) / 2;
  const double o = log_odds_apart_ / odds_spread;
  return posterior_ = posterior - 0.5 * z * z - 0.5 * f * f - 0.5 * o * o;
}

double gaussian_process::solve() {
  weigh_terms();
  factorise(0);
  return weigh();
}

double& gaussian_process::unknown(std::size_t which) {
  if (which < terms_.size()) return terms_[which].log_weight;
  return which == terms_.size() ? log_noise_ : which == terms_.size() + 1 ? log_odds_apart_ : log_foreign_noise_;
}

bool gaussian_process::improve(std::size_t which, double step) {
  struct range {
    double low, high;
  };
  const std::size_t n = terms_.size();
  if (which < n ? !terms_[which].free : which == n + 1 && terms_apart_ == 0) return false;
  const range in = which < n        ? range{-6, 7}
                   : which == n     ? range{-14, 0}
                   : which == n + 1 ? range{-5, 5}
                                    : range{-14, 2};
  double& v = unknown(which);
  const double before = v;
  for (const double s : {step, -step}) {
    v = std::clamp(before + s, in.low, in.high);
    const double now = solve();
    if (now > best_ + 1e-9) {
      best_ = now;
      return true;
    }
  }
  v = before;
  return false;
}

void gaussian_process::tune(int passes) {
  begin_tuning(passes);
  while (tune_some()) {
  }
}

void gaussian_process::begin_tuning(int passes) {
  left_ = unknowns() * static_cast<std::size_t>(passes);
  next_ = 0;
  step_ = 1.2;
}

bool gaussian_process::tune_some() {
  if (left_ == 0) return false;
  // At 200 points one hyperparameter is what an ask may take.
  constexpr double portion = 200.0 * 200.0 * 200.0;
  best_ = posterior_;
  bool moved = true; // whether the factor is that of the weights
  for (double spent = 0; left_ > 0 && spent < portion;) {
    moved = improve(next_, step_);
    const double n = static_cast<double>(n_);
    spent += n * n * n + 2000 * n;
    --left_;
    if (++next_ == unknowns()) {
      next_ = 0;
      step_ *= 0.6;
    }
  }
  if (!moved) solve();
  return left_ > 0;
}

void gaussian_process::predict(std::span<const point> at, std::vector<float>& mean,
                               std::vector<float>& deviation) const {
  const std::size_t m = at.size();
  mean.assign(m, 0);
  deviation.assign(m, 0);
  const auto& run = loops();
  std::vector<float> l(l_.begin(), l_.end()), inverse(n_);
  for (std::size_t j = 0; j < n_; ++j) inverse[j] = static_cast<float>(1 / l_[row(j) + j]);
  std::vector<float> columns(terms_.size() * tile), v(n_ * tile), r2(tile), each(tile), sum(tile), explained(tile);
  const auto together = static_cast<float>(1 - apart());
  const auto part = static_cast<float>(apart() / static_cast<double>(std::max<std::size_t>(terms_apart_, 1)));
  const auto scale = static_cast<float>(std::sqrt(scale2_));
  for (std::size_t begin = 0; begin < m; begin += tile) {
    const std::size_t here = std::min(tile, m - begin), width = (here + 31) / 32 * 32;
    for (std::size_t d = 0; d < terms_.size(); ++d) {
      float* c = columns.data() + d * tile;
      std::fill(c, c + width, 0.0f);
      if (d + sources_ >= terms_.size()) continue; // of this task
      const float s = terms_[d].what == kind::linear ? scale_[d] : 1.0f;
      for (std::size_t i = 0; i < here; ++i) c[i] = coordinate(terms_[d], at[begin + i][terms_[d].parameter]) * s;
    }
    std::fill(sum.begin(), sum.end(), 0.0f);
    std::fill(explained.begin(), explained.end(), 0.0f);
    for (std::size_t j = 0; j < n_; ++j) {
      distances(j, columns.data(), tile, width, r2.data(), each.data());
      run.covariances(r2.data(), each.data(), together, part, static_cast<float>(alpha_[j]), width,
                      v.data() + j * width, sum.data());
    }
    run.solve(l.data(), inverse.data(), n_, v.data(), width, explained.data());
    for (std::size_t i = 0; i < here; ++i) {
      mean[begin + i] = sum[i] + static_cast<float>(centre_);
      deviation[begin + i] = scale * std::sqrt(std::max(1e-6f, 1.0f - explained[i]));
    }
  }
}

double gaussian_process::log_density(const point& at, double y) const {
  std::vector<float> mean, deviation;
  predict(std::span(&at, 1), mean, deviation);
  const double d = deviation[0], variance = d * d + scale2_ * std::exp(log_noise_);
  const double residual = y - static_cast<double>(mean[0]);
  return -0.5 * (std::log(variance) + residual * residual / variance);
}

} // namespace attune::search
