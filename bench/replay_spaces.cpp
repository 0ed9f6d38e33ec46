#include "bench/replay_spaces.hpp"

#include "bench/modelled_space.hpp"
#include "cli/recorded_table.hpp"
#include "core/random.hpp"
#include "storage/recorded.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace attune::bench {
namespace {

result<named_table> recorded(const std::string& path) {
  auto read = storage::read_recorded(path);
  if (!read) return read.err();
  auto table = cli::table_of(*read);
  if (!table) return table.err();
  return named_table{path.substr(path.rfind('/') + 1), std::move(*table)};
}

/// A cost in the manner of GPU kernels: work a thread and block shapes have sweet spots that depend on each other,
/// resources run out in steps, flags help or harm by the block's shape.
named_table synthetic(std::uint64_t seed, std::uint64_t relative) {
  random_engine rng(seed * 7919 + 3);
  const std::size_t d = 5 + rng.below(6);
  std::vector<search::enumerated_space::axis> axes;
  for (std::size_t k = 0; k < d; ++k) {
    search::enumerated_space::axis a;
    a.name = "p" + std::to_string(k);
    const auto kind = rng.below(4);
    const std::size_t n = kind == 0   ? 2
                          : kind == 1 ? 3 + rng.below(4)
                          : kind == 2 ? 4 + rng.below(4)
                                      : 6 + rng.below(10);
    for (std::size_t v = 0; v < n; ++v) {
      if (kind <= 1)
        a.values.emplace_back(static_cast<std::int64_t>(v));
      else if (kind == 2)
        a.values.emplace_back(static_cast<std::int64_t>(1) << v);
      else
        a.values.emplace_back(static_cast<std::int64_t>(16 * (v + 1)));
    }
    axes.push_back(std::move(a));
  }
  const auto unit = [&](std::size_t k, std::uint32_t v) {
    return axes[k].values.size() < 2 ? 0.0 : static_cast<double>(v) / static_cast<double>(axes[k].values.size() - 1);
  };
  // The terms.
  struct bowl {
    std::size_t a;
    double centre, weight;
  };
  struct ridge {
    std::size_t a, b;
    double sum, weight;
  };
  struct cliff {
    std::size_t a, b;
    double limit, weight;
  };
  struct table {
    std::size_t a, b;
    std::vector<double> add;
  };
  std::vector<bowl> bowls;
  std::vector<ridge> ridges;
  std::vector<cliff> cliffs;
  std::vector<table> tables;
  for (std::size_t k = 0; k < d; ++k)
    if (rng.chance(0.7)) bowls.push_back({k, rng.uniform(), 0.2 + 1.5 * rng.uniform()});
  const auto pair = [&](std::size_t& a, std::size_t& b) {
    a = rng.below(d);
    do b = rng.below(d);
    while (b == a);
  };
  for (std::size_t k = 0; k < 2 + rng.below(3); ++k) {
    ridge r{};
    pair(r.a, r.b);
    r.sum = 0.4 + 1.2 * rng.uniform();
    r.weight = 0.3 + 2.0 * rng.uniform();
    ridges.push_back(r);
  }
  for (std::size_t k = 0; k < 1 + rng.below(3); ++k) {
    cliff c{};
    pair(c.a, c.b);
    c.limit = 0.5 + rng.uniform();
    c.weight = 0.2 + 0.8 * rng.uniform();
    cliffs.push_back(c);
  }
  for (std::size_t k = 0; k < 1 + rng.below(4); ++k) {
    table t{};
    pair(t.a, t.b);
    for (std::size_t i = 0; i < axes[t.a].values.size() * axes[t.b].values.size(); ++i)
      t.add.push_back(0.25 * std::abs(rng.normal()));
    tables.push_back(std::move(t));
  }
  std::size_t ca = 0, cb = 0, fa = 0, fb = 0;
  pair(ca, cb);
  pair(fa, fb);
  // A relative: the same terms, each of another weight, the sweet spots moved.
  if (relative != 0) {
    random_engine other(relative * 104729 + seed);
    for (auto& b : bowls) {
      b.weight *= std::exp(0.4 * other.normal());
      b.centre += 0.1 * other.normal();
    }
    for (auto& r : ridges) {
      r.weight *= std::exp(0.4 * other.normal());
      r.sum += 0.1 * other.normal();
    }
    for (auto& c : cliffs) c.weight *= std::exp(0.4 * other.normal());
    for (auto& t : tables)
      for (auto& a : t.add) a *= std::exp(0.4 * other.normal());
  }
  const double cut = 1.2 + 0.6 * rng.uniform(), fails = 1.1 + 0.6 * rng.uniform();
  const double rough = 0.02 + 0.06 * rng.uniform();
  // Points: the product where it is small, a fixed share of it otherwise; then the constraint.
  double product = 1;
  for (const auto& a : axes) product *= static_cast<double>(a.values.size());
  const double keep = std::min(1.0, 15000 / product);
  std::vector<search::point> points;
  search::point p(d, 0);
  if (product <= 4e6) {
    for (bool more = true; more;) {
      if (unit(ca, p[ca]) + unit(cb, p[cb]) <= cut && (keep >= 1 || rng.chance(keep))) points.push_back(p);
      more = false;
      for (std::size_t k = d; k-- > 0;) {
        if (++p[k] < axes[k].values.size()) {
          more = true;
          break;
        }
        p[k] = 0;
      }
    }
  } else {
    for (int k = 0; k < 15000; ++k) {
      for (std::size_t j = 0; j < d; ++j) p[j] = static_cast<std::uint32_t>(rng.below(axes[j].values.size()));
      points.push_back(p);
    }
    std::sort(points.begin(), points.end());
    points.erase(std::unique(points.begin(), points.end()), points.end());
  }
  named_table out;
  out.name = "synthetic:" + std::to_string(seed);
  if (relative != 0) out.name += ":" + std::to_string(relative);
  out.table.over = *search::enumerated_space::make(axes, points);
  for (std::size_t i = 0; i < out.table.over->size(); ++i) {
    const auto q = out.table.over->row(i);
    double log_cost = 0;
    for (const auto& b : bowls) log_cost += b.weight * std::pow(unit(b.a, q[b.a]) - b.centre, 2);
    for (const auto& r : ridges) log_cost += r.weight * std::pow(unit(r.a, q[r.a]) + unit(r.b, q[r.b]) - r.sum, 2);
    for (const auto& c : cliffs) log_cost += unit(c.a, q[c.a]) + unit(c.b, q[c.b]) > c.limit ? c.weight : 0;
    for (const auto& t : tables) log_cost += t.add[q[t.a] * axes[t.b].values.size() + q[t.b]];
    log_cost += rough * rng.normal();
    search::recorded_result r;
    if (seed % 2 == 0 || unit(fa, q[fa]) + unit(fb, q[fb]) <= fails) r.value = 10 * std::exp(log_cost);
    r.build_s = 1;
    r.run_s = r.value ? *r.value * 0.1 : 0.1;
    out.table.results.push_back(r);
  }
  return out;
}

/// Lets the 40 % of the configurations fail that need most of something that three parameters share.
named_table hide(named_table made, std::uint64_t seed) {
  random_engine rng(seed * 3571 + 17);
  const auto& over = *made.table.over;
  std::vector<std::size_t> of;
  for (std::size_t k = 0; k < over.parameters().size(); ++k)
    if (over.parameters()[k].size > 2) of.push_back(k);
  rng.shuffle(std::span(of));
  of.resize(std::min<std::size_t>(of.size(), 3));
  std::vector<double> exponent, need;
  for (std::size_t k = 0; k < of.size(); ++k) exponent.push_back(0.5 + rng.uniform());
  for (std::size_t i = 0; i < over.size(); ++i) {
    double n = 1;
    for (std::size_t k = 0; k < of.size(); ++k) n *= std::pow(static_cast<double>(over.row(i)[of[k]]) + 1, exponent[k]);
    need.push_back(n);
  }
  auto sorted = need;
  std::sort(sorted.begin(), sorted.end());
  const double limit = sorted[sorted.size() * 6 / 10];
  for (std::size_t i = 0; i < over.size(); ++i)
    if (need[i] > limit) made.table.results[i].value.reset();
  made.name = "hidden:" + std::to_string(seed);
  return made;
}

} // namespace

