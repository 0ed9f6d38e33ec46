#include "storage/database.hpp"

#include "storage/keys.hpp"

#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/file_checksum.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <system_error>
#include <thread>

namespace attune::storage {

namespace {

constexpr std::array<const char*, family_count> names{"meta", "records", "cache", "best", "sessions"};

/// Keeps the lines that say that a log lost something, and writes no file: the folder of a store that is only read
/// stays as it is, and an idle one costs nothing.
class notice_logger final : public rocksdb::Logger {
public:
  notice_logger() : rocksdb::Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {}
  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list args) override {
    char line[1024];
    if (std::vsnprintf(line, sizeof line, format, args) <= 0) return;
    const std::string_view text = line;
    if (text.find("dropping") == text.npos || text.find(".log") == text.npos) return;
    // Without where in RocksDB it was written; the same loss is said for each family, and is one.
    const auto at = text.find(".log: ");
    std::string what(at == text.npos ? text : text.substr(at + 6));
    const std::lock_guard guard(lock_);
    if (lines_.size() < bound && std::find(lines_.begin(), lines_.end(), what) == lines_.end())
      lines_.push_back(std::move(what));
  }
  std::vector<std::string> take() {
    const std::lock_guard guard(lock_);
    return std::exchange(lines_, {});
  }

private:
  static constexpr std::size_t bound = 16;
  std::mutex lock_;
  std::vector<std::string> lines_;
};

/// RocksDB would wait for free space by itself, by the clock, and for more of it than a small disk has; meanwhile
/// nobody else may bring it back. We do, with the next write.
class no_recovery_by_itself final : public rocksdb::EventListener {
public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status, bool* auto_recovery) override {
    *auto_recovery = false;
  }
};

rocksdb::DBOptions database_options(const std::shared_ptr<notice_logger>& log) {
  rocksdb::DBOptions o;
  o.create_if_missing = true;
  o.create_missing_column_families = true;
  o.info_log = log;
  o.listeners.push_back(std::make_shared<no_recovery_by_itself>());
  o.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  // Few threads, and none that wakes up by the clock: the machine may be timing a run.
  o.max_background_jobs = 2;
  // Compactions give way to whatever is timed. (The threads are the process's, and shared by all its databases.)
  [[maybe_unused]] const auto lowered =
      rocksdb::Env::Default()->LowerThreadPoolCPUPriority(rocksdb::Env::Priority::LOW, rocksdb::CpuPriority::kIdle);
  o.stats_dump_period_sec = 0;
  o.stats_persist_period_sec = 0;
  // One writer: no concurrency in the memtable to pay for.
  o.allow_concurrent_memtable_write = false;
  o.enable_write_thread_adaptive_yield = false;
  // Memory and the time of the next opening are bounded by these, whatever is written.
  o.db_write_buffer_size = 32u << 20;
  o.max_total_wal_size = 64u << 20;
  // A store shall fit on a small disk: nothing is reserved ahead.
  o.allow_fallocate = false;
  o.recycle_log_file_num = 0;
  o.manifest_preallocation_size = 64u << 10;
  o.max_manifest_file_size = 16u << 20;
  o.keep_log_file_num = 1;
  // A missing table is noticed on opening, a missing or cut log that is no longer the newest as well.
  o.max_open_files = -1;
  // The default begins sixteen threads for each family of columns, whatever there is to open.
  o.max_file_opening_threads = 1;
  o.track_and_verify_wals_in_manifest = true;
  o.skip_stats_update_on_db_open = true;
  // Blocks have checksums, but not the few unused bytes between them: verify() compares whole files too.
  o.file_checksum_gen_factory = rocksdb::GetFileChecksumGenCrc32cFactory();
  // What a killed process left half-written at the very end was told to nobody. Damage anywhere else is an error.
  o.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  return o;
}

rocksdb::ColumnFamilyOptions family_options(family f, const std::shared_ptr<rocksdb::Cache>& blocks) {
  rocksdb::ColumnFamilyOptions o;
  rocksdb::BlockBasedTableOptions t;
  t.block_cache = blocks;
  t.block_size = 16u << 10;
  t.format_version = 5;
  t.checksum = rocksdb::kXXH3;
  // Most keys that the cache is asked for are not in it.
  if (f == family::cache) t.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  t.cache_index_and_filter_blocks = true;
  // In pieces: a table's whole filter is larger than a part of the block cache, and would be read for every key.
  t.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  t.partition_filters = t.filter_policy != nullptr;
  t.pin_l0_filter_and_index_blocks_in_cache = true;
  o.table_factory.reset(rocksdb::NewBlockBasedTableFactory(t));
  o.compression = rocksdb::kLZ4Compression;
  o.bottommost_compression = rocksdb::kZSTD;
  o.bottommost_compression_opts.enabled = true;
  o.bottommost_compression_opts.level = 1;
  o.level_compaction_dynamic_level_bytes = true;
  o.max_write_buffer_number = 2;
  if (f == family::cache) {
    o.memtable_whole_key_filtering = true;
    o.memtable_prefix_bloom_size_ratio = 0.1;
  }
  o.write_buffer_size = (f == family::records || f == family::cache) ? (8u << 20) : (2u << 20);
  return o;
}

