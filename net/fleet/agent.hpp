#pragma once

#include "measure/executor.hpp"
#include "measure/supervisor.hpp"
#include "net/artifact_store.hpp"
#include "net/artifact_transfer.hpp"
#include "net/fleet/fleet_messages.hpp"
#include "net/fleet/greeting.hpp"
#include "net/link.hpp"
#include "net/timer.hpp"
#include "net/token.hpp"

#include <asio/io_context.hpp>
#include <asio/thread_pool.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace attune::net::fleet {

struct agent_options {
  description self; ///< `boot` is drawn by the agent where none is given
  /// Builds and runs; null only where `make_runner` is given.
  std::shared_ptr<measure::supervisor> processes;
  std::shared_ptr<artifact_store> files;
  std::vector<std::vector<int>> cpus; ///< of each slot; empty: all
  /// The ways to run and to build on a slot, in place of commands. Without `folders` nothing is brought and built then.
  std::function<std::shared_ptr<measure::runner>(std::uint32_t slot)> make_runner;
  std::function<std::shared_ptr<measure::builder>(std::uint32_t slot)> make_builder;
  measure::scratch* folders = nullptr; ///< where files are laid out; null: in those of `processes`
  /// Changes a spec before its commands are run (to confine them). May be empty.
  std::function<void(task_spec&)> confine;
  std::optional<token> shown;                        ///< who it is, where the hub asks for that
  nanoseconds bring_limit = std::chrono::minutes(4); ///< for the files of one order to come
  const time_source* clock = &system_time();
  /// For one thread and borrowed time (net/timer.hpp): a loop for what takes long, in place of a thread of the agent's.
  asio::io_context* desk = nullptr;
};

/// The agent's end of the wire: offers the slots of this machine to a hub, brings what is to be run, builds it where
/// the spec says so, runs it, and answers. When the connection is lost, or the hub has been silent for as long as a
/// lease lasts, all that runs is ended; it is offered again when nothing is left.
///
/// Threads: its own functions on the thread of `loop`, which does nothing that takes long, so that heartbeats go out
/// whatever the machine does. Files are laid out on a thread of its own, processes watched on the supervisor's.
class agent : public std::enable_shared_from_this<agent> {
public:
  /// What whoever dials wants to know; on the loop's thread.
  struct events {
    std::function<void()> let_in;                ///< the hub has taken it
    std::function<void(const error&)> lost;      ///< the connection is over, and nothing runs any more: dial again
    std::function<void(const std::string&)> log; ///< one line for a person
  };

  agent(asio::io_context& loop, agent_options options, events tell);
  ~agent();

  /// A connection to the hub has been made: greets. @pre none is in use
  void attach(link_ptr link);
  /// Ends what runs; then `then` is called. The connection ends in order.
  void leave(std::function<void()> then);
  std::size_t busy() const noexcept { return busy_; }

private:
  struct known_task {
    task_ptr of;
    manifest files;
    std::string folder;    ///< the spec's folder here
    bool laid_out = false; ///< known to the thread that does it alone
  };
  struct slot {
    std::shared_ptr<measure::builder> build;
    std::shared_ptr<measure::runner> run;
    std::uint64_t lease = 0;                   ///< 0: free
    bool stopped = false, called_back = false; ///< called_back: by the hub
    bool building = false, running = false;
    std::uint64_t epoch = 0;             ///< of its order, over connections
    std::optional<wire::v1::Order> next; ///< begins when it is free
    bool loud = false;                   ///< what it says is wanted
    std::size_t told = 0;                ///< bytes of that, of this order
    /// Where it builds in place: its own copy of the spec's folder, for each task.
    std::unordered_map<std::uint32_t, task_ptr> own;
  };

  void take(std::string_view body);
  status handle(const wire::v1::Envelope& message);
  status notice(const wire::v1::TaskNotice& in);
  status order(const wire::v1::Order& in);
  void forget(std::uint32_t task);
  void heard(std::uint32_t at, wire::v1::Output what);
  void say_answer(std::uint64_t lease, const measure::run_result& r);
  void stop(std::uint64_t lease);
  measure::scratch& folders() const {
    return options_.folders != nullptr ? *options_.folders : options_.processes->scratch();
  }
  /// What it has comes without files and builds.
  bool only_runs() const { return options_.make_runner && options_.folders == nullptr; }
  /// On the thread that lays out and checks files, which is made for the first; on `agent_options::desk` where there is
  /// one.
  void lay_aside(std::function<void()> what);
  status lay_out_here(const manifest& files, const std::string& folder);
  void bring(const manifest& needed, std::function<void(const status&)> then);
  void begin(std::uint32_t at, std::uint64_t epoch, const std::shared_ptr<trial>& what, std::uint32_t task,
             manifest folder, bool built, std::string artifact);
  void run(std::uint32_t at, std::uint64_t epoch, trial_ptr what, measure::artifact_ptr built,
           measure::run_result so_far);
  void answer(std::uint32_t at, std::uint64_t epoch, const measure::run_result& r);
  void arrived(std::uint32_t at, std::uint64_t epoch);
  void flush();
  void beat();
  void lose(const error& why);
  void when_idle();
  void say(const std::string& text) const {
    if (tell_.log) tell_.log(text);
  }

  asio::io_context& loop_;
  agent_options options_;
  events tell_;
  link_ptr wire_;
  greeting greeting_;
  bool let_in_ = false;
  std::unique_ptr<artifact_receiver> bring_;
  std::vector<slot> slots_;
  std::unordered_map<std::uint32_t, std::shared_ptr<known_task>> tasks_;
  wire::v1::Answers next_;
  bool flushing_ = false;
  std::size_t busy_ = 0;
  std::uint64_t epochs_ = 0, beats_ = 0;
  nanoseconds heartbeat_{std::chrono::seconds(1)}, lease_{std::chrono::seconds(5)}, heard_{0};
  /// The way from the processes' ends to here.
  struct hearing {
    std::atomic<bool> wanted{false}; ///< some run's output was asked for
    std::mutex lock;
    std::weak_ptr<agent> who;
  };
  std::shared_ptr<hearing> hearing_ = std::make_shared<hearing>();
  timer timer_;
  std::optional<asio::thread_pool> laying_; ///< of lay_aside()
  std::vector<std::string> folders_;        ///< copies of specs' folders, which go with the connection
  std::optional<error> lost_;               ///< to be told when nothing runs any more
  std::function<void()> leaving_;
};

} // namespace attune::net::fleet
