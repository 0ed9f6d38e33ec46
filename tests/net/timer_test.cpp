#include "net/timer.hpp"

#include <boost/test/unit_test.hpp>

#include <deque>
#include <vector>

using namespace attune;
using namespace std::chrono_literals;

namespace {

/// A loop whose time the case moves.
struct lent_loop {
  lent_loop() {
    asio::use_service<net::borrowed_time>(loop).after = [this](nanoseconds d, std::function<void()> then) {
      asked.push_back(d);
      due.push_back(std::move(then));
    };
  }
  void turn() {
    loop.restart();
    loop.poll();
  }
  std::vector<nanoseconds> asked;
  std::deque<std::function<void()>> due;
  asio::io_context loop{1};
};

} // namespace

BOOST_AUTO_TEST_SUITE(timer_suite)

BOOST_AUTO_TEST_CASE(a_timer_goes_by_the_time_that_its_loop_has_borrowed) {
  lent_loop w;
  net::timer t(w.loop, 5s);
  std::vector<bool> heard;
  t.async_wait([&](const asio::error_code& ec) { heard.push_back(!ec); });
  BOOST_REQUIRE(w.asked.size() == 1u);
  BOOST_TEST((w.asked[0] == 5s));
  w.turn();
  BOOST_TEST(heard.empty());
  w.due[0]();
  BOOST_TEST(heard == std::vector<bool>{true}, boost::test_tools::per_element());
  w.due[0](); // once
  BOOST_TEST(heard.size() == 1u);
}

BOOST_AUTO_TEST_CASE(who_is_cancelled_hears_it_and_does_not_hear_the_time) {
  lent_loop w;
  std::vector<bool> heard;
  const auto hear = [&](const asio::error_code& ec) { heard.push_back(!ec); };
  net::timer t(w.loop, 5s);
  t.async_wait(hear);
  t.expires_after(7s);
  BOOST_TEST(heard.empty()); // not in the call
  w.turn();
  BOOST_TEST(heard == std::vector<bool>{false}, boost::test_tools::per_element());
  t.async_wait(hear);
  w.due[0]();
  BOOST_TEST(heard.size() == 1u);
  w.due[1]();
  BOOST_TEST(heard == (std::vector<bool>{false, true}), boost::test_tools::per_element());
  {
    net::timer gone(w.loop, 1s);
    gone.async_wait(hear);
  }
  w.turn();
  w.due[2]();
  BOOST_TEST(heard == (std::vector<bool>{false, true, false}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(without_it_the_machine_s_clock_is_right) {
  asio::io_context loop{1};
  net::timer t(loop, 0s), never(loop, 1h);
  int heard = 0, cancelled = 0;
  t.async_wait([&](const asio::error_code& ec) {
    if (!ec) ++heard;
    never.cancel();
  });
  never.async_wait([&](const asio::error_code& ec) { cancelled += ec ? 1 : 0; });
  loop.run();
  BOOST_TEST(heard == 1);
  BOOST_TEST(cancelled == 1);
}

BOOST_AUTO_TEST_SUITE_END()
