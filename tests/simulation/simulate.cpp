// Plays seeds of the simulations (testing/simulation.hpp, testing/fleet/simulation.hpp) and stops at the first that
// breaks a rule, with the smallest plan that still does:   simulate [--graph | --fleet] [SEEDS] [FIRST]
#include "testing/fleet/simulation.hpp"
#include "testing/simulation.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace attune;

namespace {

std::optional<std::string> broken_by(const testing::plan& p) { return testing::play(p); }
std::optional<std::string> broken_by(const testing::fleet_plan& p) { return testing::play_fleet(p).broken; }

/// False at the first seed that breaks a rule.
template <class PlanOf>
bool play_seeds(const char* what, PlanOf plan_of, std::uint64_t seeds, std::uint64_t first) {
  const auto begun = std::chrono::steady_clock::now();
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const auto plan = plan_of(seed);
    const auto first_time = broken_by(plan);
    if (!first_time) continue;
    const auto small = testing::shrunk(plan);
    std::printf("%s%s\n", small.text().c_str(),
                broken_by(small).value_or("it does not fail again; at first:\n" + *first_time).c_str());
    std::printf("again: simulate --%s 1 %llu\n", what, static_cast<unsigned long long>(seed));
    return false;
  }
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  std::printf("%s: %llu seeds from %llu on: every rule held; %.1f seeds a second\n", what,
              static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(first),
              static_cast<double>(seeds) / took);
  return true;
}

} // namespace

int main(int argc, char** argv) {
  bool graph = true, fleet = true;
  if (argc > 1 && std::strcmp(argv[1], "--graph") == 0) fleet = false;
  if (argc > 1 && std::strcmp(argv[1], "--fleet") == 0) graph = false;
  const int at = graph && fleet ? 1 : 2;
  const std::uint64_t seeds = argc > at ? std::strtoull(argv[at], nullptr, 10) : 200;
  const std::uint64_t first = argc > at + 1 ? std::strtoull(argv[at + 1], nullptr, 10) : 1;
  if (seeds == 0 || first == 0) {
    std::fputs("usage: simulate [--graph | --fleet] [SEEDS] [FIRST], both from 1\n", stderr);
    return 2;
  }
  if (graph && !play_seeds("graph", testing::plan_of, seeds, first)) return 1;
  if (fleet && !play_seeds("fleet", testing::fleet_plan_of, seeds, first)) return 1;
}
