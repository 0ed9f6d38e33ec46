#include "search/group.hpp"

#include <algorithm>

namespace attune::search {

bool free_group::complete(std::span<std::uint32_t> p, std::span<const std::uint8_t> loose,
                          std::span<const std::uint32_t> preferred) const {
  if (p[parameter_] < size_) return true;
  if (!loose[parameter_]) return false;
  p[parameter_] = preferred[parameter_] < size_ ? preferred[parameter_] : 0;
  return true;
}

namespace {

/// Depth first through a diagram; every path that it follows to the end is valid.
class completion {
public:
  completion(const diagram& d, std::span<std::uint32_t> p, std::span<const std::uint8_t> loose,
             std::span<const std::uint32_t> preferred)
      : d_(d), p_(p), loose_(loose), preferred_(preferred) {}

  bool from(std::uint32_t node, std::size_t layer) {
    if (layer == d_.order().size()) return true;
    const auto parameter = d_.order()[layer];
    const auto kept = p_[parameter];
    const auto follow = [&](std::uint32_t e) {
      p_[parameter] = d_.label(e);
      return from(d_.target(e), layer + 1);
    };
    const auto mine = d_.edge(node, kept);
    if (mine != diagram::none && from(d_.target(mine), layer + 1)) return true;
    if (!loose_[parameter]) return false;
    const auto usual = d_.edge(node, preferred_[parameter]);
    if (usual != diagram::none && usual != mine && follow(usual)) return true;
    for (auto e = d_.begin_edge(node); e < d_.end_edge(node); ++e)
      if (e != mine && e != usual && follow(e)) return true;
    p_[parameter] = kept;
    return false;
  }

private:
  const diagram& d_;
  std::span<std::uint32_t> p_;
  std::span<const std::uint8_t> loose_;
  std::span<const std::uint32_t> preferred_;
};

/// Limited discrepancy search (Harvey and Ginsberg, 1995): the fewest changes first, within a bounded effort.
class mending {
public:
  mending(const diagram& d, std::span<std::uint32_t> p, random_engine& rng) : d_(d), p_(p), rng_(rng) {}

  void run() {
    for (std::size_t changes = 0; changes <= d_.order().size() && effort_ > 0; ++changes)
      if (from(d_.root(), 0, changes)) return;
    // Any path is valid: keep what can be kept on the way.
    auto at = d_.root();
    for (const auto parameter : d_.order()) {
      auto e = d_.edge(at, p_[parameter]);
      if (e == diagram::none)
        e = d_.begin_edge(at) + static_cast<std::uint32_t>(rng_.below(d_.end_edge(at) - d_.begin_edge(at)));
      p_[parameter] = d_.label(e);
      at = d_.target(e);
    }
  }

private:
  bool from(std::uint32_t node, std::size_t layer, std::size_t changes) {
    if (layer == d_.order().size()) return true;
    if (effort_ == 0) return false;
    --effort_;
    const auto parameter = d_.order()[layer];
    const auto kept = p_[parameter];
    const auto mine = d_.edge(node, kept);
    if (mine != diagram::none && from(d_.target(mine), layer + 1, changes)) return true;
    const auto begin = d_.begin_edge(node), n = d_.end_edge(node) - begin;
    // A parameter that must be absent is not a change.
    const bool absent_only = n == 1 && d_.label(begin) == inactive;
    if (changes > 0 || absent_only) {
      const auto start = static_cast<std::uint32_t>(rng_.below(n));
      for (std::uint32_t i = 0; i < n; ++i) {
        const auto e = begin + (start + i) % n;
        if (e == mine) continue;
        p_[parameter] = d_.label(e);
        if (from(d_.target(e), layer + 1, absent_only ? changes : changes - 1)) return true;
      }
    }
    p_[parameter] = kept;
    return false;
  }

  const diagram& d_;
  std::span<std::uint32_t> p_;
  random_engine& rng_;
  std::size_t effort_ = 20'000;
};

} // namespace

bool counted_group::complete(std::span<std::uint32_t> p, std::span<const std::uint8_t> loose,
                             std::span<const std::uint32_t> preferred) const {
  return completion(*diagram_, p, loose, preferred).from(diagram_->root(), 0);
}

void counted_group::repair(std::span<std::uint32_t> p, random_engine& rng) const { mending(*diagram_, p, rng).run(); }

} // namespace attune::search
