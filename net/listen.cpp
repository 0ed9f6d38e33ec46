#include "net/listen.hpp"

#include "net/tcp.hpp"
#include "net/tls_stream.hpp"
#include "proto/wire.pb.h"

#include <sys/socket.h>

#include <algorithm>
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
  if (!options_.tls && !plain_allowed(address_of(at).host, options_.plain))
    return error{errc::network,
                 "not without TLS off this machine's loopback; --plain does without, open to all who are "
                 "on the way",
                 {}};
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
        join(std::move(socket), address_of(peer));
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

/// While it is held it counts.
struct listener::entry {
  std::string peer;
  std::shared_ptr<void> until_established, until_closed;
  std::list<half>::iterator at;
};

/// Waits for what a peer says first.
struct listener::look {
  look(tcp::socket s, entry e, asio::io_context& loop) : socket(std::move(s)), place(std::move(e)), late(loop) {}
  tcp::socket socket;
  entry place;
  asio::steady_timer late;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  bool over = false;
  void end() {
    over = true;
    late.cancel();
    asio::error_code ignored;
    socket.close(ignored);
    place = {};
  }
};

void listener::join(tcp::socket socket, const address& from) {
  const auto peer = from.text();
  if (count_->open >= options_.connections) return turn_away(peer, "too many connections");
  if (count_->greeting.size() >= options_.greeting) {
    // Who means it has greeted long since; so those who only hold a place do not keep others out.
    const auto oldest = count_->greeting.front();
    turn_away(oldest.peer, "others came while it did not greet");
    oldest.drop("others came before the greeting");
  }
  set_up(socket);
  entry e;
  e.peer = peer;
  ++count_->open;
  e.at = count_->greeting.insert(count_->greeting.end(), half{peer, nullptr});
  e.until_established = std::shared_ptr<void>(nullptr, [c = count_, at = e.at](void*) { c->greeting.erase(at); });
  e.until_closed = std::shared_ptr<void>(nullptr, [c = count_](void*) { --c->open; });
  const bool plain = plain_allowed(from.host, options_.plain);
  if (!options_.tls) {
    if (plain) return join_plain(std::move(socket), options_.limits, std::move(e));
    return turn_away(peer, "it would need TLS, which is not set up");
  }
  const auto l = std::make_shared<look>(std::move(socket), std::move(e), loop_);
  const std::weak_ptr<look> weak = l;
  l->place.at->drop = [weak](const char*) {
    if (const auto still = weak.lock()) still->end();
  };
  if (options_.limits.handshake.count() > 0) {
    l->late.expires_after(options_.limits.handshake);
    l->late.async_wait([this, weak, alive = alive_](const asio::error_code& ec) {
      const auto still = weak.lock();
      if (ec || !still || still->over) return;
      if (*alive) turn_away(still->place.peer, "the greeting did not come in time");
      still->end();
    });
  }
  l->socket.async_wait(tcp::socket::wait_read, [this, l, plain, alive = alive_](const asio::error_code& ec) {
    if (ec || l->over || !*alive) return l->end();
    unsigned char first = 0;
    const auto n = ::recv(l->socket.native_handle(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
    auto limits = options_.limits;
    if (limits.handshake.count() > 0)
      limits.handshake =
          std::max<nanoseconds>(nanoseconds(1), limits.handshake - (std::chrono::steady_clock::now() - l->began));
    auto taken = std::move(l->socket);
    auto where = std::exchange(l->place, {});
    l->end();
    constexpr unsigned char tls_handshake = 0x16; // no frame of a greeting is so long
    if (n == 1 && first == tls_handshake)
      join_tls(std::move(taken), limits, std::move(where));
    else if (plain)
      join_plain(std::move(taken), limits, std::move(where));
    else
      refuse_plain(std::move(taken), limits, where);
  });
}

void listener::refuse_plain(tcp::socket socket, const connection_limits& limits, const entry& e) {
  turn_away(e.peer, "it does not speak TLS");
  const auto made = std::make_shared<connection<tcp::socket>>(std::move(socket), limits, e.peer);
  made->hold(e.until_established, e.until_closed);
  wire::v1::Envelope out;
  out.mutable_failed()->set_kind(to_string(errc::network));
  out.mutable_failed()->set_message("TLS alone is spoken here: a token or a CA says by what the hub is known");
  made->send(out.SerializeAsString());
  made->close_after_writing();
}

void listener::join_plain(tcp::socket socket, const connection_limits& limits, entry e) {
  const auto made = std::make_shared<connection<tcp::socket>>(std::move(socket), limits, e.peer);
  e.at->drop = [weak = std::weak_ptr<link>(made)](const char* why) {
    if (const auto still = weak.lock()) still->break_off(why);
  };
  made->hold(std::move(e.until_established), std::move(e.until_closed));
  tell_.came(made);
}

void listener::join_tls(tcp::socket socket, const connection_limits& limits, entry e) {
  const auto made =
      std::make_shared<connection<tls_stream>>(tls_stream(std::move(socket), options_.tls), limits, e.peer);
  e.at->drop = [weak = std::weak_ptr<link>(made)](const char* why) {
    if (const auto still = weak.lock()) still->break_off(why);
  };
  made->hold(std::move(e.until_established), std::move(e.until_closed));
  made->shake_hands(asio::ssl::stream_base::server, [this, made, alive = alive_](const asio::error_code& ec) {
    if (!*alive) return made->close();
    if (!ec) return tell_.came(made);
    const auto why = made->stream().reason(ec);
    made->close();
    turn_away(made->peer(), why.c_str());
  });
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
