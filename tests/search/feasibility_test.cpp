#include "search/feasibility.hpp"
#include "search/strategies/result_odds.hpp"
#include "search/strategy.hpp"
#include "tests/search/spaces.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>

using namespace attune;
using namespace attune::search;

namespace {

/// Fails where the product of the first two is large.
bool works(std::span<const std::uint32_t> p) { return (p[0] + 1) * (p[1] + 1) <= 24; }

struct fixture {
  std::shared_ptr<const enumerated_space> over = grid_space({9, 9, 3});
  rank_features features{*over};
  code_table all() const {
    code_table x(features.size());
    std::vector<std::uint16_t> row(features.size());
    for (std::size_t i = 0; i < over->size(); ++i) {
      features.encode(over->row(i), row);
      x.add(row);
    }
    return x;
  }
};

} // namespace

BOOST_FIXTURE_TEST_CASE(it_learns_where_builds_and_runs_fail, fixture) {
  code_table x(features.size());
  std::vector<std::uint16_t> row(features.size());
  std::vector<std::uint8_t> gave;
  random_engine rng(6);
  for (int k = 0; k < 80; ++k) {
    const auto p = over->sample(rng);
    features.encode(p, row);
    x.add(row);
    gave.push_back(works(p) ? 1 : 0);
  }
  feasibility_model m(features.columns());
  BOOST_TEST(!m.knows());
  m.train(x, gave, 1);
  BOOST_TEST(m.knows());
  const auto everything = all();
  std::vector<float> p(over->size()), again(over->size());
  m.probability(everything, p);
  std::size_t right = 0;
  for (std::size_t i = 0; i < over->size(); ++i) {
    right += (p[i] > 0.5f) == works(over->row(i)) ? 1 : 0;
    // Nothing is ever forbidden.
    BOOST_TEST((p[i] >= feasibility_model::least && p[i] <= 1.0f));
  }
  BOOST_TEST(right > over->size() * 9 / 10);
  feasibility_model twin(features.columns());
  twin.train(x, gave, 1);
  twin.probability(everything, again);
  BOOST_TEST((p == again));
}

BOOST_FIXTURE_TEST_CASE(where_nothing_tells_failures_apart_it_says_nothing, fixture) {
  const auto x = all();
  std::vector<float> p(x.rows());
  feasibility_model m(features.columns());
  m.probability(x, p);
  BOOST_TEST((p == std::vector<float>(x.rows(), 1.0f)));
  for (const std::uint8_t v : {0, 1}) {
    m.train(x, std::vector<std::uint8_t>(x.rows(), v), 1);
    BOOST_TEST(!m.knows());
    m.probability(x, p);
    BOOST_TEST((p == std::vector<float>(x.rows(), 1.0f)));
  }
  m.train(code_table(features.size()), {}, 1);
  BOOST_TEST(!m.knows());
}

BOOST_FIXTURE_TEST_CASE(what_a_point_promises_is_weighed_by_its_odds_of_a_result, fixture) {
  const std::vector<point> at{{0, 0, 1}, {8, 8, 1}};
  result_odds odds(*over);
  std::vector<double> worth{3, 3};
  odds.weigh(at, worth);
  BOOST_TEST((worth == std::vector<double>{3, 3})); // it knows nothing yet
  random_engine rng(6);
  std::vector<told_trial> told;
  for (int k = 0; k < 80; ++k) {
    told_trial t;
    t.at = over->sample(rng);
    t.what = works(t.at) ? observation::status::measured : observation::status::failed;
    told.push_back(t);
  }
  odds.learn(told, 1);
  odds.weigh(at, worth);
  BOOST_TEST(worth[0] > 2);
  BOOST_TEST(worth[1] < 0.6);
  BOOST_TEST(worth[1] > 0);
}

BOOST_AUTO_TEST_CASE(the_default_strategy_keeps_away_from_where_runs_fail) {
  // The costs fall towards where runs begin to fail, by what two parameters need together.
  const auto over = grid_space({12, 12, 8, 8});
  const auto failures = [&](const char* name) {
    std::size_t failed = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      strategy_options o;
      o.seed = seed;
      o.budget = 100;
      auto s = std::move(*make_strategy(name, over, o));
      for (int n = 0; n < 100; ++n) {
        const auto p = *s->ask();
        const double x = p[0], y = p[1], z = p[2], w = p[3];
        if ((x + 1) * (y + 1) > 40) {
          ++failed;
          s->tell(p, {observation::status::failed, 0});
        } else {
          const double cost = 40 - x - y + std::abs(z - 5) + std::abs(w - 2) + 3 * std::abs(std::sin(x * 2 + y * 3));
          s->tell(p, {observation::status::measured, cost});
        }
      }
    }
    return failed;
  };
  const auto weighed = failures("auto"), plain = failures("gp");
  BOOST_TEST_MESSAGE(weighed << " of 400 failed, of the plain process " << plain);
  BOOST_TEST(weighed < 0.9 * static_cast<double>(plain));
}