std::vector<rocksdb::ColumnFamilyDescriptor> descriptors() {
  // Small: it is full early, and the memory of a process stays flat from then on. What is asked for again and again is
  // in the caches above.
  const auto blocks = rocksdb::NewLRUCache(12u << 20, 1);
  std::vector<rocksdb::ColumnFamilyDescriptor> out;
  // RocksDB insists on a family of that name; nothing is ever in it.
  out.emplace_back(rocksdb::kDefaultColumnFamilyName, family_options(family::meta, blocks));
  for (std::size_t i = 0; i < family_count; ++i)
    out.emplace_back(names[i], family_options(static_cast<family>(i), blocks));
  return out;
}

rocksdb::Slice db_slice(std::string_view s) { return {s.data(), s.size()}; }
std::string_view view(const rocksdb::Slice& s) { return {s.data(), s.size()}; }

/// How the tables end that write_tables() makes, until the database has taken them over.
constexpr std::string_view new_table = ".new";

void remove_new_tables(const std::string& path) {
  std::error_code ec;
  std::vector<std::filesystem::path> left;
  for (const auto& e : std::filesystem::directory_iterator(path, ec))
    if (e.path().extension() == new_table) left.push_back(e.path());
  for (const auto& p : left) std::filesystem::remove(p, ec);
}

/// The rows of a batch by family; they point into the batch.
class row_sorter final : public rocksdb::WriteBatch::Handler {
public:
  struct row {
    std::uint64_t first = 0; ///< the key's first bytes, so that most comparisons look no further
    rocksdb::Slice key, value;
    bool gone = false;
  };
  explicit row_sorter(const std::array<rocksdb::ColumnFamilyHandle*, family_count>& handles) {
    for (std::size_t f = 0; f < family_count; ++f) ids_[f] = handles[f]->GetID();
  }
  rocksdb::Status PutCF(std::uint32_t id, const rocksdb::Slice& key, const rocksdb::Slice& value) override {
    return add(id, {first_of(key), key, value, false});
  }
  rocksdb::Status DeleteCF(std::uint32_t id, const rocksdb::Slice& key) override {
    return add(id, {first_of(key), key, {}, true});
  }
  rocksdb::Status DeleteRangeCF(std::uint32_t, const rocksdb::Slice&, const rocksdb::Slice&) override {
    return rocksdb::Status::NotSupported();
  }

  bool has(std::size_t f) const {
    return std::any_of(rows_[f].begin(), rows_[f].end(), [](const auto& stream) { return !stream.empty(); });
  }
  /// In the order of their keys; of several with one key the last alone; once. What comes in order costs no sorting.
  std::vector<row> sorted(std::size_t f) {
    const auto before = [](const row& a, const row& b) {
      return a.first != b.first ? a.first < b.first : a.key.compare(b.key) < 0;
    };
    std::vector<row> rows;
    for (auto& stream : rows_[f]) {
      if (!std::is_sorted(stream.begin(), stream.end(), before)) std::stable_sort(stream.begin(), stream.end(), before);
      if (rows.empty()) {
        rows = std::move(stream);
        continue;
      }
      std::vector<row> both;
      both.reserve(rows.size() + stream.size());
      std::merge(rows.begin(), rows.end(), stream.begin(), stream.end(), std::back_inserter(both), before);
      rows = std::move(both);
    }
    const auto same = [](const row& a, const row& b) { return a.first == b.first && a.key == b.key; };
    const auto begin = std::unique(rows.rbegin(), rows.rend(), same).base();
    rows.erase(rows.begin(), begin);
    return rows;
  }

private:
  static std::uint64_t first_of(const rocksdb::Slice& key) noexcept {
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < sizeof out; ++i)
      out = (out << 8) | (i < key.size() ? static_cast<unsigned char>(key[i]) : 0u);
    return out;
  }
  rocksdb::Status add(std::uint32_t id, row r) {
    const auto f = std::find(ids_.begin(), ids_.end(), id) - ids_.begin();
    if (f == static_cast<std::ptrdiff_t>(family_count)) return rocksdb::Status::NotSupported();
    rows_[static_cast<std::size_t>(f)][stream_of(static_cast<family>(f), r.key)].push_back(r);
    return rocksdb::Status::OK();
  }
  /// Rows of one kind follow each other in the order of their keys as a rule, those of several kinds alternate.
  static std::size_t stream_of(family f, const rocksdb::Slice& key) noexcept {
    if (key.empty()) return 0;
    if (f == family::cache) return key.size() == keys::place_size ? 1 : 0;
    return f != family::records || key[0] == keys::record ? 0 : key[0] == keys::content ? 1 : 2;
  }

  std::array<std::uint32_t, family_count> ids_{};
  std::array<std::array<std::vector<row>, 3>, family_count> rows_;
};

