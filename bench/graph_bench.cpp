// The whole graph with an objective that costs nothing: trials a second, cache hits a second, memory over a long run.
//   graph_bench trials [N]    graph_bench hits [N]    graph_bench memory [N]
//   graph_bench repeated [N]  N configurations by eight searches of half as many random trials each, of 10 ms: the
//                             speed-up over measuring all, against what the hit rate h promises, 1 / (1 - h)
#include "actors/engine.hpp"
#include "actors/messages.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace attune;

namespace {

/// Eight parameters, `configs` configurations or a few more.
task_spec spec_of(std::uint64_t configs, std::uint64_t seed) {
  task_spec spec;
  spec.name = "nothing";
  spec.callable = "graph_bench/1";
  std::uint64_t left = configs;
  for (int i = 0; i < 7; ++i) {
    parameter p;
    p.name = "p" + std::to_string(i);
    p.domain = integer_range{0, 3, 1, false};
    spec.parameters.push_back(p);
    left = (left + 3) / 4;
  }
  parameter last;
  last.name = "last";
  last.domain = integer_range{0, static_cast<std::int64_t>(std::max<std::uint64_t>(left, 1)) - 1, 1, false};
  spec.parameters.push_back(last);
  spec.run.timeout = std::chrono::seconds(10);
  spec.search.strategy = "random";
  spec.search.seed = seed;
  spec.search.trials = configs;
  return spec;
}

std::variant<std::vector<double>, failure> nothing(const configuration& c, const std::stop_token&) {
  return std::vector<double>{1.0 + static_cast<double>(c[0].as_integer())};
}

std::variant<std::vector<double>, failure> some_milliseconds(const configuration& c, const std::stop_token& stop) {
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return nothing(c, stop);
}

double rss_mb() {
  std::ifstream in("/proc/self/statm");
  long total = 0, resident = 0;
  in >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

template <class T>
T need(result<T> r) {
  if (r) return std::move(*r);
  std::fprintf(stderr, "graph_bench: %s\n", r.err().text().c_str());
  std::exit(1);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

actors::session begin(actors::engine& e, const task_spec& spec) {
  auto over = need(search::space::compile(spec.parameters, spec.constraints));
  return need(e.tune({need(make_task(spec, nothing)), over, false, false}));
}

/// Eight searches of one space of `n` configurations, one after the other, by half as many trials each; the seconds
/// that they took. `anew`: nothing of what is known is used.
double repeat(const actors::engine_options& options, std::uint64_t n, bool anew) {
  task_spec spec;
  spec.name = "repeated";
  spec.callable = "graph_bench/2";
  parameter x;
  x.name = "x";
  x.domain = integer_range{0, static_cast<std::int64_t>(n) - 1, 1, false};
  spec.parameters.push_back(x);
  spec.search.strategy = "random";
  spec.search.trials = n / 2;
  const auto over = need(search::space::compile(spec.parameters, spec.constraints));
  const auto start = std::chrono::steady_clock::now();
  const auto e = need(actors::engine::start(options));
  for (spec.search.seed = 1; spec.search.seed <= 8; ++spec.search.seed)
    need(e->tune({need(make_task(spec, some_milliseconds)), over, anew, false})).wait();
  return seconds_since(start);
}

int run_repeated(actors::engine_options options, std::uint64_t n) {
  options.in_flight = 4;
  const double with = repeat(options, n, false);
  const auto s = need(need(storage::store::open(options.store, {.read_only = true, .create = false}))->statistics());
  std::uint64_t missed = 0;
  for (const auto& [cause, count] : s.misses) missed += count;
  auto anew = options;
  anew.store += "/anew";
  const double without = repeat(anew, n, true);
  const double h = static_cast<double>(s.hits) / static_cast<double>(s.hits + missed);
  std::printf("repeated: hit rate %.3f, 1 / (1 - h) = %.2f; by the building and running that the store has counted "
              "%.2f; %.2f s instead of %.2f s: %.2f\n",
              h, 1 / (1 - h), 1 + static_cast<double>(s.saved.count()) / static_cast<double>(s.spent.count()), with,
              without, without / with);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "trials";
  const std::uint64_t n = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : what == "memory" ? 1'000'000 : 300'000;
  const auto dir = std::filesystem::temp_directory_path() / ("attune-graph-bench-" + std::to_string(getpid()));
  actors::engine_options options;
  options.store = dir.string();
  options.in_flight = 2048;
  options.inline_callables = true;
  if (what == "memory") options.cache.entries = 50'000;
  if (what == "repeated") {
    const int code = run_repeated(options, argc > 2 ? n : 128);
    std::filesystem::remove_all(dir);
    return code;
  }
  {
    auto e = need(actors::engine::start(options));
    const auto start = std::chrono::steady_clock::now();
    auto first = begin(*e, spec_of(n, 1));
    if (what == "memory") {
      double early = 0, most = 0;
      while (!first.wait_for(std::chrono::milliseconds(200))) {
        const auto done = first.progress().counts.proposed;
        const double now = rss_mb();
        if (done > n / 5 && early == 0) early = now;
        if (done > n / 5) most = std::max(most, now);
      }
      const double end = rss_mb();
      std::printf("memory: %llu trials in %.1f s, resident %.1f MB after a fifth, %.1f MB at most, %.1f MB at the end "
                  "(%+.1f %%)\n",
                  static_cast<unsigned long long>(n), seconds_since(start), early, most, end, 100 * (end / early - 1));
    } else {
      const auto report = first.wait();
      const double took = seconds_since(start);
      std::printf("trials: %llu measured and durable in %.2f s: %.0f a second\n",
                  static_cast<unsigned long long>(report->counts.measured), took,
                  static_cast<double>(report->counts.measured) / took);
      if (what == "hits") {
        const auto again = std::chrono::steady_clock::now();
        auto second = begin(*e, spec_of(n, 2));
        const auto hits = second.wait();
        const double hit_time = seconds_since(again);
        std::printf("hits: %llu answered from the cache through the graph in %.2f s: %.0f a second\n",
                    static_cast<unsigned long long>(hits->counts.cached), hit_time,
                    static_cast<double>(hits->counts.cached) / hit_time);
      }
    }
  }
  std::filesystem::remove_all(dir);
}
