// What a listener must stand: it stays up, others do not notice, and nothing of it stays in memory.
#include "core/random.hpp"
#include "net/dial.hpp"
#include "net/listen.hpp"
#include "net/tls_stream.hpp"
#include "tests/net/live.hpp"

#include <asio/write.hpp>
#include <boost/test/unit_test.hpp>
#include <sys/socket.h>

#include <functional>
#include <malloc.h>
#include <map>
#include <netinet/in.h>
#include <unistd.h>

using namespace attune;
using namespace attune::net;
using namespace std::chrono_literals;
using tests::live;

namespace {

/// A listener that answers frames with themselves, for TLS and for plain peers.
struct victim {
  live& world;
  tls_identity identity;
  std::map<const net::link*, link_ptr> links;
  std::vector<std::string> refused, ends; ///< of those that came: why they went
  std::unique_ptr<listener> door;

  /// `handshake`: where it is long, no deadline stands in for another guard.
  explicit victim(live& w, std::size_t greeting = 16, nanoseconds handshake = connection_limits().handshake)
      : world(w) {
    const auto now = system_time().wall();
    auto made = make_identity("victim", now - 1h, now + 1h);
    BOOST_REQUIRE(made.ok());
    identity = *made;
    listen_options o;
    o.at = {"127.0.0.1", 0};
    o.tls = *tls_for_hub(identity);
    o.greeting = greeting;
    o.connections = 64;
    o.limits.frame_bytes = 1u << 20;
    o.limits.handshake = handshake;
    auto opened = listener::open(world.loop, o,
                                 {[this](const link_ptr& l) {
                                    links[l.get()] = l;
                                    l->start(
                                        [raw = l.get()](std::string_view body) {
                                          if (body.front() == 'h') raw->established();
                                          raw->send(body);
                                        },
                                        [this, raw = l.get()](const error& why) {
                                          ends.push_back(why.message);
                                          links.erase(raw);
                                        });
                                  },
                                  [this](const std::string&, const error& why) { refused.push_back(why.message); }});
    BOOST_REQUIRE(opened.ok());
    door = std::move(*opened);
  }
  ~victim() {
    for (const auto& [raw, l] : links) l->close();
  }
  victim(const victim&) = delete;

  link_ptr guest(bool tls) {
    dial_options o;
    o.to = door->bound().front();
    if (tls) o.tls = *tls_for_client({identity.fingerprint, {}});
    std::optional<result<link_ptr>> out;
    dial(world.loop, o, [&](result<link_ptr> r) { out = std::move(r); });
    world.until([&] { return out.has_value(); });
    BOOST_REQUIRE_MESSAGE(out->ok(), (out->ok() ? "" : out->err().message));
    return **out;
  }
  /// Somebody who means it comes, is answered, and goes.
  void serves() {
    for (const bool tls : {true, false}) {
      const auto l = guest(tls);
      std::string back;
      l->start([&](std::string_view b) { back = b; }, [&](const error& e) { back = "ended: " + e.message; });
      l->send("hello");
      world.until([&] { return !back.empty(); });
      BOOST_TEST(back == "hello");
      l->close();
    }
  }
  void settle() {
    world.until([&] { return door->connections() == 0; });
  }
};

/// A socket that says what it likes.
struct raw_peer {
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  explicit raw_peer(const victim& v) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(v.door->bound().front().port);
    BOOST_REQUIRE(::connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
  }
  ~raw_peer() {
    if (fd >= 0) ::close(fd);
  }
  raw_peer(const raw_peer&) = delete;
  void say(std::string_view bytes) const {
    [[maybe_unused]] const auto n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
};

std::string noise(random_engine& rng, std::size_t n) {
  std::string out(n, '\0');
  for (auto& c : out) c = static_cast<char>(rng());
  return out;
}

/// The first flight of a client: a whole TLS 1.3 ClientHello.
std::string client_hello() {
  SSL_CTX* ctx = SSL_CTX_new(TLS_client_method());
  SSL* ssl = SSL_new(ctx);
  BIO* out = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl, BIO_new(BIO_s_mem()), out);
  SSL_set_connect_state(ssl);
  SSL_do_handshake(ssl);
  char* data = nullptr;
  const auto n = BIO_get_mem_data(out, &data);
  std::string hello(data, static_cast<std::size_t>(n));
  SSL_free(ssl);
  SSL_CTX_free(ctx);
  return hello;
}

} // namespace

