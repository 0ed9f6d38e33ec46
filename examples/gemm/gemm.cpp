// A blocked single-precision matrix multiply, C = A B with row-major matrices, as a tuner sees it: every decision that
// depends on the machine is a macro. Build it with any subset of -DTILE_M= … ; run it as
//
//   gemm M N K [SAMPLES]     prints `time: <milliseconds>` for each multiplication, from the first, cold one
//   gemm --verify            exit 0 if the result agrees with a plain loop, also where no tile divides the matrix
//
// With -DPLAIN it is the plain loop itself, which the demo compares with.
//
// The structure is the usual one (Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS
// 34, 2008): three loops over cache tiles in any order, optional packing of the tiles, and a micro kernel that keeps
// MICRO_M x (MICRO_N * VEC) elements of C in registers.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#ifndef TILE_M // rows of C in a cache tile
#define TILE_M 64
#endif
#ifndef TILE_N // columns of C in a cache tile
#define TILE_N 64
#endif
#ifndef TILE_K // depth of a cache tile
#define TILE_K 64
#endif
#ifndef ORDER // the loops over tiles from the outermost: a permutation of i,j,k
#define ORDER i, j, k
#endif
#ifndef VEC // floats in one vector: 1 2 4 8 16
#define VEC 8
#endif
#ifndef MICRO_M // rows of C in registers
#define MICRO_M 4
#endif
#ifndef MICRO_N // vectors of C in registers, for each row
#define MICRO_N 1
#endif
#ifndef UNROLL // steps of the innermost loop in one turn
#define UNROLL 1
#endif
#ifndef PACK_A // 1: copy each tile of A into panels of MICRO_M rows
#define PACK_A 0
#endif
#ifndef PACK_B // 1: copy each tile of B into panels of MICRO_N * VEC columns
#define PACK_B 0
#endif
#ifndef PREFETCH // how many steps ahead B is fetched; 0 or empty leaves it to the hardware
#define PREFETCH 0
#endif

#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(...) TEXT_OF(__VA_ARGS__)
#if defined(__clang__)
#define UNROLL_FULLY _Pragma("clang loop unroll(full)")
#else
#define UNROLL_FULLY _Pragma("GCC unroll 64")
#endif

