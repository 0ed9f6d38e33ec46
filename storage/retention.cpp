#include "storage/retention.hpp"

#include "storage/best_table.hpp"

#include <algorithm>
#include <cmath>

namespace attune::storage {

namespace {

/// Of the sample: any constant does.
constexpr std::uint64_t sampling = 0x5eed;

} // namespace

void retention_choice::add(const record& r) {
  seen s;
  s.id = r.id;
  s.key = r.key;
  s.at = r.counts_from;
  s.newer = how_.newer_than && r.result.at >= *how_.newer_than;
  if (conclusive(r.result)) {
    const auto* m = r.result.measured();
    const auto* b = r.result.bounded();
    const double value = m != nullptr ? m->value : b != nullptr ? b->value : 0;
    s.value = value;
    s.what = b != nullptr ? kind::bounded : m != nullptr && eligible(value) ? kind::measured : kind::failed;
    if (how_.boundary > 0) {
      s.features = features_.size();
      s.count = r.config.size();
      for (std::size_t k = 0; k < r.config.size(); ++k)
        features_.push_back(
            hash64(r.config.name(k), hash64(r.config[k].text(), static_cast<std::uint64_t>(r.config[k].type()))));
    }
  }
  all_.push_back(s);
}

/// The failures among those that stand that are one value away from one that stays and did not fail; those next to the
/// best ones first.
std::vector<std::size_t> retention_choice::next_to_kept(const std::vector<std::size_t>& standing,
                                                        const std::vector<bool>& stays) const {
  // A configuration without one of its parameters has the sum of the others' hashes: equal for two that differ there
  // alone.
  const auto without_each = [&](const seen& s, const auto& visit) {
    std::uint64_t sum = 0;
    for (std::size_t k = 0; k < s.count; ++k) sum += features_[s.features + k];
    for (std::size_t k = 0; k < s.count; ++k) visit(hash64("", sum - features_[s.features + k] + k));
  };
  const auto better = [&](double a, double b) { return direction_ == goal::minimize ? a < b : a > b; };
  std::unordered_map<std::uint64_t, double> best_by_gap;
  for (const auto i : standing)
    if (all_[i].what != kind::failed && stays[i])
      without_each(all_[i], [&](std::uint64_t gap) {
        const auto [at, fresh] = best_by_gap.try_emplace(gap, all_[i].value);
        if (!fresh && better(all_[i].value, at->second)) at->second = all_[i].value;
      });
  std::vector<std::pair<double, std::size_t>> found;
  for (const auto i : standing) {
    if (all_[i].what != kind::failed) continue;
    std::optional<double> best;
    without_each(all_[i], [&](std::uint64_t gap) {
      const auto at = best_by_gap.find(gap);
      if (at != best_by_gap.end() && (!best || better(at->second, *best))) best = at->second;
    });
    if (best) found.emplace_back(direction_ == goal::minimize ? *best : -*best, i);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::size_t> out;
  out.reserve(found.size());
  for (const auto& [value, i] : found) out.push_back(i);
  return out;
}

retention_choice::answer retention_choice::choose() const {
  answer out;
  std::unordered_map<key128, std::size_t> newest;
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (all_[i].what != kind::nothing)
      if (const auto [at, fresh] = newest.try_emplace(all_[i].key, i); !fresh && all_[i].at >= all_[at->second].at)
        at->second = i;
  std::vector<bool> stays(all_.size());
  std::vector<std::size_t> standing;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (all_[i].newer) {
      stays[i] = true;
      ++out.newer;
    }
    if (all_[i].what != kind::nothing && newest.at(all_[i].key) == i) standing.push_back(i);
  }
  if (how_.thins()) {
    const auto sign = direction_ == goal::minimize ? 1.0 : -1.0;
    std::vector<std::size_t> ranked; // measured and stopped early, best first
    for (const auto i : standing)
      if (all_[i].what != kind::failed) ranked.push_back(i);
    std::sort(ranked.begin(), ranked.end(), [&](std::size_t a, std::size_t b) {
      return all_[a].value != all_[b].value ? sign * all_[a].value < sign * all_[b].value : all_[a].id < all_[b].id;
    });
    const auto keep = [&](std::size_t i, std::uint64_t& counted) {
      if (stays[i]) return;
      stays[i] = true;
      ++counted;
    };
    std::size_t n = 0;
    for (const auto i : ranked) {
      if (n == how_.keep_best) break;
      if (all_[i].what != kind::measured) continue;
      keep(i, out.best);
      ++n;
    }
    for (n = 0; n < how_.boundary && n < ranked.size(); ++n) keep(ranked[ranked.size() - 1 - n], out.boundary);
    if (how_.boundary > 0) {
      const auto failures = next_to_kept(standing, stays);
      for (n = 0; n < how_.boundary && n < failures.size(); ++n) keep(failures[n], out.boundary);
    }
    std::vector<std::pair<std::uint64_t, std::size_t>> rest;
    for (const auto i : standing)
      if (!stays[i]) rest.emplace_back(hash64(all_[i].key.view(), sampling), i);
    std::sort(rest.begin(), rest.end());
    for (n = 0; n < how_.reservoir && n < rest.size(); ++n) keep(rest[n].second, out.reservoir);
  }
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (stays[i]) continue;
    out.gone.push_back(all_[i].id);
    if (const auto at = newest.find(all_[i].key); at != newest.end() && at->second != i && stays[at->second])
      ++out.folded;
  }
  return out;
}

} // namespace attune::storage
