#pragma once

#include "net/connection.hpp"
#include "net/store_messages.hpp"

#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace attune::net {

/// One connection to the owner of a store. It asks and hears; what to do when it breaks is its user's business.
/// Threads: all calls and callbacks on the thread of the loop. Lives until its callbacks are over.
class store_client : public std::enable_shared_from_this<store_client> {
public:
  struct events {
    std::function<void(const agreement&)> ready;
    std::function<void(std::vector<storage::claim_answer>)> claimed;
    std::function<void(std::vector<digest>)> forgotten;
    /// Once, unless it was closed from here. `refused`: the owner said why, and would say so again.
    std::function<void(const error& why, bool refused)> lost;
  };
  /// The answer, or the error that the owner answered; network where the connection broke before.
  using reply = std::function<void(result<wire::v1::Envelope>)>;

  /// Takes the connected socket.
  static std::shared_ptr<store_client> over(asio::io_context& loop, int socket, const connection_limits& limits,
                                            events tell);
  /// Greets as `me`.
  void start(const key128& me);

  void request(wire::v1::Envelope message, reply answer);
  void notify(const wire::v1::Envelope& message);
  /// The tasks that the owner knows by this connection.
  named_tasks& tasks() noexcept { return tasks_; }

  /// Takes leave: it sends no append again.
  void leave();
  /// Hangs up without a word; questions that are open get an error.
  void close();

private:
  using link = connection<asio::local::stream_protocol::socket>;
  void take(std::string_view body);
  void lose(const error& why, bool refused);

  std::shared_ptr<link> wire_;
  events tell_;
  named_tasks tasks_;
  std::unordered_map<std::uint64_t, reply> open_;
  std::uint64_t next_ = 1;
  bool greeted_ = false, over_ = false;
};

} // namespace attune::net
