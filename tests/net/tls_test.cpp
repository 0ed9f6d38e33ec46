#include "net/dial.hpp"
#include "net/listen.hpp"
#include "net/tls_stream.hpp"
#include "net/transport.hpp"
#include "tests/net/live.hpp"
#include "tests/net/manual_clock.hpp"
#include "tests/net/says.hpp"

#include <asio/local/connect_pair.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/ssl/stream.hpp>
#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

using namespace attune;
using namespace attune::net;
using namespace std::chrono_literals;
using tests::live;

namespace {

nanoseconds now() { return system_time().wall(); }

tls_identity identity(nanoseconds from = -1h, nanoseconds until = 1h) {
  auto id = make_identity("test", now() + from, now() + until);
  BOOST_REQUIRE(id.ok());
  return *id;
}

tls_ptr pinned(const digest& fingerprint) {
  auto t = tls_for_client({fingerprint, {}});
  BOOST_REQUIRE(t.ok());
  return *t;
}

struct folder {
  std::string path;
  folder() {
    std::string name = (std::filesystem::temp_directory_path() / "attune-tls-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~folder() { std::filesystem::remove_all(path); }
  std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    std::ofstream(path + "/" + name) << text;
    ::chmod((path + "/" + name).c_str(), mode);
    return path + "/" + name;
  }
};

int tls_mode_of(const std::string& path) {
  struct stat s {};
  BOOST_REQUIRE(::stat(path.c_str(), &s) == 0);
  return static_cast<int>(s.st_mode & 07777);
}

/// A listener that answers each frame with itself, over TLS.
struct hub {
  live& world;
  std::vector<link_ptr> links;
  std::vector<std::string> refused, ended;
  std::unique_ptr<listener> door;

  hub(live& w, const tls_ptr& tls, plain_from plain = plain_from::nobody, nanoseconds handshake = 20s) : world(w) {
    listen_options o;
    o.at = {"127.0.0.1", 0};
    o.tls = tls;
    o.plain = plain;
    o.limits.handshake = handshake;
    auto opened = listener::open(
        world.loop, o,
        {[this](link_ptr l) {
           links.push_back(l);
           l->start(
               [raw = l.get()](std::string_view body) {
                 raw->established();
                 raw->send(body);
               },
               [this](const error& why) { ended.push_back(why.message); });
         },
         [this](const std::string& peer, const error& why) { refused.push_back(peer + " " + why.message); }});
    BOOST_REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.err().message));
    door = std::move(*opened);
  }
  ~hub() {
    for (const auto& l : links) l->close();
  }
  hub(const hub&) = delete;

  result<link_ptr> dialled(const tls_ptr& tls, bool plain = false, const std::string& host = "127.0.0.1") {
    dial_options o;
    o.to = {host, door->bound().front().port};
    o.tls = tls;
    o.plain = plain;
    std::optional<result<link_ptr>> out;
    dial(world.loop, std::move(o), [&](result<link_ptr> r) { out = std::move(r); });
    world.until([&] { return out.has_value(); });
    return *out;
  }
  /// Why it cannot be dialled.
  std::string why(const tls_ptr& tls, const std::string& host = "127.0.0.1") {
    const auto l = dialled(tls, false, host);
    BOOST_REQUIRE(!l.ok());
    BOOST_TEST((l.err().code == errc::network));
    return l.err().message;
  }
  std::string say(const link_ptr& l, const std::string& body) {
    std::string back;
    bool over = false;
    l->start(
        [&](std::string_view b) {
          back = b;
          over = true;
        },
        [&](const error& e) {
          back = "ended: " + e.message;
          over = true;
        });
    l->send(body);
    world.until([&] { return over; });
    l->close();
    return back;
  }
};

tls_ptr of(const tls_identity& id) {
  auto t = tls_for_hub(id);
  BOOST_REQUIRE(t.ok());
  return *t;
}

} // namespace

BOOST_AUTO_TEST_SUITE(tls)

