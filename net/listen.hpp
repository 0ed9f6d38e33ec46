#pragma once

#include "net/address.hpp"
#include "net/connection.hpp"
#include "net/tls.hpp"
#include "net/transport.hpp"

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace attune::net {

struct listen_options {
  address at; ///< `::` takes IPv4 peers too; a name is looked up, and all its addresses are listened on; port 0: any
  connection_limits limits;
  std::size_t connections = 4096; ///< at one time; who comes when all are taken is hung up on
  std::size_t greeting = 256;     ///< of them not established yet; a new one takes the place of the oldest
  nanoseconds pause = std::chrono::milliseconds(100); ///< when there is no descriptor to spare
  tls_ptr tls;                                        ///< none: plain TCP alone
  plain_from plain = plain_from::loopback;
};

/// Listens for peers and makes a link of each; TLS's handshake is over then, and its time counts against the
/// greeting's. Where plain TCP is allowed a peer's first byte says what it speaks. Neither too many peers nor a want of
/// descriptors ends it. Threads: all on the loop's. Owns its sockets; the links outlive it.
class listener {
public:
  struct events {
    /// A peer whose link is to be started; who greets it must call established().
    std::function<void(link_ptr)> came;
    /// One that was not let in, or lost before it came; for the log. May be empty.
    std::function<void(const std::string& peer, const error& why)> refused;
  };

  /// Listens. Looking a name up blocks. Errors: network (in use, no such address here, no such name; where only TLS is
  /// allowed and there is none), naming the address and, where there is one, the remedy.
  static result<std::unique_ptr<listener>> open(asio::io_context& loop, const listen_options& options, events tell);
  ~listener();
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;

  /// Where it listens, with the port that was chosen.
  const std::vector<address>& bound() const noexcept { return bound_; }
  std::size_t connections() const noexcept { return count_->open; }
  /// Of them not established.
  std::size_t greeting() const noexcept { return count_->greeting.size(); }
  /// Listens no more. The links go on.
  void close();

private:
  struct half {
    std::string peer;
    std::function<void(const char* why)> drop;
  };
  struct counts {
    std::size_t open = 0;
    std::list<half> greeting; ///< not established, the oldest first
  };
  struct entry; ///< a peer's place in them
  struct look;  ///< for a peer's first byte
  struct place {
    asio::ip::tcp::acceptor acceptor;
    asio::steady_timer retry;
  };

  listener(asio::io_context& loop, const listen_options& options, events tell);
  status bind(const asio::ip::tcp::endpoint& at);
  void accept(place& from);
  void join(asio::ip::tcp::socket socket, const address& peer);
  void join_plain(asio::ip::tcp::socket socket, const connection_limits& limits, entry at);
  void refuse_plain(asio::ip::tcp::socket socket, const connection_limits& limits, const entry& at);
  void join_tls(asio::ip::tcp::socket socket, const connection_limits& limits, entry at);
  void turn_away(const std::string& peer, const char* why);

  asio::io_context& loop_;
  listen_options options_;
  events tell_;
  std::list<place> places_;
  std::vector<address> bound_;
  std::shared_ptr<counts> count_ = std::make_shared<counts>();
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true); ///< for what is on its way
};

} // namespace attune::net
