// What every cost model owes, held over all that this build has.
#include "core/hash.hpp"
#include "search/cost_model.hpp"
#include "search/rank_quality.hpp"
#include "tests/search/spaces.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

using namespace attune;
using namespace attune::search;
using status_of = observation::status;

namespace {

std::vector<std::string> model_names() { return {cost_models().begin(), cost_models().end()}; }

double hill(std::span<const std::uint32_t> p) {
  return std::abs(p[0] - 4.0) + 0.3 * std::abs(p[1] - 6.0) + (p[2] == 1 ? 2 : 0);
}

/// A space with a category of three values, which are spread over features.
struct cost_model_fixture {
  cost_model_fixture() {
    std::vector<enumerated_space::axis> axes(3);
    for (std::size_t d = 0; d < 2; ++d) {
      axes[d].name = d == 0 ? "x" : "y";
      for (int v = 0; v < 9; ++v) axes[d].values.push_back(value(std::int64_t{v + 1}));
    }
    axes[2].name = "kind";
    axes[2].values = {value("a"), value("b"), value("c")};
    axes[2].ordinal = false;
    std::vector<point> points;
    for (std::uint32_t a = 0; a < 9; ++a)
      for (std::uint32_t b = 0; b < 9; ++b)
        for (std::uint32_t c = 0; c < 3; ++c) points.push_back({a, b, c});
    over = *enumerated_space::make(axes, points);
    features.emplace(*over);
  }
  void add(training_rows& to, std::span<const std::uint32_t> p, status_of how, double cost) const {
    std::vector<std::uint16_t> row(features->size());
    features->encode(p, row);
    to.add(row, how, cost);
  }
  training_rows sampled(int n, std::uint64_t seed = 4) const {
    training_rows out(features->size());
    random_engine rng(seed);
    for (int k = 0; k < n; ++k) {
      const auto p = over->sample(rng);
      add(out, p, status_of::measured, hill(p));
    }
    return out;
  }
  code_table all() const {
    training_rows out(features->size());
    for (std::size_t i = 0; i < over->size(); ++i) add(out, over->row(i), status_of::measured, 0);
    return out.x;
  }
  std::vector<double> truth() const {
    std::vector<double> out;
    for (std::size_t i = 0; i < over->size(); ++i) out.push_back(hill(over->row(i)));
    return out;
  }
  std::unique_ptr<cost_model> make(const std::string& name) const {
    auto made = make_cost_model(name, features->columns());
    BOOST_REQUIRE(made.ok());
    BOOST_TEST((*made)->name() == name);
    return std::move(*made);
  }
  double tau(const cost_model& m) const {
    prediction out;
    m.predict(all(), out);
    const std::vector<double> score(out.score.begin(), out.score.end());
    return kendall_tau(score, truth()).value_or(0);
  }
  std::shared_ptr<const enumerated_space> over;
  std::optional<rank_features> features;
};

} // namespace

BOOST_DATA_TEST_CASE_F(cost_model_fixture, it_ranks_what_it_has_not_seen, boost::unit_test::data::make(model_names()),
                       name) {
  auto m = make(name);
  BOOST_TEST(!m->trained());
  BOOST_TEST(m->version() == 0u);
  BOOST_REQUIRE(m->train(sampled(80), 1).ok());
  BOOST_TEST(m->trained());
  BOOST_TEST(m->version() == 1u);
  BOOST_TEST(tau(*m) > 0.75);
  if (!m->predicts_costs()) return;
  prediction out;
  m->predict(all(), out);
  double error = 0;
  const auto want = truth();
  for (std::size_t i = 0; i < want.size(); ++i) error += std::abs(out.score[i] - want[i]);
  BOOST_TEST(error / static_cast<double>(want.size()) < 0.6);
}

BOOST_DATA_TEST_CASE_F(cost_model_fixture, it_is_less_certain_where_it_has_seen_nothing,
                       boost::unit_test::data::make(model_names()), name) {
  training_rows half(features->size());
  training_rows other(features->size());
  for (std::size_t i = 0; i < over->size(); ++i) {
    const auto p = over->row(i);
    // Rugged, so that members disagree where they have to guess.
    const double cost = hill(p) + static_cast<double>((p[0] * 7 + p[1] * 5) % 4);
    if (p[0] < 5 && (p[0] + p[1]) % 2 == 0)
      add(half, p, status_of::measured, cost);
    else if (p[0] >= 5)
      add(other, p, status_of::measured, cost);
  }
  auto m = make(name);
  BOOST_REQUIRE(m->train(half, 1).ok());
  prediction seen, unseen;
  m->predict(half.x, seen);
  m->predict(other.x, unseen);
  const auto mean = [](const std::vector<float>& v) {
    return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
  };
  BOOST_TEST(mean(unseen.deviation) > 0.0);
  if (name == "forest") BOOST_TEST(mean(unseen.deviation) > mean(seen.deviation));
}

