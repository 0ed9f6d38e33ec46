#include "measure/reference_loop.hpp"

#include "core/median.hpp"
#include "core/thread_time.hpp"
#include "measure/statistics.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <sched.h>
#include <stop_token>
#include <thread>

namespace attune::measure {

namespace {

constexpr std::size_t words = (std::size_t{64} << 20) / sizeof(std::uint64_t);

/// What the optimiser may not foresee, and not leave out.
std::atomic<std::uint64_t> sink{1};

void compute() {
  std::uint64_t x = sink.load(std::memory_order_relaxed);
  for (int i = 0; i < 800'000; ++i) x = x * 6364136223846793005U + 1442695040888963407U;
  sink.store(x | 1, std::memory_order_relaxed);
}

void read_through(const std::vector<std::uint64_t>& memory) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < memory.size(); ++i) sum += memory[i];
  sink.store(sum | 1, std::memory_order_relaxed);
}

/// Binds the calling thread to one processor as long as it is there.
class bound_to {
public:
  explicit bound_to(int cpu) {
    if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    bound_ = sched_setaffinity(0, sizeof one, &one) == 0;
  }
  ~bound_to() {
    if (bound_) sched_setaffinity(0, sizeof before_, &before_);
  }
  bound_to(const bound_to&) = delete;
  bound_to& operator=(const bound_to&) = delete;

private:
  cpu_set_t before_{};
  bool bound_ = false;
};

std::uint64_t involuntary_switches() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return static_cast<std::uint64_t>(used.ru_nivcsw);
}

class reference {
public:
  explicit reference(reference_work what) : what_(what) {
    if (what_ == reference_work::memory) memory_.assign(words, 1);
  }
  void pass() const { what_ == reference_work::compute ? compute() : read_through(memory_); }
  loop_samples run(nanoseconds how_long) const {
    constexpr std::size_t least = 3;
    const auto& clock = system_time();
    loop_samples out;
    pass(); // cold
    const auto switches = involuntary_switches();
    const auto cpu = thread_time().monotonic();
    const auto begun = clock.monotonic();
    for (auto now = begun; now - begun < how_long || out.took.size() < least;) {
      const auto from = now;
      pass();
      now = clock.monotonic();
      out.begun.push_back(seconds(from - begun));
      out.took.push_back(seconds(now - from));
    }
    out.wall = seconds(clock.monotonic() - begun);
    out.cpu = seconds(thread_time().monotonic() - cpu);
    out.preempted = involuntary_switches() - switches;
    return out;
  }

private:
  reference_work what_;
  std::vector<std::uint64_t> memory_;
};

/// The work on another processor, until it is gone.
class neighbour {
public:
  neighbour(reference_work what, int cpu)
      : thread_([what, cpu, this](const std::stop_token& stop) {
          const bound_to there(cpu);
          const reference work(what);
          work.pass();
          warm_.test_and_set();
          warm_.notify_all();
          while (!stop.stop_requested()) work.pass();
        }) {
    warm_.wait(false);
  }

private:
  std::atomic_flag warm_;
  std::jthread thread_;
};

/// By how much the neighbour slows the work, from turns with and without it.
double cost_of(const reference& work, reference_work what, int cpu, nanoseconds how_long) {
  constexpr int turns = 3;
  std::vector<double> quiet, busy;
  const auto add = [&](std::vector<double>& to, const loop_samples& loop) {
    to.insert(to.end(), loop.took.begin(), loop.took.end());
  };
  for (int i = 0; i < turns; ++i) {
    {
      const neighbour beside(what, cpu);
      add(busy, work.run(how_long / (2 * turns)));
    }
    add(quiet, work.run(how_long / (2 * turns)));
  }
  return median(busy) / median(quiet) - 1;
}

void look_at_clock(machine_noise& out) {
  constexpr int reads = 20'000;
  const auto& clock = system_time();
  const auto begun = clock.monotonic();
  nanoseconds before = begun, step = nanoseconds::max();
  for (int i = 0; i < reads; ++i) {
    const auto now = clock.monotonic();
    if (now != before) step = std::min(step, now - before);
    before = now;
  }
  out.clock_step = step == nanoseconds::max() ? 0 : seconds(step);
  out.clock_cost = seconds(before - begun) / reads;
}

} // namespace

const char* to_string(reference_work w) noexcept { return w == reference_work::compute ? "compute" : "memory"; }

loop_samples run_reference(reference_work what, int cpu, nanoseconds how_long) {
  const bound_to here(cpu);
  return reference(what).run(how_long);
}

loop_report summarize_loop(const loop_samples& loop) {
  loop_report out;
  out.passes = loop.took.size();
  const auto cleaned = summarize(loop.took);
  out.median = cleaned.value;
  out.half_width = cleaned.spread;
  std::vector<double> off;
  off.reserve(loop.took.size());
  const double middle = median(loop.took);
  for (const double t : loop.took) off.push_back(std::abs(t - middle));
  out.spread = 1.4826 * median(off) / middle;
  const double length = loop.begun.back() - loop.begun.front();
  out.drift = robust_slope(loop.begun, loop.took) * length / middle;
  out.taken = loop.wall > 0 ? std::clamp(1 - loop.cpu / loop.wall, 0.0, 1.0) : 0;
  return out;
}

double robust_slope(std::span<const double> x, std::span<const double> y) {
  constexpr std::size_t most = 600;
  const std::size_t stride = (x.size() + most - 1) / most;
  std::vector<double> slopes;
  for (std::size_t i = 0; i < x.size(); i += stride)
    for (std::size_t k = i + stride; k < x.size(); k += stride)
      if (x[k] != x[i]) slopes.push_back((y[k] - y[i]) / (x[k] - x[i]));
  return slopes.empty() ? 0 : median(slopes);
}

machine_noise measure_noise(const noise_places& where, nanoseconds how_long) {
  machine_noise out;
  out.cpu = where.cpu;
  const bound_to here(where.cpu);
  look_at_clock(out);
  const bool beside = where.sibling || where.other;
  for (const auto what : {reference_work::compute, reference_work::memory}) {
    const reference work(what);
    auto& w = out.works.emplace_back();
    w.what = what;
    w.quiet = summarize_loop(work.run(beside ? how_long * 3 / 10 : how_long / 2));
    const auto rest = how_long / 5 / (where.sibling && where.other ? 2 : 1);
    if (where.sibling) w.sibling = cost_of(work, what, *where.sibling, rest);
    if (where.other) w.other = cost_of(work, what, *where.other, rest);
  }
  return out;
}

} // namespace attune::measure
