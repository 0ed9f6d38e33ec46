#include "search/rank_quality.hpp"

#include "core/random.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

using namespace attune;
using namespace attune::search;

namespace {

/// From the definition, pair by pair.
std::optional<double> tau_by_pairs(const std::vector<double>& a, const std::vector<double>& b) {
  double score = 0, in_a = 0, in_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const double x = a[i] < a[j] ? -1 : a[i] > a[j] ? 1 : 0, y = b[i] < b[j] ? -1 : b[i] > b[j] ? 1 : 0;
      score += x * y;
      in_a += x * x;
      in_b += y * y;
    }
  if (in_a == 0 || in_b == 0) return std::nullopt;
  return score / std::sqrt(in_a * in_b);
}

/// The mean over all ways to order equals.
double recall_by_orders(const std::vector<double>& predicted, const std::vector<double>& actual, std::size_t k) {
  const auto choices = [k](const std::vector<double>& v) {
    std::vector<std::vector<bool>> out;
    std::vector<std::size_t> order(v.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
      if (!std::is_sorted(order.begin(), order.end(), [&](auto i, auto j) { return v[i] < v[j]; })) continue;
      std::vector<bool> in(v.size());
      for (std::size_t i = 0; i < k; ++i) in[order[i]] = true;
      out.push_back(in);
    } while (std::next_permutation(order.begin(), order.end()));
    return out;
  };
  const auto p = choices(predicted), a = choices(actual);
  double sum = 0;
  for (const auto& x : p)
    for (const auto& y : a)
      for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] && y[i] ? 1 : 0;
  return sum / static_cast<double>(p.size() * a.size() * k);
}

} // namespace

BOOST_AUTO_TEST_CASE(kendalls_tau_is_what_counting_pairs_gives) {
  random_engine rng(3);
  for (int round = 0; round < 400; ++round) {
    const std::size_t n = rng.below(40);
    // Few values: many ties, up to all.
    const std::uint64_t va = 1 + rng.below(20), vb = 1 + rng.below(20);
    std::vector<double> a, b;
    for (std::size_t i = 0; i < n; ++i) {
      a.push_back(static_cast<double>(rng.below(va)) - 3);
      b.push_back(rng.chance(0.5) ? a.back() : static_cast<double>(rng.below(vb)));
    }
    const auto got = kendall_tau(a, b), want = tau_by_pairs(a, b);
    BOOST_REQUIRE(got.has_value() == want.has_value());
    if (got) BOOST_TEST(std::abs(*got - *want) < 1e-12);
  }
}

BOOST_AUTO_TEST_CASE(kendalls_tau_has_its_known_values) {
  const std::vector<double> up{1, 2, 3, 4}, down{4, 3, 2, 1}, equal{5, 5, 5, 5}, one{1};
  BOOST_TEST(*kendall_tau(up, up) == 1.0);
  BOOST_TEST(*kendall_tau(up, down) == -1.0);
  BOOST_TEST(!kendall_tau(up, equal));
  BOOST_TEST(!kendall_tau(one, one));
  BOOST_TEST(!kendall_tau({}, {}));
  // (4 - 1) / sqrt(5 × 6): of six pairs one is tied in a, one disagrees.
  const std::vector<double> a{1, 1, 2, 3}, b{1, 2, 4, 3};
  BOOST_TEST(std::abs(*kendall_tau(a, b) - 3 / std::sqrt(30.0)) < 1e-12);
}

BOOST_AUTO_TEST_CASE(recall_of_the_top_is_its_mean_over_the_orders_of_equals) {
  random_engine rng(5);
  for (int round = 0; round < 60; ++round) {
    const std::size_t n = 1 + rng.below(5), k = 1 + rng.below(n);
    std::vector<double> p, a;
    for (std::size_t i = 0; i < n; ++i) {
      p.push_back(static_cast<double>(rng.below(4)));
      a.push_back(static_cast<double>(rng.below(4)));
    }
    BOOST_TEST(std::abs(*top_recall(p, a, k) - recall_by_orders(p, a, k)) < 1e-12);
  }
  BOOST_TEST(!top_recall({}, {}, 3));
  const std::vector<double> v{3, 1, 2};
  BOOST_TEST(!top_recall(v, v, 0));
  BOOST_TEST(*top_recall(v, v, 99) == 1.0);
}

BOOST_AUTO_TEST_CASE(a_window_judges_by_the_last_pairs_alone) {
  rank_window w(10);
  for (int i = 0; i < 10; ++i) w.add(i, -i);
  BOOST_TEST(*w.tau() == -1.0);
  BOOST_TEST(*w.recall(2) == 0.0);
  w.add(std::numeric_limits<double>::quiet_NaN(), 1);
  w.add(1, std::numeric_limits<double>::infinity());
  BOOST_TEST(w.size() == 10u);
  BOOST_TEST(*w.tau() == -1.0);
  for (int i = 0; i < 10; ++i) w.add(i, i * i);
  BOOST_TEST(w.size() == 10u);
  BOOST_TEST(*w.tau() == 1.0);
  BOOST_TEST(*w.recall(2) == 1.0);
}
