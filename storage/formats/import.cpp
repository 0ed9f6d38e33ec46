#include "storage/formats/import.hpp"

#include "core/task.hpp"
#include "storage/formats/common.hpp"

#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace attune::storage::formats {
namespace {

/// Of so many the store makes tables (storage/database.hpp), which is the quick way; about 1 kB each.
constexpr std::size_t together = 16384;

/// Fills in what the file's own value was, where the new one is another.
void restate(measurement& m, const std::function<void(measurement&)>& with) {
  const double stated = m.value;
  with(m);
  if (m.value != stated) m.metrics.emplace_back(stated_metric, stated);
}

/// Records on their way from the file to the store, with what was met among them.
struct batch {
  std::vector<entry> entries{together};
  std::vector<foreign_record> records;
  std::vector<damage> damages;
  std::uint64_t failures = 0, by_median = 0;
  bool last = false;

  void clear() {
    records.clear();
    damages.clear();
    failures = by_median = 0;
    last = false;
  }
};

/// Reads on a thread of its own while the store writes what was read before: two batches go round, so that there is
/// never more in memory.
class ahead {
public:
  ahead(reader& from, const std::function<void(measurement&)>& with) : from_(from), restate_(with) {
    free_ = {&batches_[0], &batches_[1]};
    thread_ = std::thread([this] { run(); });
  }
  ~ahead() {
    {
      const std::lock_guard guard(lock_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  ahead(const ahead&) = delete;
  ahead& operator=(const ahead&) = delete;

  /// The next one; it is the caller's until give_back().
  batch& next() {
    std::unique_lock guard(lock_);
    changed_.wait(guard, [&] { return !full_.empty(); });
    auto& out = *full_.front();
    full_.pop_front();
    return out;
  }
  void give_back(batch& b) {
    {
      const std::lock_guard guard(lock_);
      free_.push_back(&b);
    }
    changed_.notify_all();
  }

private:
  void run() {
    for (bool last = false; !last;) {
      batch* b = nullptr;
      {
        std::unique_lock guard(lock_);
        changed_.wait(guard, [&] { return stop_ || !free_.empty(); });
        if (stop_) return;
        b = free_.front();
        free_.pop_front();
      }
      b->clear();
      fill(*b);
      last = b->last;
      {
        const std::lock_guard guard(lock_);
        full_.push_back(b);
      }
      changed_.notify_all();
    }
  }

  void fill(batch& b) {
    damage what;
    while (b.records.size() < together && b.damages.size() < together) {
      auto& e = b.entries[b.records.size()];
      const auto step = from_.next(e, what);
      if (step == reader::step::end) {
        b.last = true;
        return;
      }
      if (step == reader::step::damaged) {
        b.damages.push_back(what);
        continue;
      }
      if (auto* m = std::get_if<measurement>(&e.result.data); m != nullptr && e.by_samples) {
        restate(*m, restate_);
        ++b.by_median;
      }
      b.failures += e.result.failed() == nullptr ? 0 : 1;
      identity_.task_key = e.task->task;
      const auto canonical = e.config.canonical();
      b.records.push_back(
          {e.task.get(), measurement_key(identity_, canonical), &e.config, &e.result, e.session, canonical.size()});
    }
  }

  reader& from_;
  const std::function<void(measurement&)>& restate_;
  task_identity identity_; ///< of which the key alone is asked
  std::array<batch, 2> batches_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<batch*> free_, full_;
  bool stop_ = false;
  std::thread thread_;
};

} // namespace

result<import_report> import_records(store& into, source& from, const format& as, const import_options& options) {
  return import_records([&into](std::span<foreign_record> records) { return into.append_new(records); }, from, as,
                        options);
}

result<import_report> import_records(const append_records& append, source& from, const format& as,
                                     const import_options& options) {
  import_report report;
  auto read_as = options.read;
  read_as.stated |= !options.restate;
  const auto reading = as.read(from, read_as);
  const auto tell = [&](const damage& what) {
    ++report.damages;
    if (report.damaged.size() < import_report::most_damages) report.damaged.push_back(what);
    if (options.damaged) options.damaged(what);
  };
  {
    ahead batches(*reading, options.restate);
    for (bool last = false; !last;) {
      auto& b = batches.next();
      last = b.last;
      for (const auto& d : b.damages) tell(d);
      if (auto kept = append(b.records); !kept) return kept.err();
      for (const auto& r : b.records) ++(r.added ? report.added : report.duplicates);
      report.read += b.records.size();
      report.failures += b.failures;
      report.by_median += b.by_median;
      batches.give_back(b);
    }
  }
  if (const auto ended = reading->error(); !ended) tell({0, ended.err().message});
  report.format = reading->format();
  report.comments = reading->comments();
  report.others = reading->others();
  report.warnings = reading->warnings();
  return report;
}

} // namespace attune::storage::formats
