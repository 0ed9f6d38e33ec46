#pragma once

#include "core/error.hpp"
#include "core/hash.hpp"
#include "proto/wire.pb.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attune::net {

class artifact_store;

/// A file of an artifact: its name, and its contents by their hash.
struct artifact_file {
  std::string path; ///< relative, `/` between its parts, which are names: neither empty, nor `.`, nor `..`
  digest contents;
  std::uint64_t size = 0;
  bool executable = false;
  friend bool operator==(const artifact_file&, const artifact_file&) = default;
};

/// A set of files. Symbolic links, devices and empty folders are not among them.
struct manifest {
  static constexpr std::size_t files_most = 10'000, path_most = 4096, name_most = 255;
  std::vector<artifact_file> files;

  /// SHA-256 of all names, contents and modes, whatever their order.
  digest id() const;
  std::uint64_t bytes() const noexcept;
  friend bool operator==(const manifest&, const manifest&) = default;
};

/// Whether a path stays below the folder that it is relative to, and can be made there.
bool stays_below(std::string_view path) noexcept;

/// What must hold before anything is done with a manifest that came: every path stays below, none is twice or below
/// another file, not too many. Pure. Errors: network.
status check(const manifest& m);

void to(const manifest& from, wire::v1::ArtifactManifest& out);
/// Errors: network, as check().
result<manifest> from(const wire::v1::ArtifactManifest& in);

/// Reads the named files below `folder` and takes their contents into `store`. Errors: invalid_spec (a name that does
/// not stay below, a symbolic link on the way, no ordinary file), io.
result<manifest> take_in(artifact_store& store, const std::string& folder, const std::vector<std::string>& names);

/// Makes the files in `folder`, which is there and nobody else's: copies with mode 0755 or 0644, whatever the umask.
/// Never writes through a symbolic link, nor over a file. What it uses stays in `store` meanwhile. Errors: network as
/// check(); not_found, where contents are missing; io.
status lay_out(const manifest& m, artifact_store& store, const std::string& folder);

} // namespace attune::net
