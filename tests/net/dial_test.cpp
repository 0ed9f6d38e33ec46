#include "net/dial.hpp"
#include "net/listen.hpp"
#include "tests/net/live.hpp"
#include "tests/net/says.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/resource.h>
#include <sys/socket.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

using namespace attune;
using namespace attune::net;
using namespace std::chrono_literals;
using tests::live;

namespace {

/// A listener that answers each frame with itself.
struct echo {
  std::vector<link_ptr> links;
  std::vector<std::string> turned_away;
  std::unique_ptr<listener> door;

  echo(live& world, listen_options options) {
    auto opened = listener::open(
        world.loop, options,
        {[this](link_ptr l) {
           links.push_back(l);
           l->start(
               [raw = l.get()](std::string_view body) {
                 raw->established();
                 raw->send(body);
               },
               [](const error&) {});
         },
         [this](const std::string& peer, const error& why) { turned_away.push_back(peer + ": " + why.message); }});
    BOOST_REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.err().message));
    door = std::move(*opened);
  }
  ~echo() {
    for (const auto& l : links) l->close();
  }
};

result<link_ptr> dialled(live& world, dial_options options) {
  std::optional<result<link_ptr>> out;
  dial(world.loop, std::move(options), [&](result<link_ptr> r) { out = std::move(r); });
  world.until([&] { return out.has_value(); });
  return *out;
}

/// Says `body` and waits until it has come back.
std::string say(live& world, const link_ptr& l, const std::string& body) {
  std::optional<std::string> back;
  l->start([&](std::string_view b) { back = b; }, [&](const error& why) { back = "ended: " + why.message; });
  l->send(body);
  world.until([&] { return back.has_value(); });
  l->close();
  return *back;
}

dial_options to(address where) {
  dial_options o;
  o.to = std::move(where);
  return o;
}

listen_options on(const std::string& host, std::uint16_t port = 0) {
  listen_options o;
  o.at = {host, port};
  o.plain = plain_from::anywhere;
  return o;
}

/// A port of 127.0.0.1 that is taken and where nobody listens.
struct held_port {
  int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::uint16_t port = 0;
  held_port() {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    BOOST_REQUIRE(::bind(socket, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
    socklen_t n = sizeof at;
    BOOST_REQUIRE(::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &n) == 0);
    port = ntohs(at.sin_port);
  }
  ~held_port() { ::close(socket); }
};

} // namespace

BOOST_AUTO_TEST_SUITE(dial_and_listen)

BOOST_AUTO_TEST_CASE(over_ipv4_and_ipv6_by_the_address_that_is_printed) {
  for (const auto* host : {"127.0.0.1", "::1"}) {
    if (!live::has(host)) {
      BOOST_TEST_MESSAGE("skipped: this machine has no " << host);
      continue;
    }
    live world;
    echo there(world, on(host));
    BOOST_REQUIRE(there.door->bound().size() == 1u);
    const auto pasted = parse_address(there.door->bound().front().text());
    BOOST_REQUIRE(pasted.ok());
    auto l = dialled(world, to(*pasted));
    BOOST_REQUIRE(l.ok());
    BOOST_TEST((*l)->peer() == pasted->text());
    BOOST_TEST(say(world, *l, "hello") == "hello");
    BOOST_REQUIRE(there.links.size() == 1u);
    const auto seen = parse_address(there.links.front()->peer());
    BOOST_REQUIRE(seen.ok());
    BOOST_TEST(seen->host == host);
  }
}

BOOST_AUTO_TEST_CASE(an_ipv4_only_peer_reaches_who_listens_on_all_of_ipv6) {
  if (!live::has("::1")) {
    BOOST_TEST_MESSAGE("skipped: this machine has no IPv6");
    return;
  }
  live world;
  echo there(world, on("::"));
  const auto bound = there.door->bound().front();
  BOOST_TEST(bound.text() == "[::]:" + std::to_string(bound.port));
  for (const auto* host : {"127.0.0.1", "::1"}) {
    auto l = dialled(world, to({host, bound.port}));
    BOOST_REQUIRE(l.ok());
    BOOST_TEST(say(world, *l, "hello") == "hello");
  }
  BOOST_REQUIRE(there.links.size() == 2u);
  BOOST_TEST(there.links.front()->peer().starts_with("127.0.0.1:")); // not ::ffff:127.0.0.1
}

