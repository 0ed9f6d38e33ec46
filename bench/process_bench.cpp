// What Attune costs around a trial that builds and runs real processes, over a bare loop of posix_spawn of the same
// commands, and what it takes of the processor while one run is on. One line a figure.
//   process_bench [TRIALS] [SECONDS]
#include "core/task.hpp"
#include "measure/command_builder.hpp"
#include "measure/command_runner.hpp"
#include "measure/supervisor.hpp"

#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <spawn.h>
#include <string>
#include <vector>

using namespace attune;
using namespace attune::measure;

namespace {

double now() { return seconds(system_time().monotonic()); }

double own_cpu() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

void spawn_and_wait(std::vector<std::string> words) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  if (posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ) != 0) std::abort();
  int status = 0;
  waitpid(pid, &status, 0);
}

void one_trial(command_builder& builder, command_runner& runner, const trial_ptr& what) {
  std::promise<build_result> built;
  builder.build(what, [&](build_result r) { built.set_value(std::move(r)); });
  auto b = built.get_future().get();
  if (b.data.index() != 0) std::abort();
  std::promise<run_result> ran;
  runner.run(what, std::get<artifact_ptr>(b.data), [&](run_result r) { ran.set_value(std::move(r)); });
  if (ran.get_future().get().data.index() != 0) std::abort();
}

trial_ptr trial_of(const std::vector<std::string>& build, const std::vector<std::string>& run) {
  task_spec spec;
  spec.name = "bench";
  spec.directory = "/";
  if (!build.empty()) {
    spec.build.emplace();
    spec.build->run.argv = build;
  }
  spec.run.run.argv = run;
  spec.run.metrics[0].source = metric_spec::from::wall;
  auto made = make_task(spec, target{});
  if (!made) std::abort();
  auto out = std::make_shared<trial>();
  out->of = *made;
  out->config = configuration(arguments{{"x", 1}});
  return out;
}

double middle(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

void overhead(bool cgroups, int trials) {
  supervisor_options options;
  options.cgroups = cgroups;
  auto made = supervisor::create(options);
  if (!made) std::abort();
  command_builder builder(*made);
  command_runner runner(*made);
  std::vector<std::string> build{"/bin/true"}, run{"/bin/true"};
  auto what = trial_of(build, run);
  std::vector<double> bare, ours;
  // Interleaved, so that whatever else this machine does falls on both.
  for (int i = 0; i < trials; ++i) {
    double begun = now();
    spawn_and_wait(build);
    spawn_and_wait(run);
    bare.push_back(now() - begun);
    begun = now();
    one_trial(builder, runner, what);
    ours.push_back(now() - begun);
  }
  double b = middle(bare) * 1e3, a = middle(ours) * 1e3;
  std::printf("%s: bare %.3f ms, attune %.3f ms, ratio %.2f, %.3f ms more a trial (medians of %d)\n",
              (*made)->containment(), b, a, a / b, a - b, trials);
}

void quiet(double length) {
  auto made = supervisor::create({});
  if (!made) std::abort();
  command_runner runner(*made);
  char text[32];
  std::snprintf(text, sizeof text, "%g", length);
  auto what = trial_of({}, {"/bin/sleep", text});
  double cpu = own_cpu(), begun = now();
  std::promise<run_result> ran;
  runner.run(what, nullptr, [&](run_result r) { ran.set_value(std::move(r)); });
  ran.get_future().get();
  double took = now() - begun;
  std::printf("one run of %.1f s: %.4f %% of a core\n", took, 100 * (own_cpu() - cpu) / took);
}

} // namespace

int main(int count, char** words) {
  int trials = count > 1 ? std::atoi(words[1]) : 300;
  double length = count > 2 ? std::atof(words[2]) : 10;
  overhead(true, trials);
  overhead(false, trials);
  quiet(length);
}
