// How long a lookup in a bundle takes: 1,000 tasks (3 arguments, 8 parameters each) on 2 targets, exact lookups of
// random ones with one parameter read. Every lookup is timed by itself; the time of looking at the clock is measured
// the same way and printed beside it, and not taken off.   bundle_bench [LOOKUPS]
#include "core/random.hpp"
#include "include/attune/bundle.hpp"
#include "storage/bundle_writer.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace attune;

namespace {

using clock_type = std::chrono::steady_clock;

void print(const char* what, std::vector<double>& ns) {
  std::sort(ns.begin(), ns.end());
  const auto at = [&](double q) { return ns[static_cast<std::size_t>(q * static_cast<double>(ns.size() - 1))]; };
  std::printf("%-28s p50 %.0f ns, p99 %.0f ns, p99.9 %.0f ns\n", what, at(0.5), at(0.99), at(0.999));
}

int run(std::int64_t tasks, unsigned long long lookups) {
  std::vector<storage::bundle_item> items;
  for (std::int64_t i = 0; i < tasks; ++i)
    for (const char* target : {"local", "board"}) {
      storage::bundle_item item;
      item.workload = "gemm";
      item.args = {{"m", value(i)}, {"n", value(std::int64_t{512})}, {"dtype", value("f32")}};
      item.target = target;
      arguments config;
      for (int p = 0; p < 8; ++p) config.emplace_back("parameter_" + std::to_string(p), value(std::int64_t{p}));
      item.config = configuration(config);
      item.measured = 1;
      item.unit = "s";
      items.push_back(std::move(item));
    }
  const auto bytes = storage::bundle_bytes(items);
  if (!bytes) return 1;
  const std::string path = "/tmp/attune-bundle-bench-" + std::to_string(::getpid());
  if (!storage::replace_file(path, *bytes)) return 1;
  std::string why;
  const auto opening = clock_type::now();
  const auto b = bundle::open(path.c_str(), why);
  std::printf("%zu entries, %zu bytes; opened and checked in %.0f us\n", items.size(), bytes->size(),
              std::chrono::duration<double, std::micro>(clock_type::now() - opening).count());
  ::unlink(path.c_str());
  if (!b) return 1;

  random_engine rng(1);
  std::vector<double> clock_ns, exact_ns, near_ns;
  std::int64_t sum = 0;
  const auto timed = [](auto what) {
    const auto t = clock_type::now();
    what();
    return std::chrono::duration<double, std::nano>(clock_type::now() - t).count();
  };
  for (unsigned long long i = 0; i < lookups; ++i) {
    const auto m = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(tasks)));
    const std::string_view target = rng.chance(0.5) ? "local" : "board";
    clock_ns.push_back(timed([] {}));
    exact_ns.push_back(timed([&] {
      const auto found = b.find("gemm", {{"m", m}, {"n", 512}, {"dtype", "f32"}}, target);
      sum += found.entry.integer("parameter_3", 0);
    }));
    near_ns.push_back(timed([&] {
      const auto found = b.find("gemm", {{"m", m}, {"n", 512}, {"dtype", "f32"}}, "elsewhere");
      sum += found.entry.integer("parameter_3", 0);
    }));
  }
  print("the clock alone", clock_ns);
  print("lookup, exact", exact_ns);
  print("lookup, another target", near_ns);
  return sum == static_cast<std::int64_t>(lookups * 6) ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  const auto lookups = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000ull;
  const int small = run(50, lookups), large = run(1000, lookups);
  return small != 0 ? small : large;
}
