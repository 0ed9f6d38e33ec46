#include "search/offline.hpp"
#include "search/similarity.hpp"
#include "search/strategies/scale.hpp"
#include "tests/search/spaces.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>

using namespace attune;
using namespace attune::search;

namespace {

double offline_bowl(std::span<const std::uint32_t> p) {
  return 2 + std::abs(p[0] - 6.0) + 0.5 * std::abs(p[1] - 3.0) + 0.2 * std::abs(p[2] - 8.0);
}

std::vector<prior_record> records(const space& over, std::size_t n, std::uint32_t source, double factor,
                                  std::uint64_t seed = 2) {
  std::vector<prior_record> out;
  random_engine rng(seed);
  for (std::size_t k = 0; k < n; ++k) {
    const auto p = over.sample(rng);
    out.push_back(
        {p, {observation::status::measured, factor * offline_bowl(p)}, source, source == own_source ? 1.0 : 0.8});
  }
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(offline)

BOOST_AUTO_TEST_CASE(it_predicts_better_than_the_middle_of_what_was_measured_and_says_what_to_expect) {
  const auto over = grid_space({12, 12, 12});
  for (const double factor : {1.0, -1000.0}) { // also where the goal is to maximize: rates told as negatives
    auto known = records(*over, 120, own_source, 1);
    for (auto& r : known)
      if (factor < 0) r.result.cost = factor / r.result.cost;
    const auto got = predict_best(over, known, 3, 1);
    BOOST_REQUIRE(got.ok());
    BOOST_TEST(got->own == 120u);
    BOOST_TEST(got->similar == 0u);
    BOOST_TEST(got->looked_at > 500u);
    BOOST_REQUIRE(got->best.size() == 3u);
    for (const auto& b : got->best) {
      BOOST_TEST(over->contains(b.at));
      BOOST_REQUIRE((b.cost && b.low && b.high));
      BOOST_TEST(*b.low <= *b.cost);
      BOOST_TEST(*b.cost <= *b.high);
      BOOST_TEST(b.success == 1.0);
    }
    BOOST_TEST(*got->best[0].cost <= *got->best[1].cost);
    BOOST_TEST(offline_bowl(got->best[0].at) < 4.0); // the middle is about 9
    const double truth = factor > 0 ? offline_bowl(got->best[0].at) : factor / offline_bowl(got->best[0].at);
    BOOST_TEST(std::abs(*got->best[0].cost / truth - 1) < 0.5);
  }
}

BOOST_AUTO_TEST_CASE(from_similar_tasks_alone_it_knows_where_but_not_how_much) {
  const auto over = grid_space({12, 12, 12});
  auto known = records(*over, 100, 1, 50);
  const auto other = records(*over, 100, 2, 0.01, 3);
  known.insert(known.end(), other.begin(), other.end());
  const auto got = predict_best(over, known, 1, 1);
  BOOST_REQUIRE(got.ok());
  BOOST_TEST(got->own == 0u);
  BOOST_TEST(got->similar == 200u);
  BOOST_TEST((!got->best[0].cost && !got->best[0].low && !got->best[0].high));
  BOOST_TEST(offline_bowl(got->best[0].at) < 4.0);
}

BOOST_AUTO_TEST_CASE(what_is_likely_to_fail_is_no_answer) {
  const auto over = grid_space({12, 12, 12});
  auto known = records(*over, 300, own_source, 1);
  for (auto& r : known)
    if (r.at[0] >= 5) r.result = {observation::status::failed, 0};
  const auto got = predict_best(over, known, 5, 1);
  BOOST_REQUIRE(got.ok());
  for (const auto& b : got->best) {
    BOOST_TEST(b.at[0] < 5u);
    BOOST_TEST(b.success > 0.5);
  }
}

BOOST_AUTO_TEST_CASE(with_too_little_to_learn_from_it_says_so) {
  const auto over = grid_space({12, 12, 12});
  for (const std::size_t n : {0u, 3u}) {
    const auto got = predict_best(over, records(*over, n, own_source, 1), 1, 1);
    BOOST_REQUIRE(!got.ok());
    BOOST_TEST((got.err().code == errc::not_found));
    BOOST_TEST(got.err().message.find("too few") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_cost_is_found_again_from_its_image) {
  for (const auto& costs :
       {std::vector<double>{0.5, 3}, std::vector<double>{-0.5, -3}, std::vector<double>{-2, 0, 5}}) {
    cost_scale scale;
    for (const double c : costs) scale.add(c);
    for (const double c : costs) BOOST_TEST(std::abs(scale.cost(scale(c)) - c) < 1e-12);
  }
}

BOOST_AUTO_TEST_CASE(tasks_are_similar_by_arguments_and_target) {
  const arguments small{{"m", value(512)}, {"dtype", value("f32")}}, large{{"m", value(1024)}, {"dtype", value("f32")}},
      huge{{"m", value(std::int64_t{1} << 30)}, {"dtype", value("f32")}},
      half{{"m", value(512)}, {"dtype", value("f16")}};
  const arguments here{{"device", value("a")}, {"cores", value(8)}}, there{{"device", value("b")}, {"cores", value(8)}};
  BOOST_TEST(task_similarity(small, here, small, here) == 1.0);
  BOOST_TEST(task_similarity({}, {}, {}, {}) == 1.0);
  BOOST_TEST(task_similarity(small, here, {}, {}) == 0.0);
  const double near = task_similarity(small, here, large, here);
  BOOST_TEST((near > 0.95 && near < 1));
  BOOST_TEST(task_similarity(large, here, small, here) == near);
  BOOST_TEST(task_similarity(small, here, huge, here) < near);
  BOOST_TEST(task_similarity(small, here, half, here) < near);
  BOOST_TEST(task_similarity(small, here, small, there) < 1.0);
  BOOST_TEST(task_similarity({{"op", value("x")}}, {}, {{"op", value("y")}}, {}) == 0.0);
}

BOOST_AUTO_TEST_SUITE_END()
