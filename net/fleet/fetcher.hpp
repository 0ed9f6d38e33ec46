#pragma once

#include "net/fleet/files.hpp"
#include "proto/wire.pb.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace attune::net::fleet {

/// Brings the contents of files over a connection, in chunks that are asked for: each once, however many want it, a few
/// chunks ahead, from where it was broken off. Thread-safety: one owner, the connection's thread.
class fetcher {
public:
  static constexpr std::uint32_t chunk_bytes = 512 << 10;
  static constexpr std::uint32_t ahead = 4; ///< chunks that are asked for and have not come

  /// `ask` sends a Fetch.
  fetcher(std::shared_ptr<blob_store> into, std::function<void(const wire::v1::Fetch&)> ask)
      : into_(std::move(into)), ask_(std::move(ask)) {}

  /// `done` is called once, at the latest by fail(): at once where all is there.
  void want(const std::vector<file_entry>& files, std::function<void(status)> done);
  /// What came. Errors: network: it was not asked for, or is not what it should be.
  status take(const wire::v1::Chunk& chunk);
  /// Nothing comes any more.
  void fail(const error& why);

private:
  struct wish {
    std::size_t missing = 0;
    std::function<void(status)> done;
  };
  struct file {
    digest what;
    std::uint64_t size = 0;
    std::vector<std::shared_ptr<wish>> for_;
  };
  void begin();
  void ask_more();

  std::shared_ptr<blob_store> into_;
  std::function<void(const wire::v1::Fetch&)> ask_;
  std::map<digest, file> files_; ///< that are missing
  std::deque<digest> queue_;     ///< the first is under way
  std::uint64_t asked_ = 0, came_ = 0;
  std::uint32_t flying_ = 0;
};

/// The chunk that answers `asked` out of the file at `path`. Errors: network: too long; io.
status read_chunk(const std::string& path, const wire::v1::Fetch& asked, wire::v1::Chunk& out);

} // namespace attune::net::fleet
