// net/fleet: the fleet: what a hub and its agents say to each other, who has which lease, and where files come from. It
// knows no actor; attune_hub joins it to the engine.
#pragma once

#include "measure/executor.hpp"
#include "net/artifact_store.hpp"
#include "net/artifact_transfer.hpp"
#include "net/audit_log.hpp"
#include "net/fleet/fleet_messages.hpp"
#include "net/fleet/lease_table.hpp"
#include "net/fleet/pass.hpp"
#include "net/fleet/peer_session.hpp"
#include "net/fleet/registry.hpp"
#include "net/line_limit.hpp"
#include "net/link.hpp"
#include "net/timer.hpp"

#include <asio/io_context.hpp>
#include <asio/thread_pool.hpp>

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace attune::net::fleet {

struct fleet_server_options {
  nanoseconds heartbeat = std::chrono::seconds(1);
  nanoseconds lease = std::chrono::seconds(5);
  std::size_t clients = 256;             ///< at one time
  std::uint64_t files_most = 2ull << 30; ///< bytes that one submission may name
  const time_source* clock = &system_time();
  /// A loop for what takes long, in place of a thread; it is turned as `loop` is.
  asio::io_context* desk = nullptr;
  /// How long a peer that has greeted may take to say what it is.
  nanoseconds silence = std::chrono::seconds(10);
  /// Judges a token (id and secret as they came; whose it may be): none where it is not good. Empty: nobody needs one.
  std::function<std::optional<pass>(const std::string& id, const std::string& secret, const std::string& peer)> admit;
  /// Whether a token that was admitted is good still. Empty: yes.
  std::function<bool(const std::string& id)> stands;
  /// Who does without a token, by the address; asked when a peer has greeted. Empty: nobody.
  std::function<bool(const std::string& peer)> trusted;
};

/// A client's connection; as an agent's, from the same numbers.
using client_id = agent_id;

/// What a task's runs need in the spec's folder, and the spec itself: what a TaskNotice is made of.
struct task_package {
  std::string spec, file;
  manifest files;
  std::string folder; ///< where they are
};

/// The hub's end of the wire: it lets agents and clients in, keeps leases, sends orders in batches and gives each its
/// answer, and the files that are asked for. A peer that does not keep to the protocol loses its connection and nothing
/// else.
///
/// Who watches for silence must have been listening: where half a lease goes by in which nothing was done here, the hub
/// was away, and agents may have given it up (which they do when they have heard nothing for a lease). Everybody's
/// silence begins anew then, and agents that are lost within one and a half leases after it are lost by that.
///
/// What peers can make it log again and again is told at first and then counted (net/line_limit.hpp).
///
/// Threads: its own functions on the thread of `loop`, but for order(), stop(), reply() and audit(), which may be
/// called from any.
class fleet_server : public std::enable_shared_from_this<fleet_server> {
public:
  using run_callback = measure::runner::callback;

  /// What the hub does; all are called on the loop's thread, and must be quick. Each may be empty.
  struct events {
    std::function<void(agent_id, const description&)> came; ///< an agent is let in, all its slots free
    /// It is gone, with what it had in hand. `absence` is not 0 where that is the hub's own doing, which was away (it
    /// was stopped, or starved, or its clock has leapt); each time has a number.
    std::function<void(agent_id, std::uint64_t absence)> went;
    /// An agent began or ceased to get work (drain, ban).
    std::function<void(agent_id, const description&, bool ready)> changed;
    /// A client asks; answered by reply(). The files of a Submit have come.
    std::function<void(client_id, std::uint64_t request, const wire::v1::Envelope&)> asked;
    std::function<void(client_id)> left;
    /// A run's process has said something (loud()): on which device.
    std::function<void(const trial&, const std::string& device, const wire::v1::Output&)> said;
    /// An agent has fetched all that it did not have for a run that was ordered at `since`.
    std::function<void(agent_id, const trial_ptr&, nanoseconds since)> uploads;
    /// For the log: who came, went, was refused, and why.
    std::function<void(const std::string&)> log;
    /// Who did what, for the audit log: came, left, was refused, managed.
    std::function<void(const audit_who&, std::string_view did, const audit_details&)> audit;
  };

  fleet_server(asio::io_context& loop, std::shared_ptr<artifact_store> files, const fleet_server_options& options,
               events tell);
  ~fleet_server();

  /// A connection has been made. Starts it.
  void adopt(link_ptr link);
  /// Hangs up on all.
  void close();

  /// How tasks are told to agents: called on the loop's thread. Null: the task is not one that can be sent.
  std::function<std::shared_ptr<const task_package>(const task_ptr&)> package;

  /// Runs the trial on a slot: `done` is called once, on the loop's thread or in the call; not at all where the agent
  /// is lost (`went` says so).
  void order(agent_id agent, std::uint32_t slot, trial_ptr what, measure::artifact_ptr built, run_callback done);
  /// Ends it early; null: what the slot runs.
  void stop(agent_id agent, std::uint32_t slot, trial_ptr what = nullptr);
  /// Whether what its runs say is wanted. Any thread.
  void loud(const task_ptr& of, bool on);
  /// No order will be about this task any more, which was told as that. Any thread.
  void forget(const task_ptr& of, std::shared_ptr<const task_package> as);
  /// What a client may do; null where it is none. On the loop's thread.
  const pass* pass_of(client_id who) const;

  /// Writes down what a client did. Any thread; nothing where it is gone.
  void audit(client_id who, std::string did, audit_details more);
  /// Sends to a client. Any thread. Ended, Failed, Devices and Done are the last answer to its question.
  void reply(client_id to, std::uint64_t request, wire::v1::Envelope message);

  /// Of any kind, from their first byte on.
  std::size_t connections() const noexcept { return peers_.size(); }
  const registry& devices() const noexcept { return registry_; }
  const lease_table& leases() const noexcept { return leases_; }
  /// What the lease's slot runs, for a person.
  std::string text_of(lease_id id) const;
  /// By name, for administrators; `changed` follows. Errors: not_found.
  status drain(const std::string& name, bool on);
  status ban(const std::string& name, bool on);
  std::shared_ptr<artifact_store> files() const noexcept { return files_; }

private:
  struct in_hand {
    trial_ptr what;
    measure::artifact_ptr built;
    std::shared_ptr<const manifest> folder;
    run_callback done;
    bool stopped = false;   ///< it was asked to end it early
    nanoseconds ordered{0}; ///< when
  };
  struct peer {
    explicit peer(peer_session s) : session(std::move(s)) {}
    link_ptr wire;
    std::string address;
    peer_session session;
    bool agent = false, client = false; ///< let in as
    nanoseconds since{0};
    std::unordered_map<task_ptr, std::uint32_t> tasks; ///< that it knows
    std::uint32_t tasks_told = 0;                      ///< their numbers are not used again
    artifact_sender gives;                             ///< of them, and of its leases
    wire::v1::Orders next;                             ///< to be sent together
    std::unique_ptr<artifact_receiver> bring;
  };
  struct wanted {
    agent_id agent = 0;
    std::uint32_t slot = 0;
    trial_ptr what; ///< to be run, or to be stopped; null: stop whatever it is
    bool stops = false;
    measure::artifact_ptr built;
    run_callback done;
  };

  void take(agent_id who, std::string_view body);
  status handle(agent_id who, peer& p, peer_session::step what, const wire::v1::Envelope& message);
  void greet(peer& p, std::uint64_t request);
  status authenticate(peer& p, const wire::v1::Authenticate& shown, std::uint64_t request);
  status let_in(agent_id who, peer& p, const wire::v1::AgentHello& hello, std::uint64_t request);
  status answers(agent_id who, const wire::v1::Answers& message);
  status serve(peer& p, const wire::v1::ArtifactFetch& asked);
  status submit(agent_id who, peer& p, const wire::v1::Envelope& message);
  void lose(agent_id who, const std::string& why, bool close = true);
  void drop(agent_id who, peer& p, const error& why);
  void put(wanted w);
  void pass_on();
  void stop_now(const wanted& w, peer& p);
  status said(agent_id who, const wire::v1::Output& message);
  void begin(wanted w, std::shared_ptr<const manifest> folder);
  void flush();
  void watch();
  /// Something happens here: it is seen whether the hub was away before.
  void wake();
  /// The absence by which an agent that goes now is lost; 0: none.
  std::uint64_t absence_of(const peer& p) const;
  /// On the thread that lists and checks, which is made for the first.
  void read_aside(std::function<void()> what);
  void say(const std::string& text) const;
  /// What may happen again and again.
  void say(line_limit& held, const std::string& kind, std::string text);
  void note(const peer& p, std::string_view did, const audit_details& more = {}) const;
  nanoseconds now() const { return options_.clock->monotonic(); }

  asio::io_context& loop_;
  std::shared_ptr<artifact_store> files_;
  fleet_server_options options_;
  events tell_;
  registry registry_;
  lease_table leases_;
  std::unordered_map<agent_id, peer> peers_;
  std::unordered_map<lease_id, in_hand> runs_;
  agent_id next_ = 1;
  /// Orders that wait until what was built is listed, by slot, with whether they are to be stopped.
  std::map<std::pair<agent_id, std::uint32_t>, std::deque<std::pair<trial_ptr, bool>>> listing_;
  std::unordered_set<task_ptr> loud_;
  std::vector<agent_id> dirty_; ///< peers with orders to be sent
  timer silence_;
  std::optional<asio::thread_pool> reading_; ///< lists what was built, checks what was kept
  std::string part_;                         ///< the last one that was sent: its memory
  line_limit strangers_lines_;               ///< of whom it is not known what he is
  line_limit peers_lines_{line_limits{std::chrono::minutes(10), 3, 1024}}; ///< of agents and tokens
  bool closed_ = false;
  nanoseconds awake_{0}; ///< when something was last done here
  nanoseconds back_{0};  ///< from the last absence
  std::uint64_t absences_ = 0;

  std::mutex lock_; ///< guards what other threads hand in
  std::vector<wanted> handed_;
  bool passing_ = false;
};

/// A slot of an agent, as the engine runs on it.
class remote_slot final : public measure::runner {
public:
  remote_slot(std::shared_ptr<fleet_server> hub, agent_id agent, std::uint32_t slot)
      : hub_(std::move(hub)), agent_(agent), slot_(slot) {}
  void run(trial_ptr what, measure::artifact_ptr built, callback done) override {
    hub_->order(agent_, slot_, std::move(what), std::move(built), std::move(done));
  }
  void cancel() override { hub_->stop(agent_, slot_); }
  std::size_t holds() const override { return 2; }

private:
  std::shared_ptr<fleet_server> hub_;
  agent_id agent_;
  std::uint32_t slot_;
};

} // namespace attune::net::fleet
