// A hub and its agents as processes, for scenario tests: what must come to pass and does not fails the test.
#pragma once

#include "tests/scenarios/fleet_process.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attune::testing {

/// A hub that listens, in a scenario of its own. Threads: one owner.
struct live_fleet {
  /// `extra` is the hub's and the agents' environment.
  explicit live_fleet(const std::string& host = "127.0.0.1", process::environment extra = {})
      : processes(at, host + ":0"), with(std::move(extra)) {
    start_hub();
  }
  /// Again, on the port that it had; the one before is killed where it still runs.
  void start_hub() {
    processes.launch_hub({}, with);
    BOOST_REQUIRE_MESSAGE(processes.listens(), "the hub does not listen: " + hub().err());
  }
  process& hub() { return processes.hub(); }
  const process& hub() const { return processes.hub(); }
  /// As the hub has printed it.
  const std::string& address() const noexcept { return processes.address(); }
  std::uint16_t port() const {
    return static_cast<std::uint16_t>(std::stoul(address().substr(address().rfind(':') + 1)));
  }

  std::unique_ptr<process> agent(const std::string& name, const std::vector<std::string>& more = {}) const {
    return processes.agent(name, more, {}, with);
  }
  /// Waits until the agent says that it is let in.
  static bool let_in(process& agent) {
    return agent.wait_until([&] { return agent.err().find("has let it in") != std::string::npos; });
  }
  json devices() const { return processes.devices(); }
  std::optional<json> device(const std::string& name) const {
    const auto all = devices();
    if (!all.is_object()) return std::nullopt;
    for (const auto& d : all["devices"])
      if (d["name"] == name) return d;
    return std::nullopt;
  }
  /// Waits until the device of that name is.
  bool ready(const std::string& name) {
    return hub().wait_until([&] {
      const auto d = device(name);
      return d && (*d)["state"] == "ready";
    });
  }
  /// `attune tune SPEC --hub … --json MORE…`: without a store of its own, it is the hub's.
  ended tune(const std::string& spec, const std::vector<std::string>& more = {},
             milliseconds limit = std::chrono::seconds(90)) const {
    std::vector<std::string> words{"tune", spec, "--hub", address(), "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return at.attune(words, limit);
  }

  scenario at;
  fleet_process processes;
  process::environment with;
};

} // namespace attune::testing
