#include "search/replay.hpp"
#include "search/strategies/models.hpp"
#include "search/strategies/transfer.hpp"
#include "tests/search/spaces.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>

using namespace attune;
using namespace attune::search;

namespace {

/// A task of a family: the sweet spot moves a little with `shift`, the scale is its own.
double cost(std::span<const std::uint32_t> p, double shift, double scale) {
  const double x = p[0] - 11.0 - shift, y = p[1] - 4.0 + shift, z = p[2] - 5.0;
  return scale * (10 + x * x + 0.7 * y * y + 3 * std::abs(z) + (p[3] == 0 ? 6 : 0) + 0.3 * x * y);
}

std::shared_ptr<const enumerated_space> family() {
  return grid_space({16, 16, 8, 2}, [](const point& p) { return p[0] + p[1] < 26; });
}

std::vector<prior_record> records(const space& over, std::size_t n, bool shuffled) {
  random_engine rng(17);
  std::vector<prior_record> out;
  for (std::size_t k = 0; k < n; ++k) {
    const auto p = over.sample(rng);
    const auto of = shuffled ? over.sample(rng) : p;
    out.push_back({p, {observation::status::measured, cost(of, 1, 40)}, 3, 0.9});
  }
  return out;
}

replay_table task() {
  replay_table t;
  t.over = family();
  for (std::size_t i = 0; i < t.over->size(); ++i) t.results.push_back({cost(t.over->row(i), 0, 1), 1, 1});
  return t;
}

/// The mean over seeds of best found ÷ optimum after `trials`.
double reached(const replay_table& t, std::uint64_t trials, const std::vector<prior_record>& prior) {
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    replay_options o;
    o.trials = trials;
    o.seed = seed;
    o.prior = prior;
    sum += replay(t, "auto", o)->best.back() / t.optimum() / 6;
  }
  return sum;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_source_is_boiled_down_evenly_by_rank) {
  const auto s = family();
  std::vector<prior_record> many = records(*s, 1500, false);
  many.push_back({point{99, 0, 0, 0}, {observation::status::measured, 0.1}, 3, 0.9});
  const transfer t(*s, many);
  BOOST_TEST(t.sources() == 1u);
  BOOST_REQUIRE(t.points().size() == transfer::kept);
  BOOST_TEST(std::is_sorted(t.targets().begin(), t.targets().end()));
  BOOST_TEST(t.targets()[0] == -1.0);
  BOOST_TEST(std::abs(t.targets()[transfer::kept / 2]) < 0.05);
  // The first place to begin is the best; the next ones are good and elsewhere.
  const auto seeds = t.seeds(*s, 3);
  BOOST_REQUIRE(seeds.size() == 3u);
  BOOST_TEST((seeds[0] == t.points()[0]));
  BOOST_TEST((std::set<point>(seeds.begin(), seeds.end()).size() == 3u));
  double good = 0;
  for (const auto& r : many)
    if (s->contains(r.at)) good += r.result.cost < cost(seeds[2], 1, 40) ? 1 : 0;
  BOOST_TEST(good <= 32);
}

BOOST_AUTO_TEST_CASE(sources_share_the_room_and_the_most_similar_ones_stay) {
  const auto s = family();
  std::vector<prior_record> many;
  for (std::uint32_t source = 0; source < 6; ++source)
    for (auto r : records(*s, 100, false)) {
      r.source = source;
      r.similarity = 0.1 + 0.1 * source;
      many.push_back(r);
    }
  const transfer t(*s, many);
  BOOST_TEST(t.sources() == transfer::most_sources);
  BOOST_TEST(t.points().size() == transfer::kept);
  BOOST_TEST(std::count(t.source().begin(), t.source().end(), 1u) == 40);
  BOOST_TEST(transfer(*s, {}).empty());
}

BOOST_AUTO_TEST_CASE(a_similar_task_saves_many_trials) {
  const auto t = task();
  const auto similar = records(*t.over, 200, false);
  BOOST_TEST(reached(t, 12, similar) < reached(t, 20, {}));
}

BOOST_AUTO_TEST_CASE(records_that_mislead_cost_little) {
  const auto t = task();
  const auto misleading = records(*t.over, 200, true);
  const double random = expected_random(t, 40).back() / t.optimum();
  const double alone = reached(t, 40, {}), misled = reached(t, 40, misleading);
  BOOST_TEST(random - misled > 0.9 * (random - alone));
}

BOOST_AUTO_TEST_CASE(similar_tasks_are_believed_and_shuffled_ones_are_not) {
  const auto s = family();
  for (const bool shuffled : {false, true}) {
    const auto prior = records(*s, 200, shuffled);
    gp_chooser gp(*s, prior);
    training_set data(200);
    random_engine rng(2);
    BOOST_TEST(gp.trust() == 0.0);
    double most = 0;
    for (int k = 0; k < 30; ++k) {
      const auto p = s->sample(rng);
      data.take({p, observation::status::measured, cost(p, 0, 1), false}, rng);
      gp.look(data);
      most = std::max(most, gp.trust());
    }
    if (shuffled)
      BOOST_TEST(most < 0.5);
    else
      BOOST_TEST(most > 0.6);
    // It falls as own results come, and ends.
    for (int k = 0; k < 100; ++k) {
      const auto p = s->sample(rng);
      data.take({p, observation::status::measured, cost(p, 0, 1), false}, rng);
    }
    gp.look(data);
    BOOST_TEST(gp.trust() == 0.0);
  }
}

BOOST_AUTO_TEST_CASE(what_is_decided_about_similar_tasks_is_said) {
  const auto t = task();
  for (const bool shuffled : {false, true}) {
    strategy_options o;
    o.budget = 140;
    o.prior = records(*t.over, 200, shuffled);
    const auto s = *make_strategy("auto", t.over, o);
    std::vector<std::string> notes;
    for (int k = 0; k < 140; ++k) {
      const auto p = s->ask();
      BOOST_REQUIRE(p.has_value());
      s->tell(*p, {observation::status::measured, cost(*p, 0, 1)});
      for (auto& n : s->take_notes()) notes.push_back(std::move(n));
    }
    const auto says = [&](std::string_view what) {
      return std::count_if(notes.begin(), notes.end(),
                           [&](const std::string& n) { return n.find(what) != std::string::npos; });
    };
    BOOST_TEST(says("similar tasks are believed") == (shuffled ? 0 : 1));
    BOOST_TEST(says("it misleads") == (shuffled ? 1 : 0));
    BOOST_TEST(says("own results say more") == (shuffled ? 0 : 1));
    BOOST_TEST(says("shares of the trials") >= 1);
    BOOST_TEST(s->take_notes().empty());
  }
}
