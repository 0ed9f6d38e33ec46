#include "storage/store_port.hpp"

#include "storage/cache.hpp"

#include <mutex>
#include <set>

namespace attune::storage {

namespace {

class exclusive_port final : public store_port {
public:
  explicit exclusive_port(std::unique_ptr<store> s) : store_(std::move(s)) {}

  const std::string& path() const override { return store_->path(); }
  std::vector<std::string> notices() const override { return store_->notices(); }
  result<std::shared_ptr<const store>> view() const override { return std::shared_ptr<const store>(store_); }
  std::vector<recalled> recall(std::span<const trial_ptr> asked) override { return store_->recall(asked); }
  bool knows_workload(const digest& workload) override { return store_->knows_workload(workload); }
  status append(std::span<record_item> records, std::span<const step_item> steps) override {
    return store_->append(records, steps);
  }
  result<bool> begin_session(const session_entry& session) override {
    if (auto begun = store_->begin_session(session); !begun) return begun.err();
    const std::lock_guard guard(lock_);
    under_way_.insert(session.id);
    return true;
  }
  status erase_session(std::string_view id) override { return store_->erase_session(id); }
  void end_session(std::string_view id, nanoseconds spent) override {
    // Where it cannot be written, the session only goes on for longer.
    [[maybe_unused]] const auto done = store_->add_spent(id, spent);
    const std::lock_guard guard(lock_);
    under_way_.erase(std::string(id));
  }
  void touch(std::span<const cache_use> used) override { store_->touch(used); }
  void drop_cached(std::span<const key128> gone) override { store_->drop_cached(gone); }
  void count(const cache_figures& since_last, std::span<const task_uses> by_task) override {
    store_->count(since_last, by_task);
  }
  result<std::uint64_t> drop_cached(const digest& task) override {
    auto dropped = store_->drop_cached(task);
    if (dropped) tell({task});
    return dropped;
  }
  status append_new(std::span<foreign_record> records) override { return store_->append_new(records); }
  result<std::vector<forgotten>> forget(std::span<const digest> tasks, const retention& how) override {
    std::vector<std::string> sessions;
    {
      const std::lock_guard guard(lock_);
      sessions.assign(under_way_.begin(), under_way_.end());
    }
    auto done = store_->forget(tasks, how, false, sessions);
    if (done) tell({tasks.begin(), tasks.end()});
    return done;
  }
  status compact() override { return store_->compact(); }
  bool claim(const trial&, bool, nanoseconds) override { return true; }
  void release(const key128&) override {}
  void listen(std::function<void(std::vector<claim_answer>)>) override {}
  void on_forgotten(std::function<void(std::vector<digest>)> hear) override {
    const std::lock_guard guard(lock_);
    hear_ = std::move(hear);
  }

private:
  void tell(std::vector<digest> tasks) {
    const std::lock_guard guard(lock_);
    if (hear_) hear_(std::move(tasks));
  }

  std::shared_ptr<store> store_;
  std::mutex lock_;
  std::set<std::string> under_way_;
  std::function<void(std::vector<digest>)> hear_;
};

} // namespace

result<std::unique_ptr<store_port>> open_exclusive(const std::string& directory, const cache_limits& cache) {
  store_options how;
  how.cache = cache;
  auto opened = store::open(directory, how);
  if (!opened) return opened.err();
  return std::unique_ptr<store_port>(std::make_unique<exclusive_port>(std::move(*opened)));
}

} // namespace attune::storage
