// Plays the policies of a shared budget against models made of recorded spaces: each space is a task with a weight, all
// in one budget of trials, by virtual time.
//
//   tasks_bench [--seeds N] [--trials N] [--in-flight N] [--devices] [--policies a,b] FILE…
//
// Three models of the files: `once` (each runs once: the weights are 1), `even` (each has the same part of the time
// where all are at their optimum), `skewed` (their parts of that time fall as 1, 1/2, 1/3 … in the order of the files).
// Spaces that come from one kernel are similar (`KERNEL-DEVICE.json.gz`). So many trials are in flight over all; with
// --devices on each: the files are devices of their own, which do not wait for each other. One line a model and policy:
// how far the weighted total is from its optimum, mean over the seeds with its standard error; for all but the first
// policy as a part of the first one's as well, and how the trials were dealt.
#include "bench/replay_spaces.hpp"
#include "core/text.hpp"
#include "schedulers/task_budget.hpp"
#include "search/strategy.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <queue>
#include <string>
#include <vector>

using namespace attune;

namespace {

struct outcome_of_run {
  double distance = 0;
  std::vector<std::uint64_t> trials;
};

struct flight {
  double ends = 0;
  std::uint64_t order = 0;
  std::size_t task = 0;
  search::point at;
  friend bool operator>(const flight& a, const flight& b) {
    return a.ends != b.ends ? a.ends > b.ends : a.order > b.order;
  }
};

outcome_of_run play(const std::vector<bench::named_table>& spaces, const std::vector<schedulers::shared_task>& shares,
                    const std::string& policy, std::uint64_t trials, std::uint32_t in_flight, std::uint64_t seed) {
  schedulers::budget_options how;
  how.policy = policy;
  how.trials = trials;
  auto budget = schedulers::make_task_budget(shares, how);
  if (!budget) {
    std::fprintf(stderr, "%s\n", budget.err().text().c_str());
    std::exit(2);
  }
  std::vector<std::unique_ptr<search::strategy>> searches;
  std::vector<std::optional<double>> best(spaces.size());
  for (std::size_t i = 0; i < spaces.size(); ++i) {
    search::strategy_options o;
    o.seed = seed;
    o.budget = std::max<std::uint64_t>(1, trials / spaces.size());
    o.first = {spaces[i].table.over->standard()};
    searches.push_back(std::move(*search::make_strategy("auto", spaces[i].table.over, o)));
    (*budget)->set_room(shares[i].place, in_flight);
  }
  std::priority_queue<flight, std::vector<flight>, std::greater<>> flying;
  double now = 0;
  std::uint64_t order = 0;
  for (;;) {
    while (const auto i = (*budget)->next()) {
      auto p = searches[*i]->ask();
      if (!p) {
        (*budget)->leave(*i);
        continue;
      }
      const auto& t = spaces[*i].table;
      const auto& r = t.results[static_cast<std::size_t>(*t.over->index_of(*p))];
      flying.push({now + r.build_s + r.run_s, order++, *i, std::move(*p)});
    }
    if (flying.empty()) break;
    const flight done = flying.top();
    flying.pop();
    now = done.ends;
    const auto& t = spaces[done.task].table;
    const auto& r = t.results[static_cast<std::size_t>(*t.over->index_of(done.at))];
    search::observation o;
    if (r.value) o = {search::observation::status::measured, *r.value};
    searches[done.task]->tell(done.at, o);
    (*budget)->told(done.task, r.value);
  }
  outcome_of_run out;
  double total = 0, optimum = 0;
  for (std::size_t i = 0; i < spaces.size(); ++i) {
    const auto& s = (*budget)->tasks()[i];
    out.trials.push_back(s.told);
    const double least = spaces[i].table.optimum();
    optimum += shares[i].weight * least;
    // A task without a result stands as ten times its optimum.
    total += shares[i].weight * s.best.value_or(10 * least);
  }
  out.distance = total / optimum - 1;
  return out;
}

} // namespace

int main(int argc, char** argv) {
  std::uint64_t seeds = 50, trials = 300;
  std::uint32_t in_flight = 1;
  bool devices = false;
  std::string policies = "round_robin,gradient,sequential";
  std::vector<bench::named_table> spaces;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "--seeds" && i + 1 < argc)
      seeds = std::strtoull(argv[++i], nullptr, 10);
    else if (a == "--trials" && i + 1 < argc)
      trials = std::strtoull(argv[++i], nullptr, 10);
    else if (a == "--in-flight" && i + 1 < argc)
      in_flight = static_cast<std::uint32_t>(std::strtoul(argv[++i], nullptr, 10));
    else if (a == "--devices")
      devices = true;
    else if (a == "--policies" && i + 1 < argc)
      policies = argv[++i];
    else if (auto loaded = bench::load_table(a); loaded.ok() && loaded->table.direction == goal::minimize)
      spaces.push_back(std::move(*loaded));
    else {
      std::fprintf(stderr, "%s: no recorded space of times\n", a.c_str());
      return 2;
    }
  }
  if (spaces.empty() || seeds == 0) {
    std::fprintf(stderr, "tasks_bench [--seeds N] [--trials N] [--in-flight N] [--devices] [--policies a,b] FILE…\n");
    return 2;
  }
  std::map<std::string, std::uint32_t> kernels;
  std::vector<schedulers::shared_task> shares(spaces.size());
  for (std::size_t i = 0; i < spaces.size(); ++i) {
    const auto& name = spaces[i].name;
    shares[i].place = devices ? static_cast<std::uint32_t>(i) : 0;
    shares[i].kind =
        kernels.try_emplace(name.substr(0, name.find('-')), static_cast<std::uint32_t>(kernels.size())).first->second;
    shares[i].most = spaces[i].table.results.size();
  }
  std::printf("%zu tasks, %llu trials, %u in flight%s, %llu seeds\n", spaces.size(),
              static_cast<unsigned long long>(trials), in_flight, devices ? " on each device" : "",
              static_cast<unsigned long long>(seeds));
  std::map<std::string, double> ratios;
  for (const std::string model : {"once", "even", "skewed"}) {
    for (std::size_t i = 0; i < spaces.size(); ++i) {
      const double part = model == "skewed" ? 1 / static_cast<double>(i + 1) : 1;
      shares[i].weight = model == "once" ? 1 : part / spaces[i].table.optimum();
    }
    double first = 0;
    for (const auto policy : split(policies, ',')) {
      double sum = 0, squares = 0;
      std::vector<double> mean(spaces.size());
      for (std::uint64_t s = 1; s <= seeds; ++s) {
        const auto r = play(spaces, shares, std::string(policy), trials, in_flight, s);
        sum += r.distance;
        squares += r.distance * r.distance;
        for (std::size_t i = 0; i < mean.size(); ++i)
          mean[i] += static_cast<double>(r.trials[i]) / static_cast<double>(seeds);
      }
      const double n = static_cast<double>(seeds), distance = sum / n;
      const double error = n > 1 ? std::sqrt(std::max(0.0, squares / n - distance * distance) / (n - 1)) : 0;
      if (first == 0) first = distance;
      ratios[std::string(policy)] += distance / first / 3;
      std::printf("%-7s %-12s %.4f ±%.4f above the optimum, %.2f of the first;", model.c_str(),
                  std::string(policy).c_str(), distance, error, distance / first);
      for (const double t : mean) std::printf(" %.0f", t);
      std::printf("\n");
      std::fflush(stdout);
    }
  }
  for (const auto& [policy, ratio] : ratios) std::printf("mean %-12s %.2f of the first\n", policy.c_str(), ratio);
}