result<named_table> load_table(const std::string& what) {
  if (what.rfind("synthetic:", 0) == 0) {
    char* end = nullptr;
    const auto seed = std::strtoull(what.c_str() + 10, &end, 10);
    return synthetic(seed, *end == ':' ? std::strtoull(end + 1, nullptr, 10) : 0);
  }
  if (what.rfind("modelled:", 0) == 0) {
    char* end = nullptr;
    const auto seed = std::strtoull(what.c_str() + 9, &end, 10);
    return modelled_space(seed, *end == ':' ? std::strtoull(end + 1, nullptr, 10) : 0);
  }
  if (what.rfind("hidden:", 0) == 0) {
    const auto seed = std::strtoull(what.c_str() + 7, nullptr, 10);
    return hide(modelled_space(seed, 0), seed);
  }
  return recorded(what);
}

std::vector<search::prior_record> records_of(const search::replay_table& table, const prior_choice& how) {
  random_engine rng(99);
  const double sign = table.direction == goal::minimize ? 1 : -1;
  std::vector<search::prior_record> out;
  const auto result = [&](std::size_t i) {
    const auto& value = table.results[i].value;
    return value ? search::observation{search::observation::status::measured, sign * *value} : search::observation{};
  };
  if (how.tuned) {
    search::strategy_options options;
    options.budget = how.count;
    const auto plays = *search::make_strategy("auto", table.over, options);
    while (out.size() < how.count) {
      const auto p = plays->ask();
      if (!p) break;
      out.push_back({*p, result(static_cast<std::size_t>(*table.over->index_of(*p)))});
      plays->tell(*p, out.back().result);
    }
  } else {
    std::vector<std::size_t> order(table.results.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    rng.shuffle(std::span(order));
    if (how.count < order.size()) order.resize(how.count);
    for (const auto i : order) out.push_back({table.over->at(i), result(i)});
  }
  if (how.shuffled)
    for (std::size_t k = out.size(); k > 1; --k) std::swap(out[k - 1].result, out[rng.below(k)].result);
  return out;
}

} // namespace attune::bench
