#include "measure/callable_runner.hpp"

#include "core/text.hpp"
#include "core/thread_time.hpp"
#include "measure/metric.hpp"
#include "measure/protocol.hpp"
#include "measure/statistics.hpp"
#include "measure/topology.hpp"
#include "measure/trial_process.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

namespace attune::measure {

/// Asks the call in progress to stop at its limit. A call costs no system call here: the thread is woken only when it
/// sleeps without end or beyond the limit, and goes on looking until a whole sleep has passed without a call.
class callable_runner::watch {
public:
  using clock = std::chrono::steady_clock;
  enum class ending { returned, limit, cancelled };

  watch() : thread_([this] { look(); }) {}
  ~watch() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
      if (stop_) stop_->request_stop();
    }
    changed_.notify_all();
    thread_.join();
  }

  std::stop_token begin(nanoseconds limit) {
    std::lock_guard lock(mutex_);
    stop_.emplace();
    ending_ = ending::returned;
    ++calls_;
    auto now = clock::now();
    deadline_ = limit > nanoseconds{0} && limit < std::chrono::hours(24 * 365) ? now + limit : clock::time_point::max();
    if (cancelled_) {
      ending_ = ending::cancelled;
      stop_->request_stop();
    }
    if (deadline_ < wake_) changed_.notify_all();
    return stop_->get_token();
  }

  ending end() {
    std::lock_guard lock(mutex_);
    // The thread may be late; the limit is not.
    if (ending_ == ending::returned && clock::now() >= deadline_) ending_ = ending::limit;
    deadline_ = clock::time_point::max();
    stop_.reset();
    return ending_;
  }

  void open() {
    std::lock_guard lock(mutex_);
    cancelled_ = false;
    in_run_ = true;
  }
  void close() {
    std::lock_guard lock(mutex_);
    in_run_ = false;
  }
  bool cancelled() {
    std::lock_guard lock(mutex_);
    return cancelled_;
  }
  void cancel() {
    std::lock_guard lock(mutex_);
    if (!in_run_) return;
    cancelled_ = true;
    if (stop_ && ending_ == ending::returned) {
      ending_ = ending::cancelled;
      stop_->request_stop();
    }
  }

private:
  void look() {
    std::unique_lock lock(mutex_);
    std::uint64_t seen = 0;
    while (!over_) {
      auto now = clock::now();
      if (stop_ && ending_ == ending::returned && now >= deadline_) {
        ending_ = ending::limit;
        deadline_ = clock::time_point::max();
        stop_->request_stop();
      }
      if (deadline_ != clock::time_point::max()) last_limit_ = deadline_;
      // Between two calls there is no deadline: the last one's is kept for a look, in case calls go on.
      wake_ = deadline_ != clock::time_point::max() ? deadline_
              : calls_ != seen && last_limit_ > now ? last_limit_
                                                    : clock::time_point::max();
      seen = calls_;
      if (wake_ == clock::time_point::max())
        changed_.wait(lock);
      else
        changed_.wait_until(lock, wake_);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::stop_source> stop_;
  ending ending_ = ending::returned;
  clock::time_point deadline_ = clock::time_point::max(), wake_ = clock::time_point::max();
  clock::time_point last_limit_{};
  std::uint64_t calls_ = 0;
  bool cancelled_ = false, in_run_ = false, over_ = false;
  std::thread thread_;
};

/// The thread that calls, one job at a time.
class callable_runner::caller {
public:
  explicit caller(std::vector<int> cpus) : cpus_(std::move(cpus)), thread_([this] { work(); }) {}
  ~caller() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void give(std::function<void()> job) {
    {
      std::lock_guard lock(mutex_);
      job_ = std::move(job);
    }
    changed_.notify_all();
  }

private:
  void work() {
    const confined at_slot(cpus_);
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return over_ || job_; });
      if (!job_) return;
      auto job = std::exchange(job_, nullptr);
      lock.unlock();
      job();
      job = nullptr; // with all that it holds, before the next is waited for
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;
  bool over_ = false;
  std::vector<int> cpus_;
  std::thread thread_;
};

