#pragma once

#include "core/random.hpp"
#include "storage/store_port.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace attune::testing {

/// The folder of a hub's store, on which a real store is opened anew in each life of a hub: what a life leaves behind
/// is what lay on the disk at its end. It fails when it is told to, and a write may be torn. Threads: one owner.
class fleet_disk {
public:
  /// `blank`: the folder of a store with nothing in it, which is copied; empty: it is made by the first life.
  fleet_disk(std::string folder, const std::string& blank, std::uint64_t seed);

  /// For one life of a hub: what it writes goes to `written` once it is on the disk. What an earlier life had written
  /// and never knew to be there counts as written now. Errors: as storage::store::open.
  result<std::unique_ptr<storage::store_port>> connect();

  /// The process that has it open ends here: what is on the disk is kept, and what it does from now on comes too late.
  /// `power`: what was not synced may be lost, or be there in part.
  void dies(bool power);
  /// It has ended.
  void comes_back();

  std::optional<error> trouble; ///< while it is set every write fails with it
  std::function<void(std::span<const storage::record_item>)> written;
  bool tears = false;         ///< the next records are torn as they are written
  std::function<void()> torn; ///< they were: the power is gone, and nothing is written any more
  std::uint64_t tails = 0;    ///< openings with a log that had been torn
  bool is_torn() const noexcept { return cut_.has_value(); }
  const std::string& folder() const noexcept { return folder_; }

private:
  friend class disk_port;
  struct log_end {
    std::string file; ///< the newest write-ahead log; empty: there is none
    std::uint64_t size = 0;
  };
  struct late {
    trial_ptr what;
    outcome_ptr result;
    bool cacheable = true;
    storage::record_id record = 0;
  };
  log_end end_of_log();
  void tear(const log_end& before, std::span<const storage::record_item> records);
  void keep();
  result<bool> settle(const storage::store& now);

  std::string folder_;
  random_engine rng_;
  bool powerless_ = false, kept_ = false;
  log_end synced_;
  log_end log_;                ///< as it was seen last
  std::optional<log_end> cut_; ///< where the torn write ends
  std::vector<late> unsure_;   ///< its records
};

} // namespace attune::testing
