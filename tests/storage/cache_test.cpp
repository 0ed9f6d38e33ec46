#include "core/random.hpp"
#include "storage/cache.hpp"
#include "tests/storage/samples.hpp"

#include <boost/test/unit_test.hpp>

#include <list>

using namespace attune;
using namespace attune::storage;
using namespace attune::storage::samples;

namespace {

std::vector<std::string> order(const lru_cache& c) {
  std::vector<std::string> out;
  c.visit([&](const cached& e) { out.push_back(e.canonical); });
  return out;
}

std::uint64_t cause(const lru_cache& c, miss_cause which) {
  return c.statistics().causes[static_cast<std::size_t>(which)];
}

} // namespace

BOOST_AUTO_TEST_SUITE(cache_of_measurements)

BOOST_AUTO_TEST_CASE(it_is_an_exact_lru) {
  const std::uint64_t seed = 42;
  BOOST_TEST_MESSAGE("seed " << seed);
  random_engine random(seed);
  const auto task = make();
  std::vector<trial_ptr> trials;
  for (std::int64_t n = 0; n < 200; ++n) trials.push_back(ask(task, n));
  for (const std::uint64_t bound : {1u, 2u, 7u, 64u, 150u}) {
    lru_cache cache({bound, std::uint64_t{1} << 40});
    std::list<std::pair<trial_ptr, outcome_ptr>> model; // newest in front
    std::uint64_t hits = 0, misses = 0, evicted = 0;
    for (int step = 0; step < 4000; ++step) {
      const auto& t = trials[random.below(trials.size())];
      const auto at = std::find_if(model.begin(), model.end(), [&](const auto& e) { return e.first == t; });
      if (random.chance(0.5)) {
        const auto got = cache.lookup(*t);
        BOOST_REQUIRE((got != nullptr) == (at != model.end()));
        got ? ++hits : ++misses;
        if (!got) continue;
        BOOST_REQUIRE(got->result == at->second);
        model.splice(model.begin(), model, at);
      } else {
        const auto o = measured(1.0 + step);
        const auto gone = cache.insert(*t, o);
        if (at != model.end()) model.erase(at);
        model.emplace_front(t, o);
        std::vector<key128> expected;
        while (model.size() > bound) {
          expected.push_back(model.back().first->key);
          model.pop_back();
        }
        evicted += expected.size();
        BOOST_REQUIRE(gone == expected);
      }
    }
    std::vector<std::string> expected;
    for (auto e = model.rbegin(); e != model.rend(); ++e) expected.push_back(e->first->canonical);
    BOOST_TEST(order(cache) == expected, boost::test_tools::per_element());
    const auto s = cache.statistics();
    BOOST_TEST(s.entries == model.size());
    BOOST_TEST(s.hits == hits);
    BOOST_TEST(s.misses == misses);
    BOOST_TEST(s.evicted == evicted);
  }
}

BOOST_AUTO_TEST_CASE(it_is_bounded_by_bytes) {
  const auto task = make();
  lru_cache probe({10, 1 << 20});
  probe.insert(*ask(task, 1), measured(1));
  const auto one = probe.statistics().bytes;
  BOOST_TEST(one > sizeof(outcome));
  lru_cache cache({1000, 10 * one + one / 2});
  for (std::int64_t n = 0; n < 100; ++n) cache.insert(*ask(task, n), measured(1));
  BOOST_TEST(cache.statistics().bytes <= 10 * one + one / 2);
  BOOST_TEST(cache.statistics().entries >= 9u);
  BOOST_TEST(cache.statistics().entries <= 11u);
}

BOOST_AUTO_TEST_CASE(an_entry_larger_than_all_goes_itself) {
  lru_cache cache({10, 100});
  const auto t = ask(make(), 1);
  const auto gone = cache.insert(*t, measured(1));
  BOOST_REQUIRE_EQUAL(gone.size(), 1u);
  BOOST_TEST(bool(gone[0] == t->key));
  BOOST_TEST(cache.statistics().bytes == 0u);
}

BOOST_AUTO_TEST_CASE(a_collision_of_keys_is_a_miss) {
  lru_cache cache;
  const auto task = make();
  const auto one = ask(task, 1);
  cache.insert(*one, measured(1));
  auto other = std::make_shared<trial>(*ask(task, 2));
  other->key = one->key;
  BOOST_TEST(cache.lookup(*other) == nullptr);
  auto foreign = std::make_shared<trial>(*one);
  foreign->of = make({.size = 1024});
  BOOST_TEST(cache.lookup(*foreign) == nullptr);
  BOOST_TEST(cache.lookup(*one) != nullptr);
}

BOOST_AUTO_TEST_CASE(a_miss_has_its_cause) {
  lru_cache cache({3, 1 << 30});
  const auto task = make();
  cache.insert(*ask(task, 1), measured(1));
  cache.lookup(*ask(task, 2));
  BOOST_TEST(cause(cache, miss_cause::unseen) == 1u);
  cache.lookup(*ask(make({.device = "gpu"}), 1));
  BOOST_TEST(cause(cache, miss_cause::other_target) == 1u);
  cache.lookup(*ask(make({.run = "./run --fast"}), 1));
  BOOST_TEST(cause(cache, miss_cause::other_method) == 1u);
  cache.lookup(*ask(make({.size = 1024}), 1));
  BOOST_TEST(cause(cache, miss_cause::unseen) == 2u);
  for (std::int64_t n = 10; n < 13; ++n) cache.insert(*ask(task, n), measured(1));
  cache.lookup(*ask(task, 1));
  BOOST_TEST(cause(cache, miss_cause::evicted_before) == 1u);
  BOOST_TEST(cache.statistics().misses == 5u);
}

