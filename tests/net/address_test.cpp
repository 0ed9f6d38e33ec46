#include "net/address.hpp"
#include "tests/net/says.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune;
using namespace attune::net;

namespace {

std::string why_not(std::string_view text, bool any_port = false) {
  const auto a = parse_address(text, any_port);
  BOOST_REQUIRE_MESSAGE(!a.ok(), text);
  BOOST_TEST((a.err().code == errc::invalid_spec));
  return a.err().message;
}
} // namespace

BOOST_AUTO_TEST_SUITE(addresses)

BOOST_AUTO_TEST_CASE(what_is_printed_can_be_pasted_back) {
  for (const auto* text : {"127.0.0.1:9090", "[::1]:9090", "[::]:1", "[fe80::1%eth0]:9090", "board-1.lab.example:65535",
                           "localhost:80", "[::ffff:10.0.0.1]:80", "rooted.example.:80", "my_board:80"}) {
    const auto a = parse_address(text);
    BOOST_REQUIRE_MESSAGE(a.ok(), text);
    BOOST_TEST(a->text() == text);
  }
  BOOST_TEST(parse_address("[::1]:9090")->host == "::1");
  BOOST_TEST(address({"fe80::1", 7}).text() == "[fe80::1]:7");
}

BOOST_AUTO_TEST_CASE(an_ipv6_address_without_brackets_is_ambiguous_and_the_remedy_is_said) {
  const auto m = why_not("::1:9090");
  BOOST_TEST(says(m, "ambiguous"));
  BOOST_TEST(says(m, "[::1]:9090"));
  BOOST_TEST(says(m, "[::1:9090]:PORT"));
  BOOST_TEST(says(why_not("2001:db8::5"), "[2001:db8::5]:PORT"));
  // Every remedy but PORT can be pasted.
  BOOST_TEST(parse_address("[::1]:9090").ok());
  BOOST_TEST(says(why_not("fe80::1%eth0:9090"), "[fe80::1%eth0]:9090"));
  BOOST_TEST(!says(why_not("a:b:c"), "ambiguous"));
}

BOOST_AUTO_TEST_CASE(what_is_no_address_is_refused_with_what_is_wrong) {
  BOOST_TEST(says(why_not("board"), "write board:PORT"));
  BOOST_TEST(says(why_not("[::1]"), "write [::1]:PORT"));
  BOOST_TEST(says(why_not(":9090"), "[::]:9090"));
  BOOST_TEST(!says(why_not(":9090\n"), "\n"));
  why_not(std::string_view("[::1\0x]:80", 10)); // of which the system would read the beginning
  BOOST_TEST(!says(why_not(std::string_view("::1\0x", 5)), std::string_view("\0", 1)));
  why_not(std::string_view("127.0.0.1\0:80", 13));
  BOOST_TEST(says(why_not("[::1:9090"), "not closed"));
  BOOST_TEST(says(why_not("[127.0.0.1]:80"), "not an IPv6 address"));
  BOOST_TEST(says(why_not("[::1]9090"), "colon"));
  BOOST_TEST(says(why_not("300.0.0.1:80"), "neither"));
  BOOST_TEST(says(why_not("1.2.3:80"), "neither")); // which the system would take for 1.2.0.3
  for (const auto* text : {"a:0", "a:65536", "a:", "a:x", "a:-1", "a:+1", "a: 1", "a:1 ", "[::1]:0x1", "a:99999999999"})
    BOOST_TEST(says(why_not(text), "a port is a number from 1 to 65535"));
  for (const auto* text : {"", "-a:1", "a..b:1", "a b:1", "http://a:1", "*:1", ".:1"}) why_not(text);
  BOOST_TEST(says(why_not(std::string(64, 'a') + ":1"), "neither"));
  why_not(std::string(400, 'a') + ":1");
  BOOST_TEST(!says(why_not("a\x1b[31m:1"), "\x1b")); // nothing that a terminal obeys
  BOOST_TEST(parse_address("a:0", true).ok());
}

BOOST_AUTO_TEST_CASE(what_is_loopback) {
  for (const auto* host : {"127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"}) BOOST_TEST(is_loopback(host), host);
  for (const auto* host :
       {"128.0.0.1", "10.0.0.1", "::", "0.0.0.0", "::2", "::ffff:10.0.0.1", "localhost", "127.0.0.1.example.org"})
    BOOST_TEST(!is_loopback(host), host);
  BOOST_TEST(is_numeric("::1"));
  BOOST_TEST(is_numeric("1.2.3.4"));
  BOOST_TEST(!is_numeric("localhost"));
}

BOOST_AUTO_TEST_SUITE_END()