BOOST_AUTO_TEST_CASE(a_name_is_listened_on_with_all_its_addresses_under_one_port) {
  live world;
  echo there(world, on("localhost"));
  BOOST_REQUIRE(!there.door->bound().empty());
  for (const auto& at : there.door->bound()) {
    BOOST_TEST(at.port == there.door->bound().front().port);
    auto l = dialled(world, to(at));
    BOOST_REQUIRE(l.ok());
    BOOST_TEST(say(world, *l, "x") == "x");
  }
  auto by_name = dialled(world, to({"localhost", there.door->bound().front().port}));
  BOOST_REQUIRE(by_name.ok());
  BOOST_TEST(say(world, *by_name, "x") == "x");
}

BOOST_AUTO_TEST_CASE(each_failure_to_connect_has_its_words) {
  live world;
  const held_port nobody;
  const auto at = ":" + std::to_string(nobody.port);
  auto l = dialled(world, to({"127.0.0.1", nobody.port}));
  BOOST_REQUIRE(!l.ok());
  BOOST_TEST((l.err().code == errc::network));
  BOOST_TEST(l.err().message == "cannot reach 127.0.0.1" + at + ": refused: nobody listens there");
  // A name: every address that it has is named.
  auto named = dialled(world, to({"localhost", nobody.port}));
  BOOST_REQUIRE(!named.ok());
  BOOST_TEST(says(named.err().message, "cannot reach localhost" + at + ": "));
  BOOST_TEST(says(named.err().message, "127.0.0.1" + at + ": refused"));
  // A name that cannot be: RFC 2606 keeps .invalid free. Where no name service answers either, that is said.
  auto none = dialled(world, to({"no-such-host.invalid", 80}));
  BOOST_REQUIRE(!none.ok());
  BOOST_TEST(says(none.err().message, "cannot reach no-such-host.invalid:80: "));
  BOOST_TEST((says(none.err().message, "no such name") || says(none.err().message, "the name")));
}

BOOST_AUTO_TEST_CASE(an_address_that_does_not_answer_is_given_up_at_its_limit) {
  live world;
  // With its queue full it leaves those who knock unanswered.
  const held_port deaf;
  BOOST_REQUIRE(::listen(deaf.socket, 0) == 0);
  std::vector<int> knocking;
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  there.sin_port = htons(deaf.port);
  for (int i = 0; i < 4; ++i) {
    knocking.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(knocking.back(), reinterpret_cast<sockaddr*>(&there), sizeof there) != 0 && errno != EINPROGRESS)
      BOOST_TEST_MESSAGE("connect: " << errno);
  }
  auto o = to({"127.0.0.1", deaf.port});
  o.each = 30ms;
  auto l = dialled(world, o);
  BOOST_REQUIRE(!l.ok());
  BOOST_TEST(says(l.err().message, "timed out after 30"));
  // And given up by hand: not a word.
  o.each = 1h;
  bool told = false;
  const auto going = dial(world.loop, o, [&](const result<link_ptr>&) { told = true; });
  world.turn();
  going->cancel();
  world.turn();
  BOOST_TEST(!told);
  for (const int s : knocking) ::close(s);
}

BOOST_AUTO_TEST_CASE(where_it_cannot_listen_it_says_why) {
  live world;
  echo there(world, on("127.0.0.1"));
  const auto taken = listener::open(world.loop, on("127.0.0.1", there.door->bound().front().port), {});
  BOOST_REQUIRE(!taken.ok());
  BOOST_TEST(says(taken.err().message, there.door->bound().front().text()));
  BOOST_TEST(says(taken.err().message, "in use by another process"));
  const auto foreign = listener::open(world.loop, on("192.0.2.1"), {});
  BOOST_REQUIRE(!foreign.ok());
  BOOST_TEST(says(foreign.err().message, "this machine has no such address"));
  BOOST_TEST(!listener::open(world.loop, on("no-such-host.invalid"), {}).ok());
}

