#include "measure/command_runner.hpp"

#include "core/value.hpp"
#include "measure/counters.hpp"
#include "measure/energy.hpp"
#include "measure/metric.hpp"
#include "measure/protocol.hpp"
#include "measure/scratch.hpp"
#include "measure/statistics.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace attune::measure {

namespace {

/// Whether it is this process that lacks something, not the file.
bool is_own_want(int code) { return code == EMFILE || code == ENFILE || code == ENOMEM; }

/// The end of a file: a number is looked for from its end. The reason where it cannot be read: errc::internal where
/// that is for want of descriptors or memory.
result<std::string> read_end(const std::string& path) {
  descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!file || fstat(file.get(), &info) != 0)
    return error{
        is_own_want(errno) ? errc::internal : errc::io, "cannot read '" + path + "': " + std::strerror(errno), {}};
  if (!S_ISREG(info.st_mode)) return error{errc::io, "'" + path + "' is not a file", {}};
  // Marked before the run by a time that no writer leaves.
  if (info.st_mtim.tv_sec == 0 && info.st_mtim.tv_nsec == 0)
    return error{errc::io, "'" + path + "' was not written by this run", {}};
  constexpr off_t most = 1 << 16;
  off_t at = info.st_size > most ? info.st_size - most : 0;
  std::string out(static_cast<std::size_t>(info.st_size - at), '\0');
  ssize_t n = pread(file.get(), out.data(), out.size(), at);
  out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return out;
}

std::string megabytes(std::uint64_t bytes) {
  return shortest(std::round(static_cast<double>(bytes) / 1e5) / 10) + " MB";
}

/// So that what an earlier run wrote is never taken for this one's: the file stays as it is but for its time.
void mark_as_old(const std::string& path) {
  timespec times[2] = {{0, UTIME_OMIT}, {0, 0}};
  utimensat(AT_FDCWD, path.c_str(), times, 0);
}

} // namespace

/// One trial's run. Kept alive by the supervisor's callbacks, so that it outlives the runner where it must. Every step
/// but the first is on the supervisor's replying thread, one at a time.
struct command_runner::job : std::enable_shared_from_this<job> {
  explicit job(std::shared_ptr<supervisor> of) : processes(std::move(of)) {}

  job_processes processes;
  command_options options;
  trial_ptr what;
  artifact_ptr built;
  callback done;
  std::shared_ptr<const std::vector<metric_reader>> readers;

  std::optional<substitution> names;
  std::optional<protocol> samples;
  std::vector<std::string> files; ///< of the metrics that are read from one; else empty
  std::vector<series> further;    ///< of the further metrics
  std::vector<double> last;       ///< the last sample of each, warm-up or not
  std::vector<bool> dropped;      ///< those that were left out
  std::vector<perf_event_attr> counters;
  std::vector<std::size_t> counter_of;                            ///< for each metric, where its counter is among them
  bool peak = false;                                              ///< a metric asks for it
  std::vector<std::pair<std::size_t, energy_meter>> meters;       ///< with the metric's index
  std::vector<energy_meter::reading> energy_before, energy_after; ///< of the last run
  std::uint32_t done_runs = 0;
  bool checked = false;
  nanoseconds begun{0};
  run_result out;

  const task_spec& spec() const { return what->of->spec; }

  void finish(decltype(run_result::data) data) {
    out.data = std::move(data);
    if (auto* failed = std::get_if<failure>(&out.data); failed && built) blame_lost_folder(*failed, built->directory);
    out.elapsed = options.clock->monotonic() - begun;
    built.reset();
    done(std::move(out));
  }

  void fail(failure_kind kind, std::string message) {
    finish(failure{kind, std::move(message), std::nullopt, std::nullopt});
  }

