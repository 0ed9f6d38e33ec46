#include "core/random.hpp"
#include "storage/best_table.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <map>

using namespace attune;
using namespace attune::storage;

namespace {

key128 key(std::uint64_t n) {
  key128 k;
  std::memcpy(k.bytes.data(), &n, sizeof n);
  return k;
}

/// The definition, plainly: the newest result of each key, by when it was measured, those with a value, sorted.
struct naive {
  std::map<key128, best_table::entry> newest;
  std::vector<best_table::entry> best(goal direction) const {
    std::vector<best_table::entry> all;
    for (const auto& [k, e] : newest)
      if (eligible(e.value)) all.push_back(e);
    std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
      if (a.value != b.value) return direction == goal::minimize ? a.value < b.value : a.value > b.value;
      return a.record < b.record;
    });
    if (all.size() > best_answered) all.resize(best_answered);
    return all;
  }
};

std::vector<best_table::entry> answered(const best_table& t) {
  const auto all = t.entries();
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), best_answered))};
}

void same(const std::vector<best_table::entry>& a, const std::vector<best_table::entry>& b) {
  BOOST_REQUIRE_EQUAL(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) BOOST_REQUIRE(a[i] == b[i]);
}

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

} // namespace

BOOST_AUTO_TEST_SUITE(best_table_of_a_task)

BOOST_AUTO_TEST_CASE(what_is_not_finite_or_negative_is_never_eligible) {
  BOOST_TEST(!eligible(not_a_number));
  BOOST_TEST(!eligible(std::numeric_limits<double>::infinity()));
  BOOST_TEST(!eligible(-std::numeric_limits<double>::infinity()));
  BOOST_TEST(!eligible(-1e-300));
  BOOST_TEST(eligible(0.0).has_value());
  BOOST_TEST(eligible(1e300).has_value());
}

