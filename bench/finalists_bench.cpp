// How often a named winner is lucky: plays a strategy against recorded raw timings and names a winner by three rules.
//
//   finalists_bench [--strategy S] [--seeds N] [--trials N] [--draws order|random] FILE…
//
// Each configuration is measured three times; the winner is named by the mean of seven (four more draws for each), by
// the median of the three, and by the run-off after the three. `adaptive` is what a tune with `repeats: {min: 3, max:
// 15, until: 1%}` does: hopeless candidates are stopped early, and the run-off is at the end; its strategy is told what
// it has seen. One line a file and rule: the share of seeds in which the winner's true median (of all its raw timings)
// is within 1 % of the best true median among all that were measured, the mean number of runs, the time that these runs
// took (as a share of seven runs of each), and the mean and worst excess of the winner; for `adaptive` the winner over
// the space's optimum too, beside that of the mean of seven. `order` draws each configuration's raw timings as they
// were recorded, `random` with replacement.
#include "cli/recorded_table.hpp"
#include "core/median.hpp"
#include "core/random.hpp"
#include "measure/protocol.hpp"
#include "measure/run_off.hpp"
#include "measure/statistics.hpp"
#include "search/tuning.hpp"
#include "storage/recorded.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

using namespace attune;

namespace {

struct tally {
  std::uint64_t seeds = 0, good = 0, runs = 0, separated = 0;
  double excess = 0, worst = 0, time = 0, optimum = 0;
  void add(double truth, double best, std::uint64_t count, double share, double over_optimum) {
    const double over = truth / best - 1;
    time += share;
    optimum += over_optimum;
    ++seeds;
    good += over <= 0.01 ? 1 : 0;
    runs += count;
    excess += over;
    worst = std::max(worst, over);
  }
  void print(const char* rule) const {
    const double n = static_cast<double>(seeds);
    std::printf("  %-16s within 1 %%: %5.1f %%   runs %7.1f   time %5.1f %%   over optimum %.3f   excess mean %.3f %% "
                "worst %.2f %%",
                rule, 100 * static_cast<double>(good) / n, static_cast<double>(runs) / n, 100 * time / n, optimum / n,
                100 * excess / n, 100 * worst);
    if (separated > 0) std::printf("   separated %.0f %%", 100 * static_cast<double>(separated) / n);
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

using table_ptr = decltype(cli::table_of(std::declval<storage::recorded_space>()));

std::unique_ptr<search::strategy> strategy_of(const std::string& name, const table_ptr& table, std::uint64_t seed,
                                              std::uint64_t trials) {
  search::strategy_options how;
  how.seed = seed;
  how.budget = trials;
  auto made = search::make_strategy(name, table->over, std::move(how));
  if (!made) {
    std::fprintf(stderr, "%s\n", made.err().text().c_str());
    std::exit(2);
  }
  return std::move(*made);
}

/// A tune through search::tuning, with the runners' own protocol.
void adapt(const std::string& strategy, const table_ptr& table, const std::vector<const std::vector<double>*>& raw,
           const std::vector<double>& truth, double optimum, std::uint64_t seed, std::uint64_t trials, bool in_order,
           tally& out) {
  auto of = std::make_shared<task>();
  of->spec.run.repeats = {3, 15, 0.01};
  search::tuning_limits limits;
  limits.trials = trials;
  search::tuning tune(of, table->over, strategy_of(strategy, table, seed, trials), limits, 1);
  tune.begin(nanoseconds(0));
  tune.set_window(1);
  std::map<std::string, std::pair<std::size_t, tape>> tapes;
  double spent = 0, seven_of_each = 0, best = 0;
  std::uint64_t runs = 0;
  while (const auto t = tune.propose(nanoseconds(0))) {
    const auto i = static_cast<std::size_t>(*table->over->index_of(*table->over->to_point(t->config)));
    outcome o;
    if (raw[i] == nullptr) {
      o.data = failure{failure_kind::run_error, "as recorded", {}, {}};
    } else {
      auto& from = tapes.try_emplace(t->canonical, i, tape(*raw[i], in_order, seed * 1000003 + i)).first->second.second;
      measure::protocol p(*t);
      std::optional<bound> stopped;
      while (!p.enough() && !stopped) {
        p.add(std::vector<double>{from.run()});
        ++runs;
        spent += truth[i];
        if (!p.enough()) stopped = p.hopeless(t->rival, goal::minimize, t->noise);
      }
      seven_of_each += 7 * truth[i];
      if (best == 0 || truth[i] < best) best = truth[i];
      std::vector<std::string> notes;
      if (stopped)
        o.data = *stopped;
      else
        o.data = p.result(notes);
    }
    tune.tell(*t, std::make_shared<const outcome>(std::move(o)), false, nanoseconds(0));
  }
  if (tune.contenders().empty()) return;
  std::vector<measure::run_off::entrant> field;
  for (const auto& c : tune.contenders()) field.push_back({c.result->measured()->samples, c.result->measured()->value});
  measure::run_off last(std::move(field), goal::minimize);
  const auto truth_of = [&](std::size_t who) {
    return truth[tapes.at(tune.contenders()[who].config.canonical()).first];
  };
  while (const auto who = last.next()) {
    ++runs;
    spent += truth_of(*who);
    last.add(tapes.at(tune.contenders()[*who].config.canonical()).second.run());
  }
  const double winner = truth_of(*last.winner());
  out.add(winner, best, runs, spent / seven_of_each, winner / optimum);
  out.separated += last.state() == measure::finalists::verdict::separated ? 1 : 0;
}

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
    truth[i] = median(m->samples);
  }
  const double optimum = [&] {
    double least = 0;
    for (std::size_t i = 0; i < truth.size(); ++i)
      if (raw[i] != nullptr && (least == 0 || truth[i] < least)) least = truth[i];
    return least;
  }();
  tally seven, three, chosen, adaptive;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    // The fixed ones share a search: its strategy is told the median of three.
    {
      auto search = strategy_of(strategy, table, seed, trials);
      std::vector<tape> tapes;
      std::vector<std::vector<double>> measured;
      std::vector<double> truths;
      double spent = 0;
      for (std::uint64_t k = 0; k < trials; ++k) {
        const auto p = search->ask();
        if (!p) break;
        const auto i = static_cast<std::size_t>(*table->over->index_of(*p));
        if (raw[i] == nullptr) {
          search->tell(*p, {search::observation::status::failed, 0});
          continue;
        }
        tapes.emplace_back(*raw[i], in_order, seed * 1000003 + i);
        measured.push_back({});
        for (int n = 0; n < 3; ++n) measured.back().push_back(tapes.back().run());
        truths.push_back(truth[i]);
        spent += truth[i];
        search->tell(*p, {search::observation::status::measured, median(measured.back())});
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
      std::vector<measure::run_off::entrant> all;
      for (std::size_t i = 0; i < measured.size(); ++i) {
        auto more = tapes[i]; // a copy: the run-off draws on from where the three ended
        double sum = std::accumulate(measured[i].begin(), measured[i].end(), 0.0);
        for (int n = 0; n < 4; ++n) sum += more.run();
        means.push_back(sum / 7);
        all.push_back({measured[i], measure::summarize(measured[i]).value});
      }
      const auto by_mean = lowest([&](std::size_t i) { return means[i]; });
      seven.add(truths[by_mean], best, 7 * measured.size(), 1, truths[by_mean] / optimum);
      const auto by_three = lowest([&](std::size_t i) { return median(measured[i]); });
      three.add(truths[by_three], best, 3 * measured.size(), 3.0 / 7, truths[by_three] / optimum);
      measure::run_off last(std::move(all), goal::minimize);
      double again = 0;
      while (const auto who = last.next()) {
        again += truths[*who];
        last.add(tapes[*who].run());
      }
      const auto winner = *last.winner();
      chosen.add(truths[winner], best, 3 * measured.size() + last.runs(), (3 * spent + again) / (7 * spent),
                 truths[winner] / optimum);
      chosen.separated += last.state() == measure::finalists::verdict::separated ? 1 : 0;
    }
    adapt(strategy, table, raw, truth, optimum, seed, trials, in_order, adaptive);
  }
  std::printf("%s, %s, %llu seeds, %llu trials, draws %s\n", path.substr(path.rfind('/') + 1).c_str(), strategy.c_str(),
              static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(trials),
              in_order ? "in order" : "at random");
  seven.print("mean of 7");
  three.print("median of 3");
  chosen.print("3 and run-off");
  adaptive.print("adaptive");
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