BOOST_AUTO_TEST_CASE(a_changed_source_is_told_from_a_changed_command) {
  auto with = [](std::string form) {
    auto t = std::make_shared<task>(*make());
    t->identity.method_form = std::move(form);
    t->identity.method_key = sha256(t->identity.method_form);
    t->identity.task_key = sha256(t->identity.method_form);
    return task_ptr(t);
  };
  lru_cache cache;
  cache.insert(*ask(with("method/1:build=3:cc ;source.a.cpp=2:11;run=2:./;"), 1), measured(1));
  cache.lookup(*ask(with("method/1:build=3:cc ;source.a.cpp=2:22;run=2:./;"), 1));
  BOOST_TEST(cause(cache, miss_cause::other_source) == 1u);
  cache.lookup(*ask(with("method/1:build=3:gcc;source.a.cpp=2:11;run=2:./;"), 1));
  BOOST_TEST(cause(cache, miss_cause::other_method) == 1u);
  // A form that is not one does no harm.
  for (const char* form : {"", "x", "a=b", "a=99999999999999999999:x;", "method/1:source.=5:;", "method/1:a=1:"})
    cache.lookup(*ask(with(form), 1));
  BOOST_TEST(cache.statistics().misses == 8u);
}

BOOST_AUTO_TEST_CASE(what_was_stopped_early_answers_only_who_would_stop_there) {
  for (const auto direction : {goal::minimize, goal::maximize}) {
    const auto task = make({.direction = direction});
    const double better = direction == goal::minimize ? 0.5 : 2, worse = direction == goal::minimize ? 2 : 0.5;
    lru_cache cache;
    auto stopped = std::make_shared<outcome>();
    stopped->data = bound{direction == goal::minimize ? 3.0 : 0.3, 1, {}};
    cache.insert(*ask(task, 1), stopped);
    const auto with = [&](std::optional<double> rival) {
      auto t = std::make_shared<trial>(*ask(task, 1));
      t->rival = rival;
      return t;
    };
    BOOST_TEST(cache.lookup(*with({})) == nullptr);
    BOOST_TEST(cache.lookup(*with(worse)) == nullptr);
    BOOST_TEST(cause(cache, miss_cause::stopped_early) == 2u);
    BOOST_TEST(cache.lookup(*with(1.0)) != nullptr);
    BOOST_TEST(cache.lookup(*with(better)) != nullptr);
    BOOST_TEST(cache.statistics().hits == 2u);
    cache.insert(*ask(task, 1), measured(4));
    BOOST_TEST(cache.lookup(*with({})) != nullptr);
  }
}

BOOST_AUTO_TEST_CASE(a_task_is_invalidated_alone) {
  lru_cache cache;
  const auto a = make(), b = make({.size = 64});
  for (std::int64_t n = 0; n < 5; ++n) cache.insert(*ask(a, n), measured(1));
  for (std::int64_t n = 0; n < 3; ++n) cache.insert(*ask(b, n), measured(1));
  BOOST_TEST(cache.invalidate("nothing") == 0u);
  BOOST_TEST(cache.invalidate(a->identity.task_key.hex()) == 5u);
  BOOST_TEST(cache.lookup(*ask(a, 1)) == nullptr);
  BOOST_TEST(cache.lookup(*ask(b, 1)) != nullptr);
  BOOST_TEST(cache.invalidate(b->identity.task_key.view()) == 3u);
  BOOST_TEST(cache.statistics().entries == 0u);
  BOOST_TEST(cache.statistics().bytes == 0u);
}

BOOST_AUTO_TEST_CASE(what_is_restored_is_in_the_given_order_and_counts_nothing) {
  const auto task = make();
  lru_cache cache({3, 1 << 30});
  std::vector<key128> gone;
  for (std::int64_t n = 0; n < 5; ++n) {
    const auto t = ask(task, n);
    for (const auto& k :
         cache.restore(entry_of(*task), {t->key, task->identity.task_key, t->canonical, 1, measured(1)}))
      gone.push_back(k);
  }
  BOOST_REQUIRE_EQUAL(gone.size(), 2u);
  BOOST_TEST(bool(gone[0] == ask(task, std::int64_t{0})->key));
  const std::vector<std::string> expected{config(2).canonical(), config(3).canonical(), config(4).canonical()};
  BOOST_TEST(order(cache) == expected, boost::test_tools::per_element());
  const auto s = cache.statistics();
  BOOST_TEST(s.hits + s.misses + s.evicted == 0u);
  // The cause is known for what was restored too.
  cache.lookup(*ask(make({.device = "gpu"}), 4));
  BOOST_TEST(cause(cache, miss_cause::other_target) == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
