#include "testing/fleet/disk.hpp"

#include "storage/cache.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace attune::testing {

namespace fs = std::filesystem;

/// All goes through to the store, but for what is to fail.
class disk_port final : public storage::store_port {
public:
  disk_port(fleet_disk& disk, std::unique_ptr<storage::store_port> store) : disk_(disk), store_(std::move(store)) {}

  const std::string& path() const override { return store_->path(); }
  std::vector<std::string> notices() const override { return store_->notices(); }
  result<std::shared_ptr<const storage::store>> view() const override { return store_->view(); }
  std::vector<storage::recalled> recall(std::span<const trial_ptr> asked) override { return store_->recall(asked); }
  bool knows_workload(const digest& workload) override { return store_->knows_workload(workload); }
  status append(std::span<storage::record_item> records, std::span<const storage::step_item> steps) override {
    if (auto good = ready(); !good) return good;
    const auto before = disk_.tears ? disk_.end_of_log() : fleet_disk::log_end();
    if (auto done = store_->append(records, steps); !done) return done;
    if (!records.empty() && std::exchange(disk_.tears, false)) {
      disk_.tear(before, records);
      return ready();
    }
    disk_.synced_ = disk_.end_of_log();
    if (disk_.written && !records.empty()) disk_.written(records);
    return {};
  }
  result<bool> begin_session(const storage::session_entry& session) override {
    if (auto good = ready(); !good) return good.err();
    auto begun = store_->begin_session(session);
    disk_.synced_ = disk_.end_of_log();
    return begun;
  }
  status erase_session(std::string_view id) override { return store_->erase_session(id); }
  void end_session(std::string_view id, nanoseconds spent) override { store_->end_session(id, spent); }
  void touch(std::span<const storage::cache_use> used) override { store_->touch(used); }
  void drop_cached(std::span<const key128> gone) override { store_->drop_cached(gone); }
  void count(const storage::cache_figures& since_last, std::span<const storage::task_uses> by_task) override {
    store_->count(since_last, by_task);
  }
  result<std::uint64_t> drop_cached(const digest& task) override { return store_->drop_cached(task); }
  status append_new(std::span<storage::foreign_record> records) override { return store_->append_new(records); }
  result<std::vector<storage::forgotten>> forget(std::span<const digest> tasks,
                                                 const storage::retention& how) override {
    return store_->forget(tasks, how);
  }
  status compact() override { return store_->compact(); }
  bool claim(const trial& what, bool anew, nanoseconds limit) override { return store_->claim(what, anew, limit); }
  void release(const key128& key) override { store_->release(key); }
  void listen(std::function<void(std::vector<storage::claim_answer>)> hear) override {
    store_->listen(std::move(hear));
  }
  void on_forgotten(std::function<void(std::vector<digest>)> hear) override { store_->on_forgotten(std::move(hear)); }

private:
  status ready() const {
    if (disk_.trouble) return *disk_.trouble;
    if (disk_.powerless_) return error{errc::store_unusable, "no space left, nor power", {}};
    return {};
  }

  fleet_disk& disk_;
  std::unique_ptr<storage::store_port> store_;
};

fleet_disk::fleet_disk(std::string folder, const std::string& blank, std::uint64_t seed)
    : folder_(std::move(folder)), rng_(seed) {
  std::error_code ec;
  if (!blank.empty()) fs::copy(blank, folder_, fs::copy_options::recursive, ec);
}

fleet_disk::log_end fleet_disk::end_of_log() {
  log_end out;
  std::error_code ec;
  // While it grows there is no newer one.
  if (!log_.file.empty())
    if (const auto size = fs::file_size(folder_ + "/" + log_.file, ec); !ec && size > log_.size) {
      log_.size = size;
      return log_;
    }
  for (const auto& entry : fs::directory_iterator(folder_, ec)) {
    const auto name = entry.path().filename().string();
    if (name.ends_with(".log") && name > out.file) out = {name, entry.file_size(ec)};
  }
  log_ = out;
  return out;
}

void fleet_disk::tear(const log_end& before, std::span<const storage::record_item> records) {
  auto after = end_of_log();
  // Where a new log was begun its first write is torn.
  const auto from = after.file == before.file ? before.size : 0;
  after.size = from + rng_.below(after.size - from + 1);
  cut_ = after;
  powerless_ = true;
  for (const auto& r : records) unsure_.push_back({r.what, r.result, r.cacheable, r.record});
  keep();
  if (torn) torn();
}

void fleet_disk::keep() {
  if (std::exchange(kept_, true)) return;
  // The database's own threads may just be taking away a file that it does not need any more.
  std::error_code ec, none;
  for (int i = 0; i < 100; ++i) {
    fs::copy(folder_, folder_ + ".kept", fs::copy_options::recursive, ec);
    if (!ec) return;
    fs::remove_all(folder_ + ".kept", none);
  }
}

void fleet_disk::dies(bool power) {
  keep();
  powerless_ = true;
  std::error_code ec;
  if (power && !cut_)
    if (auto end = end_of_log(); end.file == synced_.file) {
      end.size = synced_.size + rng_.below(end.size - synced_.size + 1);
      cut_ = end;
    }
  if (!cut_) return;
  const auto log = folder_ + ".kept/" + cut_->file;
  fs::resize_file(log, cut_->size, ec);
  // Of a block that was being written anything may be there.
  if (rng_.chance(0.3)) {
    std::string rest(1 + static_cast<std::size_t>(rng_.below(200)), '\0');
    if (rng_.chance(0.5))
      for (auto& c : rest) c = static_cast<char>(rng_.below(256));
    std::ofstream(log, std::ios::binary | std::ios::app) << rest;
  }
}

void fleet_disk::comes_back() {
  std::error_code ec;
  fs::remove_all(folder_, ec);
  fs::rename(folder_ + ".kept", folder_, ec);
  powerless_ = kept_ = false;
  cut_.reset();
  log_ = {};
}

/// False: of a torn write some records are there, and some are not.
result<bool> fleet_disk::settle(const storage::store& now) {
  std::vector<storage::record_item> there;
  const auto all = std::exchange(unsure_, {});
  for (const auto& u : all) {
    const auto found = now.find(u.record);
    if (!found) return found.err();
    if (*found && (*found)->key == u.what->key) there.push_back({u.what, u.result, {}, u.cacheable, u.record});
  }
  if (!there.empty() && written) written(there);
  return there.empty() || there.size() == all.size();
}

result<std::unique_ptr<storage::store_port>> fleet_disk::connect() {
  auto opened = storage::open_exclusive(folder_);
  if (!opened) return opened.err();
  synced_ = end_of_log();
  if (!(*opened)->notices().empty()) ++tails;
  if (!unsure_.empty()) {
    const auto view = (*opened)->view();
    if (!view) return view.err();
    const auto whole = settle(**view);
    if (!whole) return whole.err();
    if (!*whole) return error{errc::store_corrupt, "a write that was torn is there in part", {}};
  }
  return std::unique_ptr<storage::store_port>(std::make_unique<disk_port>(*this, std::move(*opened)));
}

} // namespace attune::testing