callable_runner::callable_runner(calling where, const time_source& clock, std::vector<int> cpus)
    : where_(where), clock_(clock), cpus_(std::move(cpus)), watch_(std::make_unique<watch>()) {}

callable_runner::~callable_runner() {
  // A call in progress is asked to stop before its thread is waited for.
  watch_->cancel();
  caller_.reset();
}

void callable_runner::cancel() { watch_->cancel(); }

void callable_runner::run(trial_ptr what, artifact_ptr, callback done) {
  // Open from here on, so that a cancel() right behind is not too early.
  watch_->open();
  if (where_ == calling::inside_run) return call(*what, done);
  if (!caller_) caller_ = std::make_unique<caller>(cpus_);
  caller_->give([this, what = std::move(what), done = std::move(done)] { call(*what, done); });
}

void callable_runner::call(const trial& what, const callback& done) {
  const task& task = *what.of;
  const run_spec& spec = task.spec.run;
  const metric_spec& metric = task.metric();
  run_result out;
  nanoseconds begun = clock_.monotonic();
  auto finish = [&](decltype(out.data) data) {
    watch_->close();
    out.data = std::move(data);
    out.elapsed = clock_.monotonic() - begun;
    done(std::move(out));
  };
  auto fail = [&](failure_kind kind, std::string message) {
    finish(failure{kind, std::move(message), std::nullopt, std::nullopt});
  };
  if (!task.objective) return fail(failure_kind::internal, "the task has no callable");

  // The further metrics that a callable can have: the CPU time of its calls, in seconds.
  const bool cpu = std::any_of(spec.metrics.begin(), spec.metrics.end(), [&](const metric_spec& m) {
    return m.source == metric_spec::from::cpu && &m != &metric;
  });
  series cpu_samples(what.once() ? 0 : spec.warmup);
  double cpu_last = 0;
  protocol samples(what);
  while (!samples.enough()) {
    std::variant<std::vector<double>, failure> got;
    if (watch_->cancelled()) return fail(failure_kind::cancelled, "the run was cancelled");
    const auto cpu_begun = cpu ? thread_time().monotonic() : nanoseconds{0};
    auto token = watch_->begin(spec.timeout);
    std::optional<std::string> thrown;
    try {
      got = task.objective(what.config, token);
    } catch (const std::exception& e) {
      thrown = e.what();
    } catch (...) {
      thrown = "the callable threw something that is no std::exception";
    }
    const auto how = watch_->end();
    if (cpu) {
      cpu_last = seconds(thread_time().monotonic() - cpu_begun);
      cpu_samples.add({&cpu_last, 1});
    }
    switch (how) {
    case watch::ending::returned:
      break;
    case watch::ending::limit:
      return fail(failure_kind::run_timeout, "the call reached its limit of " + human_duration(spec.timeout));
    case watch::ending::cancelled:
      return fail(failure_kind::cancelled, "the run was cancelled");
    }
    if (thrown) return fail(failure_kind::run_error, printable(*thrown));
    if (auto* failed = std::get_if<failure>(&got)) return finish(std::move(*failed));
    auto checked = check_samples(std::move(std::get<0>(got)), metric, metric.divisor());
    add_notes(out.notes, checked.notes);
    const auto* good = checked.samples();
    if (!good) return fail(failure_kind::bad_metric, std::get<std::string>(checked.data));
    samples.add(what.once() ? without_warm_up(*good, spec.warmup) : std::span<const double>(*good));
    if (samples.enough()) break;
    if (auto stopped = samples.hopeless(what.rival, metric.direction, what.noise)) return finish(std::move(*stopped));
  }
  measurement result = samples.result(out.notes);
  for (const metric_spec& m : spec.metrics)
    if (m.source == metric_spec::from::cpu && &m != &metric)
      result.metrics.emplace_back(m.name,
                                  cpu_samples.samples().empty() ? cpu_last : summarize(cpu_samples.steady()).value);
  finish(std::move(result));
}

} // namespace attune::measure
