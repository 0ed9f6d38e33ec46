#pragma once

#include "core/random.hpp"
#include "measure/scratch.hpp"
#include "net/fleet/hub.hpp"
#include "testing/fleet/disk.hpp"
#include "testing/fleet/ledger.hpp"
#include "testing/fleet/process_loop.hpp"
#include "testing/fleet/scripted_builder.hpp"
#include "testing/history.hpp"

#include <caf/actor_addr.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attune::testing {

/// One life of a hub: the real one, on an actor system that draws whose turn it is, two loops, and a disk that outlives
/// it. Threads: one owner.
class hub_process {
public:
  struct setting {
    timeline* time = nullptr;
    random_engine* rng = nullptr;
    fleet_ledger* books = nullptr;
    testing::history* past = nullptr;
    fleet_disk* disk = nullptr;
    std::uint64_t configurations = 0; ///< of each space
    std::string folder;               ///< where it builds
    /// What a build does; `make` makes the folder that it leaves behind.
    std::function<act<actors::build_report>(const actors::build_order&, const std::function<std::string()>& make)> make;
    std::function<void()> died; ///< a build has taken its machine down
  };
  explicit hub_process(const setting& how);
  /// As SIGKILL: what it had not written is lost.
  ~hub_process();
  hub_process(const hub_process&) = delete;
  hub_process& operator=(const hub_process&) = delete;

  void adopt(net::link_ptr link);
  std::function<void(std::function<void()>)> runner() { return wire_.runner(); }

  /// Its store as it is now; null where it cannot be read.
  std::shared_ptr<const storage::store> view() const { return hub_->view(); }

  /// Does one thing; false: there is none.
  bool turn();
  /// Time until its actors have something to do; none: they wait for others.
  std::optional<nanoseconds> next();
  void pass(nanoseconds d);

private:
  struct settings : caf::actor_system_config {
    settings();
  };
  caf::scheduler::test_coordinator& clockwork();
  bool actors_turn();
  const std::string& name_of(caf::actor_id id);
  nanoseconds now();

  setting how_;
  std::unique_ptr<measure::scratch> folders_;
  std::vector<std::shared_ptr<scripted_builder>> makers_;
  process_loop wire_, desk_; // outlive whoever may still hold a part of the hub
  settings settings_;
  caf::actor_system system_{settings_};
  std::map<caf::actor_id, std::string> names_;
  std::map<caf::actor_id, caf::actor_addr> seen_;
  std::map<std::string, int> lives_; ///< of places
  bool watched_ = true;
  std::unique_ptr<net::fleet::hub> hub_;
};

} // namespace attune::testing
