#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>

namespace attune::tests {

/// A loop with real sockets, turned until something holds.
struct live {
  asio::io_context loop;

  /// Fails, rather than hang, where it does not come to hold.
  template <class Condition>
  void until(Condition holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!holds()) {
      BOOST_REQUIRE_MESSAGE(std::chrono::steady_clock::now() < end, "it did not come to hold");
      loop.restart();
      loop.run_one_until(end);
    }
  }
  /// Does what can be done now.
  void turn() {
    loop.restart();
    for (int i = 0; i < 20; ++i) loop.poll();
  }

  /// Whether this machine has the address.
  static bool has(const std::string& host) {
    asio::io_context loop;
    asio::error_code ec;
    asio::ip::tcp::acceptor a(loop);
    const asio::ip::tcp::endpoint at(asio::ip::make_address(host), 0);
    a.open(at.protocol(), ec);
    if (!ec) a.bind(at, ec);
    return !ec;
  }
};

} // namespace attune::tests
