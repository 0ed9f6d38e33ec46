#include "search/feasibility.hpp"
#include "tests/search/spaces.hpp"

#include <boost/test/unit_test.hpp>

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
