#pragma once

#include "actors/engine.hpp"
#include "actors/joint.hpp"
#include "net/fleet/fleet_server.hpp"
#include "net/link.hpp"

#include <asio/io_context.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace attune::net::fleet {

/// How a job's end is shown: rendered by who knows how (the program), sent to the client as it is.
struct rendered {
  int code = 0; ///< the program's exit code
  std::string json, text;
  std::vector<std::string> messages;
};

struct hub_options {
  std::string store;                                                                          ///< the folder
  std::function<result<std::unique_ptr<storage::store_port>>(const std::string&)> open_store; ///< as the engine's
  how_many builders;                                            ///< builds at once on this machine
  std::uint64_t remembered = storage::cache_limits{}.hot_bytes; ///< bytes of results that lie in memory
  fleet_server_options wire;
  /// How long a job waits for a device that serves it before it is refused, with what there is; and how long one that
  /// is under way goes on without one.
  nanoseconds match_patience = std::chrono::seconds(10);
  nanoseconds device_patience = std::chrono::minutes(2);
  std::size_t jobs_each = 16;            ///< under way, of one client
  std::size_t ended_jobs = 1000;         ///< whose end is told to who asks later; older ones are forgotten
  std::uint64_t files_kept = 4ull << 30; ///< bytes of what clients have sent, that it need not be sent again
  std::function<rendered(const std::vector<std::shared_ptr<const actors::tuning_report>>&)> render;
  /// The same where the tasks share a budget.
  std::function<rendered(const actors::joint_report&, const budget_spec&)> render_joint;
  std::function<void(const std::string&)> log; ///< one line; from the hub's threads, one at a time
  /// Who did what (net/audit_log.hpp); on the loop's thread. May be empty.
  std::function<void(const audit_who&, std::string_view did, const audit_details&)> audit;
  /// engine_options::make_builder.
  std::function<std::shared_ptr<measure::builder>(std::uint32_t)> make_builder;
  /// For one thread and borrowed time (net/timer.hpp): a loop for what takes long, in place of threads of the hub's,
  /// and the engine's host and turn. The hub is then made and destroyed where the loops are turned, and waits for
  /// nothing.
  asio::io_context* desk = nullptr;
  caf::actor_system* host = nullptr;
  std::function<void()> turn;
};

/// A hub: the engine, with the slots of agents in place of its own, and the jobs that clients submit. What is submitted
/// lies in the hub's folder (net/tokens.hpp): a hub that is killed and started again goes on with every job when the
/// devices come back, and measures nothing twice.
///
/// Clients share the slots' time in proportion to the weights of their tokens (schedulers/share_terms.hpp): who shows
/// none has weight 1, and is told from others by the name that it gives. Of what a client gets its jobs have their
/// parts by priority.
///
/// A job's memory goes with its end; what it came to stays in its folder, for `ended_jobs` of them.
///
/// Threads: `loop` is the hub's wire, and must run on one thread; what takes long (opening sessions, looking at them)
/// is done on a thread of its own. Create and destroy it on a thread that is neither, the loop running until it is
/// gone.
class hub {
public:
  /// Errors: as the engine's; io.
  static result<std::unique_ptr<hub>> start(asio::io_context& loop, hub_options options);
  /// Ends what runs, and keeps the jobs for the next time.
  ~hub();
  hub(const hub&) = delete;
  hub& operator=(const hub&) = delete;

  /// A connection has come. On the loop's thread.
  void adopt(link_ptr link);
  /// What happens in its engine, as engine::subscribe. Before the loop has connections to adopt, or after.
  void subscribe(std::function<void(const actors::event_batch&)> watch);
  /// The store as it is now; null where it cannot be read. Any thread.
  std::shared_ptr<const storage::store> view() const;
  /// What an administrator asks for: devices, jobs, quarantined trials. Any thread but the loop's, which it waits for;
  /// none where that does not answer within two seconds.
  std::optional<wire::v1::Devices> devices() const;
  /// What is to be told to a person at the start.
  std::vector<std::string> notices() const;

private:
  struct impl;
  explicit hub(std::shared_ptr<impl> i) : impl_(std::move(i)) {}
  std::shared_ptr<impl> impl_;
};

} // namespace attune::net::fleet
