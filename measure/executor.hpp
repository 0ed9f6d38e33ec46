// measure: how one configuration is built, run, timed and cleaned: processes, compilers, statistics. No actors.
#pragma once

#include "core/task.hpp"

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace attune::measure {

/// What a build left behind: the private folder of the trial and the artifact in it. The folder is deleted with the
/// last owner.
struct artifact {
  std::string directory; ///< absolute: {workdir}
  std::string path;      ///< absolute: {artifact}; empty where the build made none
  ~artifact();
  artifact(std::string dir, std::string file) : directory(std::move(dir)), path(std::move(file)) {}
  artifact(const artifact&) = delete;
  artifact& operator=(const artifact&) = delete;
};
using artifact_ptr = std::shared_ptr<const artifact>;

/// How a build ended: the artifact, or the failure; with the time it took and what it used.
struct build_result {
  std::variant<artifact_ptr, failure> data;
  nanoseconds elapsed{0};
  resource_use used;
  std::vector<std::string> notes;
};

/// How the run of a trial ended (warm-up, repeats and check are all of it). `bound` only for a trial with a rival.
struct run_result {
  std::variant<measurement, failure, bound> data;
  nanoseconds elapsed{0};
  resource_use used;
  std::vector<std::string> notes;
};

/// Builds one configuration at a time. The seam between the builder actor and the ways to build.
/// Asynchronous: build() returns at once; `done` is called exactly once, from any thread, when the process group is
/// gone and the result is there. cancel() ends the build in progress early (its `done` gets `cancelled`); without one
/// it does nothing. Both may be called from any thread, build() only when no build is in progress.
class builder {
public:
  using callback = std::function<void(build_result)>;
  virtual ~builder() = default;
  virtual void build(trial_ptr what, callback done) = 0;
  virtual void cancel() = 0;
};

/// Runs and times one built configuration at a time on one slot. As `builder` in every other respect. `built` is null
/// where the task has no build.
class runner {
public:
  using callback = std::function<void(run_result)>;
  virtual ~runner() = default;
  virtual void run(trial_ptr what, artifact_ptr built, callback done) = 0;
  virtual void cancel() = 0;
  /// How many orders it takes at a time: with 2, run() may be called while a run is in progress; that order waits
  /// behind it, and begins at once when it has ended. cancel() is about the run in progress alone.
  virtual std::size_t holds() const { return 1; }
};

} // namespace attune::measure
