#include "testing/fleet/disk.hpp"

#include "storage/cache.hpp"

namespace attune::testing {

namespace {

/// All goes through to the store, but for what is to fail.
class disk_port final : public storage::store_port {
public:
  disk_port(fleet_disk& disk) : disk_(disk) {} // NOLINT(google-explicit-constructor)

  const std::string& path() const override { return disk_.below().path(); }
  std::vector<std::string> notices() const override { return disk_.below().notices(); }
  result<std::shared_ptr<const storage::store>> view() const override { return disk_.below().view(); }
  std::vector<storage::recalled> recall(std::span<const trial_ptr> asked) override {
    return disk_.below().recall(asked);
  }
  bool knows_workload(const digest& workload) override { return disk_.below().knows_workload(workload); }
  status append(std::span<storage::record_item> records, std::span<const storage::step_item> steps) override {
    if (disk_.trouble) return *disk_.trouble;
    auto done = disk_.below().append(records, steps);
    if (done && disk_.written && !records.empty()) disk_.written(records);
    return done;
  }
  result<bool> begin_session(const storage::session_entry& session) override {
    if (disk_.trouble) return *disk_.trouble;
    return disk_.below().begin_session(session);
  }
  status erase_session(std::string_view id) override { return disk_.below().erase_session(id); }
  void end_session(std::string_view id, nanoseconds spent) override { disk_.below().end_session(id, spent); }
  void touch(std::span<const storage::cache_use> used) override { disk_.below().touch(used); }
  void drop_cached(std::span<const key128> gone) override { disk_.below().drop_cached(gone); }
  void count(const storage::cache_figures& since_last, std::span<const storage::task_uses> by_task) override {
    disk_.below().count(since_last, by_task);
  }
  result<std::uint64_t> drop_cached(const digest& task) override { return disk_.below().drop_cached(task); }
  status append_new(std::span<storage::foreign_record> records) override { return disk_.below().append_new(records); }
  result<std::vector<storage::forgotten>> forget(std::span<const digest> tasks,
                                                 const storage::retention& how) override {
    return disk_.below().forget(tasks, how);
  }
  status compact() override { return disk_.below().compact(); }
  bool claim(const trial& what, bool anew, nanoseconds limit) override {
    return disk_.below().claim(what, anew, limit);
  }
  void release(const key128& key) override { disk_.below().release(key); }
  void listen(std::function<void(std::vector<storage::claim_answer>)> hear) override {
    disk_.below().listen(std::move(hear));
  }
  void on_forgotten(std::function<void(std::vector<digest>)> hear) override {
    disk_.below().on_forgotten(std::move(hear));
  }

private:
  fleet_disk& disk_;
};

} // namespace

result<std::unique_ptr<fleet_disk>> fleet_disk::make(const std::string& folder) {
  auto opened = storage::open_exclusive(folder);
  if (!opened) return opened.err();
  auto out = std::make_unique<fleet_disk>();
  out->store_ = std::move(*opened);
  return out;
}

std::unique_ptr<storage::store_port> fleet_disk::connect() { return std::make_unique<disk_port>(*this); }

} // namespace attune::testing
