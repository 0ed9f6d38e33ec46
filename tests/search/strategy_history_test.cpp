#include "search/strategy_history.hpp"
#include "tests/search/spaces.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>

using namespace attune;
using namespace attune::search;

namespace {

std::vector<std::string> saved_strategies() {
  std::vector<std::string> out;
  for (const auto& s : strategies()) out.push_back(s.name);
  return out;
}

/// Values of every kind, by the point alone.
observation answer(std::span<const std::uint32_t> p) {
  const auto h = (p[0] * 7 + p[1] * 13 + p[2] * 29) % 11;
  const double cost = 1 + (p[0] - 3.0) * (p[0] - 3.0) + std::abs(p[1] - 5.1) / 3 + p[2];
  if (h == 0) return {observation::status::failed, 0};
  if (h == 1) return {observation::status::censored, cost};
  if (h == 2) return {observation::status::measured, std::numeric_limits<double>::quiet_NaN()};
  return {observation::status::measured, cost};
}

/// A run with four in flight, of which the answers come in an order that the seed gives; some are dropped once.
class history_run {
public:
  explicit history_run(std::uint64_t seed) : order_(seed) {}
  std::vector<point> play(strategy& how, std::size_t steps) {
    std::vector<point> asked;
    for (std::size_t k = 0; k < steps; ++k) {
      while (flying_.size() < 4) {
        auto p = how.ask();
        if (!p) break;
        asked.push_back(*p);
        flying_.push_back(std::move(*p));
      }
      if (flying_.empty()) break;
      const std::size_t which = order_.below(flying_.size());
      const point p = flying_[which];
      flying_.erase(flying_.begin() + static_cast<std::ptrdiff_t>(which));
      how.tell(p, order_.chance(0.05) ? observation{observation::status::dropped, 0} : answer(p));
    }
    return asked;
  }

private:
  random_engine order_;
  std::vector<point> flying_;
};

std::vector<prior_record> records(const space& over) {
  std::vector<prior_record> out;
  random_engine rng(3);
  for (int k = 0; k < 40; ++k) {
    const auto p = over.sample(rng);
    out.push_back({p, answer(p), 0, 0.9});
  }
  return out;
}

} // namespace

BOOST_DATA_TEST_CASE(a_restored_strategy_goes_on_as_if_nothing_had_been,
                     boost::unit_test::data::make(saved_strategies()), name) {
  const auto s = grid_space({8, 9, 6}, [](const point& p) { return (p[0] + p[1]) % 4 != 0; });
  for (const std::size_t before : {0u, 1u, 13u, 45u}) {
    strategy_options options;
    options.seed = 11;
    options.budget = 90;
    options.prior = records(*s);
    auto whole = remembering_strategy::make(name, s, options);
    BOOST_REQUIRE(whole.ok());
    history_run driver(before + 5);
    driver.play(**whole, before);
    auto restored = remembering_strategy::restore((*whole)->save(), s, options);
    BOOST_REQUIRE(restored.ok());
    BOOST_TEST((*restored)->name() == name);
    BOOST_TEST((*restored)->save() == (*whole)->save());
    history_run other = driver;
    const auto a = driver.play(**whole, 30), b = other.play(**restored, 30);
    BOOST_TEST(a.size() >= 26u);
    BOOST_TEST((a == b));
    BOOST_TEST((*restored)->save() == (*whole)->save());
  }
}

BOOST_DATA_TEST_CASE(an_exhausted_strategy_is_restored_as_exhausted, boost::unit_test::data::make(saved_strategies()),
                     name) {
  const auto s = grid_space({2, 2, 2});
  auto whole = remembering_strategy::make(name, s, {});
  while (const auto p = (*whole)->ask()) (*whole)->tell(*p, answer(*p));
  auto restored = remembering_strategy::restore((*whole)->save(), s, {});
  BOOST_REQUIRE(restored.ok());
  BOOST_TEST(!(*restored)->ask().has_value());
}

BOOST_AUTO_TEST_CASE(inactive_parameters_and_experience_are_kept) {
  std::vector<enumerated_space::axis> axes{{"fma", {value(false), value(true)}, false},
                                           {"pad", {value(0), value(4)}, true},
                                           {"x", {value(1), value(2), value(3)}, true}};
  std::vector<point> points;
  for (std::uint32_t x = 0; x < 3; ++x) {
    points.push_back({0, inactive, x});
    points.push_back({1, 0, x});
    points.push_back({1, 1, x});
  }
  const auto s = *enumerated_space::make(axes, points);
  auto whole = remembering_strategy::make("auto", s, {});
  (*whole)->tell(point{0, inactive, 2}, {observation::status::measured, 0.1});
  auto restored = remembering_strategy::restore((*whole)->save(), s, {});
  BOOST_REQUIRE(restored.ok());
  std::size_t rest = 0;
  while (const auto p = (*restored)->ask()) {
    BOOST_TEST((*p != point{0, inactive, 2}));
    (*restored)->tell(*p, {observation::status::measured, 1.0 / 3});
    ++rest;
  }
  BOOST_TEST(rest == 8u);
}

BOOST_AUTO_TEST_CASE(what_does_not_belong_is_refused) {
  const auto s = grid_space({8, 9, 6});
  strategy_options options;
  options.seed = 4;
  auto whole = remembering_strategy::make("genetic", s, options);
  history_run(1).play(**whole, 20);
  const auto saved = (*whole)->save();
  BOOST_TEST(remembering_strategy::restore(saved, s, options).ok());
  const auto refused = [&](std::string_view text, const space_ptr& over, const strategy_options& o) {
    const auto r = remembering_strategy::restore(text, over, o);
    BOOST_REQUIRE(!r.ok());
    BOOST_TEST((r.err().code == errc::invalid_spec));
    return r.err().message;
  };
  auto other = options;
  other.seed = 5;
  BOOST_TEST(refused(saved, s, other).find("another space, seed or budget") != std::string::npos);
  other = options;
  other.budget = 9;
  refused(saved, s, other);
  refused(saved, grid_space({8, 9, 7}), options);
  // Other first points: the proposals do not come again.
  other = options;
  other.first = {{1, 1, 1}};
  BOOST_TEST(refused(saved, s, other).find("proposes something else") != std::string::npos);
  refused("", s, options);
  refused("nonsense\n", s, options);
  refused(std::string_view(saved).substr(0, saved.size() - 3), s, options);
  std::string damaged = saved;
  damaged.replace(damaged.find("\nt "), 3, "\nx ");
  BOOST_TEST(refused(damaged, s, options).find("is damaged") != std::string::npos);
}
