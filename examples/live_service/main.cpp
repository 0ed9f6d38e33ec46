// A service that tunes itself while it serves: several threads sort what requests bring, and from which length on the
// quick sort leaves the rest to an insertion sort is found from the requests' own latencies.
//
//   live_service [REQUESTS [STORE]]     with a store the next start begins with what was best
#include <algorithm>
#include <atomic>
#include <attune/attune.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

namespace {

/// What a configuration means to the service.
struct plan {
  std::ptrdiff_t small = 1;
  bool middle_of_three = false;
};

void sort(std::vector<int>::iterator first, std::vector<int>::iterator last, const plan& how) {
  while (last - first > std::max<std::ptrdiff_t>(how.small, 1)) {
    auto pivot = *first;
    if (how.middle_of_three) {
      const int a = *first, b = first[(last - first) / 2], c = last[-1];
      pivot = std::max(std::min(a, b), std::min(std::max(a, b), c));
    }
    const auto less = std::partition(first, last, [&](int v) { return v < pivot; });
    const auto more = std::partition(less, last, [&](int v) { return v == pivot; });
    sort(more, last, how);
    last = less;
  }
  for (auto i = first; i != last; ++i) std::rotate(std::upper_bound(first, i, *i), i, i + 1);
}

int fail(const attune::error& e) {
  std::fprintf(stderr, "live_service: %s\n", e.text().c_str());
  return 1;
}

} // namespace

int main(int argc, char** argv) {
  const int requests = argc > 1 ? std::atoi(argv[1]) : 20'000;
  attune::engine_options options;
  if (argc > 2) options.store = argv[2];
  auto engine = attune::engine::start(options);
  if (!engine) return fail(engine.err());

  attune::space space("sorting");
  const auto small = space.powers_of_two("small", 1, 256);
  const auto middle = space.boolean("middle_of_three");
  auto live = attune::live<plan>::start(*engine, space,
                                        [&](attune::config_view c) {
                                          return plan{c[small], c[middle]};
                                        },
                                        {.explore = 0.1});
  if (!live) return fail(live.err());

  std::vector<std::thread> threads;
  threads.reserve(2);
  std::atomic<int> wrong{0};
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::vector<int> data(500);
      for (int n = 0; n < requests / 2; ++n) {
        for (auto& v : data) v = static_cast<int>(random() % 1000);
        live->run([&](const plan& p) { sort(data.begin(), data.end(), p); });
        if (!std::is_sorted(data.begin(), data.end())) ++wrong;
      }
    });
  for (auto& t : threads) t.join();
  live->flush();
  const auto status = live->status();
  std::printf("served %d requests, tried %llu configurations\n", requests / 2 * 2,
              static_cast<unsigned long long>(status.tried));
  std::printf("serving with: %s\n", status.best.text().c_str());
  std::printf("a request takes %.1f us, with the default about %.1f us\n", 1e6 * status.level,
              1e6 * status.default_level);
  return wrong == 0 ? 0 : 1;
}
