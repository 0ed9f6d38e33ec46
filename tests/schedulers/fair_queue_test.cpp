#include "schedulers/fair_queue.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace attune::schedulers;

namespace {

bool any(const std::string&) { return true; }

std::string pop(fair_queue<std::string>& q) { return q.pop_if(any).value_or("-"); }

} // namespace

BOOST_AUTO_TEST_SUITE(fair_queues)

BOOST_AUTO_TEST_CASE(one_client_is_first_in_first_out) {
  fair_queue<std::string> q;
  for (const auto* s : {"a1", "a2", "a3"}) q.push(1, s);
  BOOST_TEST(q.size() == 3u);
  BOOST_TEST(pop(q) == "a1");
  BOOST_TEST(pop(q) == "a2");
  BOOST_TEST(pop(q) == "a3");
  BOOST_TEST(pop(q) == "-");
  BOOST_TEST(q.empty());
}

BOOST_AUTO_TEST_CASE(clients_take_turns_however_much_one_has_waiting) {
  fair_queue<std::string> q;
  for (int i = 0; i < 1000; ++i) q.push(1, "a");
  BOOST_TEST(pop(q) == "a");
  q.push(2, "b1");
  q.push(2, "b2");
  BOOST_TEST(pop(q) == "a");
  BOOST_TEST(pop(q) == "b1");
  BOOST_TEST(pop(q) == "a");
  BOOST_TEST(pop(q) == "b2");
  BOOST_TEST(pop(q) == "a");
}

BOOST_AUTO_TEST_CASE(what_must_be_done_again_goes_first_in_its_own_lane_only) {
  fair_queue<std::string> q;
  q.push(1, "a2");
  q.push(2, "b1");
  q.push_front(1, "a1");
  BOOST_TEST(pop(q) == "a1");
  BOOST_TEST(pop(q) == "b1");
  BOOST_TEST(pop(q) == "a2");
}

BOOST_AUTO_TEST_CASE(only_fronts_are_looked_at) {
  fair_queue<std::string> q;
  q.push(1, "no");
  q.push(1, "yes");
  const auto fits = [](const std::string& s) { return s == "yes"; };
  BOOST_TEST(!q.pop_if(fits).has_value());
  BOOST_TEST(q.size() == 2u);
  q.push(2, "yes");
  BOOST_TEST(q.pop_if(fits).value_or("-") == "yes");
  BOOST_TEST(q.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_client_that_was_passed_over_is_the_next_one) {
  fair_queue<std::string> q;
  for (std::uint64_t client = 1; client <= 3; ++client)
    for (int i = 0; i < 3; ++i) q.push(client, std::string(1, static_cast<char>('a' + client - 1)));
  const auto not_a = [](const std::string& s) { return s != "a"; };
  // Two others are served at a time; the first one must not be forgotten between their turns.
  BOOST_TEST(q.pop_if(not_a).value_or("-") == "b");
  BOOST_TEST(q.pop_if(not_a).value_or("-") == "c");
  BOOST_TEST(pop(q) == "a");
  BOOST_TEST(q.pop_if(not_a).value_or("-") == "b");
  BOOST_TEST(q.pop_if(not_a).value_or("-") == "c");
  BOOST_TEST(q.pop_if(not_a).value_or("-") == "b");
  BOOST_TEST(pop(q) == "a");
}

BOOST_AUTO_TEST_CASE(the_doomed_are_handed_over_once_and_the_rest_stays_in_order) {
  fair_queue<std::string> q;
  for (const auto* s : {"a1", "x1", "a2"}) q.push(1, s);
  for (const auto* s : {"x2", "b1"}) q.push(2, s);
  std::string removed;
  q.remove_if([](const std::string& s) { return s[0] == 'x'; }, [&](const std::string& s) { removed += s + ' '; });
  BOOST_TEST(removed == "x1 x2 ");
  BOOST_TEST(q.size() == 3u);
  BOOST_TEST(pop(q) == "a1");
  BOOST_TEST(pop(q) == "b1");
  BOOST_TEST(pop(q) == "a2");
}

BOOST_AUTO_TEST_CASE(forgetting_keeps_what_is_queued_and_the_others_turns) {
  fair_queue<std::string> q;
  q.push(1, "a1");
  q.push(2, "b1");
  q.push(3, "c1");
  BOOST_TEST(pop(q) == "a1");
  q.forget(1);  // has nothing: goes
  q.forget(2);  // has something: stays
  q.forget(99); // unknown: nothing happens
  q.push(1, "a2");
  BOOST_TEST(pop(q) == "b1");
  BOOST_TEST(pop(q) == "c1");
  BOOST_TEST(pop(q) == "a2");
  for (std::uint64_t client = 1; client <= 3; ++client) q.forget(client);
  BOOST_TEST(pop(q) == "-");
}

BOOST_AUTO_TEST_SUITE_END()
