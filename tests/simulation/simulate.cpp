// Plays seeds of the simulation (testing/simulation.hpp) and stops at the first that breaks a rule, with the smallest
// plan that still does:   simulate [SEEDS] [FIRST]
#include "testing/simulation.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace attune;

int main(int argc, char** argv) {
  const std::uint64_t seeds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200;
  const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  if (seeds == 0 || first == 0) {
    std::fputs("usage: simulate [SEEDS] [FIRST], both from 1\n", stderr);
    return 2;
  }
  const auto begun = std::chrono::steady_clock::now();
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const auto plan = testing::plan_of(seed);
    if (!testing::play(plan)) continue;
    const auto small = testing::shrunk(plan);
    std::printf("%s%s\n", small.text().c_str(), testing::play(small).value_or("it does not fail again").c_str());
    std::printf("again: simulate 1 %llu\n", static_cast<unsigned long long>(seed));
    return 1;
  }
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  std::printf("%llu seeds from %llu on: every rule held; %.1f seeds a second\n", static_cast<unsigned long long>(seeds),
              static_cast<unsigned long long>(first), static_cast<double>(seeds) / took);
}