BOOST_AUTO_TEST_CASE(too_many_are_hung_up_on_and_those_before_go_on) {
  live world;
  auto o = on("127.0.0.1");
  o.connections = 2;
  echo there(world, o);
  const auto at = there.door->bound().front();
  std::vector<link_ptr> mine;
  std::size_t ended = 0;
  std::string last;
  for (int i = 0; i < 3; ++i) {
    auto l = dialled(world, to(at));
    BOOST_REQUIRE(l.ok());
    mine.push_back(*l);
    (*l)->start([&](std::string_view b) { last = b; }, [&](const error&) { ++ended; });
    (*l)->send("greeting");
    world.until([&] { return last == "greeting" || ended == 1; });
    last.clear();
  }
  BOOST_TEST(ended == 1u);
  BOOST_TEST(there.door->connections() == 2u);
  BOOST_TEST(there.door->greeting() == 0u);
  BOOST_REQUIRE(there.turned_away.size() == 1u);
  BOOST_TEST(says(there.turned_away.front(), "too many connections"));
  mine[0]->send("still there");
  world.until([&] { return last == "still there"; });
  // One goes: another may come.
  mine[1]->close();
  world.until([&] { return there.door->connections() == 1; });
  auto again = dialled(world, to(at));
  BOOST_REQUIRE(again.ok());
  BOOST_TEST(say(world, *again, "hello") == "hello");
  mine[0]->close();
}

BOOST_AUTO_TEST_CASE(who_holds_a_place_without_greeting_gives_way_to_who_comes) {
  live world;
  auto o = on("127.0.0.1");
  o.greeting = 3;
  echo there(world, o);
  const auto at = there.door->bound().front();
  std::vector<link_ptr> silent;
  std::size_t ended = 0;
  for (int i = 0; i < 10; ++i) {
    auto l = dialled(world, to(at));
    BOOST_REQUIRE(l.ok());
    silent.push_back(*l);
    (*l)->start([](std::string_view) {}, [&](const error&) { ++ended; });
  }
  world.until([&] { return ended == 7; });
  BOOST_TEST(there.door->greeting() == 3u);
  auto good = dialled(world, to(at));
  BOOST_REQUIRE(good.ok());
  BOOST_TEST(say(world, *good, "hello") == "hello");
  for (const auto& l : silent) l->close();
}

BOOST_AUTO_TEST_CASE(a_want_of_descriptors_passes) {
  live world;
  auto o = on("127.0.0.1");
  o.pause = 1ms;
  echo there(world, o);
  // The client's socket is the last that there is room for.
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  rlimit before{};
  BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int probe = ::dup(client);
  ::close(probe);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(probe);
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(there.door->bound().front().port);
  const bool connected = ::connect(client, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
  world.until([&] { return there.turned_away.size() >= 2; });
  ::setrlimit(RLIMIT_NOFILE, &before);
  BOOST_TEST(connected);
  BOOST_TEST(says(there.turned_away.front(), "no file descriptor"));
  world.until([&] { return there.links.size() == 1; });
  ::close(client);
}

BOOST_AUTO_TEST_CASE(sockets_are_not_inherited_and_send_at_once) {
  live world;
  echo there(world, on("127.0.0.1"));
  auto l = dialled(world, to(there.door->bound().front()));
  BOOST_REQUIRE(l.ok());
  BOOST_TEST(say(world, *l, "x") == "x");
  for (int fd = 3; fd < 64; ++fd) {
    int type = 0;
    socklen_t n = sizeof type;
    if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) != 0 || type != SOCK_STREAM) continue;
    BOOST_TEST((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
  }
}

BOOST_AUTO_TEST_CASE(the_last_word_arrives_though_more_was_said_than_was_read) {
  live world;
  listen_options o = on("127.0.0.1");
  link_ptr theirs;
  auto door = listener::open(world.loop, o,
                             {[&](link_ptr l) {
                                theirs = l;
                                l->start(
                                    [raw = l.get()](std::string_view) {
                                      raw->send("refused, because");
                                      raw->close_after_writing();
                                    },
                                    [](const error&) {});
                              },
                              nullptr});
  BOOST_REQUIRE(door.ok());
  auto l = dialled(world, to((*door)->bound().front()));
  BOOST_REQUIRE(l.ok());
  std::string heard;
  bool ended = false;
  (*l)->start([&](std::string_view b) { heard = b; }, [&](const error&) { ended = true; });
  for (int i = 0; i < 50; ++i) (*l)->send(std::string(4000, 'x'));
  world.until([&] { return ended; });
  BOOST_TEST(heard == "refused, because");
  world.until([&] { return theirs->closed(); });
  BOOST_TEST((*door)->connections() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
