#include "net/backoff.hpp"

#include <boost/test/unit_test.hpp>

#include <set>

using namespace attune;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(pauses_double_up_to_the_most_and_differ_from_one_another) {
  net::backoff b(4ms, 100ms, 1);
  nanoseconds ceiling = 4ms;
  std::set<nanoseconds> seen;
  for (int i = 0; i < 50; ++i) {
    const auto p = b.next();
    BOOST_TEST(bool(p >= ceiling / 2 && p <= ceiling));
    ceiling = std::min<nanoseconds>(ceiling * 2, 100ms);
    seen.insert(p);
  }
  BOOST_TEST(seen.size() > 40u);
  b.reset();
  BOOST_TEST(bool(b.next() <= 4ms));
  net::backoff other(4ms, 100ms, 2);
  BOOST_TEST(bool(other.next() != net::backoff(4ms, 100ms, 1).next()));
}
