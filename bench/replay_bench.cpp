// Plays strategies against recorded and made spaces and prints the contract's score for each.
//
//   replay_bench [--strategies a,b] [--seeds N] [--trials N] [--workers W] [--first-seed N] [--threads N]
//                [--by-seed] [--prior FILE [--prior-count N] [--prior-tuned] [--prior-shuffled]] FILE…
//
// One line a space and strategy: score, its standard error, best ÷ optimum at 25/50/100/200 trials, the share of the
// seeds that found the optimum and the trials after which half of them were within 1 % of it, the share of the trials
// that failed, CPU time a trial in ask and tell; then the mean score of each strategy over the spaces. --by-seed: the
// score of each seed too, for paired differences. `synthetic:K`, `modelled:K` or `hidden:K` instead of a file makes a
// space of seed K.
#include "bench/replay_spaces.hpp"
#include "core/text.hpp"
#include "core/thread_time.hpp"
#include "search/replay.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace attune;

namespace {

struct cell {
  double score = 0, error = 0, overhead_us = 0;
  std::map<std::uint64_t, double> ratio;
  std::uint64_t broken = 0;
  std::vector<double> scores;      ///< by seed
  double optimal = 0, failed = 0;  ///< shares: of the seeds, of the trials
  std::optional<std::size_t> near; ///< trials until half of the seeds were within 1 %; none: never
};

cell play(const search::replay_table& table, const std::string& strategy, std::uint64_t seeds, std::uint64_t first,
          search::replay_options base, unsigned threads, const std::vector<double>& random) {
  std::vector<search::replay_run> runs(seeds);
  std::atomic<std::uint64_t> next{0};
  const auto work = [&] {
    for (std::uint64_t k; (k = next++) < seeds;) {
      auto options = base;
      options.seed = first + k;
      options.clock = &thread_time();
      auto run = search::replay(table, strategy, options);
      if (!run) {
        std::fprintf(stderr, "%s\n", run.err().text().c_str());
        std::exit(2);
      }
      runs[k] = std::move(*run);
    }
  };
  std::vector<std::jthread> pool;
  for (unsigned t = 1; t < threads; ++t) pool.emplace_back(work);
  work();
  pool.clear();
  cell out;
  double sum = 0, squares = 0;
  const double optimum = table.optimum();
  std::vector<std::size_t> near;
  for (const auto& r : runs) {
    const double s = search::score(table, r.best, random, base.trials);
    out.scores.push_back(s);
    sum += s;
    squares += s * s;
    out.broken += r.duplicates + r.invalid;
    out.overhead_us += r.overhead_s * 1e6 / static_cast<double>(r.best.size()) / static_cast<double>(seeds);
    const auto ratio = [&](double b) { return table.direction == goal::minimize ? b / optimum : optimum / b; };
    for (const std::uint64_t at : {25, 50, 100, 200, 500, 1000})
      if (at <= r.best.size()) out.ratio[at] += ratio(r.best[at - 1]) / static_cast<double>(seeds);
    // NaN, where nothing was found yet, is not near.
    const auto reached = std::find_if(r.best.begin(), r.best.end(), [&](double b) { return ratio(b) <= 1.01; });
    if (reached != r.best.end()) near.push_back(static_cast<std::size_t>(reached - r.best.begin()) + 1);
    out.optimal += (r.best.back() == optimum ? 1 : 0) / static_cast<double>(seeds);
    for (const auto& s : r.steps)
      out.failed += (table.results[s.at].value ? 0 : 1) / static_cast<double>(r.steps.size() * seeds);
  }
  std::sort(near.begin(), near.end());
  if (const std::size_t half = (runs.size() + 1) / 2; near.size() >= half) out.near = near[half - 1];
  const double n = static_cast<double>(seeds);
  out.score = sum / n;
  out.error = n > 1 ? std::sqrt(std::max(0.0, squares / n - out.score * out.score) / (n - 1)) : 0;
  return out;
}

} // namespace

int main(int argc, char** argv) {
  std::string strategies = "auto";
  std::uint64_t seeds = 8, first = 1;
  unsigned threads = 1;
  bool by_seed = false;
  search::replay_options base;
  std::vector<std::string> files;
  std::string prior;
  bench::prior_choice choice;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    const auto number = [&] { return i + 1 < argc ? std::strtoull(argv[++i], nullptr, 10) : 0; };
    if (a == "--strategies" && i + 1 < argc)
      strategies = argv[++i];
    else if (a == "--seeds")
      seeds = number();
    else if (a == "--trials")
      base.trials = number();
    else if (a == "--workers")
      base.workers = static_cast<std::uint32_t>(number());
    else if (a == "--first-seed")
      first = number();
    else if (a == "--prior" && i + 1 < argc)
      prior = argv[++i];
    else if (a == "--prior-count")
      choice.count = number();
    else if (a == "--prior-tuned")
      choice.tuned = true;
    else if (a == "--prior-shuffled")
      choice.shuffled = true;
    else if (a == "--by-seed")
      by_seed = true;
    else if (a == "--threads")
      threads = static_cast<unsigned>(number());
    else
      files.push_back(a);
  }
  std::map<std::string, double> means;
  std::map<std::string, double> worst;
  for (const auto& file : files) {
    auto loaded = bench::load_table(file);
    if (!loaded) {
      std::fprintf(stderr, "%s\n", loaded.err().text().c_str());
      return 2;
    }
    const auto& table = loaded->table;
    if (!prior.empty()) {
      const auto from = bench::load_table(prior);
      if (!from) {
        std::fprintf(stderr, "%s\n", from.err().text().c_str());
        return 2;
      }
      base.prior = bench::records_of(from->table, choice);
    }
    const auto random = search::expected_random(table, base.trials);
    std::printf("%s: %zu configurations, %zu valid, optimum %.6g\n", loaded->name.c_str(), table.results.size(),
                table.valid(), table.optimum());
    for (const auto part : split(strategies, ',')) {
      const std::string name(part);
      const cell c = play(table, name, seeds, first, base, threads, random);
      std::printf("  %-12s score %+.3f ±%.3f ", name.c_str(), c.score, c.error);
      for (const auto& [at, r] : c.ratio) std::printf(" @%llu %.3f", static_cast<unsigned long long>(at), r);
      std::printf("  optimum %.0f %%, 1 %% off after %s, failed %.1f %%", c.optimal * 100,
                  c.near ? std::to_string(*c.near).c_str() : "-", c.failed * 100);
      if (by_seed) {
        std::printf("  seeds");
        for (const double s : c.scores) std::printf(" %.4f", s);
      }
      std::printf("  %.0f us/trial%s\n", c.overhead_us, c.broken != 0 ? "  BROKEN" : "");
      std::fflush(stdout);
      means[name] += c.score / static_cast<double>(files.size());
      const auto [w, fresh] = worst.try_emplace(name, c.score);
      if (!fresh) w->second = std::min(w->second, c.score);
    }
  }
  for (const auto& [name, mean] : means)
    std::printf("mean %-12s %+.3f  worst %+.3f\n", name.c_str(), mean, worst[name]);
}
