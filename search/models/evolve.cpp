#include "search/models/evolve.hpp"

#include <algorithm>
#include <unordered_set>

namespace attune::search {
namespace {

constexpr std::size_t kept = 64, parents = 32, elites_around = 4, drawn = 500, children = 250, generations = 4;
/// Where the domains are longer than this together, neighbours are drawn, not listed.
constexpr std::uint64_t listed = 400;

struct key_hash {
  std::size_t operator()(uint128 k) const noexcept {
    return static_cast<std::size_t>((static_cast<std::uint64_t>(k) ^ static_cast<std::uint64_t>(k >> 64) * 31) *
                                    0x9e3779b97f4a7c15u);
  }
};

} // namespace

std::vector<candidate> evolve(const space_ptr& in, std::span<const told_trial> around, std::span<const uint128> known,
                              const std::function<void(std::span<candidate>)>& judge, random_engine& rng,
                              std::size_t& looked_at) {
  const space& over = *in;
  const ledger keys(in);
  std::unordered_set<uint128, key_hash> seen(known.begin(), known.end());
  std::vector<candidate> fresh, best;
  const auto take = [&](point p) {
    if (seen.insert(keys.key(p)).second) fresh.push_back({std::move(p)});
  };
  std::uint64_t values = 0;
  for (const auto& info : over.parameters()) values += info.size;
  for (const auto& elite : around.first(std::min(elites_around, around.size()))) {
    take(elite.at);
    if (values <= listed) {
      for (auto& q : over.neighbours(elite.at, neighbourhood::hamming)) take(std::move(q));
      continue;
    }
    for (int k = 0; k < 96; ++k)
      if (auto q = over.neighbour(elite.at, k % 2 == 0 ? neighbourhood::hamming : neighbourhood::adjacent, rng))
        take(std::move(*q));
  }
  for (std::size_t k = 0; k < drawn; ++k) take(over.sample(rng));
  for (std::size_t g = 0;; ++g) {
    looked_at += fresh.size();
    judge(fresh);
    for (auto& c : fresh) best.push_back(std::move(c));
    fresh.clear();
    std::stable_sort(best.begin(), best.end(), [](const candidate& a, const candidate& b) {
      return a.promise != b.promise ? a.promise > b.promise : a.target < b.target;
    });
    if (best.size() > kept) best.resize(kept);
    if (g == generations || best.empty()) return best;
    const std::size_t pool = std::min(parents, best.size());
    for (std::size_t k = 0; k < children; ++k) {
      const auto& a = best[std::min(rng.below(pool), rng.below(pool))].at;
      if (rng.chance(0.3) && pool > 1) {
        // Uniform crossover, mended into the valid set.
        const auto& b = best[rng.below(pool)].at;
        point p = a;
        for (std::size_t d = 0; d < p.size(); ++d)
          if (rng.chance(0.5)) p[d] = b[d];
        take(over.contains(p) ? std::move(p) : over.repair(p, rng));
        continue;
      }
      auto q = over.neighbour(a, rng.chance(0.5) ? neighbourhood::hamming : neighbourhood::adjacent, rng);
      if (q && rng.chance(0.3))
        if (auto further = over.neighbour(*q, neighbourhood::hamming, rng)) q = std::move(further);
      if (q) take(std::move(*q));
    }
  }
}

} // namespace attune::search
