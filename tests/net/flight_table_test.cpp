#include "core/random.hpp"
#include "net/flight_table.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <set>

using namespace attune;
using namespace attune::net;
using namespace std::chrono_literals;

namespace {

key128 key(std::uint8_t n) { return key128{{n}}; }

std::vector<std::uint64_t> who(const std::vector<flight_table::waiter>& all) {
  std::vector<std::uint64_t> out;
  for (const auto& w : all) out.push_back(w.who);
  return out;
}
using list = std::vector<std::uint64_t>;

} // namespace

BOOST_AUTO_TEST_SUITE(flights)

BOOST_AUTO_TEST_CASE(one_flies_and_the_others_wait_in_their_order) {
  flight_table t;
  BOOST_TEST(t.claim(key(1), 7, 10s, 0));
  BOOST_TEST(t.claim(key(1), 7, 10s, 0));
  BOOST_TEST(!t.claim(key(1), 8, 10s, 0));
  BOOST_TEST(!t.claim(key(1), 9, 10s, 5));
  BOOST_TEST(t.claim(key(2), 9, 10s, 0));
  BOOST_TEST(t.release(key(1), 9).empty()); // it waits no longer
  BOOST_TEST(!t.claim(key(1), 9, 10s, 5));
  const auto freed = t.release(key(1), 7);
  BOOST_TEST(who(freed) == (list{8, 9}), boost::test_tools::per_element());
  BOOST_TEST(freed[1].since == 5u);
  BOOST_TEST(t.waiting() == 0u);
  BOOST_TEST(t.flights() == 1u);
  BOOST_TEST(t.claim(key(1), 9, 10s, 0));
}

BOOST_AUTO_TEST_CASE(who_goes_leaves_flights_and_waiting_behind) {
  flight_table t;
  BOOST_TEST(t.claim(key(1), 1, 10s, 0));
  BOOST_TEST(!t.claim(key(1), 2, 10s, 0));
  BOOST_TEST(t.claim(key(2), 2, 10s, 0));
  BOOST_TEST(!t.claim(key(2), 1, 10s, 0));
  BOOST_TEST(who(t.leave(1)) == list{2}, boost::test_tools::per_element());
  BOOST_TEST(t.waiting() == 0u);
  BOOST_TEST(t.flights() == 1u);
  BOOST_TEST(t.leave(2).empty());
  BOOST_TEST(t.flights() == 0u);
}

BOOST_AUTO_TEST_CASE(a_wait_is_bounded) {
  flight_table t;
  t.claim(key(1), 1, 0s, 0);
  t.claim(key(1), 2, 20s, 0);
  t.claim(key(1), 3, 10s, 0);
  BOOST_REQUIRE(t.next_expiry().has_value());
  BOOST_TEST(bool(*t.next_expiry() == 10s));
  BOOST_TEST(t.expire(9s).empty());
  BOOST_TEST(who(t.expire(10s)) == list{3}, boost::test_tools::per_element());
  // The one that was too slow has nothing to give back any more.
  BOOST_TEST(t.release(key(1), 1).empty());
  BOOST_TEST(t.flights() == 1u);
  BOOST_TEST(who(t.release(key(1), 3)) == list{2}, boost::test_tools::per_element());
  BOOST_TEST(!t.next_expiry().has_value());
}

BOOST_AUTO_TEST_CASE(what_was_held_before_is_held_on_unless_another_has_it) {
  flight_table t;
  t.hold(key(1), 1);
  t.hold(key(1), 2);
  BOOST_TEST(!t.claim(key(1), 2, 1s, 0));
  BOOST_TEST(t.claim(key(1), 1, 1s, 0));
}

BOOST_AUTO_TEST_CASE(never_two_fly_and_nobody_is_forgotten) {
  random_engine rng(11);
  flight_table t;
  std::map<std::uint8_t, std::uint64_t> flying; // by a model that knows only the answers
  std::map<std::uint8_t, std::multiset<std::uint64_t>> waiting;
  const auto serve = [&](const std::vector<flight_table::waiter>& freed) {
    for (const auto& w : freed) {
      const auto k = w.key.bytes[0];
      waiting[k].erase(waiting[k].find(w.who));
      if (t.claim(w.key, w.who, w.until, 0))
        BOOST_REQUIRE(flying.try_emplace(k, w.who).second);
      else
        waiting[k].insert(w.who);
    }
  };
  for (int i = 0; i < 20000; ++i) {
    const auto k = static_cast<std::uint8_t>(rng.below(5));
    const auto p = rng.below(4);
    const auto at = flying.find(k);
    switch (rng.below(3)) {
    case 0:
      if (waiting[k].contains(p)) break;
      if (t.claim(key(k), p, 1h, 0)) {
        BOOST_REQUIRE(at == flying.end() || at->second == p);
        flying[k] = p;
      } else {
        BOOST_REQUIRE(at != flying.end());
        waiting[k].insert(p);
      }
      break;
    case 1: {
      if (at != flying.end() && at->second == p) flying.erase(at);
      const auto freed = t.release(key(k), p);
      if (freed.empty()) waiting[k].erase(p);
      serve(freed);
      break;
    }
    default: {
      if (!rng.chance(0.1)) break;
      std::erase_if(flying, [&](const auto& f) { return f.second == p; });
      const auto freed = t.leave(p);
      for (auto& [_, w] : waiting) w.erase(p);
      serve(freed);
    }
    }
    std::size_t all = 0;
    for (const auto& [_, w] : waiting) all += w.size();
    BOOST_REQUIRE(t.waiting() == all);
    BOOST_REQUIRE(t.flights() == flying.size());
  }
}

BOOST_AUTO_TEST_SUITE_END()
