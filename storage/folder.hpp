#pragma once

#include "core/clock.hpp"
#include "core/error.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace attune::storage {

/// The folder of a store and its three small files (storage/keys.hpp): what is decided before the database is touched.
/// Thread-safety: one owner.
class folder {
public:
  /// Looks at `path`, making it (mode 0700, with its parents) where `create` says so and it may be written. Where
  /// `read_only` is false, becomes the owner: the file OWNER is locked until this object goes; another process's lock
  /// is waited for as long as `patience` says. Errors: store_unusable (missing, not a folder, not permitted, another
  /// program's folder), store_busy (with the path, the holder's process id and command), store_newer, store_corrupt
  /// (SCHEMA or the database is missing or damaged).
  static result<folder> open(const std::string& path, bool read_only, bool create,
                             nanoseconds patience = std::chrono::milliseconds(500));

  folder(folder&& other) noexcept;
  folder& operator=(folder&&) = delete;
  ~folder();

  const std::string& path() const noexcept { return path_; }
  /// False where the database has yet to be made (then call seal() when it is there).
  bool exists() const noexcept { return exists_; }
  /// The schema in SCHEMA; none where that file is missing.
  std::optional<std::uint32_t> schema() const noexcept { return schema_; }

  /// Writes SCHEMA durably: from now on the folder is a store.
  status seal(std::int64_t created_ns);

  /// Writes the small files of a copy of this store into `to`, with `newest` as the number of its newest record, and
  /// syncs them and the folder.
  status seal_copy(const std::string& to, std::uint64_t newest) const;

  /// What ACKNOWLEDGED says: the highest record number that was ever told, and the highest that must be there.
  struct ledger {
    std::uint64_t given = 0, there = 0;
  };
  const ledger& acknowledged() const noexcept { return acknowledged_; }
  /// Writes it over in place, without a sync: it survives the process, and after a power failure an older one is true
  /// too.
  void acknowledge(const ledger& now) noexcept;

  /// The bytes of all its files.
  std::uint64_t bytes() const;

private:
  folder() = default;
  status lock(nanoseconds patience);
  bool read_ledger();

  std::string path_;
  bool exists_ = false;
  std::optional<std::uint32_t> schema_;
  ledger acknowledged_;
  int owner_ = -1;
  int ledger_file_ = -1;
};

} // namespace attune::storage
