#include "bench/modelled_space.hpp"

#include "core/random.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace attune::bench {
namespace {

enum dimension : std::size_t { block_x, block_y, tile_x, tile_y, unroll, vector_width, shared, padding, method, hint };
constexpr std::size_t dimensions = 10;

struct kernel {
  double width = 0, height = 0, filter = 0, operations = 0, bytes = 0;
  double registers = 0, per_item = 0, per_unrolled = 0;
  std::array<double, 4> work{}, traffic{}; ///< by method
  std::array<double, 3> by_hint{};
};

struct machine {
  double units = 0, peak = 0, bandwidth = 0, warp = 32;
  double registers = 65536, threads = 2048, blocks = 32, memory = 0;
  double latency = 0, cached = 0;
};

kernel draw_kernel(random_engine& rng) {
  kernel k;
  k.width = 1024 * static_cast<double>(1 + rng.below(6));
  k.height = 1024 * static_cast<double>(1 + rng.below(6));
  k.filter = static_cast<double>(1 + 2 * rng.below(9));
  k.operations = k.filter * k.filter * (0.5 + 4 * rng.uniform());
  k.bytes = 4 + 8 * rng.uniform();
  k.registers = 16 + 24 * rng.uniform();
  k.per_item = 1 + 5 * rng.uniform();
  k.per_unrolled = 1 + 4 * rng.uniform();
  for (auto& w : k.work) w = std::exp(0.25 * rng.normal());
  for (auto& t : k.traffic) t = std::exp(0.25 * rng.normal());
  for (auto& h : k.by_hint) h = std::exp(0.06 * rng.normal());
  return k;
}

machine draw_machine(random_engine& rng) {
  machine m;
  m.units = static_cast<double>(20 + rng.below(100));
  m.warp = rng.chance(0.3) ? 64 : 32;
  m.peak = m.units * (100 + 150 * rng.uniform());
  m.bandwidth = m.peak * (0.02 + 0.1 * rng.uniform());
  m.memory = 1024 * static_cast<double>(48 + 16 * rng.below(6));
  m.latency = 0.1 + 0.3 * rng.uniform();
  m.cached = 0.2 + 0.5 * rng.uniform();
  return m;
}

/// Milliseconds; none: it does not start.
std::optional<double> time_of(const kernel& k, const machine& m, const std::array<double, dimensions>& v) {
  const double threads = v[block_x] * v[block_y], items = v[tile_x] * v[tile_y];
  const double across = v[block_x] * v[tile_x], down = v[block_y] * v[tile_y];
  const double warps = std::ceil(threads / m.warp);
  const double wanted = k.registers + k.per_item * items + k.per_unrolled * v[unroll] + 2 * v[vector_width];
  const double registers = std::min(wanted, 255.0), spilled = wanted - registers;
  const double pitch = across + k.filter - 1 + v[padding];
  const double memory = v[shared] > 0 ? pitch * (down + k.filter - 1) * 4 : 0;
  double resident = std::min({m.blocks, std::floor(m.threads / (warps * m.warp)),
                              std::floor(m.registers / (std::ceil(registers / 8) * 8 * warps * m.warp))});
  if (memory > 0) resident = std::min(resident, std::floor(m.memory / memory));
  if (resident < 1) return std::nullopt;

  const double occupancy = resident * warps * m.warp / m.threads;
  const double parallel = occupancy * std::min(8.0, 1 + 0.5 * items) * (1 + 0.2 * v[unroll]);
  const double blocks = std::ceil(k.width / across) * std::ceil(k.height / down);
  const double waves = std::ceil(blocks / (m.units * resident));
  const double busy = blocks / (waves * m.units * resident) * (threads / (warps * m.warp));
  const double covered = blocks * across * down;

  const auto how = static_cast<std::size_t>(v[method]);
  const double loops = 1 + 0.6 / (1 + v[unroll]) + 0.3 / items;
  double compute = covered * k.operations * k.work[how] * loops / (m.peak * busy * parallel / (parallel + m.latency));
  compute *= 1 + 0.02 * spilled;
  const double halo = (across + k.filter - 1) * (down + k.filter - 1) / (across * down);
  const double reread = v[shared] > 0 ? halo : 1 + (halo - 1) * 2 * (1 - m.cached) + k.filter * (1 - m.cached) * 0.1;
  const double line =
      std::min(1.0, v[block_x] * v[vector_width] / m.warp) * (std::fmod(v[tile_x], v[vector_width]) > 0 ? 0.6 : 1.0);
  double traffic = covered * k.bytes * k.traffic[how] * reread / (m.bandwidth * busy * (0.3 + 0.7 * line));
  traffic *= 1 + m.latency * (1 - std::min(1.0, occupancy * v[vector_width]));
  if (v[shared] > 0) compute *= std::fmod(pitch, m.warp) == 0 ? 1.25 : 1.02;
  const double both = std::max(compute, traffic) + 0.3 * std::min(compute, traffic);
  return both * k.by_hint[static_cast<std::size_t>(v[hint])] * 1e-6 + 0.001 * waves;
}

} // namespace

