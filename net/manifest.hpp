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

/// A file by its name, its mode and the hash of its contents; or a folder, or a symbolic link.
struct artifact_file {
  std::string path; ///< relative, `/` between its parts, which are names: neither empty, nor `.`, nor `..`
  digest contents;
  std::uint64_t size = 0;
  std::uint32_t mode = 0644; ///< permission bits
  std::string link;          ///< not empty: a symbolic link with this text
  bool folder = false;

  bool has_contents() const noexcept { return !folder && link.empty(); }
  friend bool operator==(const artifact_file&, const artifact_file&) = default;
};

/// A set of files, as it is sent: what a spec names, or what a build has left in its folder.
struct manifest {
  static constexpr std::size_t files_most = 10'000, path_most = 4096, name_most = 255;
  std::vector<artifact_file> files;

  /// Of all contents.
  std::uint64_t bytes() const noexcept;
  friend bool operator==(const manifest&, const manifest&) = default;
};

/// Whether a path stays below the folder that it is relative to, and can be made there.
bool stays_below(std::string_view path) noexcept;

/// What must hold before anything is done with a manifest that came: every path stays below, none is twice, nothing
/// lies below a file or a link (which may lead anywhere), not too many. Pure. Errors: network.
status check(const manifest& m);

using file_entries = google::protobuf::RepeatedPtrField<wire::v1::FileEntry>;
void to(const manifest& from, file_entries& out);
/// Errors: network, as check().
result<manifest> from(const file_entries& in);

/// Whether what `store` has of it has so much of an earlier process's to be read through that this is for another
/// thread than a connection's.
bool takes_long_to_check(const manifest& m, const artifact_store& store);

/// The named files below `folder`, through symbolic links; each is read, for its hash. Errors: invalid_spec, for what
/// does not stay below or is no ordinary file; io.
result<manifest> list_files(const std::string& folder, const std::vector<std::string>& names);
/// All that is in `folder`, by name: files, folders, links as links; no sockets, pipes and devices. Errors: io; more
/// than manifest::files_most.
result<manifest> list_folder(const std::string& folder);

/// Makes all of it in `folder`, which is there and nobody else's, each with its mode, whatever the umask. Nothing is
/// written through a symbolic link, nor over a file. `durable`: a power failure takes nothing of it any more when this
/// returns. Errors: network as check(); not_found, where contents are missing; io.
status lay_out(const manifest& m, artifact_store& store, const std::string& folder, bool durable = false);

} // namespace attune::net