struct family_tables {
  rocksdb::Options options;
  rocksdb::IngestExternalFileArg tables;
  rocksdb::Status done;
};

/// Writes the rows of one family into files whose names begin with `name`.
void make_tables(family f, const std::vector<row_sorter::row>& sorted, const std::string& name, family_tables& out) {
  // Keys of the cache lie anywhere: its tables are merged later on, and compressed well then.
  if (f == family::cache) out.options.bottommost_compression = rocksdb::kDisableCompressionOption;
  out.tables.options.move_files = true;
  out.tables.options.write_global_seqno = false;   // its checksum stays what it is
  out.tables.options.verify_file_checksum = false; // it was computed while they were written
  auto& s = out.done;
  for (std::size_t at = 0; at < sorted.size() && s.ok();) {
    // A table for each kind of row among the records: those of a later write come behind these, and need no merging.
    const char kind = sorted[at].key[0];
    const std::string file = name + "-" + std::to_string(out.tables.external_files.size()) + std::string(new_table);
    rocksdb::SstFileWriter to(rocksdb::EnvOptions(), out.options, out.tables.column_family);
    s = to.Open(file);
    for (; at < sorted.size() && s.ok(); ++at) {
      const auto& r = sorted[at];
      if (f == family::records && r.key[0] != kind) break;
      s = r.gone ? to.Delete(r.key) : to.Put(r.key, r.value);
    }
    rocksdb::ExternalSstFileInfo about;
    if (s.ok()) s = to.Finish(&about);
    out.tables.external_files.push_back(file);
    out.tables.files_checksums.push_back(about.file_checksum);
    out.tables.files_checksum_func_names.push_back(about.file_checksum_func_name);
  }
}

/// The write-ahead logs, kept aside before a recovery that leaves out what is damaged.
std::string keep_logs(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ec;
  std::string to;
  for (int n = 1; n < 1000; ++n) {
    to = path + "/damaged-" + std::to_string(n);
    if (fs::create_directory(to, ec)) break;
  }
  for (const auto& e : fs::directory_iterator(path, ec))
    if (e.path().extension() == ".log") fs::copy_file(e.path(), to / e.path().filename(), ec);
  return to;
}

} // namespace

error database::error_of(const rocksdb::Status& s, const char* doing) const {
  const std::string what = std::string("cannot ") + doing + " the store '" + path_ + "': ";
  if (s.IsCorruption()) return {errc::store_corrupt, "the store '" + path_ + "' is damaged: " + s.ToString(), {}};
  if (s.IsPathNotFound() || (s.IsIOError() && s.ToString().find("No such file") != std::string::npos))
    return {errc::store_corrupt, "the store '" + path_ + "' is damaged, a file is missing: " + s.ToString(), {}};
  if (s.IsNoSpace() || s.subcode() == rocksdb::Status::kNoSpace)
    return {errc::store_unusable, what + "no space left on the disk", {}};
  return {errc::store_unusable, what + s.ToString(), {}};
}

