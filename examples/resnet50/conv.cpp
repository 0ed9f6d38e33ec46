// One layer of a network: a direct convolution of one image, square, with a halo of R/2, tuned by what is defined when
// it is compiled. Alone it checks itself (--verify) and times itself; with -shared it is the kernel that resnet50
// loads.
//
//   C K IN R S   input and output channels, input size, kernel size, stride
//   LAYOUT       how the input is laid out for the kernel: 0 as it comes (rows, columns, channels), 1 channels first,
//                2 blocks of 8 channels. Where it is not as it comes, or has a halo, laying it out is part of the
//                layer.
//   VEC KV       floats in a vector, vectors of output channels held in registers
//   TILE_W       output columns held in registers (the largest divisor of the output's size up to it)
//   TILE_H       output rows for each turn of the y loop (the same)
//   TILE_C       input channels for each turn of the c loop (all, where it does not divide them)
//   ORDER        the loops over tiles from the outermost: a permutation of c, k, y, x
//   UNROLL       turns of the innermost channel loop in one
// Weights come packed: [K / (VEC * KV)][C][R][R][VEC * KV].
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

constexpr int divisor(int of, int most) {
  int d = most < of ? most : of;
  while (of % d != 0) --d;
  return d;
}

#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(...) TEXT_OF(__VA_ARGS__)
constexpr char order[] = TEXT(ORDER);

constexpr int out = IN / S, halo = R / 2, padded = IN + 2 * halo;
constexpr int lanes = divisor(K, VEC), vectors = divisor(K / lanes, KV), block_k = lanes * vectors;
constexpr int block_w = divisor(out, TILE_W), block_h = divisor(out, TILE_H), block_c = C % TILE_C == 0 ? TILE_C : C;
constexpr int channel_block = C % 8 == 0 ? 8 : C;
constexpr bool as_it_comes = LAYOUT == 0 && halo == 0;

typedef float vec __attribute__((vector_size(lanes * sizeof(float)), aligned(4)));

inline std::size_t at(int c, int y, int x) {
  const auto p = static_cast<std::size_t>(padded);
  if (LAYOUT == 1) return (static_cast<std::size_t>(c) * p + y) * p + x;
  if (LAYOUT == 2)
    return ((static_cast<std::size_t>(c / channel_block) * p + y) * p + x) * channel_block + c % channel_block;
  return (static_cast<std::size_t>(y) * p + x) * C + c;
}

/// Some input channels' part of one row of the register tile.
inline void tile(const float* in, const float* weights, float* to, int c0, int k0, int y, int x0) {
  vec sum[block_w][vectors];
  for (int i = 0; i < block_w; ++i)
    for (int j = 0; j < vectors; ++j) {
      const float* o = to + (static_cast<std::size_t>(y) * out + x0 + i) * K + k0 + j * lanes;
      if (c0 == 0)
        sum[i][j] = vec{};
      else
        sum[i][j] = *reinterpret_cast<const vec*>(o);
    }
  const float* packed = weights + static_cast<std::size_t>(k0 / block_k) * C * R * R * block_k;
  _Pragma(TEXT(GCC unroll UNROLL)) for (int c = c0; c < c0 + block_c; ++c) for (int r = 0; r < R;
                                                                                ++r) for (int q = 0; q < R; ++q) {
    const float* w = packed + ((static_cast<std::size_t>(c) * R + r) * R + q) * block_k;
    vec k[vectors];
    for (int j = 0; j < vectors; ++j) k[j] = *reinterpret_cast<const vec*>(w + j * lanes);
    for (int i = 0; i < block_w; ++i) {
      const float a = in[at(c, y * S + r, (x0 + i) * S + q)];
      for (int j = 0; j < vectors; ++j) sum[i][j] += a * k[j];
    }
  }
  for (int i = 0; i < block_w; ++i)
    for (int j = 0; j < vectors; ++j)
      *reinterpret_cast<vec*>(to + (static_cast<std::size_t>(y) * out + x0 + i) * K + k0 + j * lanes) = sum[i][j];
}

/// The loop at one depth of the nest.
template <int Depth>
void nest(const float* in, const float* w, float* to, int c, int k, int y, int x) {
  if constexpr (Depth == 4) {
    for (int row = y; row < y + block_h; ++row) tile(in, w, to, c, k, row, x);
  } else if constexpr (order[2 * Depth] == 'c') {
    for (int i = 0; i < C; i += block_c) nest<Depth + 1>(in, w, to, i, k, y, x);
  } else if constexpr (order[2 * Depth] == 'k') {
    for (int i = 0; i < K; i += block_k) nest<Depth + 1>(in, w, to, c, i, y, x);
  } else if constexpr (order[2 * Depth] == 'y') {
    for (int i = 0; i < out; i += block_h) nest<Depth + 1>(in, w, to, c, k, i, x);
  } else {
    for (int i = 0; i < out; i += block_w) nest<Depth + 1>(in, w, to, c, k, y, i);
  }
}

} // namespace

