#include "net/listen.hpp"

#include "net/tcp.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <unistd.h>
#include <utility>

namespace attune::net {

using asio::ip::tcp;

listener::listener(asio::io_context& loop, const listen_options& options, events tell)
    : loop_(loop), options_(options), tell_(std::move(tell)) {}

listener::~listener() { close(); }

result<std::unique_ptr<listener>> listener::open(asio::io_context& loop, const listen_options& options, events tell) {
  const auto cannot = [&](const std::string& why) {
    return error{errc::network, "cannot listen on " + options.at.text() + ": " + why, {}};
  };
  std::vector<tcp::endpoint> found;
  asio::error_code ec;
  if (const auto figures = asio::ip::make_address(options.at.host, ec); !ec) {
    found.emplace_back(figures, options.at.port);
  } else {
    tcp::resolver resolver(loop);
    for (const auto& entry : resolver.resolve(options.at.host, std::to_string(options.at.port),
                                              tcp::resolver::passive | tcp::resolver::numeric_service, ec))
      found.push_back(entry.endpoint());
    if (ec) return cannot(reason(ec));
  }
  std::unique_ptr<listener> out(new listener(loop, options, std::move(tell)));
  std::string why = "the name has no address";
  for (auto& at : found) {
    // All of a name's addresses have one port.
    if (at.port() == 0 && !out->bound_.empty()) at.port(out->bound_.front().port);
    if (const auto done = out->bind(at); !done) why = done.err().message;
  }
  // A name may have an address of a kind that this machine lacks.
  if (out->bound_.empty()) return cannot(why);
  for (auto& p : out->places_) out->accept(p);
  return out;
}

status listener::bind(const tcp::endpoint& at) {
  auto opened = open_socket(loop_, at);
  if (!opened) {
    if (at.address().is_v6() && at.address().is_unspecified())
      return error{errc::network, opened.err().message + "; 0.0.0.0 is every IPv4 address", {}};
    return opened.err();
  }
  const int s = opened->native_handle();
  int yes = 1, both = at.address().is_v6() && at.address().is_unspecified() ? 0 : 1;
  asio::error_code ec;
  if (::setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      (at.protocol() == tcp::v6() && ::setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof both) != 0) ||
      ::bind(s, at.data(), static_cast<socklen_t>(at.size())) != 0 || ::listen(s, 1024) != 0)
    ec.assign(errno, asio::error::get_system_category());
  if (ec) {
    if (ec.value() == EADDRNOTAVAIL) return error{errc::network, "this machine has no such address", {}};
    if (ec.value() == EACCES) return error{errc::network, "not permitted: take a port from 1024 on", {}};
    return error{errc::network, reason(ec), {}};
  }
  tcp::acceptor acceptor(loop_);
  acceptor.assign(at.protocol(), opened->release(), ec);
  if (ec) return error{errc::network, reason(ec), {}};
  bound_.push_back(address_of(acceptor.local_endpoint(ec)));
  places_.push_back({std::move(acceptor), asio::steady_timer(loop_)});
  return {};
}

void listener::accept(place& from) {
  from.acceptor.async_wait(tcp::acceptor::wait_read, [this, &from, alive = alive_](const asio::error_code& ec) {
    if (ec || !*alive) return;
    tcp::endpoint peer;
    auto size = static_cast<socklen_t>(peer.capacity());
    // Asio's own accept would let the descriptor pass on to the processes of a trial that is just being started.
    const int s = ::accept4(from.acceptor.native_handle(), peer.data(), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (s >= 0) {
      peer.resize(size);
      tcp::socket socket(loop_);
      asio::error_code bad;
      socket.assign(peer.protocol(), s, bad);
      if (bad)
        ::close(s);
      else
        join(std::move(socket), address_of(peer).text());
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      turn_away("", "no file descriptor to spare: those who come wait");
      from.retry.expires_after(options_.pause);
      from.retry.async_wait([this, &from, alive](const asio::error_code&) {
        if (*alive) accept(from);
      });
      return;
    }
    // Anything else is of that one peer, which has gone already.
    if (*alive) accept(from);
  });
}

void listener::turn_away(const std::string& peer, const char* why) {
  if (tell_.refused) tell_.refused(peer, error{errc::network, why, {}});
}

void listener::join(tcp::socket socket, const std::string& peer) {
  if (count_->open >= options_.connections) return turn_away(peer, "too many connections");
  if (count_->greeting.size() >= options_.greeting) {
    // Who means it has greeted long since; so those who only hold a place do not keep others out.
    if (const auto oldest = count_->greeting.front().lock()) {
      turn_away(oldest->peer(), "others came while it did not greet");
      oldest->break_off("others came before the greeting");
    }
  }
  set_up(socket);
  const auto made = std::make_shared<connection<tcp::socket>>(std::move(socket), options_.limits, peer);
  ++count_->open;
  const auto at = count_->greeting.insert(count_->greeting.end(), made);
  made->hold(std::shared_ptr<void>(nullptr, [c = count_, at](void*) { c->greeting.erase(at); }),
             std::shared_ptr<void>(nullptr, [c = count_](void*) { --c->open; }));
  tell_.came(made);
}

void listener::close() {
  *alive_ = false;
  asio::error_code ignored;
  for (auto& p : places_) {
    p.acceptor.close(ignored);
    p.retry.cancel();
  }
}

} // namespace attune::net