BOOST_AUTO_TEST_CASE(who_may_do_without_is_a_rule) {
  // Who dials: never more open than asked, never from one to the other.
  BOOST_TEST((transport_to("10.0.0.1", false, false) == transport::refused));
  BOOST_TEST((transport_to("10.0.0.1", true, false) == transport::tls));
  BOOST_TEST((transport_to("10.0.0.1", false, true) == transport::plain));
  BOOST_TEST((transport_to("127.0.0.1", false, false) == transport::plain));
  BOOST_TEST((transport_to("::1", false, false) == transport::plain));
  BOOST_TEST((transport_to("127.0.0.1", true, false) == transport::tls));
  BOOST_TEST((transport_to("::1", true, true) == transport::plain));
  BOOST_TEST((transport_to("localhost", false, false) == transport::refused)); // a name is no address
  // Who listens.
  for (const auto* host : {"127.0.0.1", "::1"}) {
    BOOST_TEST(!plain_allowed(host, plain_from::nobody));
    BOOST_TEST(plain_allowed(host, plain_from::loopback));
    BOOST_TEST(plain_allowed(host, plain_from::anywhere));
  }
  for (const auto* host : {"10.0.0.1", "::", "0.0.0.0", "fd00::1"}) {
    BOOST_TEST(!plain_allowed(host, plain_from::nobody));
    BOOST_TEST(!plain_allowed(host, plain_from::loopback));
    BOOST_TEST(plain_allowed(host, plain_from::anywhere));
  }
}

BOOST_AUTO_TEST_CASE(the_rule_is_held_at_both_ends) {
  live world;
  listen_options o;
  o.at = {"0.0.0.0", 0};
  const auto open = listener::open(world.loop, o, {});
  BOOST_REQUIRE(!open.ok());
  BOOST_TEST(says(open.err().message, "--plain"));
  o.plain = plain_from::anywhere;
  BOOST_TEST(listener::open(world.loop, o, {}).ok());
  dial_options d;
  d.to = {"192.0.2.1", 9}; // RFC 5737: nobody is there, and nobody is asked
  std::optional<result<link_ptr>> out;
  dial(world.loop, d, [&](result<link_ptr> r) { out = std::move(r); });
  world.until([&] { return out.has_value(); });
  BOOST_REQUIRE(!out->ok());
  BOOST_TEST(says(out->err().message, "not without TLS"));
  BOOST_TEST(says(out->err().message, "--plain"));
}

BOOST_AUTO_TEST_CASE(a_hub_makes_its_certificate_once_and_shows_it_to_nobody) {
  const folder tmp;
  const auto before = ::umask(0);
  for (const mode_t mask : {mode_t{0}, mode_t{0777}}) {
    const auto path = tmp.path + "/a" + std::to_string(mask) + "/hub";
    ::umask(mask);
    auto place = private_folder::open(path, true);
    auto made = place ? own_identity(*place, now()) : result<tls_identity>(place.err());
    auto again = place ? own_identity(*place, now()) : result<tls_identity>(place.err());
    ::umask(before);
    BOOST_REQUIRE_MESSAGE(made.ok(), (made.ok() ? "" : made.err().message));
    BOOST_REQUIRE(again.ok());
    BOOST_TEST((made->fingerprint == again->fingerprint));
    BOOST_TEST((made->until > now() + std::chrono::hours(24 * 365)));
    BOOST_TEST(tls_mode_of(path) == 0700);
    for (const auto& f : std::filesystem::directory_iterator(path)) BOOST_TEST(tls_mode_of(f.path()) == 0600);
    BOOST_TEST(std::filesystem::exists(path + "/identity.pem"));
    // Opened by somebody: closed again, or not believed.
    ::chmod(path.c_str(), 0755);
    BOOST_TEST(private_folder::open(path, false).ok());
    BOOST_TEST(tls_mode_of(path) == 0700);
    ::chmod((path + "/identity.pem").c_str(), 0644);
    const auto shown = own_identity(*place, now());
    BOOST_REQUIRE(!shown.ok());
    BOOST_TEST(says(shown.err().message, "open to other users"));
    ::chmod((path + "/identity.pem").c_str(), 0600);
    // Its time ends.
    const auto late = own_identity(*place, now() + std::chrono::hours(24 * 4000));
    BOOST_REQUIRE(!late.ok());
    BOOST_TEST(says(late.err().message, "has expired on 20"));
    BOOST_TEST(says(late.err().message, "identity.pem"));
  }
  ::umask(before);
  BOOST_TEST((private_folder::open(tmp.path + "/none", false).err().code == errc::not_found));
}