namespace {

constexpr int lanes = VEC;
constexpr bool pack_a = PACK_A; // `true` and `false` are as good as 1 and 0
constexpr bool pack_b = PACK_B;
constexpr int prefetch = PREFETCH + 0;
constexpr int panel_m = MICRO_M;
constexpr int panel_n = MICRO_N * VEC;

#if VEC == 1
using vec = float;
using loose_vec = float;
#else
typedef float vec __attribute__((vector_size(4 * VEC)));
typedef float loose_vec __attribute__((vector_size(4 * VEC), aligned(4), may_alias));
#endif

vec load(const float* from) { return *reinterpret_cast<const loose_vec*>(from); }
void store(float* to, vec v) { *reinterpret_cast<loose_vec*>(to) = v; }

constexpr int least(int a, int b) { return a < b ? a : b; }
constexpr int round_up(int n, int step) { return (n + step - 1) / step * step; }

// Where an element of a tile stands: at row * row_step + column * column_step, or in panels if the tile is packed.
struct tile_a {
  const float* data;
  int stride; // of the matrix; unused if packed
  int depth;  // of the tile
  const float* rows(int i) const {
    return pack_a ? data + i / panel_m * panel_m * depth + i % panel_m : data + i * stride;
  }
  int row_step() const { return pack_a ? 1 : stride; }
  int depth_step() const { return pack_a ? panel_m : 1; }
};

struct tile_b {
  const float* data;
  int stride;
  int depth;
  const float* columns(int j) const { return pack_b ? data + j / panel_n * panel_n * depth + j % panel_n : data + j; }
  int depth_step() const { return pack_b ? panel_n : stride; }
};

void step(vec (&sum)[MICRO_M][MICRO_N], const float* a, int a_row, const float* b) {
  vec right[MICRO_N];
  UNROLL_FULLY for (int j = 0; j < MICRO_N; ++j) right[j] = load(b + j * lanes);
  UNROLL_FULLY for (int i = 0; i < MICRO_M; ++i) {
    const float left = a[i * a_row];
    UNROLL_FULLY for (int j = 0; j < MICRO_N; ++j) sum[i][j] += left * right[j];
  }
}

// C[0:panel_m, 0:panel_n] += A B over the tile's depth.
void micro_kernel(const tile_a& ta, int i0, const tile_b& tb, int j0, int depth, float* c, int c_stride) {
  vec sum[MICRO_M][MICRO_N] = {};
  const float* a = ta.rows(i0);
  const float* b = tb.columns(j0);
  const int a_row = ta.row_step(), a_step = ta.depth_step(), b_step = tb.depth_step();
  int k = 0;
  for (; k + UNROLL <= depth; k += UNROLL) {
    UNROLL_FULLY for (int u = 0; u < UNROLL; ++u) {
      if (prefetch > 0) __builtin_prefetch(b + prefetch * b_step);
      step(sum, a, a_row, b);
      a += a_step;
      b += b_step;
    }
  }
  for (; k < depth; ++k, a += a_step, b += b_step) step(sum, a, a_row, b);
  UNROLL_FULLY for (int i = 0; i < MICRO_M; ++i) {
    UNROLL_FULLY for (int j = 0; j < MICRO_N; ++j) {
      float* at = c + i * c_stride + j * lanes;
      store(at, load(at) + sum[i][j]);
    }
  }
}

// The same for a corner that is smaller than a panel.
void edge_kernel(const tile_a& ta, int i0, int rows, const tile_b& tb, int j0, int columns, int depth, float* c,
                 int c_stride) {
  const float* a = ta.rows(i0);
  const float* b = tb.columns(j0);
  for (int k = 0; k < depth; ++k) {
    for (int i = 0; i < rows; ++i) {
      const float left = a[i * ta.row_step() + k * ta.depth_step()];
      for (int j = 0; j < columns; ++j) c[i * c_stride + j] += left * b[k * tb.depth_step() + j];
    }
  }
}

void multiply_tile(const tile_a& a, const tile_b& b, float* c, int c_stride, int rows, int columns, int depth) {
  for (int j = 0; j < columns; j += panel_n) {
    for (int i = 0; i < rows; i += panel_m) {
      const int m = least(panel_m, rows - i), n = least(panel_n, columns - j);
      float* at = c + i * c_stride + j;
      if (m == panel_m && n == panel_n)
        micro_kernel(a, i, b, j, depth, at, c_stride);
      else
        edge_kernel(a, i, m, b, j, n, depth, at, c_stride);
    }
  }
}

// Memory of whole cache lines, to be given to free.
float* allocate(std::size_t floats) {
  void* p = aligned_alloc(64, (floats * sizeof(float) + 63) / 64 * 64);
  if (p == nullptr) std::abort();
  return static_cast<float*>(p);
}

class matrix {
public:
  matrix(int rows, int columns) : columns_(columns), size_(static_cast<std::size_t>(rows) * columns) {
    data_ = allocate(size_);
    clear();
  }
  ~matrix() { std::free(data_); }
  matrix(const matrix&) = delete;
  matrix& operator=(const matrix&) = delete;
  float* row(int i) { return data_ + static_cast<std::size_t>(i) * columns_; }
  const float* row(int i) const { return data_ + static_cast<std::size_t>(i) * columns_; }
  int stride() const { return columns_; }
  void clear() { std::memset(data_, 0, size_ * sizeof(float)); }
  // Small whole numbers over a power of two: their products and sums are exact in single precision, in any order.
  void fill(unsigned seed) {
    for (std::size_t i = 0; i < size_; ++i) {
      seed = seed * 1664525u + 1013904223u;
      data_[i] = (static_cast<int>(seed >> 28) - 8) * 0.125f;
    }
  }

private:
  int columns_;
  std::size_t size_;
  float* data_;
};

#ifdef PLAIN

// What one writes without thinking of the machine.
void multiply(const matrix& a, const matrix& b, matrix& c, int m, int n, int depth) {
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < depth; ++k) sum += a.row(i)[k] * b.row(k)[j];
      c.row(i)[j] = sum;
    }
  }
}

#else

struct packed_tiles {
  float* a = allocate(static_cast<std::size_t>(round_up(TILE_M, panel_m)) * TILE_K);
  float* b = allocate(static_cast<std::size_t>(round_up(TILE_N, panel_n)) * TILE_K);
  ~packed_tiles() {
    std::free(a);
    std::free(b);
  }
};

void copy_a(const matrix& a, int i0, int rows, int k0, int depth, float* to) {
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < depth; ++k)
      to[i / panel_m * panel_m * depth + k * panel_m + i % panel_m] = a.row(i0 + i)[k0 + k];
}

