#pragma once

#include "net/backoff.hpp"
#include "net/fleet/client.hpp"
#include "testing/fleet/ledger.hpp"
#include "testing/network.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace attune::testing {

/// Who has submitted a job and follows it, as `attune tune --hub` and `--attach` do: the real client, which dials again
/// when its connection is lost; what a person types again is typed again here. Threads: one owner.
class customer {
public:
  struct setting {
    timeline* time = nullptr;
    fleet_ledger* books = nullptr;
    std::string name, task; ///< its own; of the job
    net::fleet::submission what;
    std::uint64_t seed = 0;
    std::function<std::optional<network::pair>()> dial;
  };
  explicit customer(setting how);
  ~customer();
  customer(const customer&) = delete;
  customer& operator=(const customer&) = delete;

  /// Types the command.
  void begin();
  /// Hangs up; comes back after `d` to its job, or with the command as it was typed first.
  void go_away(nanoseconds d, bool anew);

  const std::optional<wire::v1::Ended>& ended() const noexcept { return ended_; }
  wire_id wire() const noexcept { return wire_; }

private:
  void dial();
  void again(nanoseconds after);
  void ready();
  void said(const wire::v1::Envelope& message);
  void make_line();

  setting how_;
  net::backoff pause_;
  std::shared_ptr<net::fleet::client> line_;
  std::string job_;
  bool anew_ = true; ///< what it asks for next
  std::optional<wire::v1::Ended> ended_;
  wire_id wire_ = 0;
  std::uint64_t epoch_ = 0;
  std::shared_ptr<customer*> self_;
  int typed_ = 0;
};

} // namespace attune::testing
