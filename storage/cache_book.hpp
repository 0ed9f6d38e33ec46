#pragma once

#include "core/hash.hpp"
#include "proto/attune.pb.h"
#include "storage/database.hpp"
#include "storage/store.hpp"

#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace attune::storage {

/// The cache's entries on the disk in their exact order of use, within bounds: each has a stamp, and a place in the
/// order under that stamp. What is evicted is remembered for a while, as many as the entries may be, so that a miss can
/// be told from one of something new. Nothing of it is held in memory but the sums, what the write that is being made
/// changes, and the log.
///
/// The log: while the cache is far from its limits and nothing was ever evicted, nobody asks for the order, and a use
/// is only written down with its stamp (24 bytes) instead of being given its place (three rows). Its places are made
/// when the limits come near (fold()); till then the log is in memory too, one stamp for each key that was used.
///
/// Between begin() and committed() or abandoned() the writer's functions add to that write; readers see what is on the
/// disk. Threads: find() and the sums from any; the rest by the writer alone.
class cache_book {
public:
  struct entry {
    std::uint32_t task = 0;
    record_id record = 0; ///< 0: evicted, remembered
    std::uint64_t stamp = 0, bytes = 0;
    friend bool operator==(const entry&, const entry&) = default;
  };

  explicit cache_book(const database& db) : db_(db) {}

  /// Reads the sums, and raises `stamp` to the last that was given. Errors: store_corrupt.
  status load(std::uint64_t& stamp);

  /// The same with what the write that is being made has changed.
  std::optional<entry> current(const key128& key) const;
  /// What is on the disk under this key. What cannot be read is not there: it is a miss, and verify() tells.
  std::optional<entry> find(const key128& key) const;
  /// The same for many, in their order, for a fraction of it each.
  std::vector<std::optional<entry>> find(std::span<const key128> keys) const;

  std::uint64_t entries() const noexcept { return shown_entries_; }
  std::uint64_t bytes() const noexcept { return shown_bytes_; }

  /// `stamp` is the last that was given, and goes on.
  void begin(rocksdb::WriteBatch& into, std::uint64_t& stamp);
  /// As the newest, in place of what was there. `on_disk`: what find() has said, where it was asked.
  void put(const key128& key, std::uint32_t task, record_id record, std::uint64_t bytes,
           const std::optional<entry>* on_disk = nullptr);
  /// It becomes the newest; a fresh one (cache_use) only where something older than it was used after it was written.
  /// False: not there.
  bool use(const key128& key, bool fresh);
  /// True where use() only writes down: `more` entries are about to come.
  bool at_ease(const cache_limits& limits, std::uint64_t more = 0) const noexcept;
  /// Gives what is in the log its places. In a write of its own, before one that may evict.
  void fold();
  /// There is more than the limits: the next write evicts.
  bool over(const cache_limits& limits) const noexcept {
    return now_.entries > limits.entries || now_.bytes > limits.bytes;
  }
  bool logged() const noexcept { return !later_.empty(); }
  /// The keys whose last use is in the log, oldest first.
  std::vector<std::pair<std::uint64_t, key128>> log() const;

  /// Many at once: the rows of use() between the two go into the write in the order of their keys, which costs the
  /// database less. Nothing else is written meanwhile.
  void begin_uses(bool log) {
    together_ = true;
    logging_ = log;
  }
  void end_uses();
  /// True where it was there.
  bool drop(const key128& key);
  /// Evicts the oldest as long as there is more than the limits: how many. Where the write makes places of what is in
  /// the log, it leaves that to the next one.
  std::uint64_t trim(const cache_limits& limits);
  /// The sums go into the write.
  void finish();
  void committed();
  void abandoned();

  /// For a migration, which finds the entries in their order: the sums begin anew, and each is the newest. Nothing may
  /// have looked at these keys in this write.
  void clear_sums() { now_ = {}; }
  void adopt(const key128& key, std::uint32_t task, record_id record, std::uint64_t bytes);

private:
  struct sums {
    std::uint64_t entries = 0, bytes = 0, oldest = 0, remembered = 0, oldest_remembered = 0, stamp = 0;
    friend bool operator==(const sums&, const sums&) = default;
  };
  void put_entry(const key128& key, const entry& e);
  void put_place(const key128& key, const entry& e);
  void write(const key128& key, const entry& e);
  void take_out(const key128& key, const entry& e);
  void evict(const key128& key, const entry& e);
  void forget_evicted(std::uint64_t most);
  template <class Visit>
  void walk(char tag, std::uint64_t from, const Visit& visit);

  const database& db_;
  rocksdb::WriteBatch* batch_ = nullptr;
  std::uint64_t* stamp_ = nullptr;
  std::unordered_map<key128, std::optional<entry>> staged_; ///< by the write that is being made; none: taken out
  sums now_, before_;
  std::uint64_t last_used_ = 0, last_used_before_ = 0; ///< the newest stamp that a use has left
  bool together_ = false, logging_ = false;
  mutable std::mutex later_lock_;                                     ///< the writer changes later_ under it
  std::unordered_map<key128, std::uint64_t> later_;                   ///< stamps of uses that are in the log alone
  std::vector<std::pair<key128, std::optional<std::uint64_t>>> undo_; ///< of later_, for abandoned()
  bool folded_ = false;
  std::unordered_map<key128, std::uint64_t> before_fold_;
  std::string log_row_;
  std::uint64_t log_first_ = 0;
  std::vector<std::pair<key128, entry>> rows_; ///< of use(), that wait for end_uses()
  std::atomic<std::uint64_t> shown_entries_{0}, shown_bytes_{0};
  std::string key_, value_;
  v1::CacheEntry entry_message_;
  v1::CachePlace place_message_;
};

} // namespace attune::storage
