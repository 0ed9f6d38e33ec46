#include "core/clock.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>

using namespace attune;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(clocks)

BOOST_AUTO_TEST_CASE(wall_time_is_written_in_utc_with_whole_seconds) {
  BOOST_TEST(rfc3339(0s) == "1970-01-01T00:00:00Z");
  BOOST_TEST(rfc3339(1s) == "1970-01-01T00:00:01Z");
  BOOST_TEST(rfc3339(nanoseconds(1'999'999'999)) == "1970-01-01T00:00:01Z");
  BOOST_TEST(rfc3339(951782400s) == "2000-02-29T00:00:00Z");
  BOOST_TEST(rfc3339(1796054400s) == "2026-11-30T16:00:00Z");
}

BOOST_AUTO_TEST_CASE(time_before_the_epoch_is_rounded_down_like_time_after_it) {
  BOOST_TEST(rfc3339(-1s) == "1969-12-31T23:59:59Z");
  BOOST_TEST(rfc3339(nanoseconds(-1)) == "1969-12-31T23:59:59Z");
  BOOST_TEST(rfc3339(-86400s * 365) == "1969-01-01T00:00:00Z");
  BOOST_TEST(rfc3339(nanoseconds::min()) == "1677-09-21T00:12:43Z");
}

BOOST_AUTO_TEST_CASE(seconds_are_rounded_to_the_nearest_nanosecond_on_both_sides_of_zero) {
  BOOST_TEST((from_seconds(1.5) == 1500ms));
  BOOST_TEST((from_seconds(-1.0) == -1s));
  BOOST_TEST((from_seconds(1.6e-9) == 2ns));
  BOOST_TEST((from_seconds(-1.6e-9) == -2ns));
  BOOST_TEST(seconds(from_seconds(0.125)) == 0.125);
}

BOOST_AUTO_TEST_CASE(seconds_that_do_not_fit_become_the_end_of_the_range) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  BOOST_TEST((from_seconds(infinity) == nanoseconds::max()));
  BOOST_TEST((from_seconds(1e300) == nanoseconds::max()));
  BOOST_TEST((from_seconds(-infinity) == nanoseconds::min()));
  BOOST_TEST((from_seconds(std::numeric_limits<double>::quiet_NaN()) == 0ns));
}

BOOST_AUTO_TEST_CASE(a_step_of_the_wall_clock_leaves_monotonic_time_alone) {
  manual_time t;
  const auto monotonic = t.monotonic(), wall = t.wall();
  t.step_wall(-3h);
  BOOST_TEST((t.monotonic() == monotonic));
  BOOST_TEST((t.wall() == wall - 3h));
  t.advance(2s);
  BOOST_TEST((t.monotonic() == monotonic + 2s));
  BOOST_TEST((t.wall() == wall - 3h + 2s));
}

BOOST_AUTO_TEST_CASE(the_systems_monotonic_time_never_goes_back) {
  auto last = system_time().monotonic();
  for (int i = 0; i < 1000; ++i) {
    const auto now = system_time().monotonic();
    BOOST_REQUIRE((now >= last));
    last = now;
  }
  BOOST_TEST((system_time().wall() > 86400s * 365 * 50));
}

BOOST_AUTO_TEST_SUITE_END()
