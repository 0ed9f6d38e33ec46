#include "actors/local_workers.hpp"

#include "measure/command_builder.hpp"
#include "measure/command_runner.hpp"
#include "measure/machine_slot.hpp"
#include "measure/supervisor.hpp"

#include <utility>

namespace attune::actors {

result<std::shared_ptr<measure::supervisor>> lazy_supervisor::get() {
  const std::lock_guard guard(lock_);
  if (made_) return made_;
  measure::supervisor_options options;
  options.adopt_orphans = subreaper_;
  auto made = measure::supervisor::create(options);
  if (made) made_ = *made;
  return made;
}

namespace {

/// What runs commands, made when the first is to be run; says why where that cannot be.
template <class Worker>
class lazy_worker {
public:
  lazy_worker(std::shared_ptr<lazy_supervisor> with, const std::vector<int>& cpus) : with_(std::move(with)) {
    options_.limits.cpus = cpus;
  }
  /// Calls `use` with the worker, or `refuse` with the failure.
  template <class Use, class Refuse>
  void with(Use use, Refuse refuse) {
    std::unique_lock guard(lock_);
    if (!made_) {
      const auto processes = with_->get();
      if (!processes) {
        guard.unlock();
        refuse(failure{failure_kind::internal, "no process can be run: " + processes.err().text(), {}, {}});
        return;
      }
      made_ = std::make_unique<Worker>(*processes, options_);
    }
    Worker& worker = *made_;
    guard.unlock();
    use(worker);
  }
  void cancel() {
    std::unique_lock guard(lock_);
    Worker* worker = made_.get();
    guard.unlock();
    if (worker != nullptr) worker->cancel();
  }

private:
  std::shared_ptr<lazy_supervisor> with_;
  measure::command_options options_;
  std::mutex lock_;
  std::unique_ptr<Worker> made_;
};

/// A slot of this machine: commands or callables, by the task. Commands wait for their turn where `turns` is given.
class local_runner final : public measure::runner, public std::enable_shared_from_this<local_runner> {
public:
  local_runner(std::shared_ptr<lazy_supervisor> with, measure::callable_runner::calling where,
               const std::vector<int>& cpus, std::shared_ptr<measure::machine_slot> turns,
               std::function<void()> waiting)
      : callables_(where, system_time(), cpus),
        commands_(std::move(with), cpus),
        turns_(std::move(turns)),
        waiting_(std::move(waiting)) {}
  void run(trial_ptr what, measure::artifact_ptr built, callback done) override {
    if (what->of->objective) {
      callables_.run(std::move(what), std::move(built), std::move(done));
    } else if (!turns_) {
      run_command(what, built, done);
    } else {
      {
        const std::lock_guard guard(lock_);
        on_cancel_ = done;
      }
      auto begin = [self = shared_from_this(), what, built, done](measure::machine_slot::turn turn) {
        self->run_command(what, built, [self, done, turn](measure::run_result r) {
          self->turns_->release();
          if (!turn.alone) r.notes.emplace_back("timed beside another process's run: its turn did not come");
          done(std::move(r));
        });
      };
      if (!turns_->acquire(std::move(begin))) waiting_();
    }
  }
  void cancel() override {
    if (turns_ && turns_->cancel()) {
      callback done;
      {
        const std::lock_guard guard(lock_);
        done = std::exchange(on_cancel_, nullptr);
      }
      done({failure{failure_kind::cancelled, "cancelled", {}, {}}, {}, {}, {}});
      return;
    }
    callables_.cancel();
    commands_.cancel();
  }

private:
  void run_command(const trial_ptr& what, const measure::artifact_ptr& built, const callback& done) {
    commands_.with([&](measure::command_runner& how) { how.run(what, built, done); },
                   [&](failure why) {
                     done({std::move(why), {}, {}, {}});
                   });
  }

  measure::callable_runner callables_;
  lazy_worker<measure::command_runner> commands_;
  std::shared_ptr<measure::machine_slot> turns_;
  std::function<void()> waiting_;
  std::mutex lock_;
  callback on_cancel_; ///< who hears of a run that is called back while it waits
};

class local_builder final : public measure::builder {
public:
  local_builder(std::shared_ptr<lazy_supervisor> with, const std::vector<int>& cpus)
      : commands_(std::move(with), cpus) {}
  void build(trial_ptr what, callback done) override {
    commands_.with([&](measure::command_builder& how) { how.build(what, done); },
                   [&](failure why) {
                     done({std::move(why), {}, {}, {}});
                   });
  }
  void cancel() override { commands_.cancel(); }

private:
  lazy_worker<measure::command_builder> commands_;
};

} // namespace

std::shared_ptr<measure::runner> make_local_runner(std::shared_ptr<lazy_supervisor> processes,
                                                   measure::callable_runner::calling where,
                                                   const std::vector<int>& cpus,
                                                   std::shared_ptr<measure::machine_slot> turns,
                                                   std::function<void()> waiting) {
  return std::make_shared<local_runner>(std::move(processes), where, cpus, std::move(turns), std::move(waiting));
}

std::shared_ptr<measure::builder> make_local_builder(std::shared_ptr<lazy_supervisor> processes,
                                                     const std::vector<int>& cpus) {
  return std::make_shared<local_builder>(std::move(processes), cpus);
}

} // namespace attune::actors
