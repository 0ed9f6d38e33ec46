// Tunes, remembers, asks again.   consumer STORE
#include "core/error.hpp"

#include <attune/attune.hpp>
#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  attune::space s("consumer");
  const auto x = s.integers("x", 0, 9), y = s.powers_of_two("y", 1, 64);
  s.constraint("x * y <= 100");
  const auto measure = [&](attune::config_view c) { return 1.0 + static_cast<double>(c[x] + 100 / c[y]); };
  const attune::engine_options with{.store = argv[1]};
  const attune::search_options how{.trials = 40};
  const auto first = attune::tune(s, measure, how, with);
  const auto again = attune::tune(s, measure, how, with);
  if (!first || !again || !again->best) {
    std::fprintf(stderr, "consumer: %s\n", !first ? first.err().text().c_str() : "nothing was found");
    return 1;
  }
  std::printf("measured %llu, then %llu\n", static_cast<unsigned long long>(first->measured),
              static_cast<unsigned long long>(again->measured));
  return first->measured == 40 && again->measured == 0 ? code_of_nothing() : 1;
}
