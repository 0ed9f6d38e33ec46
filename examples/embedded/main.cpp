// A program that tunes a part of itself: a blocked matrix transpose. It links the library, gives it a callable that
// measures one configuration, and uses the best one from then on.
//
//   embedded [STORE]     the folder of the store: a second start finds everything there and measures nothing
//
// Without STORE the measurements live as long as the engine.
#include <algorithm>
#include <attune/attune.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stop_token>
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

/// Times one configuration: several samples, the first of them cold.
std::vector<double> time_it(const blocking& how, const std::stop_token& stop) {
  std::vector<float> matrix(rows * columns, 1.0f), transposed(matrix.size());
  std::vector<double> samples;
  for (int s = 0; s < 6 && !stop.stop_requested(); ++s) {
    const auto start = std::chrono::steady_clock::now();
    transpose(matrix, transposed, how);
    samples.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  return samples;
}

int fail(const attune::error& e) {
  std::fprintf(stderr, "embedded: %s\n", e.text().c_str());
  return 1;
}

} // namespace

int main(int argc, char** argv) {
  attune::space space("transpose");
  space.workload("rows", rows).workload("columns", columns).workload("dtype", "f32");
  const auto height = space.powers_of_two("height", 4, 512);
  const auto width = space.powers_of_two("width", 4, 512);
  const auto by_rows = space.boolean("by_rows");
  space.constraint("height * width <= 16384");
  const auto from = [&](attune::config_view c) { return blocking{c[height], c[width], c[by_rows]}; };

  attune::engine_options options;
  if (argc > 1) options.store = argv[1];
  auto engine = attune::engine::start(options);
  if (!engine) return fail(engine.err());

  // tune() returns at once; the program could do something else until it needs the report. The name and version of what
  // measures are part of a measurement's identity: a new version is measured anew.
  const auto session =
      engine->tune(space, [&](attune::config_view c, const std::stop_token& stop) { return time_it(from(c), stop); },
                   {.method = "transpose/1",
                    .trials = 60,
                    .unit = "us",
                    .warmup = 1,
                    .repeats = 5,
                    .limit = std::chrono::seconds(10)});
  if (!session) return fail(session.err());
  const auto report = session->wait();
  if (report.trouble) return fail(*report.trouble);
  if (!report.best) {
    std::fprintf(stderr, "embedded: nothing could be measured\n");
    return 1;
  }
  std::printf("best: %s\n", report.best->config.text().c_str());
  std::printf("time: %.1f us\n", 1e6 * report.best->value);
  std::printf("measured %llu, from the store %llu\n", static_cast<unsigned long long>(report.measured),
              static_cast<unsigned long long>(report.cached));

  // From here on the program works with what is best on this machine.
  std::vector<float> matrix(rows * columns), transposed(matrix.size());
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<float>(i);
  transpose(matrix, transposed, from(report.best->view()));
  return transposed[1] == matrix[columns] ? 0 : 1;
}