result<std::unique_ptr<database>> database::open(const std::string& path, bool read_only) {
  auto out = std::unique_ptr<database>(new database());
  out->path_ = path;
  out->read_only_ = read_only;
  const auto log = std::make_shared<notice_logger>();
  auto options = database_options(log);
  const auto families = descriptors();
  if (!read_only) remove_new_tables(path); // of a process that was killed over them
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const auto attempt = [&] {
    handles.clear();
    return read_only ? rocksdb::DB::OpenForReadOnly(options, path, families, &handles, &db)
                     : rocksdb::DB::Open(options, path, families, &handles, &db);
  };
  auto s = attempt();
  // A reader beside a writer: a file may go between the manifest that names it and its opening.
  for (int i = 0; read_only && !s.ok() && i < 5; ++i) s = attempt();
  if (s.IsCorruption()) {
    // Perhaps only a log is damaged (a disk that lied, a power failure among unsynced steps): then what comes before
    // the damage is taken, the logs are kept, and it is said.
    options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
    options.track_and_verify_wals_in_manifest = false;
    const std::string kept = read_only ? std::string() : keep_logs(path);
    const std::string why = s.ToString();
    log->take();
    if (s = attempt(); s.ok())
      out->losses_.push_back("the write-ahead log is damaged, and what came after the damage is lost (" + why + ")" +
                             (kept.empty() ? "" : "; the damaged log was kept in '" + kept + "'"));
    else if (std::error_code ec; !kept.empty())
      std::filesystem::remove_all(kept, ec);
  }
  if (!s.ok()) {
    const bool busy = s.IsIOError() && s.ToString().find("lock") != std::string::npos;
    if (busy) return error{errc::store_busy, "the store '" + path + "' is in use by another process", {}};
    return out->error_of(s, "open");
  }
  out->db_.reset(db);
  // The first is the default family, which is not ours.
  db->DestroyColumnFamilyHandle(handles[0]);
  std::copy_n(handles.begin() + 1, family_count, out->handles_.begin());
  auto torn = log->take();
  if (!out->losses_.empty()) torn.clear(); // the same, said otherwise
  for (auto& line : torn) out->notices_.push_back("the end of the write-ahead log was torn: " + line);
  return out;
}

database::~database() {
  if (!db_) return;
  for (auto* h : handles_)
    if (h != nullptr) db_->DestroyColumnFamilyHandle(h);
  db_->Close();
}

status database::revive() {
  if (read_only_) return error{errc::store_unusable, "the store '" + path_ + "' is open for reading only", {}};
  if (failing_) {
    if (const auto s = db_->Resume(); !s.ok()) return error_of(s, "write to");
    failing_ = false;
  }
  return {};
}

status database::write_tables(rocksdb::WriteBatch& batch) {
  if (auto ready = revive(); !ready) return ready;
  row_sorter rows(handles_);
  if (!batch.Iterate(&rows).ok()) return write(batch, true);
  std::array<family_tables, family_count> made;
  const auto make = [&](std::size_t f) {
    make_tables(static_cast<family>(f), rows.sorted(f), path_ + "/" + std::to_string(f), made[f]);
  };
  // Side by side: much of it is waiting for the disk, once for each table.
  std::vector<std::jthread> beside;
  for (std::size_t f = 0; f < family_count; ++f) {
    if (!rows.has(f)) continue;
    made[f].options = db_->GetOptions(handles_[f]);
    made[f].tables.column_family = handles_[f];
    if (static_cast<family>(f) == family::records) continue;
    try {
      beside.emplace_back(make, f);
    } catch (const std::system_error&) {
      make(f); // no more threads are to be had
    }
  }
  constexpr auto records = static_cast<std::size_t>(family::records);
  if (rows.has(records)) make(records);
  beside.clear();
  rocksdb::Status s;
  std::vector<rocksdb::IngestExternalFileArg> taken;
  for (auto& m : made) {
    if (m.tables.column_family == nullptr) continue;
    if (s.ok()) s = m.done;
    taken.push_back(std::move(m.tables));
  }
  if (s.ok()) {
    s = db_->IngestExternalFiles(taken);
    failing_ = !s.ok();
  }
  remove_new_tables(path_);
  return s.ok() ? status() : status(error_of(s, "write to"));
}

status database::write(rocksdb::WriteBatch& batch, bool durable) {
  if (auto ready = revive(); !ready) return ready;
  rocksdb::WriteOptions o;
  o.sync = durable;
  if (const auto s = db_->Write(o, &batch); !s.ok()) {
    failing_ = true;
    return error_of(s, "write to");
  }
  return {};
}

result<bool> database::get(family f, std::string_view key, std::string& out) const {
  rocksdb::PinnableSlice value(&out);
  const auto s = db_->Get(rocksdb::ReadOptions(), handle(f), db_slice(key), &value);
  if (s.IsNotFound()) return false;
  if (!s.ok()) return error_of(s, "read");
  if (value.IsPinned()) out.assign(value.data(), value.size());
  return true;
}