BOOST_DATA_TEST_CASE_F(cost_model_fixture, the_same_rows_and_seed_give_the_same_model,
                       boost::unit_test::data::make(model_names()), name) {
  auto a = make(name), b = make(name), c = make(name);
  const auto rows = sampled(60);
  BOOST_REQUIRE((a->train(rows, 9).ok() && b->train(rows, 9).ok() && c->train(rows, 10).ok()));
  BOOST_TEST((a->save() == b->save()));
  BOOST_TEST((a->save() != c->save()));
}

BOOST_DATA_TEST_CASE_F(cost_model_fixture, a_model_that_cannot_train_says_so_and_stays_as_it_was,
                       boost::unit_test::data::make(model_names()), name) {
  auto m = make(name);
  const auto refused = [&](const training_rows& rows, const char* why) {
    const auto got = m->train(rows, 1);
    BOOST_REQUIRE(!got.ok());
    BOOST_TEST((got.err().code == errc::not_found));
    BOOST_TEST(got.err().message.find(why) != std::string::npos, got.err().message);
  };
  const point p{1, 2, 0}, q{3, 4, 1};
  training_rows none(features->size());
  refused(none, "0 results are too few");
  refused(sampled(3), "too few");
  auto failed = sampled(30);
  std::fill(failed.what.begin(), failed.what.end(), status_of::failed);
  refused(failed, "too few");
  auto nans = sampled(30);
  std::fill(nans.y.begin(), nans.y.end(), std::numeric_limits<float>::quiet_NaN());
  refused(nans, "too few");
  auto infinite = sampled(30);
  std::fill(infinite.y.begin(), infinite.y.end(), std::numeric_limits<float>::infinity());
  refused(infinite, "too few");
  auto bounds = sampled(30);
  std::fill(bounds.what.begin(), bounds.what.end(), status_of::censored);
  refused(bounds, "too few");
  auto equal = sampled(30);
  std::fill(equal.y.begin(), equal.y.end(), 7.0f);
  refused(equal, "equal");
  training_rows same(features->size());
  for (int k = 0; k < 10; ++k) add(same, p, status_of::measured, k);
  refused(same, "look the same");
  BOOST_TEST(!m->trained());
  BOOST_REQUIRE(m->train(sampled(40), 1).ok());
  const auto before = m->save();
  refused(equal, "equal");
  BOOST_TEST((m->save() == before));
  // Few, but enough.
  training_rows few(features->size());
  add(few, p, status_of::measured, 1);
  add(few, q, status_of::measured, 2);
  add(few, p, status_of::measured, 1);
  add(few, q, status_of::measured, 2);
  BOOST_TEST(m->train(few, 1).ok());
}

BOOST_DATA_TEST_CASE_F(cost_model_fixture, a_censored_result_is_slow_and_never_better_than_what_is_slower,
                       boost::unit_test::data::make(model_names()), name) {
  // x = 0 … 8 costs 1 … 9; from x = 6 on the runs were stopped at 3, which says: at least 3.
  const auto trained = [&](bool censored) {
    training_rows rows(features->size());
    for (std::uint32_t x = 0; x < 9; ++x)
      for (std::uint32_t y = 0; y < 9; ++y) {
        const bool stopped = x >= 6;
        add(rows, point{x, y, 0}, stopped && censored ? status_of::censored : status_of::measured,
            stopped ? 3.0 : x + 1.0);
      }
    auto m = make(name);
    BOOST_REQUIRE(m->train(rows, 3).ok());
    prediction out;
    m->predict(rows.x, out);
    std::vector<double> by_x(9);
    for (std::size_t i = 0; i < out.score.size(); ++i) by_x[i / 9] += out.score[i] / 9.0;
    return by_x;
  };
  const auto as_bounds = trained(true), as_values = trained(false);
  for (std::size_t x = 6; x < 9; ++x) {
    // Worse than everything below the bound …
    BOOST_TEST(as_bounds[x] > as_bounds[1] + 0.1);
    // … and not better than its slower neighbours, as the plain value would have it.
    BOOST_TEST(as_bounds[x] > as_values[x]);
  }
  BOOST_TEST(as_values[7] < as_values[5]);
  if (name != "ranking") BOOST_TEST(as_bounds[7] > as_bounds[2] - 0.3);
}

BOOST_DATA_TEST_CASE_F(cost_model_fixture, failures_do_not_teach_costs, boost::unit_test::data::make(model_names()),
                       name) {
  auto rows = sampled(60);
  auto more = rows;
  random_engine rng(8);
  for (int k = 0; k < 30; ++k) add(more, over->sample(rng), status_of::failed, -1e30);
  auto a = make(name), b = make(name);
  BOOST_REQUIRE((a->train(rows, 1).ok() && b->train(more, 1).ok()));
  BOOST_TEST((a->save() == b->save()));
}

