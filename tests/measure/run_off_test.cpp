#include "core/median.hpp"
#include "core/random.hpp"
#include "measure/run_off.hpp"
#include "measure/statistics.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>

using namespace attune;
using namespace attune::measure;

namespace {

run_off::entrant looks(double v) { return {{v * 0.99, v, v * 1.01}, v}; }

std::map<std::size_t, int> finish(run_off& r, const std::vector<double>& truth, double noise = 0) {
  random_engine random(5);
  std::map<std::size_t, int> ran;
  while (const auto who = r.next()) {
    BOOST_REQUIRE(++ran[*who] < 1000);
    r.add(truth[*who] * (1 + noise * random.normal()));
  }
  return ran;
}

} // namespace

BOOST_AUTO_TEST_SUITE(run_off_rules)

BOOST_AUTO_TEST_CASE(whoever_looks_better_than_a_winner_that_was_lucky_runs_as_well) {
  // Eight lucky ones in front, the best right behind them.
  std::vector<run_off::entrant> all;
  std::vector<double> truth;
  for (int i = 0; i < 8; ++i) {
    all.push_back(looks(0.90));
    truth.push_back(1.10 + 0.01 * i);
  }
  all.push_back({{0.94, 0.95, 0.96}, 0.95});
  truth.push_back(0.95);
  for (int i = 0; i < 20; ++i) {
    all.push_back({{1.19, 1.2, 1.21}, 1.2});
    truth.push_back(1.2);
  }
  run_off r(all, goal::minimize);
  const auto ran = finish(r, truth, 0.001);
  BOOST_TEST(*r.winner() == 8u);
  BOOST_TEST(ran.count(8) == 1u);
  BOOST_TEST(ran.count(9) == 0u);
  // Nobody, run or not, looks better than the winner.
  const auto standings = r.standings();
  BOOST_TEST(standings.size() == 9u);
  const auto winner = std::find_if(standings.begin(), standings.end(), [](const auto& s) { return s.winner; });
  BOOST_REQUIRE((winner != standings.end()));
  for (const auto& s : standings) BOOST_TEST(s.value >= winner->value);
  std::uint64_t runs = 0;
  for (const auto& [who, n] : ran) runs += static_cast<std::uint64_t>(n);
  BOOST_TEST(r.runs() == runs);
}

BOOST_AUTO_TEST_CASE(one_that_ran_while_the_machine_was_faster_is_set_beside_the_winner) {
  // From the fourth round on the machine is slower: who was out by then has lower values than the winner.
  run_off r({looks(1), looks(1), looks(1)}, goal::minimize);
  random_engine random(3);
  std::map<std::size_t, int> ran;
  while (const auto who = r.next()) {
    const double slow = ran[*who]++ < 3 ? 1 : 1.5;
    r.add((*who == 2 ? 1.1 : 1.0) * slow * (1 + 0.02 * random.normal()));
  }
  BOOST_REQUIRE(ran[2] == 3);
  for (const auto& s : r.standings())
    if (s.who == 2) {
      BOOST_TEST(s.beside_winner);
      BOOST_TEST(median(s.values) < 1.2);
      BOOST_TEST(s.value > 1.3);
    }
}

BOOST_AUTO_TEST_CASE(the_end_of_the_time_leaves_whole_rounds) {
  run_off r({looks(1), looks(1)}, goal::minimize);
  for (int i = 0; i < 5; ++i) r.add(*r.next() == 0 ? 1.0 : 0.9);
  r.end();
  BOOST_TEST(!r.next().has_value());
  BOOST_TEST((r.state() == finalists::verdict::tied));
  BOOST_TEST(*r.winner() == 1u);
  for (const auto& s : r.standings()) BOOST_TEST(s.values.size() == 2u);
  run_off none({looks(1), looks(1)}, goal::minimize);
  none.end();
  BOOST_TEST(!none.next().has_value());
  BOOST_TEST(none.standings().empty());
}

BOOST_AUTO_TEST_CASE(all_that_fail_leave_it_to_the_next) {
  std::vector<run_off::entrant> all(3, looks(1));
  all.push_back({{1.9, 2.0, 2.1}, 2.0});
  run_off r(all, goal::minimize);
  int guard = 0;
  while (const auto who = r.next()) {
    BOOST_REQUIRE(++guard < 100);
    if (*who < 3)
      r.fail();
    else
      r.add(2);
  }
  BOOST_TEST((!r.winner() || *r.winner() == 3u));
  const auto standings = r.standings();
  BOOST_TEST(std::count_if(standings.begin(), standings.end(), [](const auto& s) { return s.failed; }) == 3);
}

BOOST_AUTO_TEST_CASE(more_is_better_where_the_goal_says_so) {
  run_off r({looks(1), looks(1.005)}, goal::maximize, 0);
  finish(r, {1.2, 1.0});
  BOOST_TEST(*r.winner() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
