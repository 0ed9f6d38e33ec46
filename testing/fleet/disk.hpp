#pragma once

#include "storage/store_port.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace attune::testing {

/// A real store that outlives the hubs that open it, as a disk does, and fails when it is told to: no write is torn,
/// for those of the store are whole or not at all. Threads: one owner.
class fleet_disk {
public:
  /// Errors: as storage::store::open.
  static result<std::unique_ptr<fleet_disk>> make(const std::string& folder);

  /// For one life of a hub: what it writes goes to `written` once it is on the disk.
  std::unique_ptr<storage::store_port> connect();

  std::optional<error> trouble; ///< while it is set every write fails with it
  std::function<void(std::span<const storage::record_item>)> written;
  storage::store_port& below() noexcept { return *store_; }

private:
  std::unique_ptr<storage::store_port> store_;
};

} // namespace attune::testing
