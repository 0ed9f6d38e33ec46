#pragma once

#include "core/clock.hpp"
#include "storage/store_port.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace attune::net {

struct shared_store_options {
  nanoseconds start = std::chrono::seconds(4); ///< how long an owner that does not share is waited for at the beginning
  nanoseconds call = std::chrono::seconds(30); ///< how long an answer, or an owner, is waited for later
  /// While claims wait for the owner's answers, it is asked so often whether it is there; after three times without an
  /// answer the connection is given up, and after `call` without an owner what waits is measured without its leave.
  nanoseconds ping = std::chrono::seconds(10);
  nanoseconds grace = std::chrono::seconds(1);    ///< store_server_options::grace of one that takes over
  std::size_t chunk_bytes = std::size_t{1} << 20; ///< records that are sent at once, about
};

/// The store of processes that share it. The first owns it, and serves the others through the socket in its folder
/// (net/socket_place.hpp); each of the others works through it. When the owner ends, in whatever way, one of the others
/// becomes the owner (whoever has the folder's lock), and the rest finds it, within some hundred milliseconds: what was
/// under way is sent again, and nothing is written twice.
///
/// Reading never goes through the owner: each process opens the database for reading as it is.
/// It has one thread, which sleeps while nobody asks for anything.
///
/// Errors: as storage::store::open; store_busy, naming the holder, where that does not share its store; network where
/// it speaks another version.
result<std::unique_ptr<storage::store_port>> open_shared(const std::string& folder,
                                                         const shared_store_options& options = {});

} // namespace attune::net
