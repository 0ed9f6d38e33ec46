#include <attune/attune.hpp>
#include <cstdio>

int main() {
  attune::space s("sum");
  const auto block = s.powers_of_two("block", 1, 256), unroll = s.integers("unroll", 1, 8);
  s.constraint("block % unroll == 0");
  const auto cost = [&](attune::config_view c) { return 1.0 / static_cast<double>(c[block] * c[unroll]); };
  const auto tuned =
      attune::tune(s, cost, {.trials = 30}); // cost: seconds, samples, a failure, or nothing (then timed)
  if (!tuned || !tuned->best) return 1;
  std::printf("block %d, unroll %d\n", int((*tuned->best)[block]), int((*tuned->best)[unroll]));
}
