#include "net/connection.hpp"
#include "tests/net/manual_clock.hpp"

#include <asio/io_context.hpp>
#include <asio/local/connect_pair.hpp>
#include <asio/local/stream_protocol.hpp>
#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>
#include <vector>

using namespace attune;
using namespace attune::net;
using namespace std::chrono_literals;
using tests::manual_clock;

namespace {

using socket_type = asio::local::stream_protocol::socket;
using link = connection<socket_type, manual_clock>;

struct bench {
  asio::io_context loop;
  socket_type other{loop};
  std::shared_ptr<link> one;
  std::vector<std::string> taken;
  std::optional<std::string> end;

  explicit bench(const connection_limits& limits) {
    socket_type mine(loop);
    asio::local::connect_pair(mine, other);
    other.non_blocking(true);
    one = std::make_shared<link>(std::move(mine), limits);
    one->start([this](std::string_view body) { taken.emplace_back(body); },
               [this](const error& why) { end = why.message; });
    turn();
  }
  ~bench() {
    one->close();
    turn();
  }
  void turn() {
    for (int i = 0; i < 20; ++i) loop.poll();
  }
  void pass(nanoseconds d) {
    manual_clock::at += d;
    turn();
  }
  void come(std::string_view bytes) {
    asio::error_code ec;
    asio::write(other, asio::buffer(bytes.data(), bytes.size()), ec);
    turn();
  }
  std::string frame(std::string_view body) const {
    std::string out;
    append_frame(out, body);
    return out;
  }
};

connection_limits small() {
  connection_limits l;
  l.greeting_bytes = 10;
  l.frame_bytes = 1u << 20;
  l.queued_bytes = 4u << 20;
  return l;
}

} // namespace

BOOST_AUTO_TEST_SUITE(connections)

BOOST_AUTO_TEST_CASE(who_does_not_greet_in_time_is_left) {
  bench b(small());
  b.pass(4s);
  BOOST_TEST(!b.end.has_value());
  b.come(b.frame("half").substr(0, 5)); // does not gain it time
  b.pass(2s);
  BOOST_REQUIRE(b.end.has_value());
  BOOST_TEST(*b.end == "the greeting did not come in time");
  BOOST_TEST(b.one->closed());
}

BOOST_AUTO_TEST_CASE(a_long_greeting_is_refused_and_long_frames_come_after_it) {
  {
    bench b(small());
    b.come(b.frame(std::string(11, 'x')));
    BOOST_TEST(b.end.has_value());
    BOOST_TEST(b.taken.empty());
  }
  bench b(small());
  b.come(b.frame("hello"));
  b.one->established();
  b.come(b.frame(std::string(100'000, 'x')));
  BOOST_TEST(b.taken.size() == 2u);
  b.pass(24h); // silence between frames is nothing bad
  BOOST_TEST(!b.end.has_value());
  b.come(std::string("\xff\xff\xff\xff", 4));
  BOOST_TEST(b.end.has_value());
}

BOOST_AUTO_TEST_CASE(half_a_frame_and_then_silence) {
  bench b(small());
  b.one->established();
  b.come(b.frame("whole") + b.frame("cut off").substr(0, 6));
  BOOST_TEST(b.taken.size() == 1u);
  b.pass(6s);
  b.come("c"); // byte by byte is no way to stay for ever
  b.pass(6s);
  BOOST_REQUIRE(b.end.has_value());
  BOOST_TEST(*b.end == "a message was begun and not ended in time");
  // And one that is ended in time is none.
  bench c(small());
  c.one->established();
  const auto f = c.frame("cut");
  c.come(f.substr(0, 6));
  c.pass(6s);
  c.come(f.substr(6));
  c.pass(60s);
  BOOST_TEST(!c.end.has_value());
  BOOST_TEST(c.taken.size() == 1u);
}

BOOST_AUTO_TEST_CASE(who_does_not_read_is_left_and_nothing_more_is_read_of_it) {
  auto l = small();
  bench b(l);
  b.one->established();
  const std::string body(1u << 20, 'x');
  // One is on its way, two wait: more than half of what may.
  for (int i = 0; i < 3; ++i) b.one->send(body);
  b.turn();
  b.come(b.frame("question"));
  b.come(b.frame("another"));
  BOOST_TEST(b.taken.size() <= 1u); // the read that was under way
  BOOST_TEST(!b.end.has_value());
  {
    bench full(l);
    full.one->established();
    for (int i = 0; i < 5 && !full.end; ++i) full.one->send(body);
    BOOST_REQUIRE(full.end.has_value());
    BOOST_TEST(*full.end == "the other side does not read");
  }
  b.pass(21s);
  BOOST_REQUIRE(b.end.has_value());
  BOOST_TEST(*b.end == "the other side does not read");
}

BOOST_AUTO_TEST_CASE(who_reads_after_all_gets_everything) {
  bench b(small());
  b.one->established();
  const std::string body(1u << 20, 'x');
  for (int i = 0; i < 3; ++i) b.one->send(body);
  b.come(b.frame("question"));
  std::string got(3 * (body.size() + frame_header_bytes) + 100, '\0');
  std::size_t n = 0;
  for (int i = 0; i < 1000 && n < got.size() - 100; ++i) {
    asio::error_code ec;
    n += b.other.read_some(asio::buffer(got.data() + n, got.size() - n), ec);
    b.turn();
  }
  BOOST_TEST(n == got.size() - 100);
  b.come(b.frame("more"));
  BOOST_TEST(b.taken.size() == 2u);
  b.pass(60s);
  BOOST_TEST(!b.end.has_value());
}

BOOST_AUTO_TEST_CASE(the_end_is_told_once) {
  bench b(small());
  b.one->established();
  b.other.close();
  b.turn();
  BOOST_REQUIRE(b.end.has_value());
  BOOST_TEST(*b.end == "the other side has hung up");
  b.end.reset();
  b.one->send("x");
  b.pass(60s);
  BOOST_TEST(!b.end.has_value());
  // By its own hand: not at all.
  bench c(small());
  c.one->close();
  c.pass(60s);
  BOOST_TEST(!c.end.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