void copy_b(const matrix& b, int k0, int depth, int j0, int columns, float* to) {
  for (int j = 0; j < columns; j += panel_n)
    for (int k = 0; k < depth; ++k)
      std::memcpy(to + j * depth + k * panel_n, b.row(k0 + k) + j0 + j,
                  sizeof(float) * static_cast<std::size_t>(least(panel_n, columns - j)));
}

void multiply(const matrix& a, const matrix& b, matrix& c, int m, int n, int depth) {
  static const packed_tiles packed;
  constexpr const char* order = TEXT(ORDER);
  constexpr int separator = order[1] == ',' && order[2] == ' ' ? 3 : 2; // `i,j,k` or `i, j, k`
  // extent and step of the three loops, from the outermost
  int extent[3], size[3];
  for (int level = 0; level < 3; ++level) {
    const char name = order[level * separator];
    extent[level] = name == 'i' ? m : name == 'j' ? n : depth;
    size[level] = name == 'i' ? TILE_M : name == 'j' ? TILE_N : TILE_K;
  }
  const auto along = [&](char name, const int(&at)[3]) {
    for (int level = 0; level < 3; ++level)
      if (order[level * separator] == name) return at[level];
    std::abort();
  };
  c.clear();
  int packed_ai = -1, packed_ak = -1, packed_bk = -1, packed_bj = -1; // what the packed tiles hold
  int at[3];
  for (at[0] = 0; at[0] < extent[0]; at[0] += size[0]) {
    for (at[1] = 0; at[1] < extent[1]; at[1] += size[1]) {
      for (at[2] = 0; at[2] < extent[2]; at[2] += size[2]) {
        const int i = along('i', at), j = along('j', at), k = along('k', at);
        const int rows = least(TILE_M, m - i), columns = least(TILE_N, n - j), deep = least(TILE_K, depth - k);
        if (pack_a && (packed_ai != i || packed_ak != k)) {
          copy_a(a, i, rows, k, deep, packed.a);
          packed_ai = i;
          packed_ak = k;
        }
        if (pack_b && (packed_bk != k || packed_bj != j)) {
          copy_b(b, k, deep, j, columns, packed.b);
          packed_bk = k;
          packed_bj = j;
        }
        const tile_a ta{pack_a ? packed.a : a.row(i) + k, a.stride(), deep};
        const tile_b tb{pack_b ? packed.b : b.row(k) + j, b.stride(), deep};
        multiply_tile(ta, tb, c.row(i) + j, c.stride(), rows, columns, deep);
      }
    }
  }
}

#endif

double milliseconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

bool right(int m, int n, int depth) {
  matrix a(m, depth), b(depth, n), c(m, n);
  a.fill(1);
  b.fill(2);
  multiply(a, b, c, m, n, depth);
  multiply(a, b, c, m, n, depth); // also when called again
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < depth; ++k) sum += a.row(i)[k] * b.row(k)[j];
      if (sum != c.row(i)[j]) { // exact, see matrix::fill
        std::fprintf(stderr, "%d x %d x %d: C[%d][%d] is %g, not %g\n", m, n, depth, i, j,
                     static_cast<double>(c.row(i)[j]), static_cast<double>(sum));
        return false;
      }
    }
  }
  return true;
}

} // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--verify") == 0)
    return right(1, 1, 1) && right(96, 64, 128) && right(131, 173, 151) && right(70, 259, 33) ? 0 : 1;
  if (argc < 4 || argc > 5) {
    std::fprintf(stderr, "usage: gemm M N K [SAMPLES] | gemm --verify\n");
    return 2;
  }
  const int m = std::atoi(argv[1]), n = std::atoi(argv[2]), depth = std::atoi(argv[3]);
  const int samples = argc == 5 ? std::atoi(argv[4]) : 1;
  const int largest = 16384; // the sizes of the matrices stay within an int
  if (m < 1 || n < 1 || depth < 1 || m > largest || n > largest || depth > largest || samples < 1) {
    std::fprintf(stderr, "gemm: sizes are 1 to %d, samples at least 1\n", largest);
    return 2;
  }
  matrix a(m, depth), b(depth, n), c(m, n);
  a.fill(1);
  b.fill(2);
  float seen = 0;
  for (int s = 0; s < samples; ++s) {
    const double start = milliseconds();
    multiply(a, b, c, m, n, depth);
    std::printf("time: %.6f\n", milliseconds() - start);
    seen += c.row(m / 2)[n / 2]; // so that no compiler leaves the work out
  }
  return seen == seen ? 0 : 1;
}
