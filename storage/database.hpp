#pragma once

#include "core/error.hpp"

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune::storage {

/// The column families (storage/keys.hpp).
enum class family : std::uint8_t { meta, records, cache, best, sessions };
inline constexpr std::size_t family_count = 5;

/// The RocksDB database of a store: its options, its errors as ours, bounded memory, recovery from a full disk.
/// Thread-safety: reads from any thread; one writer at a time.
class database {
public:
  /// Errors: store_unusable (I/O, no space), store_busy, store_corrupt (a table, the manifest or a log is missing or
  /// damaged). `path` exists already; the folder is not made.
  static result<std::unique_ptr<database>> open(const std::string& path, bool read_only);
  ~database();

  rocksdb::ColumnFamilyHandle* handle(family f) const noexcept { return handles_[static_cast<std::size_t>(f)]; }

  /// One atomic write; on disk when it returns where `durable`. After a failure nothing of it counts, and the next call
  /// first tries to bring the database back to life.
  status write(rocksdb::WriteBatch& batch, bool durable);
  /// As a durable write(), for many rows: they become tables of their own, which the database takes over all at once,
  /// without a way through its log and its memory. For some thousand rows that takes longer than write(), for some ten
  /// thousand a fraction. Where the batch deletes a range it is written as by write().
  status write_tables(rocksdb::WriteBatch& batch);

  /// The value under `key`. false: there is none.
  result<bool> get(family f, std::string_view key, std::string& out) const;

  /// The same for many keys in ascending order: `found` is called with the place among them of each that is there, and
  /// its value. Costs a fraction of asking one by one.
  status get_many(family f, std::span<const std::string_view> sorted,
                  const std::function<void(std::size_t, std::string_view)>& found) const;

  /// Each key that begins with `prefix`, in order, from `from` (which begins with it, or is empty) on; until `visit`
  /// answers false.
  using visitor = std::function<bool(std::string_view key, std::string_view value)>;
  status scan(family f, std::string_view prefix, const visitor& visit, std::string_view from = {}) const;

  std::unique_ptr<rocksdb::Iterator> iterate(family f) const;

  /// Writes out what is in memory, so that the next opening need not replay the log.
  status flush();
  /// Rewrites every table without what is overwritten or deleted.
  status compact();
  /// Ends it from another thread: it answers `cancelled`. None can be begun any more.
  void end_compaction();
  /// Makes `folder`, which is not there, a database with what this one holds: links or copies of its files, or, of one
  /// that was opened for reading (whose owner may remove files), a new one with the same keys and values.
  status copy_to(const std::string& folder) const;
  /// About how many bytes the keys from `from` to before `to` take, on the disk and in memory.
  std::uint64_t approximate_bytes(family f, std::string_view from, std::string_view to) const;
  /// Reads every block of every table and compares its checksum.
  status verify_checksums();

  /// A number that grows with every write and never comes again.
  std::uint64_t sequence() const { return db_->GetLatestSequenceNumber(); }

  /// What was noticed on opening: a log with a torn end, as a killed process may leave it.
  const std::vector<std::string>& notices() const noexcept { return notices_; }
  /// What was found damaged on opening and is lost: a log (its file was kept beside the store).
  const std::vector<std::string>& losses() const noexcept { return losses_; }

  error error_of(const rocksdb::Status& s, const char* doing) const;

private:
  database() = default;
  status revive();

  std::string path_;
  bool read_only_ = false;
  bool failing_ = false;
  std::unique_ptr<rocksdb::DB> db_;
  std::array<rocksdb::ColumnFamilyHandle*, family_count> handles_{};
  std::vector<std::string> notices_, losses_;
};

} // namespace attune::storage
