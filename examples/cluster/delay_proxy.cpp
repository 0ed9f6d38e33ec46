// A link that is slow: passes a TCP connection on to another address, each byte so many milliseconds later, either way.
//
//   delay_proxy LISTEN_PORT HOST PORT DELAY_MS
//
// Listens on 127.0.0.1. A side that closes closes the other, as late as its last byte. Memory: what is on its way.
#include <asio/connect.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <string>

namespace {

using tcp = asio::ip::tcp;
using steady = std::chrono::steady_clock;

/// One direction of a connection.
class lane : public std::enable_shared_from_this<lane> {
public:
  lane(std::shared_ptr<tcp::socket> from, std::shared_ptr<tcp::socket> to, steady::duration delay)
      : from_(std::move(from)), to_(std::move(to)), delay_(delay), timer_(from_->get_executor()) {}

  void read() {
    from_->async_read_some(
        asio::buffer(piece_), [self = shared_from_this()](const asio::error_code& ec, std::size_t n) {
          // Nothing is the end of it.
          self->waiting_.push_back({steady::now() + self->delay_, ec ? "" : std::string(self->piece_.data(), n)});
          if (self->waiting_.size() == 1) self->wait();
          if (!ec) self->read();
        });
  }

private:
  struct late {
    steady::time_point at;
    std::string bytes;
  };
  void wait() {
    timer_.expires_at(waiting_.front().at);
    timer_.async_wait([self = shared_from_this()](const asio::error_code&) {
      if (self->waiting_.front().bytes.empty()) {
        asio::error_code ignored;
        self->to_->close(ignored);
        return;
      }
      asio::async_write(*self->to_, asio::buffer(self->waiting_.front().bytes),
                        [self](const asio::error_code& ec, std::size_t) {
                          if (ec) {
                            asio::error_code ignored;
                            self->from_->close(ignored);
                            return;
                          }
                          self->waiting_.pop_front();
                          if (!self->waiting_.empty()) self->wait();
                        });
    });
  }

  std::shared_ptr<tcp::socket> from_, to_;
  steady::duration delay_;
  asio::steady_timer timer_;
  std::array<char, 65536> piece_{};
  std::deque<late> waiting_;
};

} // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: delay_proxy LISTEN_PORT HOST PORT DELAY_MS\n");
    return 2;
  }
  asio::io_context loop{1};
  const auto delay = std::chrono::milliseconds(std::atoi(argv[4]));
  const tcp::endpoint at(asio::ip::make_address("127.0.0.1"), static_cast<std::uint16_t>(std::atoi(argv[1])));
  const tcp::endpoint target(asio::ip::make_address(argv[2]), static_cast<std::uint16_t>(std::atoi(argv[3])));
  tcp::acceptor door(loop, at);
  std::function<void()> accept = [&] {
    door.async_accept([&](const asio::error_code& ec, tcp::socket came) {
      if (!ec) {
        auto near = std::make_shared<tcp::socket>(std::move(came));
        auto far = std::make_shared<tcp::socket>(loop);
        far->async_connect(target, [near, far, delay](const asio::error_code& failed) {
          if (failed) return; // both are closed with their last owner
          near->set_option(tcp::no_delay(true));
          far->set_option(tcp::no_delay(true));
          std::make_shared<lane>(near, far, delay)->read();
          std::make_shared<lane>(far, near, delay)->read();
        });
      }
      accept();
    });
  };
  accept();
  loop.run();
}
