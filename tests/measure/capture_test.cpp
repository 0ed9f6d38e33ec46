#include "core/random.hpp"
#include "measure/capture.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune;
using namespace attune::measure;

BOOST_AUTO_TEST_CASE(all_is_kept_up_to_the_cap) {
  capture c(10);
  c.add("01234");
  c.add("56789");
  auto got = c.take();
  BOOST_TEST(!got.capped());
  BOOST_TEST(got.text() == "0123456789");
  BOOST_TEST(got.tail.empty());
}

BOOST_AUTO_TEST_CASE(beyond_the_cap_the_beginning_and_the_end_are_kept) {
  capture c(10);
  c.add("0123456789abcde");
  auto got = c.take();
  BOOST_TEST(got.capped());
  BOOST_TEST(got.total == 15U);
  BOOST_TEST(got.head == "01234");
  BOOST_TEST(got.tail == "abcde");
  BOOST_TEST(got.text() == "01234\nabcde");
}

BOOST_AUTO_TEST_CASE(how_a_stream_is_cut_into_pieces_makes_no_difference) {
  random_engine random(11);
  for (int round = 0; round < 500; ++round) {
    std::string whole;
    for (auto n = random.below(60); n > 0; --n) whole += static_cast<char>('a' + random.below(26));
    std::size_t cap = random.below(30);
    capture c(cap);
    std::string_view rest = whole;
    while (!rest.empty()) {
      auto n = 1 + random.below(rest.size());
      c.add(rest.substr(0, n));
      rest.remove_prefix(n);
    }
    auto got = c.take();
    BOOST_REQUIRE(got.total == whole.size());
    if (whole.size() <= cap) {
      BOOST_REQUIRE(got.text() == whole);
    } else {
      BOOST_REQUIRE(got.head == whole.substr(0, cap - cap / 2));
      BOOST_REQUIRE(got.tail == whole.substr(whole.size() - cap / 2));
    }
  }
}
