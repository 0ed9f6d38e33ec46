#include "core/random.hpp"
#include "schedulers/fair_queue.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <map>
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

BOOST_AUTO_TEST_CASE(owners_are_served_by_weight_and_their_clients_by_part) {
  fair_queue<std::string> q;
  q.terms(1, {.owner = 1, .weight = 3});
  q.terms(2, {.owner = 2, .weight = 1, .part = 4});
  q.terms(3, {.owner = 2, .weight = 1, .part = 1});
  for (int i = 0; i < 2000; ++i)
    for (std::uint64_t c = 1; c <= 3; ++c) q.push(c, std::to_string(c));
  std::map<std::string, int> served;
  for (int i = 0; i < 400; ++i) ++served[pop(q)];
  BOOST_TEST(std::abs(served["1"] - 300) <= 2);
  BOOST_TEST(std::abs(served["2"] - 80) <= 2);
  BOOST_TEST(std::abs(served["3"] - 20) <= 2);
}

BOOST_AUTO_TEST_CASE(any_weight_above_zero_is_served_within_its_stated_turns) {
  fair_queue<std::string> q;
  q.terms(1, {.owner = 1, .weight = 100});
  q.terms(2, {.owner = 2, .weight = 0.01});
  for (int i = 0; i < 30000; ++i) q.push(1, "a");
  q.push(2, "b");
  int turns = 0;
  while (pop(q) != "b") ++turns;
  // A new one begins one of its own turns behind.
  BOOST_TEST(turns <= 10001);
}

BOOST_AUTO_TEST_CASE(shares_are_of_what_is_settled_not_of_the_number) {
  fair_queue<std::string> q;
  for (int i = 0; i < 5000; ++i) {
    q.push(1, "long");
    q.push(2, "short");
  }
  double used_long = 0, used_short = 0;
  for (int i = 0; i < 1100; ++i) {
    const auto what = pop(q);
    const std::uint64_t client = what == "long" ? 1 : 2;
    const double cost = what == "long" ? 10 : 1;
    (client == 1 ? used_long : used_short) += cost;
    q.settle(client, i < 2 ? 1 : q.expected(client), cost);
  }
  BOOST_TEST(std::abs(used_long - used_short) <= 0.05 * (used_long + used_short));
}

BOOST_AUTO_TEST_CASE(the_unit_of_the_costs_is_of_no_meaning) {
  for (const double unit : {1e-3, 0.1, 1.0, 1e3}) {
    fair_queue<std::string> q;
    q.terms(1, {.owner = 1, .weight = 3});
    q.terms(2, {.owner = 2, .weight = 1});
    std::map<std::string, int> served;
    const auto serve = [&](int n) {
      for (int i = 0; i < n; ++i) {
        const auto what = pop(q);
        ++served[what];
        const auto client = std::stoull(what);
        q.settle(client, q.expected(client), unit);
      }
    };
    for (int i = 0; i < 200; ++i)
      for (std::uint64_t c = 1; c <= 2; ++c) q.push(c, std::to_string(c));
    serve(40);
    BOOST_TEST(std::abs(served["1"] - 30) <= 1);
    BOOST_TEST(std::abs(served["2"] - 10) <= 1);
    // One that comes later waits for its turn, and no longer.
    q.terms(3, {.owner = 3, .weight = 4});
    for (int i = 0; i < 200; ++i) q.push(3, "3");
    serve(80);
    BOOST_TEST(std::abs(served["3"] - 40) <= 2);
  }
}

BOOST_AUTO_TEST_CASE(many_at_once_are_charged_before_they_end) {
  fair_queue<std::string> q;
  for (int i = 0; i < 100; ++i) {
    q.push(1, "a");
    q.push(2, "b");
  }
  std::map<std::string, int> started; // nothing ends meanwhile
  for (int i = 0; i < 20; ++i) ++started[pop(q)];
  BOOST_TEST(started["a"] == 10);
  BOOST_TEST(started["b"] == 10);
}

BOOST_AUTO_TEST_CASE(who_had_nothing_for_long_has_not_saved_up) {
  fair_queue<std::string> q;
  q.push(1, "a");
  q.push(2, "b");
  pop(q);
  pop(q);
  for (int i = 0; i < 100; ++i) {
    q.push(1, "a");
    BOOST_TEST(pop(q) == "a");
  }
  for (int i = 0; i < 10; ++i) {
    q.push(1, "a");
    q.push(2, "b");
  }
  int b = 0;
  for (int i = 0; i < 10; ++i) b += pop(q) == "b";
  BOOST_TEST(b == 5);
}

BOOST_AUTO_TEST_CASE(what_was_not_done_is_given_back) {
  fair_queue<std::string> q;
  for (int i = 0; i < 10; ++i) {
    q.push(1, "a");
    q.push(2, "b");
  }
  for (const auto* s : {"a", "b", "a", "b"}) BOOST_TEST(pop(q) == s);
  q.refund(1, 2);
  BOOST_TEST(pop(q) == "a");
  BOOST_TEST(pop(q) == "a");
  BOOST_TEST(pop(q) == "b");
}

// Random owners, weights and parts that all have enough: what each gets comes to its weight, within a turn or two.
BOOST_AUTO_TEST_CASE(over_random_terms_everybody_gets_its_part) {
  attune::random_engine random(7);
  for (int round = 0; round < 100; ++round) {
    fair_queue<std::string> q;
    const auto clients = 2 + random.below(6);
    std::map<std::uint64_t, double> weight, parts; // by owner
    std::map<std::uint64_t, share_terms> terms;
    for (std::uint64_t c = 1; c <= clients; ++c) {
      share_terms t;
      t.owner = 1 + random.below(3);
      if (!weight.contains(t.owner)) weight[t.owner] = static_cast<double>(1 + random.below(5));
      t.weight = weight[t.owner];
      t.part = part_of_priority(static_cast<int>(random.below(5)) - 2);
      parts[t.owner] += t.part;
      terms[c] = t;
      q.terms(c, t);
      for (int i = 0; i < 4000; ++i) q.push(c, std::to_string(c));
    }
    double all = 0;
    for (const auto& [owner, w] : weight) all += w;
    std::map<std::uint64_t, int> served;
    for (int i = 0; i < 3000; ++i) ++served[std::stoull(pop(q))];
    for (const auto& [c, t] : terms) {
      const double due = 3000 * t.weight / all * t.part / parts[t.owner];
      BOOST_TEST(std::abs(served[c] - due) <= 4 + 0.01 * due, "round " << round << " client " << c);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
