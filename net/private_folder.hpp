#pragma once

#include "core/error.hpp"
#include "measure/descriptor.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace attune::net {

/// A folder of secrets: mode 0700, its files 0600, whatever the umask; the user's own. Its files are replaced as a
/// whole and durably, so a reader sees the old one or the new one. Several processes may use it. Thread-safety: any
/// thread.
class private_folder {
public:
  /// Makes it, with its parents, where `create` says so and it is missing; closes it to others where it is not. Errors:
  /// not_found (missing), io (not permitted, another user's, not a folder).
  static result<private_folder> open(std::string path, bool create);

  const std::string& path() const noexcept { return path_; }
  /// None where there is no such file. Errors: io, also where it is longer than `most` bytes, another user's, or where
  /// others may read it or write to it.
  result<std::optional<std::string>> read(const std::string& name, std::size_t most) const;
  /// Errors: io; then the old file is there still.
  status replace(const std::string& name, std::string_view bytes) const;
  /// Opens the file for appending, making it where it is missing. Errors: io.
  result<measure::descriptor> open_to_append(const std::string& name) const;
  /// One file takes the place of another. Errors: io.
  status rename(const std::string& from, const std::string& to) const;
  /// Waits, some seconds at most, until no other holder has it, in this process or another; the kernel drops it with
  /// the descriptor or the process. Errors: io.
  result<measure::descriptor> lock() const;

private:
  private_folder(std::string path, measure::descriptor folder) : path_(std::move(path)), folder_(std::move(folder)) {}
  error failed(const std::string& what, const std::string& name) const;

  std::string path_;
  measure::descriptor folder_;
};

} // namespace attune::net
