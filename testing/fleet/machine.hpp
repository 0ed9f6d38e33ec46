#pragma once

#include "measure/scratch.hpp"
#include "net/artifact_store.hpp"
#include "net/backoff.hpp"
#include "net/fleet/agent.hpp"
#include "testing/fleet/ledger.hpp"
#include "testing/fleet/process_loop.hpp"
#include "testing/fleet/scripted_builder.hpp"
#include "testing/network.hpp"
#include "testing/scripted_runner.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attune::testing {

/// A machine with an agent: the real one, with a disk for what it is sent and scripted builders and runners, which
/// dials the hub and dials again; it may be killed, stopped, sent away. Threads: one owner.
class machine {
public:
  struct setting {
    timeline* time = nullptr;
    fleet_ledger* books = nullptr;
    std::string place;  ///< the machine's own name, for the books
    std::string name;   ///< its agent's
    std::string folder; ///< its disk
    std::uint32_t slots = 1;
    std::uint64_t seed = 0;
    /// Connects to the hub: its end there; null where there is no hub just now.
    std::function<std::optional<network::pair>(const std::function<void(std::function<void()>)>& at_agent)> dial;
    /// What a run does, and how long that takes. `number`: the run's, in the books.
    std::function<act<actors::run_report>(const actors::run_order&, std::uint64_t number)> behave;
    /// What a build does; `make` makes the folder that it leaves behind.
    std::function<act<actors::build_report>(const actors::build_order&, const std::function<std::string()>& make)> make;
    std::function<void(machine&)> let_in; ///< the hub has taken it
    std::function<void(machine&)> died;   ///< a candidate has taken it down
  };
  explicit machine(setting how);
  ~machine() { kill(); }
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;

  /// Its agent begins a life. @pre !alive()
  void begin();
  /// SIGKILL: all that runs there ends, and nobody is told but by the wire.
  void kill();
  /// In order: what runs is ended first.
  void leave();
  void stall(bool on) { stalled_ = on; }
  bool turn() { return life_ && !stalled_ && (life_->loop.turn() || life_->desk.turn()); }
  /// Its disk spoils a file that it was sent, while the agent is not running. @pre !alive()
  void spoil(std::uint64_t luck);

  bool alive() const noexcept { return life_ != nullptr; }
  bool leaving() const noexcept { return life_ && life_->leaving; }
  bool stalled() const noexcept { return stalled_; }
  /// The hub has taken it, and it has not noticed anything since.
  bool is_let_in() const noexcept { return life_ && life_->in; }
  bool idle() const;
  /// Nothing runs that could be stopped.
  bool heeds() const;
  wire_id wire() const noexcept { return life_ ? life_->wire : 0; }
  const std::string& name() const noexcept { return how_.name; }
  const std::string& place() const noexcept { return how_.place; }
  std::uint64_t lives() const noexcept { return lives_; }

private:
  struct life {
    explicit life(timeline& time) : loop(time), desk(time) {}
    std::unique_ptr<measure::scratch> folders;
    process_loop loop, desk;
    std::unique_ptr<net::timer> wait; ///< until it dials again
    std::vector<std::shared_ptr<scripted_runner>> slots;
    std::vector<std::shared_ptr<scripted_builder>> makers;
    std::shared_ptr<net::fleet::agent> self;
    wire_id wire = 0;
    bool in = false, leaving = false;
  };
  void dial();
  void again();

  setting how_;
  std::unique_ptr<life> life_;
  net::backoff pause_;
  std::uint64_t lives_ = 0;
  bool stalled_ = false;
};

} // namespace attune::testing