status database::get_many(family f, std::span<const std::string_view> sorted,
                          const std::function<void(std::size_t, std::string_view)>& found) const {
  constexpr std::size_t together = 256;
  std::vector<rocksdb::Slice> asked;
  std::array<rocksdb::PinnableSlice, together> values;
  std::array<rocksdb::Status, together> said;
  for (std::size_t at = 0; at < sorted.size(); at += together) {
    const auto count = std::min(together, sorted.size() - at);
    asked.clear();
    for (std::size_t k = 0; k < count; ++k) asked.push_back(db_slice(sorted[at + k]));
    db_->MultiGet(rocksdb::ReadOptions(), handle(f), count, asked.data(), values.data(), said.data(), true);
    for (std::size_t k = 0; k < count; ++k) {
      if (said[k].ok())
        found(at + k, view(values[k]));
      else if (!said[k].IsNotFound())
        return error_of(said[k], "read");
      values[k].Reset();
    }
  }
  return {};
}

std::unique_ptr<rocksdb::Iterator> database::iterate(family f) const {
  rocksdb::ReadOptions o;
  // A scan of everything shall not push out what is asked for often.
  o.fill_cache = false;
  o.readahead_size = 0;
  return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(o, handle(f)));
}

status database::scan(family f, std::string_view prefix, const visitor& visit, std::string_view from) const {
  const auto it = iterate(f);
  for (it->Seek(db_slice(from.empty() ? prefix : from)); it->Valid(); it->Next()) {
    const auto key = view(it->key());
    if (!key.starts_with(prefix) || !visit(key, view(it->value()))) break;
  }
  if (!it->status().ok()) return error_of(it->status(), "read");
  return {};
}

status database::flush() {
  rocksdb::FlushOptions o;
  o.allow_write_stall = true;
  const std::vector<rocksdb::ColumnFamilyHandle*> all(handles_.begin(), handles_.end());
  for (auto* h : all)
    if (const auto s = db_->Flush(o, h); !s.ok()) return error_of(s, "write to");
  return {};
}

status database::compact() {
  if (auto done = flush(); !done) return done;
  rocksdb::CompactRangeOptions o;
  o.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  for (auto* h : handles_)
    if (const auto s = db_->CompactRange(o, h, nullptr, nullptr); !s.ok())
      return s.IsIncomplete() ? status(error{errc::cancelled, "the compaction was ended", {}}) : error_of(s, "compact");
  return {};
}

void database::end_compaction() { db_->DisableManualCompaction(); }

status database::copy_to(const std::string& folder) const {
  if (!read_only_) {
    rocksdb::Checkpoint* raw = nullptr;
    auto s = rocksdb::Checkpoint::Create(db_.get(), &raw);
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
    if (s.ok()) s = checkpoint->CreateCheckpoint(folder);
    return s.ok() ? status() : status(error_of(s, "back up"));
  }
  std::error_code ec;
  if (!std::filesystem::create_directory(folder, ec))
    return error{errc::io, "cannot make '" + folder + "': " + ec.message(), {}};
  auto to = open(folder, false);
  if (!to) return to.err();
  rocksdb::WriteOptions unlogged;
  unlogged.disableWAL = true; // flushed below
  constexpr std::size_t together = 1u << 20;
  for (std::size_t f = 0; f < family_count; ++f) {
    rocksdb::WriteBatch batch;
    const auto it = iterate(static_cast<family>(f));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      batch.Put((*to)->handles_[f], it->key(), it->value());
      if (batch.GetDataSize() < together) continue;
      if (const auto s = (*to)->db_->Write(unlogged, &batch); !s.ok()) return (*to)->error_of(s, "write to");
      batch.Clear();
    }
    if (!it->status().ok()) return error_of(it->status(), "read");
    if (const auto s = (*to)->db_->Write(unlogged, &batch); !s.ok()) return (*to)->error_of(s, "write to");
  }
  return (*to)->flush();
}

std::uint64_t database::approximate_bytes(family f, std::string_view from, std::string_view to) const {
  rocksdb::SizeApproximationOptions o;
  o.include_memtables = true;
  o.include_files = true;
  const rocksdb::Range range(db_slice(from), db_slice(to));
  std::uint64_t out = 0;
  return db_->GetApproximateSizes(o, handle(f), &range, 1, &out).ok() ? out : 0;
}

status database::verify_checksums() {
  if (const auto s = db_->VerifyChecksum(); !s.ok()) return error_of(s, "read");
  if (const auto s = db_->VerifyFileChecksums(rocksdb::ReadOptions()); !s.ok()) return error_of(s, "read");
  return {};
}

} // namespace attune::storage