named_table modelled_space(std::uint64_t seed, std::uint64_t device) {
  random_engine rng(seed * 6361 + 11), machines(seed * 6361 + 12 + device * 131);
  const kernel k = draw_kernel(rng);
  const machine m = draw_machine(machines);
  const std::array<std::vector<std::int64_t>, dimensions> all{{{16, 32, 48, 64, 80, 96, 112, 128, 192, 256, 512},
                                                               {1, 2, 4, 8, 16},
                                                               {1, 2, 3, 4, 5, 6, 8},
                                                               {1, 2, 3, 4, 5, 6, 8},
                                                               {0, 1, 2, 4, 8},
                                                               {1, 2, 4},
                                                               {0, 1},
                                                               {0, 1},
                                                               {0, 1, 2, 3},
                                                               {0, 1, 2}}};
  std::vector<search::enumerated_space::axis> axes;
  std::vector<std::size_t> of; // the dimension of each axis
  std::array<double, dimensions> fixed{};
  for (std::size_t d = 0; d < dimensions; ++d) {
    fixed[d] = static_cast<double>(all[d].front());
    if (d > tile_y && !rng.chance(0.7)) continue;
    search::enumerated_space::axis a;
    a.name = "p" + std::to_string(d);
    for (const auto v : all[d]) a.values.emplace_back(v);
    axes.push_back(std::move(a));
    of.push_back(d);
  }
  const auto values_of = [&](std::span<const std::uint32_t> p) {
    auto v = fixed;
    for (std::size_t i = 0; i < p.size(); ++i) v[of[i]] = static_cast<double>(all[of[i]][p[i]]);
    return v;
  };
  double product = 1;
  for (const auto& a : axes) product *= static_cast<double>(a.values.size());
  const double keep = std::min(1.0, 20000 / product);
  std::vector<search::point> points;
  search::point p(axes.size(), 0);
  for (bool more = true; more;) {
    const auto v = values_of(p);
    const double threads = v[block_x] * v[block_y];
    const bool valid = threads >= 32 && threads <= 1024 && (v[shared] > 0 || v[padding] == 0);
    if (valid && (keep >= 1 || rng.chance(keep))) points.push_back(p);
    more = false;
    for (std::size_t d = axes.size(); d-- > 0;) {
      if (++p[d] < axes[d].values.size()) {
        more = true;
        break;
      }
      p[d] = 0;
    }
  }
  named_table out;
  out.name = "modelled:" + std::to_string(seed);
  if (device != 0) out.name += ":" + std::to_string(device);
  out.table.over = *search::enumerated_space::make(axes, points);
  for (std::size_t i = 0; i < out.table.over->size(); ++i) {
    search::recorded_result r;
    r.value = time_of(k, m, values_of(out.table.over->row(i)));
    if (r.value) *r.value *= std::exp(0.01 * machines.normal());
    r.build_s = 1;
    r.run_s = 0.1 + (r.value ? *r.value * 0.05 : 0);
    out.table.results.push_back(r);
  }
  return out;
}

} // namespace attune::bench
