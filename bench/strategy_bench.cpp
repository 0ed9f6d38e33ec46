// What a proposal costs: CPU time of one thread in ask and tell, for every strategy, in a constrained space of 10^10
// configurations: the mean over the first 200 trials, then the mean and the longest of 200 asks once 100,000 trials are
// told.
//
// Usage: strategy_bench [NAME…]   (all without one)
#include "core/thread_time.hpp"
#include "search/strategy.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace attune;
using namespace attune::search;

namespace {

space_ptr big_space() {
  std::vector<parameter> p;
  for (int k = 0; k < 8; ++k) {
    parameter made;
    made.name = "p" + std::to_string(k);
    if (k < 4)
      made.domain = power_range{1, 1024};
    else
      made.domain = integer_range{1, 32, 1};
    p.push_back(std::move(made));
  }
  std::vector<constraint> c(1);
  c[0].expression = "32 <= p0 * p1 <= 65536";
  auto made = space::compile(p, c);
  if (!made) {
    std::fprintf(stderr, "%s\n", made.err().text().c_str());
    std::exit(1);
  }
  return *made;
}

observation cost(std::span<const std::uint32_t> p) {
  double sum = 1;
  for (std::size_t d = 0; d < p.size(); ++d) {
    const double x = static_cast<double>(p[d]) - 4.0 - static_cast<double>(d);
    sum += x * x * 0.1 + 3 * std::abs(std::sin(static_cast<double>(p[d]) * 1.7));
  }
  if (p[0] + p[3] > 16) return {observation::status::failed, 0};
  return {observation::status::measured, sum};
}

} // namespace

int main(int argc, char** argv) {
  const auto over = big_space();
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty())
    for (const auto& s : strategies()) names.push_back(s.name);
  std::printf("%-14s %14s %16s %16s\n", "strategy", "first 200, us", "at 100,000, us", "longest ask, us");
  for (const auto& name : names) {
    strategy_options options;
    auto made = make_strategy(name, over, options);
    if (!made) {
      std::fprintf(stderr, "%s\n", made.err().text().c_str());
      return 2;
    }
    auto& how = **made;
    const auto now = [] { return thread_time().monotonic(); };
    const auto from = now();
    for (int k = 0; k < 200; ++k) {
      const auto p = how.ask();
      how.tell(*p, cost(*p));
    }
    const double first = seconds(now() - from) * 1e6 / 200;
    random_engine rng(7);
    for (int k = 0; k < 100'000; ++k) {
      const auto p = over->sample(rng);
      how.tell(p, cost(p));
    }
    nanoseconds sum{0}, longest{0};
    for (int k = 0; k < 200; ++k) {
      const auto asked = now();
      const auto p = how.ask();
      const auto took = now() - asked;
      sum += took;
      longest = std::max(longest, took);
      how.tell(*p, cost(*p));
    }
    std::printf("%-14s %14.1f %16.1f %16.1f\n", name.c_str(), first, seconds(sum) * 1e6 / 200, seconds(longest) * 1e6);
    std::fflush(stdout);
  }
}
