#include "testing/network.hpp"
#include "testing/scripted_runner.hpp"

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace attune;
using namespace attune::testing;
using namespace std::chrono_literals;

namespace {

struct wired {
  explicit wired(wire_options how = {}, std::uint64_t seed = 1) : net(time, seed), ends(net.connect(how)) {
    start(ends.here, at_here, here_over);
    start(ends.there, at_there, there_over);
  }
  static void start(const net::link_ptr& end, std::vector<std::string>& heard, std::string& over) {
    end->start([&heard](std::string_view body) { heard.emplace_back(body); },
               [&over](const error& why) { over = why.message; });
  }
  void greet() {
    ends.here->established();
    ends.there->established();
  }
  timeline time;
  network net;
  network::pair ends;
  std::vector<std::string> at_here, at_there;
  std::string here_over, there_over;
};

using texts = std::vector<std::string>;

} // namespace

BOOST_AUTO_TEST_SUITE(the_network)

BOOST_AUTO_TEST_CASE(frames_arrive_in_their_order_each_after_its_time) {
  wired w({.least = 1s, .most = 3s});
  w.greet();
  for (int i = 0; i < 20; ++i) w.ends.here->send(std::to_string(i));
  w.time.advance(999ms);
  BOOST_TEST(w.at_there.empty());
  BOOST_TEST(w.ends.here->queued() == 30u);
  w.time.advance(3s);
  BOOST_REQUIRE(w.at_there.size() == 20u);
  for (int i = 0; i < 20; ++i) BOOST_TEST(w.at_there[static_cast<std::size_t>(i)] == std::to_string(i));
  BOOST_TEST(w.ends.here->queued() == 0u);
  BOOST_TEST(w.ends.there->peer() == "here");
}

BOOST_AUTO_TEST_CASE(who_closes_hears_nothing_and_the_other_end_hears_that_it_is_over) {
  wired w;
  w.greet();
  w.ends.here->send("last");
  w.ends.here->close_after_writing();
  w.ends.here->send("too late");
  w.time.advance(1s);
  BOOST_TEST(w.at_there == texts{"last"}, boost::test_tools::per_element());
  BOOST_TEST(w.there_over == "the other side has hung up");
  BOOST_TEST(w.here_over.empty());
  BOOST_TEST(w.ends.there->closed());
}

BOOST_AUTO_TEST_CASE(breaking_off_is_heard_at_both_ends_and_a_close_at_the_other_alone) {
  wired w;
  w.ends.here->break_off("enough");
  w.time.advance(1s);
  BOOST_TEST(w.here_over == "enough");
  BOOST_TEST(w.there_over == "the other side has hung up");
  wired other;
  other.ends.there->close();
  other.time.advance(1s);
  BOOST_TEST(other.there_over.empty());
  BOOST_TEST(other.here_over == "the other side has hung up");
}

BOOST_AUTO_TEST_CASE(a_cut_loses_the_tail_and_not_what_is_before_it) {
  bool some = false, all = true;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    wired w({.least = 1s, .most = 1s}, seed);
    w.greet();
    for (int i = 0; i < 10; ++i) w.ends.here->send(std::to_string(i));
    w.net.cut(w.ends.wire);
    w.time.advance(5s);
    for (std::size_t i = 0; i < w.at_there.size(); ++i) BOOST_TEST(w.at_there[i] == std::to_string(i));
    some = some || (!w.at_there.empty() && w.at_there.size() < 10);
    all = all && w.at_there.size() == 10;
    BOOST_TEST(!w.here_over.empty());
    BOOST_TEST(!w.there_over.empty());
    BOOST_TEST(!w.net.open(w.ends.wire));
  }
  BOOST_TEST(some);
  BOOST_TEST(!all);
}

BOOST_AUTO_TEST_CASE(of_a_half_closed_wire_one_end_is_told) {
  wired w;
  w.greet();
  w.net.half_close(w.ends.wire, side::here);
  w.ends.there->send("into nowhere");
  w.time.advance(1h);
  BOOST_TEST(w.here_over == "the other side has hung up");
  BOOST_TEST(w.there_over.empty());
  BOOST_TEST(!w.ends.there->closed());
  BOOST_TEST(w.at_here.empty());
}

BOOST_AUTO_TEST_CASE(on_a_frozen_wire_nothing_arrives_and_nobody_is_told_until_the_probes_find_out) {
  wired w;
  w.greet();
  w.ends.here->send("under way");
  w.net.freeze(w.ends.wire);
  w.ends.there->send("later");
  w.time.advance(1h);
  BOOST_TEST(w.at_here.empty());
  BOOST_TEST(w.at_there.empty());
  BOOST_TEST(w.net.open(w.ends.wire));
  w.net.time_out(w.ends.wire);
  BOOST_TEST(!w.here_over.empty());
  BOOST_TEST(!w.there_over.empty());
}