/// How many floats the kernel needs beside input and output; they are zero at first and the kernel's own.
extern "C" std::size_t conv_scratch() { return as_it_comes ? 0 : static_cast<std::size_t>(C) * padded * padded; }

/// [K][R][R][C] into the packed form.
extern "C" void conv_pack(const float* from, float* to) {
  for (int k = 0; k < K; ++k)
    for (int r = 0; r < R; ++r)
      for (int q = 0; q < R; ++q)
        for (int c = 0; c < C; ++c)
          to[(((static_cast<std::size_t>(k / block_k) * C + c) * R + r) * R + q) * block_k + k % block_k] =
              from[((static_cast<std::size_t>(k) * R + r) * R + q) * C + c];
}

/// Rows, columns, channels in and out.
extern "C" void conv_run(const float* in, const float* packed, float* to, float* scratch) {
  if (as_it_comes) {
    nest<0>(in, packed, to, 0, 0, 0, 0);
    return;
  }
  if (LAYOUT == 0) {
    for (int y = 0; y < IN; ++y)
      std::memcpy(scratch + at(0, y + halo, halo), in + static_cast<std::size_t>(y) * IN * C, sizeof(float) * IN * C);
  } else {
    for (int c0 = 0; c0 < C; c0 += channel_block)
      for (int y = 0; y < IN; ++y)
        for (int x = 0; x < IN; ++x)
          for (int c = c0; c < c0 + channel_block; ++c)
            scratch[at(c, y + halo, x + halo)] = in[(static_cast<std::size_t>(y) * IN + x) * C + c];
  }
  nest<0>(scratch, packed, to, 0, 0, 0, 0);
}

#ifndef KERNEL_ONLY
namespace {

float* numbers(std::size_t count) {
  auto* all = static_cast<float*>(std::calloc(count + 16, sizeof(float)));
  if (all == nullptr) std::exit(3);
  return all;
}

/// Small whole numbers: sums of their products are exact, whatever the order.
void fill(float* to, std::size_t count, unsigned seed) {
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    to[i] = static_cast<float>(static_cast<int>(seed >> 29) - 3);
  }
}

/// The thread's processor time: what else runs on a busy machine is not the kernel's.
double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

} // namespace

int main(int argc, char** argv) {
  const std::size_t inputs = static_cast<std::size_t>(IN) * IN * C, weights = static_cast<std::size_t>(K) * R * R * C,
                    outputs = static_cast<std::size_t>(out) * out * K;
  float *in = numbers(inputs), *plain = numbers(weights), *packed = numbers(weights), *to = numbers(outputs),
        *scratch = numbers(conv_scratch());
  fill(in, inputs, 1);
  fill(plain, weights, 2);
  conv_pack(plain, packed);
  if (argc > 1 && std::strcmp(argv[1], "--verify") == 0) {
    for (int twice = 0; twice < 2; ++twice) conv_run(in, packed, to, scratch);
    // All channels of some pixels, the corners among them.
    for (int p = 0; p < out * out; p += (p + out < out * out ? out + 1 : 1)) {
      const int y = p / out, x = p % out;
      for (int k = 0; k < K; ++k) {
        double sum = 0;
        for (int r = 0; r < R; ++r)
          for (int q = 0; q < R; ++q) {
            const int row = y * S + r - halo, column = x * S + q - halo;
            if (row < 0 || row >= IN || column < 0 || column >= IN) continue;
            const float* a = in + (static_cast<std::size_t>(row) * IN + column) * C;
            const float* w = plain + ((static_cast<std::size_t>(k) * R + r) * R + q) * C;
            float part = 0;
            for (int c = 0; c < C; ++c) part += a[c] * w[c];
            sum += part;
          }
        const float got = to[(static_cast<std::size_t>(y) * out + x) * K + k];
        if (std::fabs(got - sum) > 1e-3 * std::fabs(sum) + 1e-3) {
          std::printf("wrong at row %d column %d channel %d: %g, not %g\n", y, x, k, static_cast<double>(got), sum);
          return 1;
        }
      }
    }
    return 0;
  }
  const int repeats = argc > 1 ? std::atoi(argv[1]) : 5;
  for (int i = 0; i <= repeats; ++i) {
    const double begin = now();
    conv_run(in, packed, to, scratch);
    if (i > 0) std::printf("time: %.6f\n", now() - begin); // the first one warms up
  }
  return 0;
}
#endif