BOOST_AUTO_TEST_CASE(a_damaged_certificate_file_is_said) {
  const folder tmp;
  auto place = private_folder::open(tmp.path + "/hub", true);
  BOOST_REQUIRE(place.ok());
  BOOST_REQUIRE(place->replace("identity.pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n").ok());
  const auto bad = own_identity(*place, now());
  BOOST_REQUIRE(!bad.ok());
  BOOST_TEST(says(bad.err().message, "does not hold a certificate and its key"));
}

BOOST_AUTO_TEST_CASE(frames_go_over_tls_to_who_is_known_by_the_fingerprint) {
  live world;
  const auto id = identity();
  hub there(world, of(id));
  auto l = there.dialled(pinned(id.fingerprint));
  BOOST_REQUIRE(l.ok());
  const std::string long_one(200, 'x');
  BOOST_TEST(there.say(*l, long_one) == long_one);
  BOOST_TEST(there.links.front()->peer().starts_with("127.0.0.1:"));
}

BOOST_AUTO_TEST_CASE(megabytes_go_both_ways_at_a_time) {
  live world;
  const auto id = identity();
  hub there(world, of(id));
  auto l = there.dialled(pinned(id.fingerprint));
  BOOST_REQUIRE(l.ok());
  std::size_t back = 0, frames = 0;
  bool good = true;
  (*l)->start(
      [&](std::string_view b) {
        if (frames == 0) {
          (*l)->established();
          for (int i = 1; i <= 8; ++i) (*l)->send(std::string(1u << 20, static_cast<char>('a' + i)));
        } else {
          good = good && b.size() == 1u << 20 && b.front() == static_cast<char>('a' + frames) && b.back() == b.front();
        }
        ++frames;
        back += b.size();
      },
      [&](const error& e) { BOOST_ERROR(e.message); });
  (*l)->send("hello");
  world.until([&] { return frames == 9; });
  BOOST_TEST(good);
  (*l)->close();
}

BOOST_AUTO_TEST_CASE(another_certificate_is_refused_without_a_word_of_secrets) {
  live world;
  const auto id = identity(), other = identity();
  hub there(world, of(id));
  const auto m = there.why(pinned(other.fingerprint));
  BOOST_TEST(says(m, "TLS: the certificate is not the one that the token names"));
  BOOST_TEST(says(m, there.door->bound().front().text()));
  BOOST_TEST(says(m, other.fingerprint.hex().substr(0, 16)));
  BOOST_TEST(!says(m, other.fingerprint.hex()));
  world.until([&] { return !there.refused.empty(); });
  BOOST_TEST(there.links.empty());
  // One bit is enough.
  auto near = id.fingerprint;
  near.bytes[31] ^= 1;
  BOOST_TEST(says(there.why(pinned(near)), "is not the one"));
}

BOOST_AUTO_TEST_CASE(a_certificate_out_of_its_time_is_refused) {
  live world;
  const auto old = identity(-48h, -24h), young = identity(24h, 48h);
  {
    hub there(world, of(old));
    const auto m = there.why(pinned(old.fingerprint));
    BOOST_TEST(says(m, "the certificate has expired on " + rfc3339(old.until)));
  }
  hub there(world, of(young));
  BOOST_TEST(says(there.why(pinned(young.fingerprint)), "not valid yet"));
}

