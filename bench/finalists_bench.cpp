// How often a named winner is lucky: plays a strategy against recorded raw timings and names a winner by three rules.
//
//   finalists_bench [--strategy S] [--seeds N] [--trials N] [--draws order|random] FILE…
//
// Each configuration is measured three times; the winner is named by the mean of seven (four more draws for each), by
// the median of the three, and by the finalists after the three. One line a file and rule: the share of seeds in which
// the winner's true median (of all its raw timings) is within 1 % of the best true median among all that were measured,
// the mean number of runs, and the mean and worst excess of the winner. `order` draws each configuration's raw timings
// as they were recorded, `random` with replacement.
#include "cli/recorded_table.hpp"
#include "core/random.hpp"
#include "measure/finalists.hpp"
#include "measure/statistics.hpp"
#include "search/strategy.hpp"
#include "storage/recorded.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

using namespace attune;

namespace {

struct tally {
  std::uint64_t seeds = 0, good = 0, runs = 0, separated = 0, rounds = 0;
  double excess = 0, worst = 0;
  void add(double truth, double best, std::uint64_t count) {
    const double over = truth / best - 1;
    ++seeds;
    good += over <= 0.01 ? 1 : 0;
    runs += count;
    excess += over;
    worst = std::max(worst, over);
  }
  void print(const char* rule) const {
    const double n = static_cast<double>(seeds);
    std::printf("  %-16s within 1 %%: %5.1f %%   runs %7.1f   excess mean %.3f %% worst %.2f %%", rule,
                100 * static_cast<double>(good) / n, static_cast<double>(runs) / n, 100 * excess / n, 100 * worst);
    if (rounds > 0)
      std::printf("   separated %.0f %%, %.1f rounds", 100 * static_cast<double>(separated) / n,
                  static_cast<double>(rounds) / n);
    std::printf("\n");
  }
};

/// Where a configuration's runs come from.
class tape {
public:
  tape(const std::vector<double>& raw, bool in_order, std::uint64_t seed)
      : raw_(&raw), in_order_(in_order), random_(seed) {}
  double run() {
    const std::size_t i = in_order_ ? at_++ % raw_->size() : random_.below(raw_->size());
    return (*raw_)[i];
  }

private:
  const std::vector<double>* raw_;
  bool in_order_;
  std::size_t at_ = 0;
  random_engine random_;
};

void play(const std::string& path, const std::string& strategy, std::uint64_t seeds, std::uint64_t trials,
          bool in_order) {
  auto recorded = storage::read_recorded(path);
  if (!recorded) {
    std::fprintf(stderr, "%s\n", recorded.err().text().c_str());
    std::exit(2);
  }
  const auto table = cli::table_of(*recorded);
  std::vector<const std::vector<double>*> raw(table->results.size(), nullptr);
  std::vector<double> truth(raw.size(), 0);
  for (const auto& t : recorded->trials) {
    const auto i = static_cast<std::size_t>(*table->over->index_of(t.at));
    const auto* m = t.result.measured();
    if (m == nullptr || m->samples.empty()) continue;
    raw[i] = &m->samples;
    truth[i] = measure::median(m->samples);
  }
  tally seven, three, chosen;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    search::strategy_options how;
    how.seed = seed;
    how.budget = trials;
    auto made = search::make_strategy(strategy, table->over, std::move(how));
    if (!made) {
      std::fprintf(stderr, "%s\n", made.err().text().c_str());
      std::exit(2);
    }
    std::vector<tape> tapes;
    std::vector<std::vector<double>> measured;
    std::vector<double> truths;
    for (std::uint64_t k = 0; k < trials; ++k) {
      const auto p = (*made)->ask();
      if (!p) break;
      const auto i = static_cast<std::size_t>(*table->over->index_of(*p));
      if (raw[i] == nullptr) {
        (*made)->tell(*p, {search::observation::status::failed, 0});
        continue;
      }
      tapes.emplace_back(*raw[i], in_order, seed * 1000003 + i);
      measured.push_back({});
      for (int n = 0; n < 3; ++n) measured.back().push_back(tapes.back().run());
      truths.push_back(truth[i]);
      (*made)->tell(*p, {search::observation::status::measured, measure::median(measured.back())});
    }
    if (truths.empty()) continue;
    const double best = *std::min_element(truths.begin(), truths.end());
    const auto lowest = [&](auto value) {
      std::size_t at = 0;
      for (std::size_t i = 1; i < measured.size(); ++i)
        if (value(i) < value(at)) at = i;
      return at;
    };
    std::vector<double> means;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      auto more = tapes[i]; // a copy: the finalists draw on from where the three ended
      double sum = std::accumulate(measured[i].begin(), measured[i].end(), 0.0);
      for (int n = 0; n < 4; ++n) sum += more.run();
      means.push_back(sum / 7);
    }
    seven.add(truths[lowest([&](std::size_t i) { return means[i]; })], best, 7 * measured.size());
    three.add(truths[lowest([&](std::size_t i) { return measure::median(measured[i]); })], best, 3 * measured.size());
    measure::finalists last(measured, goal::minimize);
    std::uint64_t runs = 3 * measured.size();
    while (const auto who = last.next()) {
      last.add(tapes[*who].run());
      ++runs;
    }
    chosen.add(truths[*last.winner()], best, runs);
    chosen.rounds += last.rounds();
    chosen.separated += last.state() == measure::finalists::verdict::separated ? 1 : 0;
  }
  std::printf("%s, %s, %llu seeds, %llu trials, draws %s\n", path.substr(path.rfind('/') + 1).c_str(), strategy.c_str(),
              static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(trials),
              in_order ? "in order" : "at random");
  seven.print("mean of 7");
  three.print("median of 3");
  chosen.print("3 and finalists");
  std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
  std::string strategy = "auto";
  std::uint64_t seeds = 200, trials = 200;
  bool in_order = true;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto number = [&] { return std::strtoull(i + 1 < argc ? argv[++i] : "", nullptr, 10); };
    if (word == "--strategy" && i + 1 < argc)
      strategy = argv[++i];
    else if (word == "--seeds")
      seeds = number();
    else if (word == "--trials")
      trials = number();
    else if (word == "--draws" && i + 1 < argc)
      in_order = std::string(argv[++i]) == "order";
    else
      play(word, strategy, seeds, trials, in_order);
  }
}
