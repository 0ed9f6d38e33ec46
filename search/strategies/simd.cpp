#include "search/strategies/simd.hpp"

namespace attune::search {
namespace {

#define ATTUNE_INLINE inline __attribute__((always_inline))

ATTUNE_INLINE double dot_body(const double* a, const double* b, std::size_t n) {
  double s[8] = {};
  std::size_t k = 0;
  for (; k + 8 <= n; k += 8)
    for (int u = 0; u < 8; ++u) s[u] += a[k + static_cast<std::size_t>(u)] * b[k + static_cast<std::size_t>(u)];
  double rest = 0;
  for (; k < n; ++k) rest += a[k] * b[k];
  return (((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))) + rest;
}

ATTUNE_INLINE void squares_body(float x, const float* column, std::size_t n, float* r2, float* each) {
  for (std::size_t i = 0; i < n; ++i) {
    const float d = x - column[i], s = d * d;
    r2[i] += s;
    each[i] += 1.0f / (1.0f + s);
  }
}

ATTUNE_INLINE void unequal_body(float x, float weight, const float* column, std::size_t n, float* r2) {
  for (std::size_t i = 0; i < n; ++i) r2[i] += column[i] != x ? weight : 0.0f;
}

ATTUNE_INLINE void covariances_body(const float* r2, const float* each, float p, float q, float a, std::size_t n,
                                    float* k, float* sum) {
  for (std::size_t i = 0; i < n; ++i) {
    const float b = 1.0f + r2[i] * 0.25f;
    k[i] = p / (b * b) + q * each[i];
    sum[i] += a * k[i];
  }
}

ATTUNE_INLINE void solve_body(const float* l, const float* inverse, std::size_t n, float* v, std::size_t width,
                              float* explained) {
  // A strip of right-hand sides stays in registers while the rows above it are taken away.
  constexpr std::size_t strip = 32;
  for (std::size_t s = 0; s < width; s += strip) {
    for (std::size_t j = 0; j < n; ++j) {
      const float* lj = l + j * (j + 1) / 2;
      float* vj = v + j * width + s;
      float z[strip];
      for (std::size_t i = 0; i < strip; ++i) z[i] = vj[i];
      for (std::size_t k = 0; k < j; ++k) {
        const float f = lj[k];
        const float* vk = v + k * width + s;
        for (std::size_t i = 0; i < strip; ++i) z[i] -= f * vk[i];
      }
      const float d = inverse[j];
      for (std::size_t i = 0; i < strip; ++i) {
        z[i] *= d;
        vj[i] = z[i];
        explained[s + i] += z[i] * z[i];
      }
    }
  }
}

// NOLINTBEGIN(bugprone-macro-parentheses): an attribute and a name stand in none
#define ATTUNE_VARIANT(name, attribute)                                                                              \
  namespace name {                                                                                                   \
  attribute double dot(const double* a, const double* b, std::size_t n) { return dot_body(a, b, n); }                \
  attribute void add_squares(float x, const float* c, std::size_t n, float* r2, float* each) {                       \
    squares_body(x, c, n, r2, each);                                                                                 \
  }                                                                                                                  \
  attribute void add_unequal(float x, float w, const float* c, std::size_t n, float* r2) {                           \
    unequal_body(x, w, c, n, r2);                                                                                    \
  }                                                                                                                  \
  attribute void covariances(const float* r2, const float* each, float p, float q, float a, std::size_t n, float* k, \
                             float* sum) {                                                                           \
    covariances_body(r2, each, p, q, a, n, k, sum);                                                                  \
  }                                                                                                                  \
  attribute void solve(const float* l, const float* inverse, std::size_t n, float* v, std::size_t width, float* e) { \
    solve_body(l, inverse, n, v, width, e);                                                                          \
  }                                                                                                                  \
  constexpr vector_loops all{dot, add_squares, add_unequal, covariances, solve};                                     \
  }
// NOLINTEND(bugprone-macro-parentheses)

ATTUNE_VARIANT(plain, )
#if defined(__x86_64__)
ATTUNE_VARIANT(avx2, __attribute__((target("avx2"))))
#endif

} // namespace

const vector_loops& plain_loops() { return plain::all; }

const vector_loops& loops() {
#if defined(__x86_64__)
  static const vector_loops& chosen = __builtin_cpu_supports("avx2") ? avx2::all : plain::all;
  return chosen;
#else
  return plain::all;
#endif
}

} // namespace attune::search
