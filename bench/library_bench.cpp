// What the library costs: attune::tune a call of a free objective, a settled Live's decision, the end of an engine.
//   library_bench tune [CALLS [STRATEGY [IN_HAND]]]    library_bench live [SECONDS [THREADS]]
//   library_bench shutdown [ROUNDS]
#include "attune/attune.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <unistd.h>
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

/// An engine ends in each phase of its life. Commands that must be killed: tests/actors/engine_test.cpp says what their
/// end took.
int shutdown_cost(int rounds) {
  const auto folder = std::filesystem::temp_directory_path() / ("attune-shutdown-" + std::to_string(getpid()));
  bool good = true;
  for (const std::string phase : {"idle", "calling", "queueing", "asking", "training", "storing"}) {
    std::vector<double> ms;
    for (int n = 0; n < rounds && good; ++n) {
      engine_options with;
      if (phase == "storing") with.store = folder.string();
      auto e = engine::start(with);
      if (!e) return 1;
      space s(phase);
      const auto x = s.integers("x", 0, 1'000'000), y = s.integers("y", 0, 1000);
      std::atomic<int> calls{0};
      const auto seed = static_cast<std::uint64_t>(n + 1);
      const auto held = [&](config_view, const std::stop_token& stop) -> answer {
        ++calls;
        std::mutex m;
        std::condition_variable_any changed;
        std::unique_lock guard(m);
        changed.wait(guard, stop, [] { return false; });
        return 1.0;
      };
      const auto quick = [&](config_view c) {
        ++calls;
        return 1.0 + static_cast<double>(c[x] % 977 + c[y]);
      };
      const auto begun = [&](int of) {
        while (calls < of) std::this_thread::yield();
      };
      std::vector<session> all;
      if (phase == "calling" || phase == "queueing")
        for (int k = 0; k < (phase == "calling" ? 1 : 50); ++k) {
          auto one = e->tune(s, held, {.strategy = "random", .seed = seed * 100 + static_cast<std::uint64_t>(k)});
          good &= one.ok();
          if (one) all.push_back(*one);
        }
      if (phase == "training" || phase == "storing") {
        auto one = e->tune(s, quick,
                           {.strategy = phase == "training" ? "model" : "random", .trials = 1'000'000, .seed = seed});
        good &= one.ok();
        if (one) all.push_back(*one);
      }
      if (phase == "asking") good &= e->open(s, {.seed = seed})->ask().has_value();
      // At another instant each time.
      if (good && phase != "idle" && phase != "asking")
        begun(phase == "training" ? 300 + 7 * n : phase == "storing" ? 1000 * (1 + n % 10) : 1);
      const auto start = clock_type::now();
      e = error{errc::internal, "", {}};
      ms.push_back(1e3 * since(start));
    }
    std::filesystem::remove_all(folder);
    if (!good) {
      std::fprintf(stderr, "library_bench: %s did not begin\n", phase.c_str());
      return 1;
    }
    std::sort(ms.begin(), ms.end());
    std::printf("end of an engine, %s: %d times, median %.1f ms, longest %.1f ms\n", phase.c_str(), rounds,
                ms[ms.size() / 2], ms.back());
    std::fflush(stdout);
  }
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "tune";
  if (what == "shutdown") return shutdown_cost(argc > 2 ? std::atoi(argv[2]) : 20);
  if (what == "live") return live_cost(argc > 2 ? std::atof(argv[2]) : 1, argc > 3 ? std::atoi(argv[3]) : 2);
  return tune_cost(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100'000, argc > 3 ? argv[3] : "random",
                   argc > 4 ? static_cast<std::uint32_t>(std::atoi(argv[4])) : 0);
}
