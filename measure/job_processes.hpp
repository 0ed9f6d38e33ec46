#pragma once

#include "measure/supervisor.hpp"

#include <memory>
#include <mutex>
#include <utility>

namespace attune::measure {

/// The processes of one job, one after the other, until it is cancelled. Thread-safe.
class job_processes {
public:
  explicit job_processes(std::shared_ptr<supervisor> of) : of_(std::move(of)) {}

  /// False, and nothing is started, where the job was cancelled.
  bool start(process_request what, supervisor::callback done) {
    std::lock_guard lock(mutex_);
    if (cancelled_) return false;
    running_ = of_->start(std::move(what), std::move(done));
    return true;
  }
  void cancel() {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
    if (running_ != 0) of_->cancel(running_);
  }
  measure::scratch& scratch() const noexcept { return of_->scratch(); }

private:
  std::shared_ptr<supervisor> of_;
  std::mutex mutex_;
  supervisor::process_id running_ = 0;
  bool cancelled_ = false;
};

/// The job that a builder or a runner has in hand, if any, to be cancelled from another thread. Thread-safe.
class job_in_hand {
public:
  void is(std::weak_ptr<job_processes> which) {
    std::lock_guard lock(mutex_);
    which_ = std::move(which);
  }
  void cancel() {
    std::unique_lock lock(mutex_);
    const auto job = which_.lock();
    lock.unlock();
    if (job) job->cancel();
  }

private:
  std::mutex mutex_;
  std::weak_ptr<job_processes> which_;
};

} // namespace attune::measure
