// What the library costs: attune::tune a call of a free objective, a settled Live's decision.
//   library_bench tune [CALLS [STRATEGY [IN_HAND]]]    library_bench live [SECONDS [THREADS]]
#include "attune/attune.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace attune;
using clock_type = std::chrono::steady_clock;

namespace {

double since(clock_type::time_point start) { return std::chrono::duration<double>(clock_type::now() - start).count(); }

int tune_cost(std::uint64_t calls, const std::string& strategy, std::uint32_t in_hand) {
  space s("nothing");
  std::vector<param<std::int64_t>> x;
  x.reserve(10);
  for (int i = 0; i < 10; ++i) x.push_back(s.integers("x" + std::to_string(i), 0, 7));
  const auto free_of_cost = [&](config_view c) { return 1.0 + static_cast<double>(c[x[0]] + c[x[9]]); };
  for (const auto n : {std::uint64_t{1}, calls / 10, calls}) {
    const auto start = clock_type::now();
    const auto cpu = std::clock();
    const auto r = tune(s, free_of_cost, {.strategy = strategy, .trials = n, .in_hand = in_hand});
    const double took = since(start), busy = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
    if (!r) {
      std::fprintf(stderr, "library_bench: %s\n", r.err().text().c_str());
      return 1;
    }
    const auto each = 1e6 / static_cast<double>(r->measured);
    std::printf("tune, %s: %llu calls in %.4f s: %.2f us a call, %.2f us of CPU time\n", strategy.c_str(),
                static_cast<unsigned long long>(r->measured), took, took * each, busy * each);
  }
  return 0;
}

struct plan {
  std::int64_t width = 0;
};

/// Nanoseconds a call of each thread, the least over rounds: what the machine's other work adds is left out.
template <class Call>
std::vector<double> each(int threads, double seconds, Call call) {
  std::vector<double> least(static_cast<std::size_t>(threads), 1e9);
  std::vector<std::thread> all;
  all.reserve(least.size());
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      constexpr int calls = 200'000;
      const auto begun = clock_type::now();
      while (since(begun) < seconds) {
        const auto start = clock_type::now();
        for (int i = 0; i < calls; ++i) call();
        auto& mine = least[static_cast<std::size_t>(t)];
        mine = std::min(mine, 1e9 * since(start) / calls);
      }
    });
  for (auto& t : all) t.join();
  return least;
}

int live_cost(double seconds, int most) {
  auto e = engine::start();
  if (!e) return 1;
  space s("live");
  const auto width = s.integers("width", 0, 3);
  auto l = live<plan>::start(*e, s, [&](config_view c) { return plan{c[width]}; });
  if (!l) return 1;
  // Settles: width 2 is the best, all four are judged.
  constexpr int of[] = {2000, 1900, 1000, 3000};
  for (int n = 0; n < 100'000 && l->status().searching; ++n) {
    const auto c = l->choose();
    l->tell(c, std::chrono::microseconds(of[c->width]));
    if (n % 16 == 0) l->flush();
  }
  std::printf("live: settled on width %d after %llu tried, searching: %s\n",
              static_cast<int>(l->status().best.find("width")->as_integer()),
              static_cast<unsigned long long>(l->status().tried), l->status().searching ? "yes" : "no");
  for (int threads = 1; threads <= most; threads *= 2) {
    const auto show = [&](const char* what, const std::vector<double>& ns) {
      std::printf("live, %d thread(s), %s:", threads, what);
      for (const double v : ns) std::printf(" %.2f", v);
      std::printf(" ns a call\n");
    };
    show("choose", each(threads, seconds, [&] {
           const auto* p = &*l->choose();
           asm volatile("" : : "r"(p) : "memory");
         }));
    show("choose and tell", each(threads, seconds, [&] {
           const auto c = l->choose();
           l->tell(c, std::chrono::microseconds(1000));
         }));
  }
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "tune";
  if (what == "live") return live_cost(argc > 2 ? std::atof(argv[2]) : 1, argc > 3 ? std::atoi(argv[3]) : 2);
  return tune_cost(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100'000, argc > 3 ? argv[3] : "random",
                   argc > 4 ? static_cast<std::uint32_t>(std::atoi(argv[4])) : 0);
}
