// A program that tunes a part of itself: a blocked matrix transpose. It links the library, gives it a callable that
// measures one configuration, and uses the best one from then on.
//
//   embedded [STORE]     the folder of the store: a second start finds everything there and measures nothing
//
// Without STORE the measurements live as long as the engine.
#include "actors/engine.hpp"
#include "actors/messages.hpp"
#include "core/text.hpp"
#include "search/space.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

namespace {

constexpr std::int64_t rows = 700, columns = 900;

struct blocking {
  std::int64_t height = rows, width = columns;
  bool by_rows = true; // which side is walked first inside a block
};

/// What is tuned: `to` becomes the transpose of `from`.
void transpose(const std::vector<float>& from, std::vector<float>& to, const blocking& how) {
  for (std::int64_t i0 = 0; i0 < rows; i0 += how.height) {
    for (std::int64_t j0 = 0; j0 < columns; j0 += how.width) {
      const auto i1 = std::min(i0 + how.height, rows), j1 = std::min(j0 + how.width, columns);
      const auto move = [&](std::int64_t i, std::int64_t j) {
        to[static_cast<std::size_t>(j * rows + i)] = from[static_cast<std::size_t>(i * columns + j)];
      };
      if (how.by_rows) {
        for (auto i = i0; i < i1; ++i)
          for (auto j = j0; j < j1; ++j) move(i, j);
      } else {
        for (auto j = j0; j < j1; ++j)
          for (auto i = i0; i < i1; ++i) move(i, j);
      }
    }
  }
}

blocking from(const attune::configuration& c) {
  return {c.find("height")->as_integer(), c.find("width")->as_integer(), c.find("by_rows")->as_bool()};
}

/// Times one configuration: several samples, in the unit that the spec states.
std::variant<std::vector<double>, attune::failure> time_it(const attune::configuration& config,
                                                           const std::stop_token& stop) {
  std::vector<float> matrix(rows * columns, 1.0f), transposed(matrix.size());
  std::vector<double> samples;
  for (int s = 0; s < 6 && !stop.stop_requested(); ++s) {
    const auto start = std::chrono::steady_clock::now();
    transpose(matrix, transposed, from(config));
    samples.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  return samples;
}

/// The task as a spec file would state it.
attune::task_spec what_to_tune() {
  using namespace attune;
  using namespace std::chrono_literals;
  task_spec spec;
  spec.name = "transpose";
  spec.workload = {{"rows", rows}, {"columns", columns}, {"dtype", "f32"}};
  spec.callable = "transpose/1"; // its name and version: part of the measurements' identity
  spec.parameters = {{.name = "height", .domain = power_range{4, 512}},
                     {.name = "width", .domain = power_range{4, 512}},
                     {.name = "by_rows", .domain = value_list{{true, false}}}};
  spec.constraints = {{.expression = "height * width <= 16384"}};
  spec.run.metrics.front().unit = "us";
  spec.run.timeout = 10s;
  spec.run.warmup = 1;
  spec.run.repeats = {.min = 5, .max = 5};
  spec.search.trials = 60;
  return spec;
}

int fail(const attune::error& e) {
  std::fprintf(stderr, "embedded: %s\n", e.text().c_str());
  return 1;
}

} // namespace

int main(int argc, char** argv) {
  using namespace attune;
  const auto task = make_task(what_to_tune(), time_it);
  if (!task) return fail(task.err());
  const auto& spec = (*task)->spec;
  const auto space = search::space::compile(spec.parameters, spec.constraints, spec.workload, spec.target);
  if (!space) return fail(space.err());

  actors::engine_options options;
  if (argc > 1) options.store = argv[1];
  const auto engine = actors::engine::start(options);
  if (!engine) return fail(engine.err());

  // tune() returns at once; the program could do something else until it needs the report.
  auto session = (*engine)->tune({.of = *task, .over = *space});
  if (!session) return fail(session.err());
  const auto report = session->wait();
  if (report->trouble) return fail(*report->trouble);
  if (!report->best) {
    std::fprintf(stderr, "embedded: nothing could be measured\n");
    return 1;
  }
  std::printf("best: %s\n", report->best->config.text().c_str());
  std::printf("time: %s\n", human_value(report->best->result->measured()->value, "s").c_str());
  std::printf("measured %llu, from the store %llu\n", static_cast<unsigned long long>(report->counts.measured),
              static_cast<unsigned long long>(report->counts.cached));

  // From here on the program works with what is best on this machine.
  std::vector<float> matrix(rows * columns), transposed(matrix.size());
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<float>(i);
  transpose(matrix, transposed, from(report->best->config));
  return transposed[1] == matrix[columns] ? 0 : 1;
}
