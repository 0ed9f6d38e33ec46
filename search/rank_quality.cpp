#include "search/rank_quality.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace attune::search {
namespace {

std::uint64_t pairs_of(std::uint64_t n) { return n * (n - 1) / 2; }

/// How many pairs are equal under `same`, which compares neighbours of a sorted order.
template <class Same>
std::uint64_t tied(std::span<const std::size_t> order, Same same) {
  std::uint64_t out = 0, run = 1;
  for (std::size_t i = 1; i <= order.size(); ++i) {
    if (i < order.size() && same(order[i - 1], order[i])) {
      ++run;
      continue;
    }
    out += pairs_of(run);
    run = 1;
  }
  return out;
}

/// Sorts by `b`; returns how many exchanges of neighbours that takes.
std::uint64_t exchanges(std::span<std::size_t> order, std::span<std::size_t> spare, std::span<const double> b) {
  const std::size_t n = order.size(), half = n / 2;
  if (n < 2) return 0;
  std::uint64_t out = exchanges(order.first(half), spare.first(half), b) +
                      exchanges(order.subspan(half), spare.subspan(half), b);
  for (std::size_t i = 0, l = 0, r = half; i < n; ++i) {
    if (r == n || (l < half && b[order[l]] <= b[order[r]])) {
      spare[i] = order[l++];
    } else {
      out += half - l;
      spare[i] = order[r++];
    }
  }
  std::copy(spare.begin(), spare.end(), order.begin());
  return out;
}

/// Per item the probability that it is among the k lowest.
std::vector<double> membership(std::span<const double> v, std::size_t k) {
  std::vector<double> sorted(v.begin(), v.end());
  std::sort(sorted.begin(), sorted.end());
  const double border = sorted[k - 1];
  const auto [low, high] = std::equal_range(sorted.begin(), sorted.end(), border);
  const double places = static_cast<double>(k) - static_cast<double>(low - sorted.begin());
  const double share = places / static_cast<double>(high - low);
  std::vector<double> out;
  for (const double x : v) out.push_back(x < border ? 1 : x == border ? share : 0);
  return out;
}

} // namespace

std::optional<double> kendall_tau(std::span<const double> a, std::span<const double> b) {
  const std::size_t n = a.size();
  if (n < 2) return std::nullopt;
  std::vector<std::size_t> order(n), spare(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return a[i] != a[j] ? a[i] < a[j] : b[i] < b[j]; });
  const auto in_a = tied(order, [&](std::size_t i, std::size_t j) { return a[i] == a[j]; });
  const auto in_both = tied(order, [&](std::size_t i, std::size_t j) { return a[i] == a[j] && b[i] == b[j]; });
  const auto disagree = exchanges(order, spare, b);
  const auto in_b = tied(order, [&](std::size_t i, std::size_t j) { return b[i] == b[j]; });
  const auto all = pairs_of(n);
  if (in_a == all || in_b == all) return std::nullopt;
  const double agree = static_cast<double>(all - in_a - in_b + in_both - disagree);
  return (agree - static_cast<double>(disagree)) /
         std::sqrt(static_cast<double>(all - in_a) * static_cast<double>(all - in_b));
}

std::optional<double> top_recall(std::span<const double> predicted, std::span<const double> actual, std::size_t k) {
  k = std::min(k, actual.size());
  if (k == 0) return std::nullopt;
  const auto chosen = membership(predicted, k), wanted = membership(actual, k);
  return std::inner_product(chosen.begin(), chosen.end(), wanted.begin(), 0.0) / static_cast<double>(k);
}

void rank_window::add(double predicted, double actual) {
  if (!std::isfinite(predicted) || !std::isfinite(actual)) return;
  pairs_.emplace_back(predicted, actual);
  if (pairs_.size() > length_) pairs_.pop_front();
}

std::optional<double> rank_window::tau() const {
  std::vector<double> a, b;
  for (const auto& [p, v] : pairs_) {
    a.push_back(p);
    b.push_back(v);
  }
  return kendall_tau(a, b);
}

std::optional<double> rank_window::recall(std::size_t k) const {
  std::vector<double> a, b;
  for (const auto& [p, v] : pairs_) {
    a.push_back(p);
    b.push_back(v);
  }
  return top_recall(a, b, k);
}

} // namespace attune::search