BOOST_AUTO_TEST_CASE(a_ca_of_ones_own) {
  // A certificate that signs itself, and is what is trusted.
  const folder tmp;
  live world;
  const auto id = identity(), other = identity();
  const auto ca = tmp.write("ca.pem", id.certificates), wrong = tmp.write("wrong.pem", other.certificates);
  hub there(world, of(id));
  const auto trusting = tls_for_client({{}, ca}), mistaken = tls_for_client({{}, wrong});
  BOOST_REQUIRE(trusting.ok());
  BOOST_REQUIRE(mistaken.ok());
  BOOST_TEST(says(there.why(*mistaken), "not from the given CA"));
  // It is from it, but made out to nobody.
  BOOST_TEST(says(there.why(*trusting), "made out to another name"));
  BOOST_TEST(says(there.why(*trusting, "localhost"), "made out to another name"));
  BOOST_TEST(!tls_for_client({}).ok());
  BOOST_TEST((tls_for_client({{}, tmp.path + "/none"}).err().code == errc::io));
  BOOST_TEST((tls_for_client({{}, tmp.write("empty.pem", "x")}).err().code == errc::io));
}

BOOST_AUTO_TEST_CASE(files_of_ones_own) {
  const folder tmp;
  const auto id = identity(), other = identity(), old = identity(-2h, -1h);
  const auto certificate = tmp.write("cert.pem", id.certificates), key = tmp.write("key.pem", id.key);
  const auto good = identity_of_files(certificate, key, now());
  BOOST_REQUIRE(good.ok());
  BOOST_TEST((good->fingerprint == id.fingerprint));
  const auto why = [&](const std::string& c, const std::string& k) {
    const auto r = identity_of_files(c, k, now());
    BOOST_REQUIRE(!r.ok());
    BOOST_TEST(!says(r.err().message, id.key.substr(40, 20)));
    return r.err().message;
  };
  BOOST_TEST(says(why(certificate, tmp.write("other.pem", other.key)), "does not belong"));
  BOOST_TEST(says(why(key, key), "holds no certificate"));
  BOOST_TEST(says(why(certificate, certificate), "holds no key"));
  BOOST_TEST(says(why(certificate, tmp.write("shown.pem", id.key, 0644)), "chmod 600"));
  BOOST_TEST(says(why(tmp.write("old.pem", old.certificates), tmp.write("oldkey.pem", old.key)), "has expired on"));
  BOOST_TEST(says(why(tmp.path + "/none", key), "No such file"));
  BOOST_TEST(says(why(tmp.path, key), "Is a directory"));
}

BOOST_AUTO_TEST_CASE(plain_and_tls_at_the_wrong_door_are_told_apart) {
  live world;
  const auto id = identity();
  {
    hub there(world, of(id)); // TLS alone
    auto l = there.dialled(nullptr, true);
    BOOST_REQUIRE(l.ok());
    BOOST_TEST(says(there.say(*l, "hello"), "TLS alone is spoken here"));
    BOOST_REQUIRE(there.refused.size() == 1u);
    BOOST_TEST(says(there.refused.front(), "does not speak TLS"));
    world.until([&] { return there.door->connections() == 0; });
    BOOST_TEST(there.links.empty());
  }
  hub there(world, nullptr, plain_from::loopback);
  BOOST_TEST(says(there.why(pinned(id.fingerprint)), "(does it speak TLS?)"));
  world.until([&] { return !there.ended.empty(); });
  BOOST_TEST(there.ended.front() == "the other side speaks TLS, this one does not");
}

BOOST_AUTO_TEST_CASE(where_plain_is_allowed_the_peer_chooses) {
  live world;
  const auto id = identity();
  hub there(world, of(id), plain_from::loopback);
  auto open = there.dialled(nullptr), closed = there.dialled(pinned(id.fingerprint));
  BOOST_REQUIRE(open.ok());
  BOOST_REQUIRE(closed.ok());
  BOOST_TEST(there.say(*open, "hello") == "hello");
  BOOST_TEST(there.say(*closed, "hello") == "hello");
  world.until([&] { return there.ended.size() == 2; });
  BOOST_TEST(there.door->connections() == 0u);
}

