// How a store lies on the disk, schema 3. A store is a folder (mode 0700) that holds one RocksDB database and three
// small files. Every value and every file is one Protobuf message of proto/attune.proto; keys are bytes whose order is
// the order of reading (BE32, BE64: big-endian unsigned).
//
//   file SCHEMA        Meta          read before anything is opened: a newer schema is refused, untouched
//   file OWNER         Owner         locked (flock) by the one process that may write
//   file ACKNOWLEDGED  Acknowledged  written in place after each durable append: what must be found again on opening
//   file SLOTS                       empty; its bytes are locked while a run is timed (measure/machine_slot.hpp)
//   socket SOCKET                    where the owner serves other processes, while it lives (net/socket_place.hpp)
//
//   column family   key                                value
//   meta            'v'                                Meta
//                   'c'                                Counters
//                   't' task digest (32)               Task           number and canonical forms, once for each task
//                   'k' BE32 task                      TaskCounts
//                   'n' BE32 names                     Names          parameter names, shared by records
//                   'o' sender (16)                    Sender         how far another process has come in sending
//                   'x'                                Indexed        up to which record the contents' index goes
//                   'h' BE32 task                      TaskUses
//                   'l' BE64 stamp                     uses that have no place in the order yet: key (16), BE64 stamp,
//                   … 'q'                                CacheTotals 'u' BE64 stamp                     Uses of cache
//                   entries, later than theirs (schema 2)
//   records         'r' BE32 task  BE64 record         Record         a task's records lie together, oldest first
//                   'i' BE64 first record              IdRun          record number -> task, one for each run of
//                   records
//                   'x' BE32 task  BE64 time  BE64 hash  RecordReference  by content, made when records are imported:
//                                                      a hint, for a record that is gone may still be named
//   cache           key (16)                           CacheEntry
//                   'o' BE64 stamp                     CachePlace     every entry, in the order of use
//                   'g' BE64 stamp                     CachePlace     those that were evicted and are remembered
//                   key (16) 'r'                       Recency        a later use; behind its entry (schema 1)
//   best            workload (32) target (32) method (32)  BestList
//   sessions        's' id                             Session
//                   'p' id 0x00 BE64 first step        SessionStep    with those told after it in the same write
//
// Schema 1 had one SessionStep a key, and a Recency for each use; schema 2 noted uses in Uses; neither had places in
// the order of use. Both are read as they are; one that is opened for writing becomes one of schema 3
// (storage/cache_migration.hpp). Numbers of records that were forgotten stay in their IdRun.
//
// One append is one write batch: records, id runs, counts, cache entries, best lists, new tasks and names, session
// steps. It is all there or not at all.
#pragma once

#include "core/hash.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace attune::storage::keys {

inline constexpr std::uint32_t schema = 3;
inline constexpr std::string_view magic = "attune store";

inline constexpr char meta = 'v', counters = 'c', task = 't', counts = 'k', names = 'n', uses = 'u', sender = 'o',
                      indexed = 'x', task_uses = 'h', cache_totals = 'q', use_log = 'l';
inline constexpr char record = 'r', id_run = 'i', content = 'x';
inline constexpr char recency = 'r', order = 'o', evicted = 'g';
inline constexpr char session = 's', step = 'p';

/// Appends `n` big-endian.
template <class Unsigned>
void put(std::string& out, Unsigned n) {
  for (int shift = 8 * static_cast<int>(sizeof n) - 8; shift >= 0; shift -= 8)
    out += static_cast<char>((n >> shift) & 0xff);
}

/// Reads what put() wrote at `at`. @pre at + sizeof(Unsigned) <= from.size()
template <class Unsigned>
Unsigned get(std::string_view from, std::size_t at) {
  Unsigned n = 0;
  for (std::size_t i = 0; i < sizeof n; ++i)
    n = static_cast<Unsigned>((n << 8) | static_cast<unsigned char>(from[at + i]));
  return n;
}

inline std::string tagged(char tag, std::string_view rest = {}) {
  std::string out(1, tag);
  out += rest;
  return out;
}

inline std::string tagged(char tag, std::uint32_t number) {
  std::string out(1, tag);
  put(out, number);
  return out;
}

inline std::string of_task(const digest& d) { return tagged(task, d.view()); }

inline void record_key(std::string& out, std::uint32_t task_number, std::uint64_t id) {
  out.assign(1, record);
  put(out, task_number);
  put(out, id);
}
inline std::string of_record(std::uint32_t task_number, std::uint64_t id) {
  std::string out;
  record_key(out, task_number, id);
  return out;
}
inline constexpr std::size_t record_key_size = 1 + 4 + 8;

inline std::string of_run(std::uint64_t first) {
  std::string out(1, id_run);
  put(out, first);
  return out;
}

/// What a record holds in brief: its task, when it ended, and a hash of the rest.
inline void content_key(std::string& out, std::uint32_t task_number, std::uint64_t time, std::uint64_t hash) {
  out.assign(1, content);
  put(out, task_number);
  put(out, time);
  put(out, hash);
}

inline std::string of_recency(const key128& k) {
  std::string out(k.view());
  out += recency;
  return out;
}

inline std::string of_uses(std::uint64_t stamp) {
  std::string out(1, uses);
  put(out, stamp);
  return out;
}

inline std::string of_sender(const key128& k) { return tagged(sender, k.view()); }
/// A place in the order of use (`order`), or among the evicted (`evicted`).
inline std::string of_place(char tag, std::uint64_t stamp) {
  std::string out(1, tag);
  put(out, stamp);
  return out;
}
inline constexpr std::size_t place_size = 1 + 8;
inline std::string of_log(std::uint64_t first) { return of_place(use_log, first); }

inline std::string of_best(const digest& workload, const digest& target, const digest& method) {
  std::string out(workload.view());
  out += target.view();
  out += method.view();
  return out;
}

/// What every step of the session `id` begins with.
inline std::string steps_of(std::string_view id) {
  std::string out = tagged(step, id);
  out += '\0';
  return out;
}

} // namespace attune::storage::keys