BOOST_DATA_TEST_CASE_F(cost_model_fixture, a_saved_model_predicts_the_same_after_it_was_restored,
                       boost::unit_test::data::make(model_names()), name) {
  auto a = make(name), b = make(name);
  BOOST_REQUIRE(a->train(sampled(60), 1).ok());
  BOOST_REQUIRE(a->train(sampled(70), 2).ok());
  BOOST_REQUIRE(b->restore(a->save()).ok());
  BOOST_TEST(b->version() == 2u);
  prediction x, y;
  a->predict(all(), x);
  b->predict(all(), y);
  BOOST_TEST((x.score == y.score));
  BOOST_TEST((x.deviation == y.deviation));
  BOOST_TEST((a->save() == b->save()));
  // Untrained is a state too.
  auto fresh = make(name);
  BOOST_TEST(b->restore(fresh->save()).ok());
  BOOST_TEST(!b->trained());
}

BOOST_DATA_TEST_CASE_F(cost_model_fixture, bytes_are_checked_before_they_are_believed,
                       boost::unit_test::data::make(model_names()), name) {
  auto m = make(name);
  BOOST_REQUIRE(m->train(sampled(40), 1).ok());
  const auto good = m->save();
  const auto refused = [&](const std::string& bytes) {
    const auto got = m->restore(bytes);
    return !got.ok() && got.err().code == errc::store_corrupt && m->save() == good;
  };
  BOOST_TEST(refused(""));
  BOOST_TEST(refused("attune"));
  random_engine rng(2);
  for (int k = 0; k < 200; ++k) {
    auto bad = good;
    bad[rng.below(bad.size())] ^= static_cast<char>(1 << rng.below(8));
    BOOST_TEST(refused(bad));
    BOOST_TEST(refused(good.substr(0, rng.below(good.size()))));
  }
  BOOST_TEST(refused(good + "x"));
  BOOST_TEST(refused(std::string(cost_model::largest + 1, 'x')));
  // Also where the sum is right: whoever writes it can make the sum.
  const auto resealed = [](std::string body) {
    body.resize(body.size() - 8);
    auto sum = hash64(body);
    for (int i = 0; i < 8; ++i, sum >>= 8) body += static_cast<char>(sum & 0xff);
    return body;
  };
  std::size_t taken = 0;
  for (int k = 0; k < 2000; ++k) {
    auto bad = good;
    for (int i = 0; i < 3; ++i) bad[20 + rng.below(bad.size() - 28)] = static_cast<char>(rng.below(256));
    const auto got = m->restore(resealed(bad));
    if (got.ok()) {
      // A change that makes no difference to what must hold: it can be used.
      prediction out;
      m->predict(all(), out);
      ++taken;
      BOOST_REQUIRE(m->restore(good).ok());
    }
    BOOST_TEST((m->save() == good));
  }
  BOOST_TEST(taken < 2000u);
  auto cut = good;
  cut.resize(cut.size() / 2);
  BOOST_TEST(refused(resealed(cut)));
  // Another space, another kind.
  const auto narrow = grid_space({9, 9});
  const rank_features fewer(*narrow);
  BOOST_TEST(!(*make_cost_model(name, fewer.columns()))->restore(good).ok());
  for (const auto& other : model_names())
    if (other != name) BOOST_TEST(!make(other)->restore(good).ok());
}

BOOST_FIXTURE_TEST_CASE(an_unknown_model_is_answered_with_the_known_ones, cost_model_fixture) {
  const auto made = make_cost_model("boostet", features->columns());
  BOOST_REQUIRE(!made.ok());
  BOOST_TEST((made.err().code == errc::invalid_spec));
  BOOST_TEST(made.err().message.find("forest") != std::string::npos);
  BOOST_TEST((model_names().back() == "forest"));
}

BOOST_AUTO_TEST_CASE(nodes_from_anywhere_become_a_tree_only_where_they_are_one) {
  using test = tree_node::test;
  const tree_node leaf{test::leaf, 0, 0, 0, 0, 1}, cut{test::below, 1, 3, 1, 2, 0};
  BOOST_TEST(decision_tree::make({cut, leaf, leaf}, 2).has_value());
  BOOST_TEST(!decision_tree::make({}, 2).has_value());
  BOOST_TEST(!decision_tree::make({cut, leaf, leaf}, 1).has_value()); // no such column
  BOOST_TEST(!decision_tree::make({cut, leaf}, 2).has_value());       // no such child
  auto loop = cut;
  loop.left = 0;
  BOOST_TEST(!decision_tree::make({loop, leaf, leaf}, 2).has_value());
  auto odd = leaf;
  odd.value = std::numeric_limits<float>::quiet_NaN();
  BOOST_TEST(!decision_tree::make({cut, leaf, odd}, 2).has_value());
  auto kind = leaf;
  kind.how = static_cast<test>(9);
  BOOST_TEST(!decision_tree::make({kind}, 2).has_value());
}