BOOST_AUTO_TEST_CASE(who_is_silent_at_a_door_for_both_is_left) {
  live world;
  hub there(world, of(identity()), plain_from::loopback, 1ms);
  auto l = there.dialled(nullptr);
  BOOST_REQUIRE(l.ok());
  bool ended = false;
  (*l)->start([](std::string_view) {}, [&](const error&) { ended = true; });
  world.until([&] { return ended && there.door->connections() == 0; });
  BOOST_REQUIRE(!there.refused.empty());
  BOOST_TEST(says(there.refused.front(), "did not come in time"));
}

BOOST_AUTO_TEST_CASE(an_older_tls_is_refused) {
  live world;
  hub there(world, of(identity()));
  asio::ssl::context old(asio::ssl::context::tlsv12_client);
  asio::ssl::stream<asio::ip::tcp::socket> s(world.loop, old);
  s.lowest_layer().connect({asio::ip::make_address("127.0.0.1"), there.door->bound().front().port});
  std::optional<asio::error_code> how;
  s.async_handshake(asio::ssl::stream_base::client, [&](const asio::error_code& ec) { how = ec; });
  world.until([&] { return how && !there.refused.empty(); });
  BOOST_TEST(bool(*how));
  BOOST_TEST(says(there.refused.front(), "does not speak TLS 1.3"));
}

BOOST_AUTO_TEST_CASE(the_deadline_covers_the_handshake_and_the_greeting) {
  using local = asio::local::stream_protocol::socket;
  using stream = asio::ssl::stream<local>;
  using tests::manual_clock;
  const auto server = of(identity());
  for (const bool speaks : {false, true}) {
    live world;
    local mine(world.loop), other(world.loop);
    asio::local::connect_pair(mine, other);
    connection_limits limits;
    limits.handshake = 5s;
    const auto one =
        std::make_shared<connection<stream, manual_clock>>(stream(std::move(mine), server->context), limits);
    std::optional<asio::error_code> how;
    std::string end;
    one->shake_hands(asio::ssl::stream_base::server, [&](const asio::error_code& ec) { how = ec; });
    asio::ssl::context open(asio::ssl::context::tls_client);
    stream client(std::move(other), open);
    bool shaken = false;
    if (speaks) {
      client.async_handshake(asio::ssl::stream_base::client, [&](const asio::error_code& ec) { shaken = !ec; });
      world.until([&] { return how.has_value() && shaken; });
      BOOST_TEST(!*how);
      manual_clock::at += 4s;
      one->start([](std::string_view) {}, [&](const error& why) { end = why.message; });
      world.turn();
      BOOST_TEST(end.empty());
      manual_clock::at += 2s; // only together too late
      world.turn();
      BOOST_TEST(end == "the greeting did not come in time");
    } else {
      manual_clock::at += 4s;
      world.turn();
      BOOST_TEST(!how.has_value());
      manual_clock::at += 2s;
      world.turn();
      BOOST_REQUIRE(how.has_value());
      BOOST_TEST((*how == asio::error::timed_out));
    }
    BOOST_TEST(one->closed());
    world.turn();
  }
}

BOOST_AUTO_TEST_CASE(who_shakes_hands_goes_with_the_loop) {
  using local = asio::local::stream_protocol::socket;
  using stream = asio::ssl::stream<local>;
  const auto server = of(identity());
  std::weak_ptr<connection<stream>> left;
  {
    live world;
    local mine(world.loop), other(world.loop);
    asio::local::connect_pair(mine, other);
    const auto one =
        std::make_shared<connection<stream>>(stream(std::move(mine), server->context), connection_limits());
    left = one;
    one->shake_hands(asio::ssl::stream_base::server, [one](const asio::error_code&) {});
    world.turn();
  }
  BOOST_TEST(left.expired());
}

BOOST_AUTO_TEST_SUITE_END()