BOOST_AUTO_TEST_SUITE(hostile)

BOOST_AUTO_TEST_CASE(whatever_bytes_come_the_others_do_not_notice_and_nothing_stays) {
  live world;
  victim v(world);
  random_engine rng(7);
  const auto hello = client_hello();
  BOOST_REQUIRE(hello.size() > 100u);
  const auto staying = v.guest(true);
  std::string heard;
  staying->start([&](std::string_view b) { heard = b; }, [&](const error& e) { BOOST_ERROR(e.message); });
  staying->send("hello");
  world.until([&] { return heard == "hello"; });

  const std::function<std::string()> attacks[] = {
      [&] { return noise(rng, rng() % 2000); },
      [&] { return "\x16\x03\x01" + noise(rng, rng() % 600); },             // looks like TLS
      [&] { return "\x16\x03\x03\xff\xff" + noise(rng, 40'000); },          // a record that is too long
      [&] { return hello.substr(0, rng() % hello.size()); },                // cut off
      [&] { return hello + noise(rng, 500); },                              // and then nonsense
      [&] { return hello + hello; },                                        // twice
      [&] { return std::string("\xff\xff\xff\xff", 4) + noise(rng, 100); }, // a frame of 4 GiB
      [&] { return std::string("\0\0\0\0", 4); },                           // and one of nothing
      [&] { return std::string("\0\0\x10\x00", 4) + noise(rng, 100); },     // one that does not end
      [&] { return std::string("\0\0\0\x05hello", 9) + std::string("\x7f\xff\xff\xff", 4); }, // greets first
      [&] { return std::string("GET / HTTP/1.1\r\n\r\n"); },
      [&] { return std::string(); },
  };
  std::size_t before = 0;
  constexpr int rounds = 60;
  for (int round = 0; round < rounds; ++round) {
    for (const auto& attack : attacks) {
      const raw_peer p(v);
      p.say(attack());
      if (rng() % 2 == 0) world.turn();
      if (rng() % 3 == 0) ::shutdown(p.fd, SHUT_WR); // half open
      if (rng() % 2 == 0) world.turn();
      if (rng() % 4 == 0) {
        const linger hard{1, 0};
        ::setsockopt(p.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard); // a reset in place of an end
      }
    }
    if (round % 20 == 9) v.serves();
    world.until([&] { return v.door->connections() == 1; });
    v.refused.clear();
    if (round == rounds / 3) before = ::mallinfo2().uordblks;
  }
  const auto after = ::mallinfo2().uordblks;
  BOOST_TEST(after < before + 200'000u);
  BOOST_TEST(v.links.size() == 1u);
  staying->send("hello again");
  world.until([&] { return heard == "hello again"; });
  v.serves();
  staying->close();
  v.settle();
}

BOOST_AUTO_TEST_CASE(those_who_begin_and_do_not_go_on_do_not_keep_others_out) {
  live world;
  victim v(world, 8, 1h);
  const auto hello = client_hello();
  std::vector<std::unique_ptr<raw_peer>> slow;
  const std::string beginnings[] = {
      "", "\x16", hello.substr(0, 60), hello, std::string("\0\0\0", 3), std::string("\0\0\0\x09hel", 7)};
  for (int i = 0; i < 120; ++i) {
    slow.push_back(std::make_unique<raw_peer>(v));
    slow.back()->say(beginnings[static_cast<std::size_t>(i) % std::size(beginnings)]);
    if (i % 3 == 0) world.turn();
    if (i % 30 == 29) v.serves();
    // Byte by byte they stay no longer.
    for (const auto& s : slow) s->say(std::string(1, '\x01'));
    BOOST_TEST_REQUIRE(v.door->greeting() <= 8u);
  }
  world.until([&] { return v.door->connections() <= 8u; }); // the guests have gone
  BOOST_TEST(v.door->greeting() <= 8u);
  v.serves();
  slow.clear();
  v.settle();
}

BOOST_AUTO_TEST_CASE(a_length_that_may_not_be_ends_the_connection_before_anything_follows_it) {
  live world;
  victim v(world, 16, 1h);
  // 4 GiB, nothing at all, and a byte more than a greeting may have.
  const std::string lengths[] = {std::string("\xff\xff\xff\xff", 4), std::string(4, '\0'),
                                 std::string("\0\0\x10\x01", 4)};
  for (const auto& length : lengths) {
    const raw_peer p(v);
    p.say(length);
    char more = 0;
    world.until([&] { return ::recv(p.fd, &more, 1, MSG_DONTWAIT) == 0; });
  }
  BOOST_TEST(v.ends == std::vector<std::string>(3, "what came is not a frame, or is too long"),
             boost::test_tools::per_element());
  v.settle();
}

BOOST_AUTO_TEST_CASE(who_is_in_and_breaks_the_rules_is_alone_in_losing_his_connection) {
  live world;
  victim v(world);
  std::vector<link_ptr> good;
  std::size_t answers = 0;
  for (int i = 0; i < 4; ++i) {
    good.push_back(v.guest(i % 2 == 0));
    good.back()->start([&](std::string_view) { ++answers; }, [](const error& e) { BOOST_ERROR(e.message); });
    good.back()->send("hello");
  }
  world.until([&] { return answers == 4; });
  // A frame above the limit, over TLS and without, by a peer that is established.
  for (const bool tls : {true, false}) {
    dial_options o;
    o.to = v.door->bound().front();
    o.limits.frame_bytes = 8u << 20; // it allows itself more than the other side does
    if (tls) o.tls = *tls_for_client({v.identity.fingerprint, {}});
    link_ptr bad;
    dial(world.loop, o, [&](const result<link_ptr>& r) { bad = *r; });
    world.until([&] { return bad != nullptr; });
    bool in = false, ended = false;
    bad->start([&](std::string_view) { in = true; }, [&](const error&) { ended = true; });
    bad->send("hello");
    world.until([&] { return in; });
    bad->established();
    bad->send(std::string((1u << 20) + 1, 'x'));
    world.until([&] { return ended; });
  }
  BOOST_TEST(v.ends == std::vector<std::string>(2, "what came is not a frame, or is too long"),
             boost::test_tools::per_element());
  for (const auto& l : good) l->send("again");
  world.until([&] { return answers == 8; });
  BOOST_TEST(v.links.size() == 4u);
  for (const auto& l : good) l->close();
  v.settle();
}

BOOST_AUTO_TEST_CASE(a_session_that_was_recorded_cannot_be_played_again) {
  live world;
  victim v(world);
  // What a guest sends, by way of somebody in between who keeps it.
  asio::ip::tcp::acceptor between(world.loop, {asio::ip::make_address("127.0.0.1"), 0});
  asio::ip::tcp::socket guest_side(world.loop), hub_side(world.loop);
  std::string recorded;
  std::array<char, 4096> up{}, down{};
  std::function<void()> read_up = [&] {
    guest_side.async_read_some(asio::buffer(up), [&](const asio::error_code& ec, std::size_t n) {
      if (ec) return;
      recorded.append(up.data(), n);
      asio::write(hub_side, asio::buffer(up.data(), n));
      read_up();
    });
  };
  std::function<void()> read_down = [&] {
    hub_side.async_read_some(asio::buffer(down), [&](const asio::error_code& ec, std::size_t n) {
      if (ec) return;
      asio::write(guest_side, asio::buffer(down.data(), n));
      read_down();
    });
  };
  between.async_accept(guest_side, [&](const asio::error_code& ec) {
    BOOST_REQUIRE(!ec);
    hub_side.connect({asio::ip::make_address("127.0.0.1"), v.door->bound().front().port});
    read_up();
    read_down();
  });
  dial_options o;
  o.to = {"127.0.0.1", between.local_endpoint().port()};
  o.tls = *tls_for_client({v.identity.fingerprint, {}});
  link_ptr l;
  dial(world.loop, o, [&](const result<link_ptr>& r) {
    BOOST_REQUIRE(r.ok());
    l = *r;
  });
  world.until([&] { return l != nullptr; });
  std::string back;
  l->start([&](std::string_view b) { back = b; }, [](const error&) {});
  l->send("hello, here is my secret");
  world.until([&] { return !back.empty(); });
  BOOST_TEST(back == "hello, here is my secret"); // who is in between is no hindrance, and learns nothing:
  BOOST_TEST(recorded.find("my secret") == std::string::npos);
  l->close();
  guest_side.close();
  hub_side.close();
  v.settle();
  const auto refused = v.refused.size();
  {
    const raw_peer p(v);
    p.say(recorded);
    world.until([&] { return v.refused.size() > refused; });
  }
  v.settle();
  v.serves();
  v.settle();
}

BOOST_AUTO_TEST_SUITE_END()
