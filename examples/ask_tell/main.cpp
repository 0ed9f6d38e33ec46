// A program that measures by itself: it asks for a configuration when it has the time, and tells what came of it. Here
// it sums numbers in interleaved partial sums, and times that in its own loop.
//
//   ask_tell [STORE]     the folder of the store: a second start is asked for nothing that is known
#include <algorithm>
#include <attune/attune.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

/// Sums `data` in `lanes` interleaved partial sums of `block` elements each.
double sum(const std::vector<double>& data, std::size_t lanes, std::size_t block) {
  std::vector<double> partial(lanes);
  for (std::size_t at = 0; at < data.size(); at += block) {
    auto& into = partial[at / block % lanes];
    for (std::size_t i = at; i < std::min(at + block, data.size()); ++i) into += data[i];
  }
  double all = 0;
  for (const auto p : partial) all += p;
  return all;
}

int fail(const attune::error& e) {
  std::fprintf(stderr, "ask_tell: %s\n", e.text().c_str());
  return 1;
}

} // namespace

int main(int argc, char** argv) {
  attune::space space("sum");
  space.workload("elements", 100'000);
  const auto lanes = space.powers_of_two("lanes", 1, 16);
  const auto block = space.powers_of_two("block", 1, 64);

  attune::engine_options options;
  if (argc > 1) options.store = argv[1];
  auto engine = attune::engine::start(options);
  if (!engine) return fail(engine.err());
  const auto search = engine->open(space, {.method = "sum/1", .strategy = "grid"});
  if (!search) return fail(search.err());

  const std::vector<double> data(100'000, 0.5);
  int measured = 0;
  while (const auto next = search->ask()) {
    const auto c = next->config();
    const auto start = std::chrono::steady_clock::now();
    const double got = sum(data, static_cast<std::size_t>(c[lanes]), static_cast<std::size_t>(c[block]));
    const auto took = std::chrono::steady_clock::now() - start;
    ++measured;
    const auto told = search->tell(*next, got == 50'000 ? attune::answer(took)
                                                        : attune::failed(attune::failure_kind::wrong_output, "no sum"));
    if (!told) return fail(told.err());
  }
  const auto report = search->wait();
  if (!report.best) return 1;
  std::printf("best: %s\n", report.best->config.text().c_str());
  std::printf("measured %d, from the store %llu\n", measured, static_cast<unsigned long long>(report.cached));
}
