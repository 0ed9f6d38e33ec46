#include "web/guard.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune;
using namespace attune::web;

namespace {

std::string at(std::string_view text) {
  const auto a = parse_listen(text, {"127.0.0.1", 9});
  return a ? a->host + " " + std::to_string(a->port) : "refused";
}

} // namespace

BOOST_AUTO_TEST_SUITE(who_may_read)

BOOST_AUTO_TEST_CASE(addresses_are_read_as_people_write_them) {
  BOOST_TEST(at("") == "127.0.0.1 9");
  BOOST_TEST(at("8080") == "127.0.0.1 8080");
  BOOST_TEST(at("0.0.0.0:80") == "0.0.0.0 80");
  BOOST_TEST(at("board1") == "board1 9");
  BOOST_TEST(at("board1:80") == "board1 80");
  BOOST_TEST(at("[::1]:80") == "::1 80");
  BOOST_TEST(at("[::1]") == "::1 9");
  for (const auto* bad : {"65536", ":80", "a:", "a:b", "::1", "[::1", "[::1]80", "[::1]:", "a:99999", "[]:1"})
    BOOST_TEST(at(bad) == "refused", bad);
}

BOOST_AUTO_TEST_CASE(loopback_is_what_nobody_else_reaches) {
  for (const auto* yes : {"127.0.0.1", "127.1.2.3", "::1", "localhost", "LOCALHOST"}) BOOST_TEST(is_loopback(yes), yes);
  for (const auto* no : {"0.0.0.0", "::", "10.0.0.1", "localhost.evil.com", "127.0.0.1.evil.com", "", "host"})
    BOOST_TEST(!is_loopback(no), no);
}

BOOST_AUTO_TEST_CASE(a_name_that_was_pointed_here_is_not_ours) {
  const access_rules rules{{"box"}, ""};
  for (const auto* yes : {"127.0.0.1:8080", "localhost", "localhost:1", "[::1]:80", "10.0.0.7:80", "box:80", "BOX"})
    BOOST_TEST(rules.host_is_ours(yes), yes);
  for (const auto* no : {"", "evil.com", "evil.com:8080", "127.0.0.1.evil.com", "localhost.evil.com:80", "box.evil.com",
                         "[::1", "localhost:80:80", "localhost:x"})
    BOOST_TEST(!rules.host_is_ours(no), no);
}

BOOST_AUTO_TEST_CASE(an_origin_is_the_host_or_foreign) {
  BOOST_TEST(access_rules::same_origin("", "localhost:80"));
  BOOST_TEST(access_rules::same_origin("http://localhost:80", "localhost:80"));
  BOOST_TEST(!access_rules::same_origin("http://localhost:81", "localhost:80"));
  BOOST_TEST(!access_rules::same_origin("http://evil.com", "localhost:80"));
  BOOST_TEST(!access_rules::same_origin("null", "localhost:80"));
}

BOOST_AUTO_TEST_CASE(secrets_are_compared_whole) {
  BOOST_TEST(same_secret("abc", "abc"));
  for (const auto* no : {"", "ab", "abcd", "abd", "xbc"}) BOOST_TEST(!same_secret(no, "abc"), no);
  BOOST_TEST(!same_secret("abc", ""));
  const auto a = make_token(), b = make_token();
  BOOST_REQUIRE(a.ok());
  BOOST_TEST(a->size() == 32u);
  BOOST_TEST(*a != *b);
}

BOOST_AUTO_TEST_CASE(a_cookie_is_found_by_its_whole_name) {
  BOOST_TEST(cookie_of("a=1; attune_80=x; b=2", "attune_80") == "x");
  BOOST_TEST(cookie_of("attune_8=y", "attune_80") == "");
  BOOST_TEST(cookie_of("xattune_80=y", "attune_80") == "");
  BOOST_TEST(cookie_of("attune_80", "attune_80") == "");
}

BOOST_AUTO_TEST_SUITE_END()