BOOST_AUTO_TEST_CASE(what_is_not_read_waits_in_the_sender_s_bounded_queue) {
  wired w({.queued_bytes = 100});
  w.greet();
  w.net.stop_reading(w.ends.wire, side::there, true);
  w.ends.here->send(std::string(60, 'a'));
  w.time.advance(1s);
  BOOST_TEST(w.ends.here->queued() == 60u);
  w.net.stop_reading(w.ends.wire, side::there, false);
  BOOST_TEST(w.at_there.size() == 1u);
  w.net.stop_reading(w.ends.wire, side::there, true);
  w.ends.here->send(std::string(60, 'b'));
  w.ends.here->send(std::string(60, 'c'));
  BOOST_TEST(w.here_over == "the other side does not read");
  wired slow;
  slow.greet();
  slow.net.stop_reading(slow.ends.wire, side::there, true);
  slow.ends.here->send("x");
  slow.time.advance(21s);
  BOOST_TEST(slow.here_over == "the other side does not read");
}

BOOST_AUTO_TEST_CASE(a_frame_can_come_twice_or_cut_short) {
  wired w;
  w.greet();
  w.net.double_next(w.ends.wire, side::there);
  w.ends.here->send("twice");
  w.ends.here->send("once");
  w.time.advance(1s);
  BOOST_TEST(w.at_there == (texts{"twice", "twice", "once"}), boost::test_tools::per_element());
  w.net.truncate_next(w.ends.wire, side::here);
  w.ends.there->send(std::string(100, 'x'));
  w.time.advance(1s);
  BOOST_REQUIRE(w.at_here.size() == 1u);
  BOOST_TEST(w.at_here[0].size() <= 100u);
  BOOST_TEST(w.at_here[0].size() >= 1u);
}

BOOST_AUTO_TEST_CASE(who_does_not_greet_in_time_or_greets_at_length_is_dropped) {
  wired w;
  w.ends.there->established();
  w.time.advance(6s);
  BOOST_TEST(w.here_over == "the greeting did not come in time");
  wired long_one;
  long_one.ends.here->send(std::string(5000, 'x'));
  long_one.time.advance(1s);
  BOOST_TEST(long_one.there_over == "a frame is longer than it may be");
  BOOST_TEST(long_one.at_there.empty());
  wired empty;
  empty.ends.here->send("");
  BOOST_TEST(empty.here_over == "a message is too long to be sent");
}

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_times) {
  const auto times = [](std::uint64_t seed) {
    wired w({.least = 1ms, .most = 1s}, seed);
    w.greet();
    std::vector<std::int64_t> out;
    for (int i = 0; i < 5; ++i) {
      w.ends.here->send("x");
      w.time.advance_to(*w.time.next());
      out.push_back(w.time.monotonic().count());
    }
    return out;
  };
  BOOST_TEST(times(3) == times(3), boost::test_tools::per_element());
  BOOST_TEST((times(3) != times(4)));
}

BOOST_AUTO_TEST_CASE(time_goes_from_one_thing_to_the_next) {
  timeline t;
  std::vector<int> order;
  const auto begun = t.monotonic();
  t.after(2s, [&] {
    order.push_back(2);
    t.after(nanoseconds(0), [&] { order.push_back(3); });
  });
  t.after(1s, [&] { order.push_back(1); });
  t.after(2s, [&] { order.push_back(4); });
  BOOST_TEST((*t.next() - begun).count() == nanoseconds(1s).count());
  t.advance(10s);
  BOOST_TEST(order == (std::vector<int>{1, 2, 4, 3}), boost::test_tools::per_element());
  BOOST_TEST((t.monotonic() - begun).count() == nanoseconds(10s).count());
  const auto wall = t.wall();
  t.step_wall(-2h);
  BOOST_TEST((wall - t.wall()).count() == nanoseconds(2h).count());
  BOOST_TEST(!t.next().has_value());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(the_scripted_runner)

BOOST_AUTO_TEST_CASE(it_does_what_its_script_says) {
  timeline time;
  int died = 0;
  std::optional<measure::run_result> got;
  const auto run = [&](run_script script) {
    got.reset();
    auto r = std::make_shared<scripted_runner>(time, std::move(script), [&] { ++died; });
    auto t = std::make_shared<trial>();
    r->run(t, nullptr, [&](measure::run_result x) { got = std::move(x); });
    return r;
  };
  const auto good = [](const actors::run_order&) { return act<actors::run_report>(measured(2)); };

  auto r = run(slow<actors::run_order, actors::run_report>(3s, good));
  time.advance(2s);
  BOOST_TEST(!got.has_value());
  time.advance(1s);
  BOOST_TEST(std::get<measurement>(got->data).value == 2.0);
  BOOST_TEST(!r->in_hand());

  r = run(hangs<fake_runner>());
  time.advance(1h);
  BOOST_TEST(!got.has_value());
  r->cancel();
  BOOST_TEST((std::get<failure>(got->data).kind == failure_kind::cancelled));

  r = run(hangs<fake_runner>(true));
  r->cancel();
  BOOST_TEST(!got.has_value());
  r->kill();
  BOOST_TEST(!r->in_hand());

  r = run(dies<fake_runner>(2s));
  time.advance(3s);
  BOOST_TEST(died == 1);
  BOOST_TEST(!got.has_value());

  r = run(slow<actors::run_order, actors::run_report>(3s, good));
  r->run(std::make_shared<trial>(), nullptr, [](const measure::run_result&) {});
  BOOST_TEST(r->overlapped());
  BOOST_TEST(r->orders() == 2);
}

BOOST_AUTO_TEST_SUITE_END()
