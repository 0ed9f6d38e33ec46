#include "net/line_limit.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace attune;
using namespace attune::net;
using namespace std::chrono_literals;

namespace {

using told_lines = std::vector<std::string>;

} // namespace

BOOST_AUTO_TEST_SUITE(line_limit_suite)

BOOST_AUTO_TEST_CASE(the_first_of_a_kind_is_told_and_the_rest_is_counted) {
  line_limit l;
  BOOST_TEST((l.take("banned board", "1.2.3.4:1: banned", 0s) == told_lines{"1.2.3.4:1: banned"}));
  for (int i = 2; i <= 37; ++i)
    BOOST_TEST(l.take("banned board", "1.2.3.4:" + std::to_string(i) + ": banned", i * 1s).empty());
  BOOST_TEST((l.take("another", "another", 40s) == told_lines{"another"}));
  BOOST_TEST(l.due(599s).empty());
  BOOST_TEST((l.due(600s) == told_lines{"1.2.3.4:37: banned (again 36 times in the last 10 min 0 s)"}));
  BOOST_TEST(l.due(600s).empty());
}

BOOST_AUTO_TEST_CASE(what_goes_on_is_one_line_a_period_and_what_has_ceased_begins_anew) {
  line_limit l;
  BOOST_TEST(l.take("k", "a", 0s).size() == 1u);
  std::size_t lines = 0;
  for (int s = 1; s <= 3600; ++s) lines += l.take("k", "b", s * 1s).size();
  BOOST_TEST(lines == 6u);
  // What came at the end of it is told when its time has come, and then nothing is left of it.
  BOOST_TEST(l.due(4200s).size() <= 1u);
  BOOST_TEST(l.due(4900s).empty());
  BOOST_TEST((l.take("k", "c", 5000s) == told_lines{"c"}));
}

BOOST_AUTO_TEST_CASE(a_count_is_told_before_what_comes_after_it) {
  line_limit l;
  l.take("k", "a", 0s);
  l.take("k", "b", 1s);
  BOOST_TEST((l.take("j", "c", 700s) == told_lines{"b (again 1 time in the last 11 min 40 s)", "c"}));
}

BOOST_AUTO_TEST_CASE(as_many_as_wanted_are_told_at_first) {
  line_limit l({1min, 3, 8});
  std::size_t lines = 0;
  for (int i = 0; i < 10; ++i) lines += l.take("k", "a", 0s).size();
  BOOST_TEST(lines == 3u);
  BOOST_TEST((l.rest(30s) == told_lines{"a (again 7 times in the last 30.0 s)"}));
  BOOST_TEST(l.rest(30s).empty());
}

BOOST_AUTO_TEST_CASE(whoever_thinks_of_new_kinds_all_the_time_gets_no_more_lines_and_no_more_memory) {
  const line_limits limits{10min, 2, 16};
  line_limit l(limits);
  std::vector<nanoseconds> at;
  std::uint64_t kind = 0;
  bool counted = false;
  for (nanoseconds t{0}; t < 2h; t += 1s)
    for (int i = 0; i < 20; ++i) {
      // Some are new, some come again.
      const auto which = i % 3 == 0 ? kind++ : kind - static_cast<std::uint64_t>(i);
      for (const auto& line : l.take(std::to_string(which), "line " + std::to_string(which), t)) {
        at.push_back(t);
        counted = counted || line.find("of other kinds") != std::string::npos;
      }
    }
  BOOST_TEST(counted);
  for (std::size_t first = 0; first < at.size(); ++first) {
    const auto end = std::lower_bound(at.begin(), at.end(), at[first] + limits.period);
    BOOST_REQUIRE(static_cast<std::size_t>(end - at.begin()) - first <= (limits.kinds + 1) * (limits.first + 1));
  }
  BOOST_TEST(l.rest(2h).size() <= limits.kinds + 1);
}

BOOST_AUTO_TEST_CASE(of_an_address_the_port_does_not_count) {
  BOOST_TEST(without_port("1.2.3.4:80") == "1.2.3.4");
  BOOST_TEST(without_port("[::1]:80") == "[::1]");
  BOOST_TEST(without_port("") == "");
}

BOOST_AUTO_TEST_SUITE_END()
