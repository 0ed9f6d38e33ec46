#pragma once

#include "actors/interfaces.hpp"
#include "actors/joint.hpp"

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace attune::actors {

/// One of those that share.
struct allocator_member {
  task_ptr of;
  std::string session;
  tuner_actor tuner;                           ///< null until it is opened
  std::vector<budget_step> past;               ///< of earlier processes
  std::optional<std::uint64_t> configurations; ///< of its space, where that can be counted
  std::optional<std::uint64_t> known;
  report_ptr report; ///< from the beginning where it is left as it is
};

/// All that an allocator is made with.
struct allocator_setup {
  std::unique_ptr<schedulers::task_budget> budget; ///< without the past
  std::vector<schedulers::shared_task> shares;     ///< as the budget was made with
  bool relative = false;
  std::vector<allocator_member> members;
  std::optional<nanoseconds> time; ///< that is left of the whole
  nanoseconds kept_for_finals{0};  ///< of that
  storage::record_id newest = 0;   ///< in the store, when it began
  nanoseconds since{0};            ///< wall clock, when the first of them began
};

struct allocator_state {
  explicit allocator_state(allocator_actor::pointer) {}
  allocator_setup setup;
  opener_actor opener;
  monitor_port watch;
  struct progress {
    std::uint64_t allowed = 0; ///< as its tuner was told
    bool opening = false, finishing = false, interrupting = false;
  };
  std::vector<progress> progress_of;
  std::vector<schedulers::total_step> steps;
  nanoseconds busy{0}, started{0};
  std::optional<search::stop_reason> called_off; ///< nothing is dealt any more
  bool begun = false;
  joint_report_ptr report;
  std::vector<caf::typed_response_promise<joint_report_ptr>> waiting;
  static inline const char* name = "allocator";
};

/// The ALLOCATOR's behaviour.
allocator_actor::behavior_type allocator(allocator_actor::stateful_pointer<allocator_state> self, opener_actor opener,
                                         monitor_port watch);

struct opener_state {
  explicit opener_state(opener_actor::pointer) {}
  static inline const char* name = "opener";
};
/// What opens a task for an allocator; called on the OPENER's thread.
using open_task =
    std::function<opened_task(const allocator_actor& dealer, std::size_t member, storage::record_id up_to)>;
/// The OPENER's behaviour.
opener_actor::behavior_type opener(opener_actor::stateful_pointer<opener_state> self, open_task open);

struct joint_session::impl {
  caf::actor_system* system = nullptr;
  std::function<void()> turn; ///< engine_options::turn
  allocator_actor dealer;
  opener_actor opens;
  std::mutex lock;
  std::vector<std::optional<session>> sessions; ///< of the tasks that were opened
  std::shared_ptr<const joint_report> report;
};

} // namespace attune::actors
