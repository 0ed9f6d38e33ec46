// A hub and its agents as processes over loopback, for programs that kill, starve and watch them.
#pragma once

#include "tests/scenarios/attune_process.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace attune::testing {

/// One scenario's hub on a port that it keeps over its restarts, agents that dial it, clients. `prefix` always stands
/// before the program's own words (prlimit …). Threads: one owner.
class fleet_process {
public:
  using words = std::vector<std::string>;

  /// The hub listens there; port 0: on one that is free, and stays its own.
  explicit fleet_process(const scenario& at, std::string listens_on = "127.0.0.1:0")
      : at_(at), address_(std::move(listens_on)) {}

  /// From now on everybody is started behind these words (`setpriv …`), which stand before any other prefix.
  void run_as(words user) { user_ = std::move(user); }
  /// Starts it and does not wait; the one before is killed where it still runs.
  void launch_hub(const words& prefix = {}, const process::environment& extra = {}, const words& more = {});
  /// Waits until it listens; false where it ends before, or does not within `limit`.
  bool listens(milliseconds limit = std::chrono::seconds(30));
  process& hub() { return *hub_; }
  const process& hub() const { return *hub_; }
  /// HOST:PORT, from the first listens() on.
  const std::string& address() const noexcept { return address_; }

  std::unique_ptr<process> agent(const std::string& name, const words& more = {}, const words& prefix = {},
                                 const process::environment& extra = {}) const;
  /// `attune tune MORE… --hub … --json`.
  std::unique_ptr<process> client(const words& more, const words& prefix = {}) const;
  /// What `attune devices --json` says; null where the hub does not answer.
  json devices() const;
  /// Waits until so many devices are ready.
  bool ready(std::size_t count, milliseconds limit = std::chrono::seconds(30)) const;

private:
  std::unique_ptr<process> start(const words& prefix, const words& arguments,
                                 const process::environment& extra = {}) const;

  const scenario& at_;
  words user_;
  std::unique_ptr<process> hub_;
  std::string address_;
};

} // namespace attune::testing
