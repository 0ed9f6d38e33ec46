#include "net/handshake.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune;
using namespace attune::net;

namespace {

abilities of(std::uint32_t oldest, std::uint32_t newest, std::vector<std::string> features = {}) {
  return {"attune store", oldest, newest, std::move(features), "attune"};
}
const std::string me(16, 'x');

} // namespace

BOOST_AUTO_TEST_SUITE(handshake)

BOOST_AUTO_TEST_CASE(the_newest_common_version_and_the_common_features) {
  const auto a = agree(of(1, 3, {"append", "claims"}), hello_of(of(2, 5, {"claims", "other"}), me));
  BOOST_REQUIRE(a.ok());
  BOOST_TEST(a->version == 3u);
  BOOST_TEST(a->features == std::vector<std::string>{"claims"}, boost::test_tools::per_element());
  BOOST_TEST(a->has("claims"));
  BOOST_TEST(!a->has("append"));
  const auto back = agree(of(2, 5, {"claims", "other"}), welcome_of(of(1, 3, {"append", "claims"}), *a));
  BOOST_REQUIRE(back.ok());
  BOOST_TEST(back->version == 3u);
  BOOST_TEST(back->has("claims"));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused_with_the_reason) {
  const auto too_new = agree(of(1, 2), hello_of(of(3, 4), me));
  BOOST_REQUIRE(!too_new.ok());
  BOOST_TEST(too_new.err().message.find("1 to 2 here, 3 to 4 there") != std::string::npos);
  BOOST_TEST(!agree(of(3, 4), hello_of(of(1, 2), me)).ok());
  BOOST_TEST(!agree(of(1, 9), hello_of(of(5, 4), me)).ok());
  BOOST_TEST(!agree(of(1, 1), hello_of({"another", 1, 1, {}, ""}, me)).ok());
  BOOST_TEST(!agree(of(1, 1), hello_of(of(1, 1), "short")).ok());
  wire::v1::Welcome invented;
  invented.set_version(7);
  BOOST_TEST(!agree(of(1, 2), invented).ok());
}

BOOST_AUTO_TEST_SUITE_END()
