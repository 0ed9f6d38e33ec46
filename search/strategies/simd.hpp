#pragma once

#include <cstddef>
#include <cstdint>

namespace attune::search {

/// The inner loops of the Gaussian process, compiled for what the processor has. Every variant gives the same bits:
/// sums have a fixed order, nothing is contracted.
struct vector_loops {
  /// The inner product. Eight partial sums, added in pairs.
  double (*dot)(const double* a, const double* b, std::size_t n);
  /// r2[i] += s and each[i] += 1 / (1 + s), where s = (x - column[i])².
  void (*add_squares)(float x, const float* column, std::size_t n, float* r2, float* each);
  /// r2[i] += weight where column[i] differs from x.
  void (*add_unequal)(float x, float weight, const float* column, std::size_t n, float* r2);
  /// k[i] = p / (1 + r2[i] / 4)² + q · each[i], sum[i] += a · k[i].
  void (*covariances)(const float* r2, const float* each, float p, float q, float a, std::size_t n, float* k,
                      float* sum);
  /// Solves L·z = v for `width` right-hand sides at once (v: n rows of `width`; z replaces it) and adds z² to
  /// explained[i]. `l`: the rows of the lower factor, packed; `inverse`: one over its diagonal. @pre width is a
  /// multiple of 32
  void (*solve)(const float* l, const float* inverse, std::size_t n, float* v, std::size_t width, float* explained);
};

/// What is used on this machine.
const vector_loops& loops();
/// What every machine has.
const vector_loops& plain_loops();

} // namespace attune::search