  void begin() {
    begun = options.clock->monotonic();
    if (!built) {
      auto folder = processes.scratch().make_folder();
      if (!folder) return fail(failure_kind::internal, folder.err().text());
      built = std::make_shared<const artifact>(*folder, std::string{});
      if (runs_in_private_folder(spec()))
        if (auto laid = lay_out_sources(spec(), *folder); !laid.ok())
          return fail(failure_kind::internal, laid.err().text());
      if (auto given = processes.scratch().hand_over(*folder); !given)
        return fail(failure_kind::internal, given.err().text());
    }
    names.emplace(spec(), what->config, built->path, built->directory);
    samples.emplace(*what);
    checked = what->once();
    const auto& metrics = spec().run.metrics;
    further.assign(metrics.size(), series(what->once() ? 0 : spec().run.warmup));
    dropped.resize(metrics.size());
    last.resize(metrics.size());
    files.resize(metrics.size());
    counter_of.resize(metrics.size());
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      peak = peak || metrics[i].source == metric_spec::from::memory;
      if (metrics[i].source == metric_spec::from::counter) {
        auto asked = counter_attribute(metrics[i].expression);
        if (!asked) return fail(failure_kind::internal, "there is no counter '" + metrics[i].expression + "'");
        counter_of[i] = counters.size();
        counters.push_back(*asked);
      }
      if (metrics[i].source == metric_spec::from::energy) {
        auto meter = energy_meter::open(metrics[i].expression);
        if (!meter) return fail(failure_kind::internal, meter.err().message);
        meters.emplace_back(i, std::move(*meter));
      }
      if (metrics[i].source != metric_spec::from::file) continue;
      auto path = names->expand(metrics[i].expression);
      if (!path) return fail(failure_kind::invalid_config, path.err().text());
      files[i] = path->starts_with('/') ? *path : folder_of_run() + "/" + *path;
    }
    run_once();
  }

  const std::string& folder_of_run() const {
    return spec().run.cwd == working_directory::workdir ? built->directory : spec().directory;
  }

  void start(const command& which, nanoseconds timeout, void (job::*then)(const process_result&)) {
    auto request = request_for(which, *names, spec(), spec().run.cwd, built->directory, timeout, options.limits);
    if (!request) return fail(failure_kind::invalid_config, request.err().text());
    if (then == &job::ran) {
      request->counters = counters;
      request->peak = peak;
      energy_before.clear();
      for (const auto& [i, meter] : meters) energy_before.push_back(meter.read());
    }
    if (!processes.start(std::move(*request),
                         [self = shared_from_this(), then](const process_result& ended) { ((*self).*then)(ended); }))
      fail(failure_kind::cancelled, "the run was cancelled");
  }

  void run_once() {
    for (const std::string& file : files)
      if (!file.empty()) mark_as_old(file);
    start(spec().run.run, limit(), &job::ran);
  }

  /// Of a run that counts it may follow the best so far, where an interval is asked for; the user's own is the outer
  /// bound.
  nanoseconds limit() const {
    const auto& run = spec().run;
    const bool may = run.repeats.until > 0 && done_runs >= run.warmup;
    const auto beside = may ? limit_beside(what->of->metric(), what->rival) : std::nullopt;
    return beside && (run.timeout.count() <= 0 || *beside < run.timeout) ? *beside : run.timeout;
  }

  void used(const process_result& ended) {
    out.used.cpu += ended.used.cpu;
    out.used.peak_bytes = std::max(out.used.peak_bytes, ended.used.peak_bytes);
    add_notes(out.notes, ended.notes);
  }

  void ran(const process_result& ended) {
    energy_after.clear();
    for (const auto& [i, meter] : meters) energy_after.push_back(meter.read());
    used(ended);
    const nanoseconds given = limit();
    if (ended.how == process_result::ending::timed_out && given != spec().run.timeout)
      return finish(bound{seconds(given), *what->rival, samples->samples()});
    ++done_runs;
    if (auto failed =
            failure_of(ended, failure_kind::run_error, failure_kind::run_timeout, "run", spec().run.timeout)) {
      if (options.ended) options.ended(ended, samples->samples());
      return finish(std::move(*failed));
    }
    if (!take_metrics(ended)) return;
    if (options.ended) options.ended(ended, samples->samples());
    if (!checked && !spec().run.check.run.empty())
      return start(spec().run.check.run, spec().run.check.timeout, &job::was_checked);
    go_on();
  }

  /// Gives the reader of a metric of the processes its amount.
  void take_amount(std::size_t i, const process_result& ended, run_output& into) {
    const metric_spec& metric = spec().run.metrics[i];
    switch (metric.source) {
    case metric_spec::from::cpu:
      into.amount = seconds(ended.used.cpu);
      return;
    case metric_spec::from::memory: {
      if (ended.used.peak_bytes > 0) {
        into.amount = static_cast<double>(ended.used.peak_bytes);
        return;
      }
      if (i == spec().run.objective) {
        into.missing = "the peak is below the " + megabytes(ended.peak_floor) +
                       " that Attune itself has had, in which the process is born: the kernel tells no less";
        return;
      }
      into.amount = static_cast<double>(ended.peak_floor);
      add_notes(out.notes,
                {"the metric '" + metric.name +
                 "' is at most what is given: as much as Attune itself has had, which the kernel counts too"});
      return;
    }
    case metric_spec::from::counter: {
      const auto& read = ended.counters;
      const auto at = counter_of[i];
      if (at >= read.size() || !read[at] || (read[at]->share() == 0 && read[at]->enabled_ns > 0)) {
        into.missing = "'" + metric.expression + "' was never counted: other events keep the unit busy";
        return;
      }
      const double value = read[at]->scaled();
      into.amount = metric.expression == "task-clock" ? value / 1e9 : value;
      if (read[at]->share() < 0.999)
        add_notes(out.notes, {"'" + metric.expression +
                              "' shared the unit with other events: counted for a part of the time and scaled"});
      return;
    }
    case metric_spec::from::energy:
      for (std::size_t k = 0; k < meters.size(); ++k) {
        if (meters[k].first != i) continue;
        if (energy_before[k].empty() || energy_after[k].empty())
          into.missing = "its counter could not be read";
        else
          into.amount = meters[k].second.between(energy_before[k], energy_after[k]);
      }
      return;
    default:
      return;
    }
  }

  /// False where the trial has ended with it.
  bool take_metrics(const process_result& ended) {
    const auto& metrics = spec().run.metrics;
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      if (dropped[i]) continue;
      run_output run{&ended.out, ended.wall, {}};
      take_amount(i, ended, run);
      extracted taken;
      bool readable = true;
      if (!files[i].empty()) {
        auto content = read_end(files[i]);
        readable = content.ok();
        if (!readable && content.err().code == errc::internal) {
          fail(failure_kind::internal, content.err().message);
          return false;
        }
        if (readable)
          run.file = std::move(*content);
        else
          taken.data = "the metric '" + metrics[i].name + "' is missing: " + content.err().message;
      }
      if (readable) taken = (*readers)[i].extract(run);
      add_notes(out.notes, taken.notes);
      if (const auto* good = taken.samples()) {
        const auto kept = what->once() ? without_warm_up(*good, spec().run.warmup) : std::span<const double>(*good);
        if (i == spec().run.objective) {
          samples->add(kept);
        } else {
          further[i].add(kept);
          last[i] = good->back();
        }
      } else if (i == spec().run.objective) {
        finish(
            failure{failure_kind::bad_metric, printable(std::get<std::string>(taken.data)), ended.exit, std::nullopt});
        return false;
      } else {
        dropped[i] = true;
        add_notes(out.notes, {printable(std::get<std::string>(taken.data)) + ": left out"});
      }
    }
    return true;
  }

  void was_checked(const process_result& ended) {
    used(ended);
    auto failed =
        failure_of(ended, failure_kind::wrong_output, failure_kind::wrong_output, "check", spec().run.check.timeout);
    if (failed) return finish(std::move(*failed));
    checked = true;
    go_on();
  }

  void go_on() {
    if (!samples->enough()) {
      if (auto stopped = samples->hopeless(what->rival, what->of->metric().direction, what->noise))
        return finish(std::move(*stopped));
      return run_once();
    }
    measurement result = samples->result(out.notes);
    const auto& metrics = spec().run.metrics;
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      if (i == spec().run.objective || dropped[i]) continue;
      if (!further[i].samples().empty()) {
        result.metrics.emplace_back(metrics[i].name, summarize(further[i].steady()).value);
      } else if (metrics[i].of_processes()) {
        result.metrics.emplace_back(metrics[i].name, last[i]);
        add_notes(out.notes, {"the metric '" + metrics[i].name + "' is the warm-up's: it was the only run"});
      }
    }
    finish(std::move(result));
  }
};

command_runner::command_runner(std::shared_ptr<supervisor> processes, command_options options)
    : processes_(std::move(processes)), options_(std::move(options)) {}

command_runner::~command_runner() { cancel(); }

void command_runner::run(trial_ptr what, artifact_ptr built, callback done) {
  auto work = std::make_shared<job>(processes_);
  work->options = options_;
  work->what = std::move(what);
  work->built = std::move(built);
  work->done = std::move(done);
  if (readers_of_ != work->what->of) {
    auto readers = std::make_shared<std::vector<metric_reader>>();
    for (const metric_spec& metric : work->what->of->spec.run.metrics) {
      auto reader = metric_reader::make(metric);
      if (!reader) return work->fail(failure_kind::internal, reader.err().text());
      readers->push_back(std::move(*reader));
    }
    readers_ = std::move(readers);
    readers_of_ = work->what->of;
  }
  work->readers = readers_;
  in_hand_.is(std::shared_ptr<job_processes>(work, &work->processes));
  work->begin();
}

} // namespace attune::measure