BOOST_AUTO_TEST_CASE(it_is_exact_for_any_history_in_both_directions) {
  const std::uint64_t seed = 20261129;
  BOOST_TEST_MESSAGE("seed " << seed);
  random_engine random(seed);
  for (const auto direction : {goal::minimize, goal::maximize}) {
    for (int round = 0; round < 200; ++round) {
      best_table table(direction);
      naive model;
      std::vector<best_table::entry> history;
      const auto keys = 1 + random.below(300);
      const auto values = 1 + random.below(200); // few values: many ties
      int rebuilt = 0;
      for (std::uint64_t id = 1; id <= 600; ++id) {
        const auto k = key(random.below(keys));
        double v = static_cast<double>(random.below(values));
        if (random.chance(0.15)) v = not_a_number;
        if (random.chance(0.02)) v = -v - 1;
        history.push_back({k, id, v});
        model.newest[k] = history.back();
        const auto before = table;
        const bool concerned = table.concerns(k, eligible(v));
        table.apply(k, id, eligible(v));
        if (!concerned) BOOST_REQUIRE(table == before);
        if (table.incomplete()) {
          auto all = history;
          table = best_table::of(direction, all);
          ++rebuilt;
          BOOST_REQUIRE(!table.incomplete() || table.entries().size() >= best_answered);
        }
        same(answered(table), model.best(direction));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(it_is_exact_whatever_the_order_in_which_times_come) {
  const std::uint64_t seed = 20261130;
  BOOST_TEST_MESSAGE("seed " << seed);
  random_engine random(seed);
  int doubts = 0, older = 0;
  for (const auto direction : {goal::minimize, goal::maximize}) {
    for (int round = 0; round < 200; ++round) {
      best_table table(direction);
      naive model;
      std::vector<best_table::entry> history;
      const auto keys = 1 + random.below(300), values = 1 + random.below(200), times = 1 + random.below(600);
      nanoseconds latest{-1};
      for (std::uint64_t id = 1; id <= 600; ++id) {
        const auto k = key(random.below(keys));
        // Mostly in order, with something older now and then.
        const nanoseconds at(static_cast<std::int64_t>(random.chance(0.8) ? id * times / 600 : random.below(times)));
        const double v = random.chance(0.15) ? not_a_number : static_cast<double>(random.below(values));
        history.push_back({k, id, v, at});
        if (const auto [there, fresh] = model.newest.try_emplace(k, history.back()); !fresh && at >= there->second.at)
          there->second = history.back();
        else
          older += fresh ? 0 : 1;
        const auto before = table;
        const bool concerned = table.concerns(k, eligible(v));
        table.apply(k, id, eligible(v), at, at < latest);
        latest = std::max(latest, at);
        if (!concerned) BOOST_REQUIRE(table == before);
        if (table.incomplete()) {
          doubts += table.known() ? 0 : 1;
          auto all = history;
          table = best_table::of(direction, all);
        }
        same(answered(table), model.best(direction));
      }
    }
  }
  BOOST_TEST(doubts > 100);
  BOOST_TEST(older > 1000);
}

BOOST_AUTO_TEST_CASE(something_older_does_not_take_the_place_of_what_is_newer) {
  best_table t(goal::minimize);
  t.apply(key(1), 1, 5.0, nanoseconds(20));
  t.apply(key(1), 2, 1.0, nanoseconds(10), true);
  BOOST_TEST(t.entries()[0].record == 1u);
  t.apply(key(1), 3, std::nullopt, nanoseconds(19), true); // an older failure neither
  BOOST_TEST(t.entries().size() == 1u);
  t.apply(key(1), 4, 7.0, nanoseconds(20)); // at the same time: written later
  BOOST_TEST(t.entries()[0].record == 4u);
  BOOST_TEST(!t.incomplete());
}

BOOST_AUTO_TEST_CASE(it_says_when_something_newer_may_be_left_out) {
  best_table t(goal::minimize);
  t.apply(key(1), 1, std::nullopt, nanoseconds(20));
  t.apply(key(2), 2, std::nullopt, nanoseconds(10), true); // older, and no candidate for the best
  BOOST_TEST(t.known());
  t.apply(key(1), 3, 1.0, nanoseconds(10), true); // has failed since, which the table does not hold
  BOOST_TEST(!t.known());
  BOOST_TEST(t.incomplete());
}

BOOST_AUTO_TEST_CASE(a_configuration_measured_again_has_its_new_value) {
  best_table t(goal::minimize);
  t.apply(key(1), 1, 1.0);
  t.apply(key(2), 2, 2.0);
  t.apply(key(1), 3, 5.0);
  BOOST_TEST(t.entries()[0].record == 2u);
  BOOST_TEST(t.entries()[1].value == 5.0);
  BOOST_TEST(t.entries().size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_configuration_that_failed_since_is_out) {
  best_table t(goal::maximize);
  t.apply(key(1), 1, 9.0);
  t.apply(key(2), 2, 2.0);
  t.apply(key(1), 3, std::nullopt);
  BOOST_TEST(t.entries().size() == 1u);
  BOOST_TEST(t.entries()[0].record == 2u);
}

BOOST_AUTO_TEST_CASE(it_says_when_it_no_longer_knows_the_best) {
  best_table t(goal::minimize);
  for (std::uint64_t n = 0; n < 100; ++n) t.apply(key(n), n + 1, static_cast<double>(n));
  BOOST_TEST(t.entries().size() == best_table::capacity);
  BOOST_TEST(!t.incomplete());
  for (std::uint64_t n = 0; n < best_table::capacity - best_answered; ++n) t.apply(key(n), 200 + n, 1e6);
  BOOST_TEST(!t.incomplete());
  t.apply(key(best_table::capacity - best_answered), 400, 1e6);
  BOOST_TEST(t.incomplete());
}

BOOST_AUTO_TEST_CASE(it_is_the_same_after_being_written_and_read) {
  best_table t(goal::minimize);
  for (std::uint64_t n = 0; n < 100; ++n) t.apply(key(n), n + 1, static_cast<double>(n * 7 % 31));
  const best_table again(goal::minimize, {t.entries().begin(), t.entries().end()}, t.floor());
  BOOST_TEST(bool(again == t));
}

BOOST_AUTO_TEST_SUITE_END()
