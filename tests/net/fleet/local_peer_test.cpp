#include "net/fleet/local_peer.hpp"
#include "net/listen.hpp"
#include "net/tcp.hpp"
#include "tests/net/live.hpp"

#include <asio/connect.hpp>
#include <boost/test/unit_test.hpp>

using namespace attune;
using namespace attune::net::fleet;

BOOST_AUTO_TEST_SUITE(local_peer_suite)

BOOST_AUTO_TEST_CASE(an_address_is_written_as_the_kernels_table_has_it) {
  BOOST_TEST(table_form("127.0.0.1:6699", false) == "0100007F:1A2B");
  BOOST_TEST(table_form("127.0.0.1:6699", true) == "0000000000000000FFFF00000100007F:1A2B");
  BOOST_TEST(table_form("[::1]:80", true) == "00000000000000000000000001000000:0050");
  BOOST_TEST(table_form("[::1]:80", false) == "");
  BOOST_TEST(table_form("host:80", true) == "");
  BOOST_TEST(table_form("", true) == "");
}

BOOST_AUTO_TEST_CASE(the_owner_is_that_of_an_open_socket_alone) {
  const std::string table =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 0100007F:1A2B 0100007F:1CF2 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 20 0 0 10 "
      "-1\n"
      "   1: 0100007F:1A2C 0100007F:1CF2 06 00000000:00000000 03:00000000 00000000     0        0 0 3 0\n"
      "   2: 0100007F:1A2D 0100007F:1CF2 04 00000000:00000000 03:00000000 00000000     0        0 0 3 0\n"
      "nonsense\n";
  BOOST_TEST(owner_in_table(table, "0100007F:1A2B") == 1000);
  // Closed by its process: the kernel's zero is not root.
  BOOST_TEST(owner_in_table(table, "0100007F:1A2C") == -1);
  BOOST_TEST(owner_in_table(table, "0100007F:1A2D") == -1);
  BOOST_TEST(owner_in_table(table, "0100007F:FFFF") == -1);
  BOOST_TEST(owner_in_table("", "0100007F:1A2B") == -1);
}

BOOST_AUTO_TEST_CASE(this_process_is_the_same_user_and_who_is_not_on_loopback_is_nobody) {
  asio::io_context loop;
  for (const auto* host : {"127.0.0.1", "::1"}) {
    if (!tests::live::has(host)) continue;
    asio::ip::tcp::acceptor a(loop, {asio::ip::make_address(host), 0});
    asio::ip::tcp::socket s(loop);
    s.connect(a.local_endpoint());
    asio::ip::tcp::socket other(loop);
    a.accept(other);
    const auto peer = net::address_of(other.remote_endpoint()).text();
    BOOST_TEST(same_user_on_loopback(peer), peer);
    s.close();
    BOOST_TEST(!same_user_on_loopback(peer), peer);
  }
  BOOST_TEST(!same_user_on_loopback("192.0.2.1:80"));
  BOOST_TEST(!same_user_on_loopback(""));
}

BOOST_AUTO_TEST_SUITE_END()
