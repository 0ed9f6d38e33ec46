#include "actors/event_queue.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune;
using namespace attune::actors;

namespace {

event step_at(nanoseconds at, event_kind kind = event_kind::told) {
  event e;
  e.kind = kind;
  e.at = at;
  return e;
}

constexpr nanoseconds pace_of_test = std::chrono::milliseconds(10);
nanoseconds milli(int n) { return std::chrono::milliseconds(n); }

} // namespace

BOOST_AUTO_TEST_SUITE(event_queues)

using when = event_queue::notice::when;

BOOST_AUTO_TEST_CASE(many_events_are_one_notice) {
  event_queue q;
  BOOST_TEST(!q.open());
  BOOST_CHECK(q.put(step_at(milli(1))).tell == when::now);
  for (int i = 2; i < 100; ++i) BOOST_CHECK(q.put(step_at(milli(i))).tell == when::never);
  std::vector<event> all;
  BOOST_TEST(q.take(all) == 0u);
  BOOST_REQUIRE_EQUAL(all.size(), 99u);
  for (int i = 1; i < 100; ++i) BOOST_CHECK(all[static_cast<std::size_t>(i - 1)].at == milli(i));
  BOOST_CHECK(q.put(step_at(milli(100))).tell == when::now);
}

BOOST_AUTO_TEST_CASE(steps_of_trials_keep_the_pace_and_what_is_rare_does_not_wait) {
  event_queue q(pace_of_test);
  std::vector<event> all;
  BOOST_CHECK(q.put(step_at(milli(100))).tell == when::now);
  q.take(all);
  const auto later = q.put(step_at(milli(103)));
  BOOST_CHECK(later.tell == when::later);
  BOOST_CHECK(later.wait == milli(7));
  BOOST_CHECK(q.put(step_at(milli(104))).tell == when::never);
  // A decision is told at once, though somebody is going to look anyway.
  BOOST_CHECK(q.put(step_at(milli(105), event_kind::decided)).tell == when::now);
  BOOST_CHECK(q.put(step_at(milli(106), event_kind::session_ended)).tell == when::never);
  q.take(all);
  BOOST_TEST(all.size() == 4u);
  // Whoever was to look later finds nothing, and that is no harm.
  q.take(all);
  BOOST_TEST(all.empty());
  BOOST_CHECK(q.put(step_at(milli(130))).tell == when::now);
}

BOOST_AUTO_TEST_CASE(a_list_is_one_notice_and_none_is_none) {
  event_queue q;
  BOOST_CHECK(q.put(std::vector<event>{}).tell == when::never);
  std::vector<event> some;
  for (int i = 0; i < 3; ++i) some.push_back(step_at(milli(i)));
  BOOST_CHECK(q.put(std::move(some)).tell == when::now);
  std::vector<event> all;
  q.take(all);
  BOOST_TEST(all.size() == 3u);
}

BOOST_AUTO_TEST_CASE(it_is_bounded_and_counts_what_it_loses) {
  event_queue q;
  for (std::size_t i = 0; i < event_queue_bound + 5; ++i) q.put(step_at(milli(0)));
  std::vector<event> all;
  BOOST_TEST(q.take(all) == 5u);
  BOOST_TEST(all.size() == event_queue_bound);
  BOOST_TEST(q.take(all) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
