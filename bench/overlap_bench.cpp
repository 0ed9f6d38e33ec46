// How well builds and timed runs overlap: plays recorded build and run times through the dispatcher in virtual time.
//
//   overlap_bench [--trials N] [--builders N] FILE…
//
// For each recorded space: its configurations in an order drawn at random, each built and run for as long as it took
// when it was recorded. `alternating` is one builder and no build beside a timed run; `beside` is what the noise
// controller comes to where builds do no harm. The bound is the greater of all builds over the builders and all runs
// over the slots; a pipeline cannot be faster.
#include "core/random.hpp"
#include "schedulers/dispatcher.hpp"
#include "storage/recorded.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

using namespace attune;
using namespace attune::schedulers;

namespace {

struct times {
  nanoseconds build{0}, run{0};
};

/// When the last trial ends.
nanoseconds play(const std::vector<times>& trials, const admission& limits) {
  dispatcher_options options;
  options.admission = limits;
  dispatcher d(options);
  std::vector<action> actions;
  place_id place = 1;
  for (std::uint32_t i = 0; i < limits.builders; ++i) d.add_builder(place++, nanoseconds(0), actions);
  for (std::uint32_t i = 0; i < limits.slots; ++i) d.add_slot(place++, nanoseconds(0), actions);
  const std::size_t credits = limits.in_flight();
  struct end {
    bool build;
    place_id where;
    job_id job;
  };
  std::multimap<nanoseconds, end> ends;
  nanoseconds now{0};
  std::size_t next = 0;
  for (;;) {
    while (d.in_hand() < credits && next < trials.size()) {
      const bool builds = trials[next].build.count() > 0;
      d.submit({next, 0, builds, false, nanoseconds(0), nanoseconds(0)}, now, actions);
      ++next;
    }
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (const auto* b = std::get_if<start_build>(&actions[i]))
        ends.insert({now + trials[b->job].build, {true, b->builder, b->job}});
      if (const auto* r = std::get_if<start_run>(&actions[i]))
        ends.insert({now + trials[r->job].run, {false, r->slot, r->job}});
    }
    actions.clear();
    if (ends.empty()) return now;
    const auto first = ends.extract(ends.begin());
    now = first.key();
    const end& e = first.mapped();
    if (e.build)
      d.built(e.where, e.job, std::nullopt, now, actions);
    else
      d.ran(e.where, e.job, std::nullopt, now, actions);
  }
}

} // namespace

int main(int argc, char** argv) {
  std::size_t most = 1000;
  std::uint32_t builders = 2;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--trials" && i + 1 < argc) {
      most = std::strtoull(argv[++i], nullptr, 10);
      continue;
    }
    if (word == "--builders" && i + 1 < argc) {
      builders = static_cast<std::uint32_t>(std::strtoul(argv[++i], nullptr, 10));
      continue;
    }
    const auto recorded = storage::read_recorded(word);
    if (!recorded) {
      std::fprintf(stderr, "%s\n", recorded.err().text().c_str());
      return 2;
    }
    std::vector<times> trials;
    for (const auto& t : recorded->trials)
      if (t.result.ok()) trials.push_back({t.result.phases.build, t.result.phases.run});
    random_engine random(1);
    for (std::size_t k = trials.size(); k > 1; --k) std::swap(trials[k - 1], trials[random.below(k)]);
    trials.resize(std::min(trials.size(), most));
    nanoseconds build{0}, run{0};
    for (const auto& t : trials) {
      build += t.build;
      run += t.run;
    }
    const double bound = std::max(seconds(build) / builders, seconds(run));
    const double one = seconds(play(trials, {1, 1, 0}));
    const double alternating = seconds(play(trials, {1, builders, 0}));
    const double beside = seconds(play(trials, {1, builders, builders}));
    std::printf(
        "%s, %zu trials: build %.1f s, run %.1f s; one after the other %.1f s; alternating with %u builders %.1f s; "
        "beside %.1f s: %.2f x, %.1f %% of the bound\n",
        word.substr(word.rfind('/') + 1).c_str(), trials.size(), seconds(build), seconds(run), one, builders,
        alternating, beside, one / beside, 100 * bound / beside);
  }
}
