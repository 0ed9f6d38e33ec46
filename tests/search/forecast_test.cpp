#include "search/rank_quality.hpp"
#include "search/strategy.hpp"
#include "tests/search/spaces.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>

using namespace attune;
using namespace attune::search;

BOOST_AUTO_TEST_SUITE(forecasts)

/// What a strategy's model expects is told with each proposal, in the costs' own measure, and ranks what then comes.
BOOST_DATA_TEST_CASE(a_strategy_with_a_model_says_what_it_expects,
                     boost::unit_test::data::make(std::vector<std::string>{"auto", "gp", "model"}), name) {
  const auto over = grid_space({12, 12, 12});
  strategy_options how;
  how.seed = 5;
  how.budget = 120;
  auto made = make_strategy(name, over, how);
  BOOST_REQUIRE(made.ok());
  std::vector<double> expected, came;
  std::size_t chosen = 0;
  for (int i = 0; i < 120; ++i) {
    const auto p = (*made)->ask();
    BOOST_REQUIRE(p.has_value());
    const auto said = (*made)->last_forecast();
    double cost = 1e-3;
    for (std::size_t d = 0; d < p->size(); ++d) cost *= 1 + 0.4 * std::abs(static_cast<double>((*p)[d]) - 4.0);
    if (i == 0) BOOST_TEST(!said.has_value());
    if (said && i >= 30) {
      BOOST_TEST((std::isfinite(said->cost) && said->cost > 0));
      expected.push_back(said->cost);
      came.push_back(cost);
      chosen += said->chosen ? 1 : 0;
    }
    (*made)->tell(*p, {observation::status::measured, cost});
  }
  BOOST_REQUIRE(expected.size() >= 40u);
  BOOST_TEST(chosen > 0u);
  BOOST_TEST(kendall_tau(expected, came).value_or(-1) > 0.3);
}

BOOST_AUTO_TEST_CASE(a_strategy_without_a_model_expects_nothing) {
  const auto over = grid_space({12, 12});
  for (const auto* name : {"random", "grid", "genetic"}) {
    auto made = make_strategy(name, over, {});
    for (int i = 0; i < 30; ++i) {
      const auto p = (*made)->ask();
      BOOST_REQUIRE(p.has_value());
      BOOST_TEST(!(*made)->last_forecast().has_value());
      (*made)->tell(*p, {observation::status::measured, 1.0 + i});
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
