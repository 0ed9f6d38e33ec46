#include "search/replay.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <unordered_set>

namespace attune::search {
namespace {

double sign(goal g) { return g == goal::minimize ? 1.0 : -1.0; }

/// Costs in ascending order, the failures as copies of the worst at the end.
std::vector<double> ranked(const replay_table& table) {
  std::vector<double> costs;
  for (const auto& r : table.results)
    if (r.value) costs.push_back(*r.value * sign(table.direction));
  std::sort(costs.begin(), costs.end());
  if (!costs.empty()) costs.resize(table.results.size(), costs.back());
  return costs;
}

struct flight {
  double ends = 0;
  std::uint64_t order = 0;
  point at;
  friend bool operator>(const flight& a, const flight& b) {
    return a.ends != b.ends ? a.ends > b.ends : a.order > b.order;
  }
};

} // namespace

std::size_t replay_table::valid() const {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(), [](const recorded_result& r) { return r.value.has_value(); }));
}

double replay_table::optimum() const {
  std::optional<double> best;
  for (const auto& r : results) {
    if (!r.value) continue;
    if (!best || *r.value * sign(direction) < *best * sign(direction)) best = *r.value;
  }
  return *best;
}

result<replay_run> replay(const replay_table& table, std::string_view name, const replay_options& options) {
  strategy_options how;
  how.seed = options.seed;
  how.budget = options.trials;
  how.first = options.first;
  how.prior = options.prior;
  const auto started = options.clock != nullptr ? options.clock->monotonic() : nanoseconds{0};
  auto made = make_strategy(name, table.over, std::move(how));
  if (!made) return made.err();
  auto& plays = **made;
  replay_run out;
  if (options.clock != nullptr) out.overhead_s += seconds(options.clock->monotonic() - started);
  const double s = sign(table.direction);
  std::priority_queue<flight, std::vector<flight>, std::greater<>> flying;
  std::unordered_set<std::uint64_t> seen;
  std::uint64_t asked = 0;
  double now = 0, best = std::numeric_limits<double>::quiet_NaN();
  const std::uint32_t workers = std::max<std::uint32_t>(1, options.workers);
  bool more = true;
  for (;;) {
    while (more && asked < options.trials && flying.size() < workers) {
      const auto t0 = options.clock != nullptr ? options.clock->monotonic() : nanoseconds{0};
      auto p = plays.ask();
      if (options.clock != nullptr) out.overhead_s += seconds(options.clock->monotonic() - t0);
      if (!p) {
        more = false;
        break;
      }
      ++asked;
      const auto i = table.over->index_of(*p);
      if (!i) {
        ++out.invalid;
        continue;
      }
      if (!seen.insert(static_cast<std::uint64_t>(*i)).second) ++out.duplicates;
      const auto& r = table.results[static_cast<std::size_t>(*i)];
      flying.push({now + r.build_s + r.run_s, asked, std::move(*p)});
    }
    if (flying.empty()) break;
    const flight done = flying.top();
    flying.pop();
    now = done.ends;
    const auto index = static_cast<std::size_t>(*table.over->index_of(done.at));
    const auto& r = table.results[index];
    observation o;
    if (r.value) {
      o = {observation::status::measured, *r.value * s};
      if (std::isnan(best) || *r.value * s < best * s) best = *r.value;
    }
    out.steps.push_back({index, now});
    out.best.push_back(best);
    const auto t0 = options.clock != nullptr ? options.clock->monotonic() : nanoseconds{0};
    plays.tell(done.at, o);
    if (options.clock != nullptr) out.overhead_s += seconds(options.clock->monotonic() - t0);
  }
  out.virtual_s = now;
  return out;
}

std::vector<double> expected_random(const replay_table& table, std::uint64_t trials) {
  const auto costs = ranked(table);
  const std::size_t n = costs.size();
  std::vector<double> out;
  if (n == 0) return out;
  for (std::uint64_t t = 1; t <= trials; ++t) {
    if (t >= n) {
      out.push_back(costs.front() * sign(table.direction));
      continue;
    }
    double mean = 0, beyond = 1; // beyond: P(the best rank is i or more)
    for (std::size_t i = 0; i + t <= n && beyond > 0; ++i) {
      const double next = beyond * static_cast<double>(n - i - t) / static_cast<double>(n - i);
      mean += costs[i] * (beyond - next);
      beyond = next;
    }
    out.push_back(mean * sign(table.direction));
  }
  return out;
}

double score(const replay_table& table, std::span<const double> best, std::span<const double> random,
             std::uint64_t trials) {
  if (best.empty() || random.empty() || trials == 0) return 0;
  const double s = sign(table.direction), optimum = table.optimum() * s;
  const double worst = ranked(table).back();
  double sum = 0;
  std::uint64_t counted = 0;
  for (std::uint64_t t = std::min<std::uint64_t>(20, trials); t <= trials && t <= random.size(); ++t) {
    const double expected = random[t - 1] * s;
    if (expected - optimum <= 1e-12 * std::max(1.0, std::abs(optimum))) continue;
    const double raw = best[std::min<std::size_t>(best.size(), t) - 1];
    const double found = std::isnan(raw) ? worst : raw * s;
    sum += (expected - found) / (expected - optimum);
    ++counted;
  }
  return counted == 0 ? 0 : sum / static_cast<double>(counted);
}

} // namespace attune::search
