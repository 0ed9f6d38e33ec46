#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <utility>

namespace attune::search {

/// Kendall's tau-b (Kendall, 1945): (agreeing - disagreeing pairs) / sqrt(pairs not tied in a × pairs not tied in b);
/// 1: the same order, -1: the opposite one. A pair that is tied on either side agrees with nothing. None where one side
/// is all ties (or there are fewer than two). O(n log n), by Knight (1966). @pre a.size() == b.size(), no NaN
std::optional<double> kendall_tau(std::span<const double> a, std::span<const double> b);

/// The share of the k lowest of `actual` that are among the k lowest of `predicted`; where equals stand across the
/// border of either k, its expectation over their random order. k is cut to the number of items; none where that is 0.
/// @pre predicted.size() == actual.size(), no NaN
std::optional<double> top_recall(std::span<const double> predicted, std::span<const double> actual, std::size_t k);

/// How well a model has lately ranked what it had not seen: pairs of what was predicted before the result came and what
/// came, the last `length` of them. Threads: one owner.
class rank_window {
public:
  explicit rank_window(std::size_t length) : length_(length) {}
  /// Pairs with a NaN or an infinity are left out.
  void add(double predicted, double actual);
  std::size_t size() const noexcept { return pairs_.size(); }
  std::optional<double> tau() const;
  std::optional<double> recall(std::size_t k) const;

private:
  std::size_t length_;
  std::deque<std::pair<double, double>> pairs_;
};

} // namespace attune::search
