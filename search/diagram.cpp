#include "search/diagram.hpp"

#include <algorithm>

namespace attune::search {

std::uint32_t diagram::edge(std::uint32_t node, std::uint32_t wanted) const noexcept {
  const auto from = first_[node], to = first_[node + 1];
  // Where every value is there it stands at its own index.
  if (wanted < to - from && label_[from + wanted] == wanted) return from + wanted;
  if (to - from <= 8) {
    for (auto e = from; e < to; ++e)
      if (label_[e] == wanted) return e;
    return none;
  }
  const auto* found = std::lower_bound(label_.data() + from, label_.data() + to, wanted);
  const auto e = static_cast<std::uint32_t>(found - label_.data());
  return e < to && *found == wanted ? e : none;
}

std::uint32_t diagram::edge_of(std::uint32_t node, uint128 i) const noexcept {
  auto from = first_[node], to = first_[node + 1];
  while (to - from > 8) {
    const auto middle = from + (to - from) / 2;
    (before_[middle] <= i ? from : to) = middle;
  }
  while (from + 1 < to && before_[from + 1] <= i) ++from;
  return from;
}

bool diagram::contains(std::span<const std::uint32_t> p) const noexcept {
  auto at = root_;
  for (const auto parameter : order_) {
    const auto e = edge(at, p[parameter]);
    if (e == none) return false;
    at = target_[e];
  }
  return true;
}

void diagram::sample(random_engine& rng, std::span<std::uint32_t> p) const noexcept {
  auto i = rng.below128(count_[root_]);
  auto at = root_;
  for (const auto parameter : order_) {
    const auto e = edge_of(at, i);
    i -= before_[e];
    p[parameter] = label_[e];
    at = target_[e];
  }
}

std::vector<std::vector<std::uint32_t>> diagram::used() const {
  std::vector<std::vector<std::uint32_t>> out(order_.size());
  std::vector<std::uint32_t> here{root_}, next;
  for (auto& labels : out) {
    next.clear();
    for (const auto n : here)
      for (auto e = first_[n]; e < first_[n + 1]; ++e) {
        labels.push_back(label_[e]);
        next.push_back(target_[e]);
      }
    std::ranges::sort(labels);
    labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
    std::ranges::sort(next);
    next.erase(std::unique(next.begin(), next.end()), next.end());
    std::swap(here, next);
  }
  return out;
}

} // namespace attune::search
