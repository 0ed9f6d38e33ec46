#pragma once

#include "net/artifact_transfer.hpp"
#include "net/fleet/fleet_messages.hpp"
#include "net/fleet/greeting.hpp"
#include "net/link.hpp"
#include "net/token.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace attune::net::fleet {

/// A client's end of the wire: asks the hub, hears what it says, and gives it the files that it has named.
/// Threads: all on that of the link's loop.
class client : public std::enable_shared_from_this<client> {
public:
  struct events {
    std::function<void()> ready; ///< the hub has greeted: it may be asked
    /// What it says: Submitted, Progress, Ended, Devices, Done, Failed.
    std::function<void(const wire::v1::Envelope&)> said;
    std::function<void(const error&)> lost;
  };
  /// `shown`: who it is, where the hub asks for that.
  explicit client(events tell, std::optional<token> shown = {}) : tell_(std::move(tell)), greeting_(shown) {}

  /// A connection has been made: greets. @pre none is in use
  void attach(link_ptr link);
  /// The next request's number.
  std::uint64_t ask(wire::v1::Envelope message);
  /// A file that the hub may ask for.
  void offer(const artifact_file& file, std::string path) { gives_.offer(file, std::move(path)); }
  void close();

private:
  void take(std::string_view body);
  status handle(const wire::v1::Envelope& message);
  void lose(const error& why);

  events tell_;
  greeting greeting_;
  link_ptr wire_;
  std::uint64_t asked_ = 0;
  artifact_sender gives_;
  std::string part_; ///< the last one that was sent: its memory
};

/// What a client sends of a spec: the file and all that its tasks name. `tasks`: as read from it. Errors: invalid_spec,
/// io.
struct submission {
  wire::v1::Submit message;
  std::vector<std::pair<artifact_file, std::string>> files; ///< with their paths
};
result<submission> submission_of(const std::string& spec, const std::vector<task_spec>& tasks);

} // namespace attune::net::fleet
