#include "schedulers/elastic_pool.hpp"

#include <boost/test/unit_test.hpp>

using namespace attune;
using namespace attune::schedulers;

namespace {

elastic_options between(std::uint32_t least, std::uint32_t most) { return {least, most, std::chrono::seconds(60), 4}; }

std::string pool_text(const elastic_pool::decision& d) {
  auto out = "+" + std::to_string(d.submit);
  for (const auto& id : d.give_back) out += " -" + id;
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(an_elastic_pool)

BOOST_AUTO_TEST_CASE(the_least_is_there_without_any_work_and_nothing_more) {
  elastic_pool p(between(2, 8));
  BOOST_TEST(pool_text(p.look(0, {}, std::chrono::seconds(0))) == "+2");
  const std::vector<placed_agent> coming{{"a"}, {"b"}};
  BOOST_TEST(pool_text(p.look(0, coming, std::chrono::seconds(1))) == "+0");
  BOOST_TEST(pool_text(p.look(0, {{"a", placed_agent::state::free}}, std::chrono::seconds(2))) ==
             "+1"); // one has ended
  BOOST_TEST(pool_text(elastic_pool(between(0, 8)).look(0, {}, std::chrono::seconds(0))) == "+0");
}

BOOST_AUTO_TEST_CASE(it_grows_by_what_waits_up_to_the_most_and_counts_who_is_coming) {
  elastic_pool p(between(0, 5));
  BOOST_TEST(pool_text(p.look(1, {}, std::chrono::seconds(0))) == "+1");
  BOOST_TEST(pool_text(p.look(9, {{"a", placed_agent::state::busy}}, std::chrono::seconds(1))) == "+3");
  BOOST_TEST(pool_text(p.look(9, {{"a", placed_agent::state::busy}, {"b"}, {"c"}, {"d"}}, std::chrono::seconds(2))) ==
             "+0");
  BOOST_TEST(pool_text(p.look(1000, {{"a", placed_agent::state::busy}, {"b"}, {"c"}, {"d"}},
                              std::chrono::seconds(3))) == "+1");
}

BOOST_AUTO_TEST_CASE(who_is_idle_for_long_is_given_back_down_to_the_least) {
  elastic_pool p(between(1, 5));
  const std::vector<placed_agent> there{
      {"a", placed_agent::state::free}, {"b", placed_agent::state::free}, {"c", placed_agent::state::busy}};
  BOOST_TEST(pool_text(p.look(0, there, std::chrono::seconds(0))) == "+0");
  BOOST_TEST(pool_text(p.look(0, there, std::chrono::seconds(59))) == "+0");
  BOOST_TEST(pool_text(p.look(0, there, std::chrono::seconds(60))) == "+0 -a -b");
  const std::vector<placed_agent> two{{"a", placed_agent::state::free}, {"b", placed_agent::state::free}};
  BOOST_TEST(pool_text(p.look(0, two, std::chrono::seconds(61))) == "+0 -a"); // one stays
}

BOOST_AUTO_TEST_CASE(nobody_is_given_back_while_anything_waits_and_idle_time_begins_anew) {
  elastic_pool p(between(0, 3));
  const std::vector<placed_agent> there{{"a", placed_agent::state::free}, {"b", placed_agent::state::free}, {"c"}};
  p.look(0, there, std::chrono::seconds(0));
  BOOST_TEST(pool_text(p.look(1, there, std::chrono::seconds(60))) == "+0");
  BOOST_TEST(pool_text(p.look(0, there, std::chrono::seconds(90))) == "+0");
  BOOST_TEST(pool_text(p.look(0, there, std::chrono::seconds(120))) == "+0 -c -a -b"); // who has not come goes first
}

BOOST_AUTO_TEST_CASE(work_ends_idleness_and_a_least_above_the_most_stands) {
  elastic_pool p(between(0, 3));
  p.look(0, {{"a", placed_agent::state::free}}, std::chrono::seconds(0));
  p.look(0, {{"a", placed_agent::state::busy}}, std::chrono::seconds(30));
  p.look(0, {{"a", placed_agent::state::free}}, std::chrono::seconds(40));
  BOOST_TEST(pool_text(p.look(0, {{"a", placed_agent::state::free}}, std::chrono::seconds(70))) == "+0");
  BOOST_TEST(pool_text(p.look(0, {{"a", placed_agent::state::free}}, std::chrono::seconds(100))) == "+0 -a");
  BOOST_TEST(pool_text(elastic_pool(between(4, 1)).look(100, {}, std::chrono::seconds(0))) == "+4");
}

BOOST_AUTO_TEST_SUITE_END()
