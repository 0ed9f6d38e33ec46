#pragma once

#include "core/error.hpp"
#include "core/hash.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace attune::net::fleet {

/// A file by its contents, or a folder, or a symbolic link.
struct file_entry {
  std::string path; ///< relative, `/` between its parts
  digest sha256;
  std::uint64_t size = 0;
  std::uint32_t mode = 0644; ///< permission bits
  std::string link;          ///< not empty: a symbolic link with this text
  bool folder = false;
};

/// Whether a path stays below the folder that it is relative to: not empty, not absolute, without empty parts, `.` and
/// `..`, and without a zero byte.
bool stays_below(std::string_view path);

/// The named files below `folder`, through symbolic links. Reads them all. Errors: invalid_spec, for what does not stay
/// below or is no file; io.
result<std::vector<file_entry>> list_files(const std::string& folder, const std::vector<std::string>& names);
/// All that is in `folder`, parents before what they hold, in the order of the names. Errors: io; more than `most`
/// entries.
result<std::vector<file_entry>> list_folder(const std::string& folder, std::size_t most = 10000);

/// Files by their contents, on their way and afterwards: a folder with one file for each, named by the hash. What comes
/// is written as it comes, counts when its hash is right, and is taken up again after a break. The longest unused go
/// first when there are more than `bytes`.
/// Thread-safety: any thread; write() of one file from one at a time.
class blob_store {
public:
  /// Makes the folder where it is not there. Errors: io.
  static result<std::shared_ptr<blob_store>> open(std::string folder, std::uint64_t bytes = std::uint64_t{4} << 30);

  bool has(const digest& d) const;
  std::string path(const digest& d) const;
  /// How much of it has come.
  std::uint64_t offset(const digest& d) const;
  /// Writes what comes next. Where it is the last byte of `size`, the whole is checked: what is wrong is dropped.
  /// Errors: io; network, where it is not what it should be.
  status write(const digest& d, std::uint64_t offset, std::string_view data, std::uint64_t size);

  /// Makes the files, folders and links in `folder`, each with its mode. Errors: io, where something is missing, or
  /// lies behind a link of the same list.
  status lay_out(const std::vector<file_entry>& entries, const std::string& folder);

private:
  blob_store(std::string folder, std::uint64_t bytes) : folder_(std::move(folder)), most_(bytes) {}
  void make_room();

  struct blob {
    std::uint64_t size = 0, used = 0;
  };
  std::string folder_;
  mutable std::mutex lock_; ///< guards what follows
  std::uint64_t most_, held_ = 0, clock_ = 0;
  std::unordered_map<std::string, blob> whole_;
};

} // namespace attune::net::fleet
