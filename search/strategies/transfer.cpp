#include "search/strategies/transfer.hpp"

#include <algorithm>
#include <map>

namespace attune::search {
namespace {

/// The part of a source's results that count as good, and how many of them at most.
constexpr std::size_t good_part = 20, most_good = 32;

struct source_records {
  double similarity = 0;
  std::vector<told_trial> trials;
};

} // namespace

transfer::transfer(const space& over, std::span<const prior_record> records) {
  std::map<std::uint32_t, source_records> by_source;
  for (const auto& r : records) {
    if (!over.contains(r.at) || r.result.what == observation::status::dropped) continue;
    auto& s = by_source[r.source];
    s.similarity = std::max(s.similarity, r.similarity);
    s.trials.push_back({r.at, r.result.what, r.result.cost, true});
  }
  std::vector<source_records> sources;
  for (auto& [id, s] : by_source) {
    const bool any = std::any_of(s.trials.begin(), s.trials.end(),
                                 [](const told_trial& t) { return t.what == observation::status::measured; });
    if (any) sources.push_back(std::move(s));
  }
  std::stable_sort(sources.begin(), sources.end(),
                   [](const source_records& a, const source_records& b) { return a.similarity > b.similarity; });
  if (sources.size() > most_sources) sources.resize(most_sources);
  for (auto& s : sources) {
    std::stable_sort(s.trials.begin(), s.trials.end(), [](const told_trial& a, const told_trial& b) {
      const bool ma = a.what == observation::status::measured, mb = b.what == observation::status::measured;
      return ma != mb ? ma : ma && a.cost < b.cost;
    });
    // The targets are those of the whole source: what is the middle must not depend on what is kept.
    training_set all(s.trials.size());
    random_engine unused(0);
    for (const auto& t : s.trials) all.take(t, unused);
    const auto targets = all.targets();
    const std::size_t n = s.trials.size(), want = std::min(n, kept / sources.size());
    for (std::size_t k = 0; k < want; ++k) {
      const std::size_t next = k * n / want;
      points_.push_back(s.trials[next].at);
      targets_.push_back(targets[next]);
      source_.push_back(static_cast<std::uint32_t>(best_.size() + 1));
    }
    std::vector<point> best;
    for (const auto& t : s.trials)
      if (t.what == observation::status::measured && best.size() < std::clamp<std::size_t>(n / good_part, 4, most_good))
        best.push_back(t.at);
    best_.push_back(std::move(best));
  }
}

std::vector<point> transfer::seeds(const space& over, std::size_t count) const {
  std::vector<point> out, from;
  for (const auto& list : best_) from.insert(from.end(), list.begin(), list.end());
  while (out.size() < count && !from.empty()) {
    std::size_t chosen = 0;
    double farthest = -1;
    for (std::size_t i = 0; i < from.size() && !out.empty(); ++i) {
      double nearest = 2;
      for (const auto& p : out) nearest = std::min(nearest, over.distance(p, from[i]));
      if (nearest <= farthest) continue;
      farthest = nearest;
      chosen = i;
    }
    if (farthest == 0) break;
    out.push_back(std::move(from[chosen]));
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  return out;
}

} // namespace attune::search
